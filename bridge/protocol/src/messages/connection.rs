//! Messages of a connection: authentication, heartbeat, page state, connected clients.

use std::fmt;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::limits::MAX_ARMED_CALLS;
use crate::{BridgeId, CallId, ErrorCode, SessionId};

/// The first frame of a page.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Authenticate {
    /// The protocol version: 2 for this one, absent for v1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<u32>,
    /// The opaque token that names the realm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth_token: Option<String>,
    /// The session. A later connection with the same id and token resumes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// The document, identified by a random text. A session that is resumed by another document was
    /// reloaded or is used by another tab, and calls that the former document may have started are
    /// not started again. Without an id, every connection counts as another document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document_id: Option<String>,
    /// The name that the user gave the tab.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_name: Option<String>,
    /// The origin according to the page. It is displayed nowhere: the `Origin` header decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// `document.title`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_title: Option<String>,
    /// `navigator.userAgent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_agent: Option<String>,
    /// The app that the page belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app: Option<App>,
    /// The page's clock, in milliseconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<u64>,
    /// Whether the page checks late calls, which lets the bridge prove that a call has not started.
    ///
    /// Such a page acknowledges a call before it reads the clock that decides whether the call is
    /// late. It starts the handler without `calls-check` only if the call is not late
    /// ([`STALE_AFTER`](crate::limits::STALE_AFTER)), if at most
    /// [`MAX_BUFFERED_BYTES`](crate::limits::MAX_BUFFERED_BYTES) of earlier messages are still
    /// buffered, and if it has not reported itself as frozen since the bridge last answered it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub checks_late_calls: bool,
    /// The version of the SDK of the page, which `mcp-web doctor` compares with that of the bridge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sdk_version: Option<String>,
}

/// Redacts the token, which must not appear in logs.
impl fmt::Debug for Authenticate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authenticate")
            .field("protocol", &self.protocol)
            .field("auth_token", &self.auth_token.as_ref().map(|_| "…"))
            .field("session_id", &self.session_id)
            .field("document_id", &self.document_id)
            .field("session_name", &self.session_name)
            .field("page_title", &self.page_title)
            .field("app", &self.app)
            .finish_non_exhaustive()
    }
}

/// The app that a page belongs to, as given to `new McpWeb({ … })`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct App {
    /// The name.
    pub name: String,
    /// The purpose of the app, in words that help a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The URL of an icon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icon: Option<String>,
}

/// A heartbeat of the bridge, or the page's answer to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Heartbeat {
    /// The number of the heartbeat on this connection.
    pub sequence: u64,
    /// The number of answers to calls that the bridge has received on this connection. The page no
    /// longer has to store them. Absent when it is 0, and in the page's answer.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub answers: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Sends a fresh token on the open socket. It must name the same realm.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Renew {
    /// The fresh token.
    pub auth_token: String,
}

/// Redacts the token, which must not appear in logs.
impl fmt::Debug for Renew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Renew(…)")
    }
}

/// Accepts a fresh token, which is valid from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Renewed {
    /// The time until the token expires, in milliseconds from now; absent when it does not expire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_expires_in_ms: Option<u64>,
}

/// Rejects a fresh token. The connection stays open until the former token expires.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RenewalFailed {
    /// The reason in words.
    pub error: String,
    /// The machine-readable reason.
    pub code: ErrorCode,
}

/// Reports whether the tab is visible and has the focus.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PageState {
    /// `document.visibilityState`.
    pub visibility: Visibility,
    /// `document.hasFocus()`.
    pub focused: bool,
    /// The browser is about to suspend the page (Page Lifecycle `freeze`), so that it cannot answer
    /// calls.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub frozen: bool,
    /// `document.title`, when it changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_title: Option<String>,
}

/// `document.visibilityState`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Visibility {
    /// The page is at least partly on screen.
    Visible,
    /// The page is in a background tab or a minimised window.
    Hidden,
}

/// Reports that the document is being unloaded, or put into the back/forward cache: its calls end
/// now, or are handed over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Leaving {
    /// The calls that the next document of the session continues, at most
    /// [`MAX_ARMED_CALLS`](crate::limits::MAX_ARMED_CALLS). They were armed with
    /// [`CallHandOver`](crate::CallHandOver).
    #[serde(default, deserialize_with = "few_calls")]
    pub hands_over: Vec<CallId>,
}

/// Reads a list of calls that is not longer than a page may have armed.
fn few_calls<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<CallId>, D::Error> {
    struct FewCalls;

    impl<'de> Visitor<'de> for FewCalls {
        type Value = Vec<CallId>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(formatter, "a list of at most {MAX_ARMED_CALLS} calls")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
            let mut calls = Vec::new();
            while let Some(call) = items.next_element()? {
                if calls.len() == MAX_ARMED_CALLS {
                    return Err(A::Error::invalid_length(calls.len() + 1, &self));
                }
                calls.push(call);
            }
            Ok(calls)
        }
    }

    deserializer.deserialize_seq(FewCalls)
}

/// Accepts a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Authenticated {
    /// The session, with the id that the page chose.
    pub session_id: SessionId,
    /// Always true; v1 pages check it.
    pub success: bool,
    /// The protocol version from here on.
    pub protocol: u32,
    /// This run of the bridge. Results of calls of another run are void.
    pub bridge_id: BridgeId,
    /// The name of the session, if it has one. The bridge may append a number to a name that is in
    /// use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_name: Option<String>,
    /// Calls that the page acknowledged on a former connection and that are still awaited.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub awaited: Vec<CallId>,
    /// The bridge's clock, in milliseconds since the Unix epoch. `sentMs` of a call uses the same
    /// clock.
    pub now_ms: u64,
    /// The time until the token expires, in milliseconds from now; absent when it does not expire.
    /// The page may renew it before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_expires_in_ms: Option<u64>,
    /// The limits that the page must obey.
    pub limits: Limits,
}

/// The limits of a bridge that concern a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// The largest tool result, in bytes of JSON.
    pub max_result_bytes: usize,
    /// The largest frame, in bytes.
    pub max_frame_bytes: usize,
    /// The largest message in [parts](crate::message_parts), in bytes. It also limits the sum of all
    /// unfinished messages.
    pub max_message_bytes: usize,
    /// The interval of heartbeats, in seconds. A page that receives nothing for twice this time may
    /// consider the connection dead.
    pub heartbeat_seconds: u64,
}

/// Rejects a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuthenticationFailed {
    /// The reason in words, with what to do.
    pub error: String,
    /// The machine-readable reason.
    pub code: ErrorCode,
}

/// Ends a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionClosed {
    /// The reason in words.
    pub reason: String,
    /// The machine-readable reason.
    pub code: ErrorCode,
}

/// Lists the connected AI clients.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Clients {
    /// The clients, in the order in which they connected.
    pub clients: Vec<ConnectedClient>,
}

/// A connected AI client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConnectedClient {
    /// Distinguishes clients that have the same name.
    pub id: u64,
    /// The client's name and version.
    #[serde(flatten)]
    pub info: ClientInfo,
    /// The MCP revision that the client uses.
    pub protocol_version: String,
}

/// An AI client's description of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientInfo {
    /// The name.
    pub name: String,
    /// The version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The name to display.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}
