//! The messages as serde types, one enum per direction.
//!
//! Tool definitions, arguments and results stay raw JSON ([`RawValue`]): what a page or a client
//! wrote goes on unchanged, key order and number spelling included. Internally tagged enums cannot
//! borrow raw JSON, so decoding reads the `type` first and the message of that type second.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::names::{bridge_to_page, page_to_bridge};
use crate::well_formed::well_formed;
use crate::{BridgeId, CallId, ErrorCode, RegistrationId, SessionId};

/// Why a frame is not a message.
#[derive(Debug)]
pub enum DecodeError {
    /// Not JSON, or not an object with a string `type`.
    NotAMessage(serde_json::Error),
    /// A `type` that this version does not know. Logged once per connection and ignored.
    UnknownType(String),
    /// A known `type` whose fields are wrong.
    BadFields {
        /// The message's `type`.
        kind: &'static str,
        /// What is wrong, with the position.
        error: serde_json::Error,
    },
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DecodeError::NotAMessage(error) => {
                write!(f, "not a JSON object with a string `type`: {error}")
            }
            DecodeError::UnknownType(kind) => write!(f, "unknown message type {kind:?}"),
            DecodeError::BadFields { kind, error } => write!(f, "bad `{kind}` message: {error}"),
        }
    }
}

impl std::error::Error for DecodeError {}

/// What a page says.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum PageToBridge {
    /// First frame: who the page is.
    Authenticate(Authenticate),
    /// Registers tools, or replaces those of the same name in their place.
    RegisterTools(RegisterTools),
    /// Removes tools.
    UnregisterTools(UnregisterTools),
    /// A call has reached page code; its handler runs next.
    ToolReceived(ToolReceived),
    /// A call ended with a result.
    ToolResponse(ToolResponse),
    /// A call failed.
    ToolError(ToolError),
    /// Page code is alive.
    HeartbeatAck(Heartbeat),
    /// Visibility, focus or title changed.
    PageState(PageState),
    /// The user did something. Cheap, and no reason to throttle.
    Activity {},
    /// The document is going away: its calls end now.
    Leaving {},
}

impl PageToBridge {
    /// Reads one text frame. Halves of characters in its strings become U+FFFD.
    pub fn decode(text: &str) -> Result<Self, DecodeError> {
        use page_to_bridge as kind;
        let text = &well_formed(text);
        Ok(match kind_of(text)?.as_ref() {
            kind::AUTHENTICATE => Self::Authenticate(fields(kind::AUTHENTICATE, text)?),
            kind::REGISTER_TOOLS => Self::RegisterTools(fields(kind::REGISTER_TOOLS, text)?),
            kind::UNREGISTER_TOOLS => Self::UnregisterTools(fields(kind::UNREGISTER_TOOLS, text)?),
            kind::TOOL_RECEIVED => Self::ToolReceived(fields(kind::TOOL_RECEIVED, text)?),
            kind::TOOL_RESPONSE => Self::ToolResponse(fields(kind::TOOL_RESPONSE, text)?),
            kind::TOOL_ERROR => Self::ToolError(fields(kind::TOOL_ERROR, text)?),
            kind::HEARTBEAT_ACK => Self::HeartbeatAck(fields(kind::HEARTBEAT_ACK, text)?),
            kind::PAGE_STATE => Self::PageState(fields(kind::PAGE_STATE, text)?),
            kind::ACTIVITY => Self::Activity {},
            kind::LEAVING => Self::Leaving {},
            unknown => return Err(DecodeError::UnknownType(unknown.to_owned())),
        })
    }

    /// Writes one text frame.
    pub fn encode(&self) -> String {
        encode(self)
    }
}

/// What the bridge says to a page.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum BridgeToPage {
    /// The page is accepted; it registers its tools now.
    Authenticated(Authenticated),
    /// The page is refused. A close follows.
    AuthenticationFailed(AuthenticationFailed),
    /// Answer to [`PageToBridge::RegisterTools`].
    Registered(Registered),
    /// Answer to [`PageToBridge::UnregisterTools`].
    Unregistered(Unregistered),
    /// Run a tool.
    ToolCall(ToolCall),
    /// Stop a call; nobody waits for its result any more.
    ToolCancel(ToolCancel),
    /// Page code must answer [`PageToBridge::HeartbeatAck`] with the same number.
    Heartbeat(Heartbeat),
    /// Which AI clients are connected for this token. Sent whenever it changes.
    Clients(Clients),
    /// The session ends. A close follows.
    SessionClosed(SessionClosed),
}

impl BridgeToPage {
    /// Reads one text frame.
    pub fn decode(text: &str) -> Result<Self, DecodeError> {
        use bridge_to_page as kind;
        Ok(match kind_of(text)?.as_ref() {
            kind::AUTHENTICATED => Self::Authenticated(fields(kind::AUTHENTICATED, text)?),
            kind::AUTHENTICATION_FAILED => {
                Self::AuthenticationFailed(fields(kind::AUTHENTICATION_FAILED, text)?)
            }
            kind::REGISTERED => Self::Registered(fields(kind::REGISTERED, text)?),
            kind::UNREGISTERED => Self::Unregistered(fields(kind::UNREGISTERED, text)?),
            kind::TOOL_CALL => Self::ToolCall(fields(kind::TOOL_CALL, text)?),
            kind::TOOL_CANCEL => Self::ToolCancel(fields(kind::TOOL_CANCEL, text)?),
            kind::HEARTBEAT => Self::Heartbeat(fields(kind::HEARTBEAT, text)?),
            kind::CLIENTS => Self::Clients(fields(kind::CLIENTS, text)?),
            kind::SESSION_CLOSED => Self::SessionClosed(fields(kind::SESSION_CLOSED, text)?),
            unknown => return Err(DecodeError::UnknownType(unknown.to_owned())),
        })
    }

    /// Writes one text frame.
    pub fn encode(&self) -> String {
        encode(self)
    }
}

fn kind_of(text: &str) -> Result<Cow<'_, str>, DecodeError> {
    #[derive(Deserialize)]
    struct Kind<'a> {
        #[serde(borrow, rename = "type")]
        kind: Cow<'a, str>,
    }
    serde_json::from_str::<Kind<'_>>(text)
        .map(|message| message.kind)
        .map_err(DecodeError::NotAMessage)
}

fn fields<'a, T: Deserialize<'a>>(kind: &'static str, text: &'a str) -> Result<T, DecodeError> {
    serde_json::from_str(text).map_err(|error| DecodeError::BadFields { kind, error })
}

fn encode(message: &impl Serialize) -> String {
    // Strings, numbers and raw JSON only: there is nothing in a message that can fail to encode.
    serde_json::to_string(message).unwrap_or_default()
}

/// A field that is there is `Some`, even when it is `null`.
fn present<'de, D: serde::Deserializer<'de>>(value: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::<RawValue>::deserialize(value).map(Some)
}

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

/// Registers tools. All good ones are registered; bad ones are named in the answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RegisterTools {
    /// Echoed in the answer.
    pub registration_id: RegistrationId,
    /// Whole MCP tool objects, verbatim.
    pub tools: Vec<Box<RawValue>>,
}

/// Removes tools. Names that are not registered are no error.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UnregisterTools {
    /// Echoed in the answer.
    pub registration_id: RegistrationId,
    /// The names as registered.
    pub names: Vec<String>,
}

/// Receipt of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolReceived {
    /// The call.
    pub request_id: CallId,
}

/// The result of a call.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResponse {
    /// The call.
    pub request_id: CallId,
    /// Any JSON value, `null` included; absent when the handler returned nothing.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub result: Option<Box<RawValue>>,
}

/// The failure of a call.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolError {
    /// The call.
    pub request_id: CallId,
    /// What kind of failure.
    pub code: ErrorCode,
    /// In words, for the model and the person.
    pub message: String,
    /// More, for programs.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub data: Option<Box<RawValue>>,
}

/// `heartbeat` and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Heartbeat {
    /// Counts up per connection.
    pub sequence: u64,
}

/// Whether the tab is in front.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PageState {
    /// `document.visibilityState`.
    pub visibility: Visibility,
    /// `document.hasFocus()`.
    pub focused: bool,
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

/// What became of a registration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Registered {
    /// The registration.
    pub registration_id: RegistrationId,
    /// The tools that clients can call now.
    pub tools: Vec<RegisteredTool>,
    /// The tools that were refused, each with its reason.
    pub errors: Vec<RegistrationFailure>,
}

/// A tool that clients can call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RegisteredTool {
    /// The name as registered.
    pub name: String,
    /// The name that clients see: the same, unless it had to be repaired.
    pub published_name: String,
}

/// A tool that was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RegistrationFailure {
    /// Its place in the registration, from 0.
    pub index: usize,
    /// Its name, if it has a readable one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The reason as a word.
    pub code: ErrorCode,
    /// The reason in words, with what to do.
    pub message: String,
}

/// The tools are gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Unregistered {
    /// The registration.
    pub registration_id: RegistrationId,
    /// The names that were registered and are gone now.
    pub names: Vec<String>,
}

/// Run a tool.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// The call.
    pub request_id: CallId,
    /// The name as registered.
    pub tool_name: String,
    /// The arguments: always an object.
    pub tool_input: Box<RawValue>,
    /// Who calls, as far as the client said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientInfo>,
    /// When the call ends without an answer, in milliseconds from now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// The AI client behind a call, by its own words.
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

/// Stop a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCancel {
    /// The call.
    pub request_id: CallId,
    /// Why, as a word.
    pub code: ErrorCode,
    /// Why, in words.
    pub reason: String,
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

/// The session ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionClosed {
    /// Why, in words.
    pub reason: String,
    /// Why, as a word.
    pub code: ErrorCode,
}
