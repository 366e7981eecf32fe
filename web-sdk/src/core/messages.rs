//! The messages of the page socket, as far as a page speaks and understands them.
//!
//! JSON inside a message (definitions, arguments, results) is a `V`: the browser's own value in
//! the wasm build, plain text in native tests. This module never looks into one.

use bridge_protocol::{BridgeId, CallId, RegistrationId, SessionId};

/// JSON text that was measured when it was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizedJson<V> {
    /// The text.
    pub json: V,
    /// Its length in UTF-8 bytes.
    pub bytes: usize,
}

/// What a page can register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

impl Kind {
    /// The kind as it stands on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Kind::Tool => "tool",
            Kind::Prompt => "prompt",
            Kind::Resource => "resource",
            Kind::ResourceTemplate => "resource-template",
        }
    }

    /// The kind with this word, if there is one.
    pub fn parse(word: &str) -> Option<Self> {
        [
            Kind::Tool,
            Kind::Prompt,
            Kind::Resource,
            Kind::ResourceTemplate,
        ]
        .into_iter()
        .find(|kind| kind.as_str() == word)
    }
}

/// Something that is registered, or was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// What it is.
    pub kind: Kind,
    /// Its name, URI or URI template, as registered.
    pub name: String,
}

/// Something to register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition<V> {
    /// What it is.
    pub kind: Kind,
    /// The whole MCP object as JSON text.
    pub json: V,
}

/// What a handler returned, as JSON texts: of a tool either a value or content blocks, of the other
/// kinds the MCP result object as `result`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer<V> {
    /// Any value; nothing when the handler returned nothing, or content.
    pub result: Option<V>,
    /// An array of MCP content blocks.
    pub content: Option<V>,
    /// The object beside the content.
    pub structured_content: Option<V>,
    /// What client and app agree on, beside the content.
    pub meta: Option<V>,
}

/// Something that a handler asks the client behind its call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientRequest<V> {
    /// Its name within the call.
    pub key: String,
    /// The MCP method, such as `elicitation/create`.
    pub method: String,
    /// The parameters as JSON text.
    pub params: V,
}

/// The opaque token that names the realm. It never appears in logs.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Token(pub String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

/// What a page says.
#[derive(Clone, Debug, PartialEq)]
pub enum PageToBridge<V> {
    /// First frame.
    Authenticate(Authenticate<V>),
    /// Registers or replaces definitions.
    Register {
        /// Echoed in the answer.
        registration_id: RegistrationId,
        /// What to register, in order.
        items: Vec<Definition<V>>,
    },
    /// Takes definitions back.
    Unregister {
        /// Echoed in the answer.
        registration_id: RegistrationId,
        /// Which ones.
        items: Vec<Item>,
    },
    /// Receipt of a call, before its handler runs.
    CallReceived(CallId),
    /// A call ended with a result.
    CallResponse {
        /// The call.
        call: CallId,
        /// What the handler returned.
        answer: Answer<V>,
    },
    /// A call failed.
    CallError {
        /// The call.
        call: CallId,
        /// What kind of failure: the word of an `ErrorCode`, taken in a `const` block, so that only those
        /// in use are part of the download.
        code: &'static str,
        /// In words.
        message: String,
        /// JSON text, for programs.
        data: Option<V>,
        /// JSON text of the content blocks that a tool shows instead of the message.
        content: Option<V>,
    },
    /// How far a call is.
    CallProgress {
        /// The call.
        call: CallId,
        /// How far, as JSON text.
        progress: V,
        /// What that will be at the end, as JSON text.
        total: Option<V>,
        /// In words.
        message: Option<String>,
    },
    /// A log message for the client behind a call.
    CallLog {
        /// The call.
        call: CallId,
        /// One of MCP's levels.
        level: String,
        /// Which part of the app says it.
        logger: Option<String>,
        /// Any JSON text.
        data: V,
    },
    /// A handler asks the client behind its call.
    ClientRequests {
        /// The call.
        call: CallId,
        /// What was asked in one task.
        requests: Vec<ClientRequest<V>>,
    },
    /// The content of a resource changed.
    ResourceUpdated {
        /// Which one.
        uri: String,
    },
    /// Page code is alive.
    HeartbeatAck {
        /// The number of the heartbeat.
        sequence: u64,
    },
    /// A message about a query (`query`, `query_attach`, `query_cancel`) as JSON text: the module has
    /// written it.
    Query(V),
    /// Visibility, focus or title changed.
    PageState {
        /// `document.visibilityState` is `visible`.
        visible: bool,
        /// `document.hasFocus()`.
        focused: bool,
        /// The browser suspends the page now: calls would wait in vain.
        frozen: bool,
        /// `document.title`, when it changed.
        page_title: Option<String>,
    },
    /// The user did something.
    Activity,
    /// Which of these calls does somebody still wait for?
    CallsCheck(Vec<CallId>),
    /// A fresh token on the open socket.
    Renew(Token),
    /// The document is going away.
    Leaving,
}

/// Who the page is. Everything but the first two facts is optional on the wire.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Authenticate<V> {
    /// The token that names the realm.
    pub auth_token: Token,
    /// The session: chosen once per document, the same on every connection.
    pub session_id: Option<SessionId>,
    /// A name that a person gave the tab.
    pub session_name: Option<String>,
    /// `location.origin`.
    pub origin: Option<String>,
    /// `document.title`.
    pub page_title: Option<String>,
    /// Chosen once per document.
    pub document_id: Option<String>,
    /// `navigator.userAgent`.
    pub user_agent: Option<String>,
    /// The app as JSON text: `{name, description?, version?, icon?}`.
    pub app: Option<V>,
    /// The page's clock, milliseconds since the Unix epoch.
    pub timestamp: Option<u64>,
}

/// What the bridge says.
#[derive(Clone, Debug, PartialEq)]
pub enum BridgeToPage<V> {
    /// The page is accepted.
    Authenticated {
        /// The dialect from here on; 1 when a bridge does not say.
        protocol: u32,
        /// This life of the bridge.
        bridge_id: BridgeId,
        /// The name of the session, perhaps numbered.
        session_name: Option<String>,
        /// Calls that this session received on a former connection, and that somebody waits for.
        awaited: Vec<CallId>,
        /// The bridge's clock, milliseconds since the Unix epoch.
        now_ms: u64,
        /// When the token ends, in milliseconds from now.
        token_expires_in_ms: Option<u64>,
        /// What the page must keep to.
        limits: Limits,
    },
    /// The page is refused.
    AuthenticationFailed {
        /// Why, as a word.
        code: String,
        /// Why, and what to do.
        error: String,
    },
    /// What became of a registration or, without errors, an unregistration.
    Registered {
        /// The registration.
        registration_id: RegistrationId,
        /// What clients can use now.
        items: Vec<RegisteredItem>,
        /// What was refused.
        errors: Vec<RegistrationFailure>,
    },
    /// Run a handler.
    CallRequested(CallRequest<V>),
    /// Stop a call.
    CallCancel {
        /// The call.
        call: CallId,
        /// Why, as a word.
        code: String,
        /// Why, in words.
        reason: String,
    },
    /// What the client behind a call answered.
    ClientResponses {
        /// The call.
        call: CallId,
        /// Some of the answers that are due.
        responses: Vec<ClientResponse<V>>,
    },
    /// The URIs of this page that clients are subscribed to, as a list of the browser's.
    Subscriptions(V),
    /// Page code must answer.
    Heartbeat {
        /// Its number.
        sequence: u64,
        /// How many answers to calls the bridge has taken on this connection.
        answers: u64,
    },
    /// The answer to `CallsCheck`.
    CallsAlive {
        /// Somebody waits for these.
        alive: Vec<CallId>,
        /// Nobody waits for these any more.
        ended: Vec<CallId>,
    },
    /// The fresh token counts from now on.
    Renewed {
        /// When it ends, in milliseconds from now.
        token_expires_in_ms: Option<u64>,
    },
    /// The fresh token is refused; the connection lives on until the former one ends.
    RenewalFailed {
        /// Why, as a word.
        code: String,
        /// Why, and what to do.
        error: String,
    },
    /// The connected AI clients, as the bridge lists them.
    Clients(V),
    /// A message about a query (`query_accepted` and what follows it), for the module.
    Query(V),
    /// The session ends.
    SessionClosed {
        /// Why, as a word.
        code: String,
        /// Why, in words.
        reason: String,
    },
}

/// The limits of a bridge that concern a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Largest tool result, in bytes of JSON.
    pub max_result_bytes: usize,
    /// Largest frame, in bytes.
    pub max_frame_bytes: usize,
    /// Largest message in parts, in bytes; all that are under way together.
    pub max_message_bytes: usize,
    /// How often the bridge sends a heartbeat, in seconds.
    pub heartbeat_seconds: u32,
}

/// A definition that clients can use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisteredItem {
    /// As registered.
    pub item: Item,
    /// The name that clients see.
    pub published_name: String,
}

/// A definition that the bridge refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistrationFailure {
    /// Its place in the registration, from 0.
    pub index: usize,
    /// Why, as a word.
    pub code: String,
    /// Why, and what to do.
    pub message: String,
}

/// A call of any kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallRequest<V> {
    /// The call.
    pub call: CallId,
    /// Whose handler it is for.
    pub item: Item,
    /// When the bridge sent it, on the bridge's clock.
    pub sent_ms: Option<u64>,
    /// The whole message, for the handler.
    pub message: V,
}

/// One answer of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientResponse<V> {
    /// The key of the request.
    pub key: String,
    /// The whole answer, with `result` or `error`.
    pub response: V,
}
