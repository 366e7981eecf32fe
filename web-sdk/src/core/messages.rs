//! The messages of the page socket, as far as a page speaks and understands them.
//!
//! JSON inside a message (definitions, arguments, results) is a `V`: the browser's own value in
//! the wasm build, plain text in native tests. This module never looks into one.

use bridge_protocol::{BridgeId, CallId, ErrorCode, RegistrationId, SessionId};

/// JSON text that was measured when it was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded<V> {
    /// The text.
    pub json: V,
    /// Its length in UTF-8 bytes.
    pub bytes: usize,
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
    /// Registers or replaces tools, each one a whole MCP tool object as JSON text.
    RegisterTools {
        /// Echoed in the answer.
        registration_id: RegistrationId,
        /// The tool objects.
        tools: Vec<V>,
    },
    /// Removes tools.
    UnregisterTools {
        /// Echoed in the answer.
        registration_id: RegistrationId,
        /// Their names.
        names: Vec<String>,
    },
    /// Receipt of a call, before its handler runs.
    ToolReceived(CallId),
    /// A call ended with a result.
    ToolResponse {
        /// The call.
        call: CallId,
        /// JSON text; nothing when the handler returned nothing.
        result: Option<V>,
    },
    /// A call failed.
    ToolError {
        /// The call.
        call: CallId,
        /// What kind of failure.
        code: ErrorCode,
        /// In words.
        message: String,
        /// JSON text, for programs.
        data: Option<V>,
    },
    /// Page code is alive.
    HeartbeatAck {
        /// The number of the heartbeat.
        sequence: u64,
    },
    /// Visibility, focus or title changed.
    PageState {
        /// `document.visibilityState` is `visible`.
        visible: bool,
        /// `document.hasFocus()`.
        focused: bool,
        /// `document.title`, when it changed.
        page_title: Option<String>,
    },
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
    /// What became of a registration or, with neither tools nor errors, an unregistration.
    Registered {
        /// The registration.
        registration_id: RegistrationId,
        /// The tools that clients can call now.
        tools: Vec<RegisteredTool>,
        /// The tools that were refused.
        errors: Vec<RefusedTool>,
    },
    /// Run a tool.
    ToolCall(ToolCall<V>),
    /// Stop a call.
    ToolCancel {
        /// The call.
        call: CallId,
        /// Why, as a word.
        code: String,
        /// Why, in words.
        reason: String,
    },
    /// Page code must answer.
    Heartbeat {
        /// Its number.
        sequence: u64,
    },
    /// The connected AI clients, as the bridge lists them.
    Clients(V),
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
    /// How often the bridge sends a heartbeat, in seconds.
    pub heartbeat_seconds: u32,
}

/// A tool that clients can call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisteredTool {
    /// The name as registered.
    pub name: String,
    /// The name that clients see.
    pub published_name: String,
}

/// A tool that the bridge refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedTool {
    /// Its place in the registration, from 0.
    pub index: usize,
    /// Why, as a word.
    pub code: String,
    /// Why, and what to do.
    pub message: String,
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall<V> {
    /// The call.
    pub call: CallId,
    /// The name as registered.
    pub tool_name: String,
    /// The arguments: always an object.
    pub tool_input: V,
    /// Who calls, as far as the client said.
    pub client: Option<V>,
}
