//! The messages of the page socket, with the fields that a page uses.
//!
//! JSON inside a message (definitions, arguments, results) is a [`J: Json`](Json).

use bridge_protocol::{BridgeId, CallId, RegistrationId, SessionId};

/// JSON in the representation of the platform: the browser's own value or string in the wasm build,
/// a `String` in native code.
///
/// The core forwards it and never parses it. The trait has no methods and adds no code.
pub trait Json: Clone + Default {}

impl<T: Clone + Default> Json for T {}

/// JSON text with its size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizedJson<J> {
    /// The JSON text.
    pub json: J,
    /// The length of the text in UTF-8 bytes.
    pub bytes: usize,
}

/// The kinds of items that a page can register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An MCP tool, identified by its `name`.
    Tool,
    /// An MCP prompt, identified by its `name`.
    Prompt,
    /// An MCP resource, identified by its `uri`.
    Resource,
    /// An MCP resource template, identified by its `uriTemplate`.
    ResourceTemplate,
}

impl Kind {
    /// Returns the name of the kind on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Kind::Tool => "tool",
            Kind::Prompt => "prompt",
            Kind::Resource => "resource",
            Kind::ResourceTemplate => "resource-template",
        }
    }

    /// Parses the name of a kind on the wire.
    pub fn parse(text: &str) -> Option<Self> {
        [
            Kind::Tool,
            Kind::Prompt,
            Kind::Resource,
            Kind::ResourceTemplate,
        ]
        .into_iter()
        .find(|kind| kind.as_str() == text)
    }
}

/// An item that is or was registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The kind of the item.
    pub kind: Kind,
    /// The name, URI or URI template, as registered.
    pub name: String,
}

/// An item to register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition<J> {
    /// The kind of the item.
    pub kind: Kind,
    /// The complete MCP object as JSON text.
    pub json: J,
}

/// The result of a handler as JSON texts. A tool returns either a value or content blocks; every
/// other kind returns the MCP result object as `result`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer<J> {
    /// Any JSON value; absent when the handler returned nothing, or `content`.
    pub result: Option<J>,
    /// A tool's content blocks: an array of MCP `ContentBlock`s.
    pub content: Option<J>,
    /// A tool's `structuredContent`, which accompanies `content`.
    pub structured_content: Option<J>,
    /// The `_meta` of a tool's result, which accompanies `content`.
    pub meta: Option<J>,
}

/// A request of a handler to the client that made the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientRequest<J> {
    /// Identifies the request within the call.
    pub key: String,
    /// The MCP method, such as `elicitation/create`.
    pub method: String,
    /// The MCP parameters as JSON text.
    pub params: J,
}

/// The opaque token that names the realm. Its `Debug` output is redacted.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Token(pub String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

/// A message from a page to the bridge.
#[derive(Clone, Debug, PartialEq)]
pub enum PageToBridge<J> {
    /// The first frame: identifies the page.
    Authenticate(Authenticate<J>),
    /// Registers items, or replaces those of the same kind and name.
    Register {
        /// The id of the request, repeated in the answer.
        registration_id: RegistrationId,
        /// The items to register, in order.
        items: Vec<Definition<J>>,
    },
    /// Unregisters items.
    Unregister {
        /// The id of the request, repeated in the answer.
        registration_id: RegistrationId,
        /// The items to unregister.
        items: Vec<Item>,
    },
    /// Acknowledges a call, before its handler runs.
    CallReceived(CallId),
    /// A call ended with a result.
    CallResponse {
        /// The id of the call.
        call: CallId,
        /// The result of the handler.
        answer: Answer<J>,
    },
    /// A call failed.
    CallError {
        /// The id of the call.
        call: CallId,
        /// The text of an `ErrorCode`. It is taken in a `const` block, so that the download
        /// contains only the codes that are used.
        code: &'static str,
        /// The reason in words.
        message: String,
        /// Additional data for programs as its `result`, and the `content` and `meta` that a tool
        /// returns instead of the message.
        details: Answer<J>,
    },
    /// Reports the progress of a call.
    CallProgress {
        /// The id of the call.
        call: CallId,
        /// The progress so far, as JSON text.
        progress: J,
        /// The progress at the end, as JSON text.
        total: Option<J>,
        /// The progress in words.
        message: Option<String>,
    },
    /// Sends a log message to the client that made a call.
    CallLog {
        /// The id of the call.
        call: CallId,
        /// An MCP log level.
        level: String,
        /// The part of the app that logs.
        logger: Option<String>,
        /// The content, as JSON text.
        data: J,
    },
    /// Sends requests of a handler to the client that made the call.
    ClientRequests {
        /// The id of the call.
        call: CallId,
        /// The requests that the handler made in one task.
        requests: Vec<ClientRequest<J>>,
    },
    /// Arms the hand-over of a call to the next document of the session, or disarms it.
    CallHandOver {
        /// The id of the call.
        call: CallId,
        /// The state for the next document, as JSON text; `null` disarms.
        state: J,
    },
    /// The content of a resource changed.
    ResourceUpdated {
        /// The URI of the resource.
        uri: String,
    },
    /// Answers a heartbeat, which shows that page code runs.
    HeartbeatAck {
        /// The number of the heartbeat.
        sequence: u64,
    },
    /// A message about a query (`query`, `query_attach`, `query_cancel`) as JSON text. The
    /// JavaScript module has written it.
    Query(J),
    /// The page's visibility, focus or title changed.
    PageState {
        /// `document.visibilityState` is `visible`.
        visible: bool,
        /// `document.hasFocus()`.
        focused: bool,
        /// The browser is about to suspend the page, so that it cannot answer calls.
        frozen: bool,
        /// `document.title`, when it changed.
        page_title: Option<String>,
    },
    /// The user interacted with the page.
    Activity,
    /// Asks which of the given calls are still awaited.
    CallsCheck {
        /// The number of the check, which the answer repeats.
        check: u64,
        /// The calls.
        calls: Vec<CallId>,
    },
    /// Sends a fresh token on the open socket.
    Renew(Token),
    /// The document is being unloaded, or put into the back/forward cache.
    Leaving {
        /// The calls that the next document continues.
        hands_over: Vec<CallId>,
    },
}

/// The first frame of a page. All fields but the token are optional on the wire.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Authenticate<J> {
    /// The token that names the realm.
    pub auth_token: Token,
    /// The session. Its id is chosen once per document and is the same on every connection.
    pub session_id: Option<SessionId>,
    /// The name that the user gave the tab.
    pub session_name: Option<String>,
    /// `location.origin`.
    pub origin: Option<String>,
    /// `document.title`.
    pub page_title: Option<String>,
    /// A random text, chosen once per document.
    pub document_id: Option<String>,
    /// `navigator.userAgent`.
    pub user_agent: Option<String>,
    /// The app as JSON text: `{name, description?, version?, icon?}`.
    pub app: Option<J>,
    /// The page's clock, in milliseconds since the Unix epoch.
    pub timestamp: Option<u64>,
    /// Whether the page checks late calls before it starts them, as this core does.
    pub checks_late_calls: bool,
    /// The version of the SDK.
    pub sdk_version: Option<&'static str>,
}

/// A message from the bridge to a page.
#[derive(Clone, Debug, PartialEq)]
pub enum BridgeToPage<J> {
    /// Accepts the page.
    Authenticated {
        /// The protocol version from here on; 1 if the message has none.
        protocol: u32,
        /// This run of the bridge.
        bridge_id: BridgeId,
        /// The name of the session. The bridge may append a number to a name that is in use.
        session_name: Option<String>,
        /// Calls that the session acknowledged on a former connection and that are still awaited.
        awaited: Vec<CallId>,
        /// The bridge's clock, in milliseconds since the Unix epoch.
        now_ms: u64,
        /// The time until the token expires, in milliseconds from now.
        token_expires_in_ms: Option<u64>,
        /// The limits that the page must keep to.
        limits: Limits,
    },
    /// Rejects the page.
    AuthenticationFailed {
        /// The machine-readable reason.
        code: String,
        /// The reason in words, with what to do.
        error: String,
    },
    /// Answers a registration or, without errors, an unregistration.
    Registered {
        /// The id of the request.
        registration_id: RegistrationId,
        /// The items that clients can use now, or that were unregistered.
        items: Vec<RegisteredItem>,
        /// The items that were rejected.
        errors: Vec<RegistrationFailure>,
    },
    /// Requests a call of a handler.
    CallRequested(HandlerRequest<J>),
    /// Cancels a call.
    CallCancel {
        /// The id of the call.
        call: CallId,
        /// The machine-readable reason.
        code: String,
        /// The reason in words.
        reason: String,
    },
    /// Delivers responses of the client that made a call.
    ClientResponses {
        /// The id of the call.
        call: CallId,
        /// One or more responses.
        responses: Vec<ClientResponse<J>>,
    },
    /// Lists the URIs of this page that clients are subscribed to, as a JSON array.
    Subscriptions(J),
    /// Checks that page code runs.
    Heartbeat {
        /// The number of the heartbeat on this connection.
        sequence: u64,
        /// The number of answers to calls that the bridge has received on this connection.
        answers: u64,
    },
    /// Answers [`PageToBridge::CallsCheck`].
    CallsAlive {
        /// The number of the check.
        check: u64,
        /// The calls that are still awaited.
        alive: Vec<CallId>,
        /// The calls that are not awaited any more.
        ended: Vec<CallId>,
    },
    /// Accepts a fresh token, which is valid from now on.
    Renewed {
        /// The time until the token expires, in milliseconds from now.
        token_expires_in_ms: Option<u64>,
    },
    /// Rejects a fresh token. The connection stays open until the former token expires.
    RenewalFailed {
        /// The machine-readable reason.
        code: String,
        /// The reason in words, with what to do.
        error: String,
    },
    /// Lists the connected AI clients, as a JSON array.
    Clients(J),
    /// A message about a query (`query_accepted` and the messages after it) for the JavaScript
    /// module.
    Query(J),
    /// Ends the session.
    SessionClosed {
        /// The machine-readable reason.
        code: String,
        /// The reason in words.
        reason: String,
    },
}

/// The limits of a bridge that concern a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest tool result, in bytes of JSON.
    pub max_result_bytes: usize,
    /// The largest frame, in bytes.
    pub max_frame_bytes: usize,
    /// The largest message in parts, in bytes. It also limits the sum of all unfinished messages.
    pub max_message_bytes: usize,
    /// The interval of heartbeats, in seconds.
    pub heartbeat_seconds: u32,
}

impl Limits {
    /// The size of a frame without its payload is below this, in bytes.
    const MAX_ENVELOPE_BYTES: usize = 1024;

    /// Returns the largest payload of a frame, such as definitions or requests, in bytes.
    pub(super) fn max_payload_bytes(&self) -> usize {
        self.max_frame_bytes
            .saturating_sub(Self::MAX_ENVELOPE_BYTES)
    }
}

/// A registered item that clients can use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisteredItem {
    /// The item, as registered.
    pub item: Item,
    /// The name that clients see.
    pub published_name: String,
}

/// An item that the bridge rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistrationFailure {
    /// The index of the item in the request, from 0.
    pub index: usize,
    /// The machine-readable reason.
    pub code: String,
    /// The reason in words, with what to do.
    pub message: String,
}

/// A request to call the handler of a tool, prompt or resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandlerRequest<J> {
    /// The id of the call.
    pub call: CallId,
    /// The item whose handler is called.
    pub item: Item,
    /// When the bridge sent the message, on the bridge's clock.
    pub sent_ms: Option<u64>,
    /// How often the call was handed over. The page runs it once for each number.
    pub hand_overs: u64,
    /// The complete message, for the handler.
    pub message: J,
}

/// A response of a client to a request of a handler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientResponse<J> {
    /// The key of the request.
    pub key: String,
    /// The complete response, with `result` or `error`.
    pub response: J,
}
