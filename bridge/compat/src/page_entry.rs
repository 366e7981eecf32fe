//! A page as clients see it in lists.

use bridge_protocol::SessionId;
use bridge_realm::realm::SessionSummary;
use serde::Serialize;

/// A page as clients see it.
#[derive(Debug, Serialize)]
pub struct ListedPage {
    session_id: SessionId,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    page_title: Option<String>,
    connected_at: String,
    last_activity: String,
    available_tools: Vec<String>,
}

impl ListedPage {
    /// Builds the entry of a page with the names of its tools.
    pub fn new(summary: SessionSummary, available_tools: Vec<String>) -> Self {
        Self {
            session_id: summary.session_id,
            session_name: summary.session_name,
            origin: summary.origin,
            page_title: summary.page_title,
            connected_at: summary.connected_at,
            last_activity: summary.last_activity,
            available_tools,
        }
    }
}
