//! An MCP session as an operator sees it. The id that its client uses is not shown: with it and a token,
//! anybody could continue the session.

use serde::Serialize;

/// An MCP session for an operator.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ClientOverview {
    /// Identifies the session until it ends or the bridge restarts.
    #[serde(rename = "client")]
    pub(crate) id: String,
    pub(crate) name: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) protocol_version: Option<String>,
    pub(crate) address: String,
    /// The number of open streams of notifications.
    pub(crate) streams: usize,
    pub(crate) calls: usize,
    /// 0 while a request is answered or a stream is open.
    pub(crate) idle_seconds: u64,
}
