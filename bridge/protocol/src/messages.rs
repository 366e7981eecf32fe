//! The messages as serde types, one enum per direction.
//!
//! Tool definitions, arguments and results stay raw JSON ([`RawValue`]): what a page or a client
//! wrote goes on unchanged, key order and number spelling included. Internally tagged enums cannot
//! borrow raw JSON, so decoding reads the `type` first and the message of that type second.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Number;
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
    /// Registers tools, prompts, resources and templates, or replaces those of the same name in
    /// their place.
    Register(Register),
    /// Takes them back.
    Unregister(Unregister),
    /// A call has reached page code; its handler runs next.
    CallReceived(CallReceived),
    /// A call ended with a result.
    CallResponse(CallResponse),
    /// A call failed.
    CallError(CallError),
    /// How far a call is.
    CallProgress(CallProgress),
    /// A log message for the client behind a call.
    CallLog(CallLog),
    /// A handler asks the client behind its call.
    ClientRequests(ClientRequests),
    /// The content of a resource changed.
    ResourceUpdated(ResourceUpdated),
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
            kind::REGISTER => Self::Register(fields(kind::REGISTER, text)?),
            kind::UNREGISTER => Self::Unregister(fields(kind::UNREGISTER, text)?),
            kind::CALL_RECEIVED => Self::CallReceived(fields(kind::CALL_RECEIVED, text)?),
            kind::CALL_RESPONSE => Self::CallResponse(fields(kind::CALL_RESPONSE, text)?),
            kind::CALL_ERROR => Self::CallError(fields(kind::CALL_ERROR, text)?),
            kind::CALL_PROGRESS => Self::CallProgress(fields(kind::CALL_PROGRESS, text)?),
            kind::CALL_LOG => Self::CallLog(fields(kind::CALL_LOG, text)?),
            kind::CLIENT_REQUESTS => Self::ClientRequests(fields(kind::CLIENT_REQUESTS, text)?),
            kind::RESOURCE_UPDATED => Self::ResourceUpdated(fields(kind::RESOURCE_UPDATED, text)?),
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
    /// Answer to [`PageToBridge::Register`].
    Registered(Registered),
    /// Answer to [`PageToBridge::Unregister`].
    Unregistered(Unregistered),
    /// Run a tool.
    ToolCall(ToolCall),
    /// Fill in a prompt.
    PromptGet(PromptGet),
    /// Read a resource.
    ResourceRead(ResourceRead),
    /// Complete an argument of a prompt or a variable of a resource template.
    Completion(Completion),
    /// Stop a call; nobody waits for its result any more.
    CallCancel(CallCancel),
    /// What the client answered to [`PageToBridge::ClientRequests`].
    ClientResponses(ClientResponses),
    /// Which resources clients are subscribed to. Sent whenever that changes.
    Subscriptions(Subscriptions),
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
            kind::PROMPT_GET => Self::PromptGet(fields(kind::PROMPT_GET, text)?),
            kind::RESOURCE_READ => Self::ResourceRead(fields(kind::RESOURCE_READ, text)?),
            kind::COMPLETION => Self::Completion(fields(kind::COMPLETION, text)?),
            kind::CALL_CANCEL => Self::CallCancel(fields(kind::CALL_CANCEL, text)?),
            kind::CLIENT_RESPONSES => Self::ClientResponses(fields(kind::CLIENT_RESPONSES, text)?),
            kind::SUBSCRIPTIONS => Self::Subscriptions(fields(kind::SUBSCRIPTIONS, text)?),
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

/// What a page can register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// An MCP tool, known by its `name`.
    Tool,
    /// An MCP prompt, known by its `name`.
    Prompt,
    /// An MCP resource, known by its `uri`.
    Resource,
    /// An MCP resource template, known by its `uriTemplate`.
    ResourceTemplate,
}

/// Registers things. All good ones are registered; bad ones are named in the answer. The first
/// registration on a connection is the page's whole set.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Register {
    /// Echoed in the answer.
    pub registration_id: RegistrationId,
    /// What to register, in order.
    pub items: Vec<Definition>,
}

/// One thing to register.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Definition {
    /// What it is.
    pub kind: Kind,
    /// The whole MCP object, verbatim.
    pub definition: Box<RawValue>,
}

/// Takes things back. Those that are not registered are no error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Unregister {
    /// Echoed in the answer.
    pub registration_id: RegistrationId,
    /// What to take back.
    pub items: Vec<Item>,
}

/// Something that is registered, or was.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    /// What it is.
    pub kind: Kind,
    /// Its name, URI or URI template, as registered.
    pub name: String,
}

/// Receipt of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallReceived {
    /// The call.
    pub request_id: CallId,
}

/// The result of a call: of a tool either a value or content blocks, of the other kinds the MCP
/// result object.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallResponse {
    /// The call.
    pub request_id: CallId,
    /// Any JSON value, `null` included; absent when the handler returned nothing, or `content`.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub result: Option<Box<RawValue>>,
    /// A tool's content blocks: an array of MCP `ContentBlock`s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Box<RawValue>>,
    /// A tool's `structuredContent`, beside `content`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Box<RawValue>>,
    /// The `_meta` of a tool's result, beside `content`.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Box<RawValue>>,
}

/// The failure of a call.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallError {
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
    /// What a tool shows of its failure instead of the message: MCP `ContentBlock`s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Box<RawValue>>,
}

/// How far a call is (MCP `notifications/progress`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallProgress {
    /// The call.
    pub request_id: CallId,
    /// Grows with each message.
    pub progress: Number,
    /// What it will be at the end, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<Number>,
    /// In words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// A log message (MCP `notifications/message`).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallLog {
    /// The call.
    pub request_id: CallId,
    /// How grave it is.
    pub level: LogLevel,
    /// Which part of the app says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logger: Option<String>,
    /// Any JSON value.
    pub data: Box<RawValue>,
}

/// The levels of MCP's logging (those of RFC 5424), from the least grave to the gravest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// Details for whoever looks for a fault.
    Debug,
    /// What happens.
    Info,
    /// Usual, and worth notice.
    Notice,
    /// Not usual.
    Warning,
    /// Something failed.
    Error,
    /// A part of the app failed.
    Critical,
    /// Somebody must act at once.
    Alert,
    /// Nothing works.
    Emergency,
}

/// A handler asks the client behind its call. What is asked in one message is asked in one round.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientRequests {
    /// The call.
    pub request_id: CallId,
    /// The requests; each is answered under its key in [`ClientResponses`].
    pub requests: Vec<ClientRequest>,
}

/// One request to a client.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientRequest {
    /// Unique within the call. The same call made again asks the same thing under the same key.
    pub key: String,
    /// `elicitation/create`, `sampling/createMessage` or `roots/list`.
    pub method: String,
    /// As MCP has them.
    pub params: Box<RawValue>,
}

/// The content of a resource changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceUpdated {
    /// Which one.
    pub uri: String,
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
    /// What clients can use now.
    pub items: Vec<RegisteredItem>,
    /// What was refused, each with its reason.
    pub errors: Vec<RegistrationFailure>,
}

/// Something that clients can use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RegisteredItem {
    /// What it is.
    pub kind: Kind,
    /// Its name, URI or URI template, as registered.
    pub name: String,
    /// The name that clients see: the same, unless it had to be repaired.
    pub published_name: String,
}

/// Something that was refused.
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

/// They are gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Unregistered {
    /// The registration.
    pub registration_id: RegistrationId,
    /// What was registered and is gone now.
    pub items: Vec<Item>,
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
    /// What the handler may know of it.
    #[serde(default)]
    pub context: Box<CallContext>,
}

/// Fill in a prompt (MCP `prompts/get`).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PromptGet {
    /// The call.
    pub request_id: CallId,
    /// The name as registered.
    pub name: String,
    /// The arguments: always an object; MCP knows only strings as values.
    pub arguments: Box<RawValue>,
    /// What the handler may know of it.
    #[serde(default)]
    pub context: Box<CallContext>,
}

/// Read a resource (MCP `resources/read`).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceRead {
    /// The call.
    pub request_id: CallId,
    /// Which one.
    pub uri: String,
    /// The template that the URI fits, as registered; absent for a registered resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri_template: Option<String>,
    /// What the template's variables stand for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variables: Option<BTreeMap<String, String>>,
    /// What the handler may know of it.
    #[serde(default)]
    pub context: Box<CallContext>,
}

/// Complete an argument (MCP `completion/complete`).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Completion {
    /// The call.
    pub request_id: CallId,
    /// The prompt or the resource template.
    #[serde(rename = "ref")]
    pub reference: Item,
    /// The argument or variable, and what is written of it so far.
    pub argument: Argument,
    /// The arguments that have their values already.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub arguments: BTreeMap<String, String>,
    /// What the completer may know of it.
    #[serde(default)]
    pub context: Box<CallContext>,
}

/// An argument and its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Argument {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// What a handler may know of its call.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallContext {
    /// Who calls, as far as the client said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<CallingClient>,
    /// On whose behalf, as far as the bridge knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<Caller>,
    /// The least grave level that the client wants to hear; absent when it wants no logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_level: Option<LogLevel>,
    /// Whether the client wants to hear of progress.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub progress: bool,
    /// When the call ends without an answer, in milliseconds from now. Waiting for the client's
    /// own answers does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// The AI client behind a call.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallingClient {
    /// Who it is.
    pub info: ClientInfo,
    /// The MCP revision it speaks; absent for plain HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol_version: Option<String>,
    /// Its MCP `ClientCapabilities`, verbatim; absent for plain HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Box<RawValue>>,
}

/// On whose behalf a call is made, as the bridge has verified it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Caller {
    /// How the call came.
    pub via: Via,
    /// The subject of the credential; absent with an opaque token, which names nobody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sub: Option<String>,
    /// The roles that the credential grants.
    #[serde(default)]
    pub roles: Vec<String>,
}

/// How a call came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Via {
    /// Over MCP.
    #[default]
    Mcp,
    /// Over plain HTTP.
    Http,
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

/// What the client answered.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientResponses {
    /// The call.
    pub request_id: CallId,
    /// One or more of the answers that are due.
    pub responses: Vec<ClientResponse>,
}

/// One answer: a result or an error.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientResponse {
    /// The key of the request.
    pub key: String,
    /// The MCP result object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Box<RawValue>>,
    /// Why there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ClientError>,
}

/// Why a client did not answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientError {
    /// What kind of failure.
    pub code: ErrorCode,
    /// In words.
    pub message: String,
    /// More, for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Box<RawValue>>,
}

/// Which resources clients are subscribed to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Subscriptions {
    /// Their URIs, in the order of the alphabet; those that this page serves.
    pub uris: Vec<String>,
}

/// Stop a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallCancel {
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
