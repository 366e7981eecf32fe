//! A line of the audit file.

use std::time::Duration;

use bridge_protocol::invisible::escape_in_json;
use bridge_protocol::{QueryCaller, QueryId};
use chrono::{SecondsFormat, Utc};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::approval::Approval;
use crate::text;

/// A line of the audit file: one call.
#[derive(Debug, Serialize)]
pub(crate) struct CallEntry {
    /// When the call ended, in UTC (RFC 3339).
    time: String,
    /// The user, as the bridge identifies it; empty if the bridge has not identified it.
    user: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    sub: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<String>,
    app: String,
    query: String,
    /// The name of the source, or `page`.
    source: String,
    tool: String,
    arguments: Box<RawValue>,
    /// The answer of a person, if one was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) approval: Option<Approval>,
    outcome: &'static str,
    ms: u64,
    /// The size of the result, as the tool has given it.
    bytes: usize,
}

impl CallEntry {
    /// Creates the entry of a call that has not ended.
    pub(crate) fn new(
        caller: Option<&QueryCaller>,
        profile: Option<&str>,
        query: &QueryId,
        source: &str,
        tool: &str,
        arguments: Box<RawValue>,
    ) -> Self {
        let app = caller.map(|it| text::shorten_name(&it.app));
        Self {
            time: String::new(),
            user: caller.map(|it| it.user.clone()).unwrap_or_default(),
            sub: caller.and_then(|it| it.sub.clone()),
            profile: profile.map(str::to_owned),
            app: app.unwrap_or_default(),
            query: query.to_string(),
            source: source.to_owned(),
            tool: text::shorten_name(tool),
            arguments,
            approval: None,
            outcome: "",
            ms: 0,
            bytes: 0,
        }
    }

    /// Sets how the call has ended.
    pub(crate) fn end(&mut self, outcome: &'static str, duration: Duration, bytes: usize) {
        self.time = Utc::now().to_rfc3339_opts(SecondsFormat::Millis, true);
        self.outcome = outcome;
        self.ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        self.bytes = bytes;
    }

    /// Returns the line. All of its characters are visible in a terminal or an editor.
    pub(super) fn to_line(&self) -> String {
        // The entry consists of strings and numbers: encoding it cannot fail.
        let json = serde_json::to_string(self).unwrap_or_default();
        let mut line = escape_in_json(&json).into_owned();
        line.push('\n');
        line
    }
}
