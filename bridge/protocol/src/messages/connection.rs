//! A page connects, shows that it lives, and hears who else is there.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{BridgeId, CallId, ErrorCode, SessionId};

/// First frame of a page.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Authenticate {
    /// The dialect: 2 for this one, absent for v1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<u32>,
    /// The opaque token that names the realm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth_token: Option<String>,
    /// The session; a later connection with the same id and token continues it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// The document, a random text for each: a session that comes back with another one was
    /// reloaded, or taken over by another tab, and calls that its former document may have begun
    /// are not begun again. Absent: another one each time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document_id: Option<String>,
    /// A name that a person gave the tab.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_name: Option<String>,
    /// What the page says its origin is. Shown nowhere: the `Origin` header counts.
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
    /// The page's clock, milliseconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<u64>,
}

/// Tokens never appear in logs.
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
    /// Its name.
    pub name: String,
    /// What it is for, in words a model can use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// URL of its icon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icon: Option<String>,
}

/// `heartbeat` and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Heartbeat {
    /// Counts up per connection.
    pub sequence: u64,
    /// How many answers to calls the bridge has taken on this connection: the page need not keep
    /// them any longer. Absent means none, and in the page's answer.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub answers: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A fresh token on the open socket. It must name the same realm.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Renew {
    /// The token.
    pub auth_token: String,
}

/// Tokens never appear in logs.
impl fmt::Debug for Renew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Renew(…)")
    }
}

/// The fresh token counts from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Renewed {
    /// When it ends, in milliseconds from now; absent when it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_expires_in_ms: Option<u64>,
}

/// The fresh token is refused; the connection lives on until the former one ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RenewalFailed {
    /// Why, in words.
    pub error: String,
    /// Why, as a word.
    pub code: ErrorCode,
}

/// Whether the tab is in front.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PageState {
    /// `document.visibilityState`.
    pub visibility: Visibility,
    /// `document.hasFocus()`.
    pub focused: bool,
    /// The browser suspends the page now (Page Lifecycle `freeze`): calls would wait in vain.
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
    /// At least partly on screen.
    Visible,
    /// In a background tab or a minimised window.
    Hidden,
}

/// The page is accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Authenticated {
    /// The session, as the page named it.
    pub session_id: SessionId,
    /// Always true (v1 pages look for it).
    pub success: bool,
    /// The dialect from here on.
    pub protocol: u32,
    /// This life of the bridge. Results of calls of another life are void.
    pub bridge_id: BridgeId,
    /// The name of the session, when it has one: a name that is taken may have been numbered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_name: Option<String>,
    /// Calls that the page has received on a former connection, and that somebody still waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub awaited: Vec<CallId>,
    /// The bridge's clock, milliseconds since the Unix epoch: that of each call's `sentMs`.
    pub now_ms: u64,
    /// When the token ends, in milliseconds from now; absent when it does not. The page may renew
    /// it before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_expires_in_ms: Option<u64>,
    /// What the page must keep to.
    pub limits: PageLimits,
}

/// The limits of this bridge that concern a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PageLimits {
    /// Largest tool result, in bytes of JSON.
    pub max_result_bytes: usize,
    /// Largest frame, in bytes.
    pub max_frame_bytes: usize,
    /// Largest message in [parts](crate::parts), in bytes; all that are under way together.
    pub max_message_bytes: usize,
    /// A page that heard nothing for twice this many seconds may take the connection for dead.
    pub heartbeat_seconds: u64,
}

/// The page is refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuthenticationFailed {
    /// What is wrong and what to do, in words.
    pub error: String,
    /// The same as a word.
    pub code: ErrorCode,
}

/// The session ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionClosed {
    /// Why, in words.
    pub reason: String,
    /// Why, as a word.
    pub code: ErrorCode,
}

/// The connected AI clients.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Clients {
    /// In order of connection.
    pub clients: Vec<ConnectedClient>,
}

/// One connected AI client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConnectedClient {
    /// Tells two clients of one name apart.
    pub id: u64,
    /// Who it is.
    #[serde(flatten)]
    pub info: ClientInfo,
    /// The MCP revision it speaks.
    pub protocol_version: String,
}

/// An AI client by its own words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientInfo {
    /// Its name.
    pub name: String,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Its name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}
