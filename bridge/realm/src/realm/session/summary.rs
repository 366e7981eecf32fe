//! The summary of a session for people and models.

use bridge_protocol::{Kind, SessionId, Visibility};
use chrono::{DateTime, SecondsFormat};
use serde::Serialize;

use super::Session;
use crate::definition::SharedDefinition;

impl Session {
    /// Summarizes the session for people and models.
    pub fn summary(&self, id: &SessionId) -> SessionSummary {
        self.summary_with_tools(id, |_| true)
    }

    /// Summarizes the session for a caller that may see only the tools whose registered name is
    /// `visible`.
    pub(in crate::realm) fn summary_with_tools(
        &self,
        id: &SessionId,
        visible: impl Fn(&str) -> bool,
    ) -> SessionSummary {
        SessionSummary {
            session_id: id.clone(),
            session_name: self.name.clone(),
            app: owned_text(&self.info.app),
            origin: owned_text(&self.info.origin),
            page_title: owned_text(&self.info.page_title),
            connected_at: iso_8601(self.connected_at_ms),
            last_activity: iso_8601(self.last_activity_ms),
            visibility: self.visibility,
            focused: self.focused,
            connected: self.phase.connection().is_some(),
            suspended: self.frozen || self.unresponsive,
            available_tools: self
                .definitions(Kind::Tool)
                .filter(|definition| match definition {
                    SharedDefinition::Tool(tool) => visible(tool.name()),
                    _ => true,
                })
                .map(|tool| tool.published_name().to_owned())
                .collect(),
            sdk_version: owned_text(&self.info.sdk_version),
        }
    }
}

pub(super) fn owned_text(text: &Option<Box<str>>) -> Option<String> {
    text.as_deref().map(str::to_owned)
}

/// The state of a session in the form that people and models see.
#[derive(Clone, Debug, Serialize)]
pub struct SessionSummary {
    pub session_id: SessionId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    app: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_title: Option<String>,
    pub connected_at: String,
    pub last_activity: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    visibility: Option<Visibility>,
    focused: bool,
    /// Whether the page is connected; false while the session waits for it to reconnect.
    connected: bool,
    /// Whether the browser has suspended the page or the page does not acknowledge calls. The user
    /// must then bring the tab to the front first.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    suspended: bool,
    available_tools: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sdk_version: Option<String>,
}

/// Formats a time as RFC 3339 with milliseconds, in UTC.
pub(super) fn iso_8601(unix_ms: u64) -> String {
    i64::try_from(unix_ms)
        .ok()
        .and_then(DateTime::from_timestamp_millis)
        .map(|time| time.to_rfc3339_opts(SecondsFormat::Millis, true))
        .unwrap_or_default()
}
