//! The `type` of every message, for code that writes JSON by hand.

/// Messages that a page sends.
pub mod page_to_bridge {
    /// First frame: who the page is.
    pub const AUTHENTICATE: &str = "authenticate";
    /// Registers or replaces tools, prompts, resources, templates; answered by `registered`.
    pub const REGISTER: &str = "register";
    /// Takes them back; answered by `unregistered`.
    pub const UNREGISTER: &str = "unregister";
    /// A call has reached page code, before its handler runs.
    pub const CALL_RECEIVED: &str = "call-received";
    /// A call ended with a result.
    pub const CALL_RESPONSE: &str = "call-response";
    /// A call failed.
    pub const CALL_ERROR: &str = "call-error";
    /// How far a call is.
    pub const CALL_PROGRESS: &str = "call-progress";
    /// A log message for the client behind a call.
    pub const CALL_LOG: &str = "call-log";
    /// A handler asks the client; answered by `client-responses`.
    pub const CLIENT_REQUESTS: &str = "client-requests";
    /// The content of a resource changed.
    pub const RESOURCE_UPDATED: &str = "resource-updated";
    /// Page code answers `heartbeat`.
    pub const HEARTBEAT_ACK: &str = "heartbeat-ack";
    /// Which of these calls does somebody still wait for? Answered by `calls-alive`.
    pub const CALLS_CHECK: &str = "calls-check";
    /// A fresh token on the open socket; answered by `renewed` or `renewal-failed`.
    pub const RENEW: &str = "renew";
    /// Visibility, focus or title changed.
    pub const PAGE_STATE: &str = "page-state";
    /// The user did something (sent by v1 pages, accepted from all).
    pub const ACTIVITY: &str = "activity";
    /// The document is going away.
    pub const LEAVING: &str = "leaving";
    /// Asks the agent; answered by `query_accepted` and what follows it, or by `query_failure`.
    pub const QUERY: &str = "query";
    /// The answer is no longer wanted.
    pub const QUERY_CANCEL: &str = "query_cancel";
    /// A new document of the session takes a query up; answered like `query`.
    pub const QUERY_ATTACH: &str = "query_attach";

    /// All of them.
    pub const ALL: &[&str] = &[
        AUTHENTICATE,
        REGISTER,
        UNREGISTER,
        CALL_RECEIVED,
        CALL_RESPONSE,
        CALL_ERROR,
        CALL_PROGRESS,
        CALL_LOG,
        CLIENT_REQUESTS,
        RESOURCE_UPDATED,
        HEARTBEAT_ACK,
        CALLS_CHECK,
        RENEW,
        PAGE_STATE,
        ACTIVITY,
        LEAVING,
        QUERY,
        QUERY_CANCEL,
        QUERY_ATTACH,
    ];
}

/// Messages that the bridge sends.
pub mod bridge_to_page {
    /// The page is accepted.
    pub const AUTHENTICATED: &str = "authenticated";
    /// The page is refused; a close follows.
    pub const AUTHENTICATION_FAILED: &str = "authentication-failed";
    /// Answer to `register`.
    pub const REGISTERED: &str = "registered";
    /// Answer to `unregister`.
    pub const UNREGISTERED: &str = "unregistered";
    /// Run a tool.
    pub const TOOL_CALL: &str = "tool-call";
    /// Fill in a prompt.
    pub const PROMPT_GET: &str = "prompt-get";
    /// Read a resource.
    pub const RESOURCE_READ: &str = "resource-read";
    /// Complete an argument.
    pub const COMPLETION: &str = "completion";
    /// Stop a call; its result is no longer wanted.
    pub const CALL_CANCEL: &str = "call-cancel";
    /// Answer to `client-requests`.
    pub const CLIENT_RESPONSES: &str = "client-responses";
    /// Which resources clients are subscribed to.
    pub const SUBSCRIPTIONS: &str = "subscriptions";
    /// Page code must answer `heartbeat-ack`.
    pub const HEARTBEAT: &str = "heartbeat";
    /// Answer to `calls-check`.
    pub const CALLS_ALIVE: &str = "calls-alive";
    /// Answer to `renew`: the fresh token counts from now on.
    pub const RENEWED: &str = "renewed";
    /// Answer to `renew`: the fresh token is refused; the former counts on.
    pub const RENEWAL_FAILED: &str = "renewal-failed";
    /// Which AI clients are connected for this token.
    pub const CLIENTS: &str = "clients";
    /// The session ends; a close follows.
    pub const SESSION_CLOSED: &str = "session-closed";
    /// The agent has taken the query.
    pub const QUERY_ACCEPTED: &str = "query_accepted";
    /// How the agent is getting on.
    pub const QUERY_PROGRESS: &str = "query_progress";
    /// The agent is done.
    pub const QUERY_COMPLETE: &str = "query_complete";
    /// The query has failed.
    pub const QUERY_FAILURE: &str = "query_failure";
    /// The agent has given the query up.
    pub const QUERY_CANCEL: &str = "query_cancel";

    /// All of them.
    pub const ALL: &[&str] = &[
        AUTHENTICATED,
        AUTHENTICATION_FAILED,
        REGISTERED,
        UNREGISTERED,
        TOOL_CALL,
        PROMPT_GET,
        RESOURCE_READ,
        COMPLETION,
        CALL_CANCEL,
        CLIENT_RESPONSES,
        SUBSCRIPTIONS,
        HEARTBEAT,
        CALLS_ALIVE,
        RENEWED,
        RENEWAL_FAILED,
        CLIENTS,
        SESSION_CLOSED,
        QUERY_ACCEPTED,
        QUERY_PROGRESS,
        QUERY_COMPLETE,
        QUERY_FAILURE,
        QUERY_CANCEL,
    ];
}
