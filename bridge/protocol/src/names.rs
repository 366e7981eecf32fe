//! The `type` of every message, for code that writes JSON by hand.

/// Messages that a page sends.
pub mod page_to_bridge {
    /// First frame: who the page is.
    pub const AUTHENTICATE: &str = "authenticate";
    /// Registers or replaces tools; answered by `registered`.
    pub const REGISTER_TOOLS: &str = "register-tools";
    /// Removes tools; answered by `unregistered`.
    pub const UNREGISTER_TOOLS: &str = "unregister-tools";
    /// A call has reached page code, before its handler runs.
    pub const TOOL_RECEIVED: &str = "tool-received";
    /// A call ended with a result.
    pub const TOOL_RESPONSE: &str = "tool-response";
    /// A call failed.
    pub const TOOL_ERROR: &str = "tool-error";
    /// Page code answers `heartbeat`.
    pub const HEARTBEAT_ACK: &str = "heartbeat-ack";
    /// Visibility, focus or title changed.
    pub const PAGE_STATE: &str = "page-state";
    /// The user did something (sent by v1 pages, accepted from all).
    pub const ACTIVITY: &str = "activity";
    /// The document is going away.
    pub const LEAVING: &str = "leaving";

    /// All of them.
    pub const ALL: &[&str] = &[
        AUTHENTICATE,
        REGISTER_TOOLS,
        UNREGISTER_TOOLS,
        TOOL_RECEIVED,
        TOOL_RESPONSE,
        TOOL_ERROR,
        HEARTBEAT_ACK,
        PAGE_STATE,
        ACTIVITY,
        LEAVING,
    ];
}

/// Messages that the bridge sends.
pub mod bridge_to_page {
    /// The page is accepted.
    pub const AUTHENTICATED: &str = "authenticated";
    /// The page is refused; a close follows.
    pub const AUTHENTICATION_FAILED: &str = "authentication-failed";
    /// Answer to `register-tools`.
    pub const REGISTERED: &str = "registered";
    /// Answer to `unregister-tools`.
    pub const UNREGISTERED: &str = "unregistered";
    /// Run a tool.
    pub const TOOL_CALL: &str = "tool-call";
    /// Stop a call; its result is no longer wanted.
    pub const TOOL_CANCEL: &str = "tool-cancel";
    /// Page code must answer `heartbeat-ack`.
    pub const HEARTBEAT: &str = "heartbeat";
    /// Which AI clients are connected for this token.
    pub const CLIENTS: &str = "clients";
    /// The session ends; a close follows.
    pub const SESSION_CLOSED: &str = "session-closed";

    /// All of them.
    pub const ALL: &[&str] = &[
        AUTHENTICATED,
        AUTHENTICATION_FAILED,
        REGISTERED,
        UNREGISTERED,
        TOOL_CALL,
        TOOL_CANCEL,
        HEARTBEAT,
        CLIENTS,
        SESSION_CLOSED,
    ];
}
