//! A session as an operator sees it.

use bridge_protocol::SessionId;
use serde::Serialize;

use super::summary::{iso_8601, owned_text};
use super::{Phase, Session};

/// The state of a page for an operator, without its definitions.
#[derive(Clone, Debug, Serialize)]
pub struct PageOverview {
    #[serde(rename = "page")]
    pub session: SessionId,
    pub subject: Option<String>,
    pub app: Option<String>,
    pub name: Option<String>,
    pub title: Option<String>,
    pub origin: Option<String>,
    /// `connected`, `suspended`, `away` after its connection was lost, or `reloading`.
    pub state: &'static str,
    pub connected_at: String,
    pub last_activity: String,
    /// The number of registered tools, prompts, resources and templates.
    pub definitions: usize,
    pub calls: usize,
}

impl Session {
    /// The id of the user in the token of the page.
    pub(in crate::realm) fn subject_id(&self) -> Option<&str> {
        self.info.subject.as_ref()?.sub.as_deref()
    }

    /// Describes the session to an operator.
    pub(in crate::realm) fn overview(&self, id: &SessionId) -> PageOverview {
        PageOverview {
            session: id.clone(),
            subject: self.subject_id().map(str::to_owned),
            app: owned_text(&self.info.app),
            name: self.name.clone(),
            title: owned_text(&self.info.page_title),
            origin: owned_text(&self.info.origin),
            state: match self.phase {
                Phase::Connected { .. } if self.frozen || self.unresponsive => "suspended",
                Phase::Connected { .. } => "connected",
                Phase::Disconnected { .. } => "away",
                Phase::BetweenDocuments { .. } => "reloading",
            },
            connected_at: iso_8601(self.connected_at_ms),
            last_activity: iso_8601(self.last_activity_ms),
            definitions: self.items.len(),
            calls: self.calls.len(),
        }
    }
}
