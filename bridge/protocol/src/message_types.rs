//! The `type` of every message, for code that writes JSON by hand.

/// Messages that a page sends.
pub mod page_to_bridge {
    /// The first frame: identifies the page.
    pub const AUTHENTICATE: &str = "authenticate";
    /// Registers or replaces tools, prompts, resources and templates; answered by `registered`.
    pub const REGISTER: &str = "register";
    /// Removes registrations; answered by `unregistered`.
    pub const UNREGISTER: &str = "unregister";
    /// Acknowledges a call, before its handler runs.
    pub const CALL_RECEIVED: &str = "call-received";
    /// A call ended with a result.
    pub const CALL_RESPONSE: &str = "call-response";
    /// A call failed.
    pub const CALL_ERROR: &str = "call-error";
    /// Reports the progress of a call.
    pub const CALL_PROGRESS: &str = "call-progress";
    /// Sends a log message to the client that made a call.
    pub const CALL_LOG: &str = "call-log";
    /// Sends requests of a handler to the client; answered by `client-responses`.
    pub const CLIENT_REQUESTS: &str = "client-requests";
    /// Arms the hand-over of a call to the next document of the session, or disarms it.
    pub const CALL_HAND_OVER: &str = "call-hand-over";
    /// The content of a resource changed.
    pub const RESOURCE_UPDATED: &str = "resource-updated";
    /// Answers `heartbeat`, from page code.
    pub const HEARTBEAT_ACK: &str = "heartbeat-ack";
    /// Asks which of the given calls are still awaited; answered by `calls-alive`.
    pub const CALLS_CHECK: &str = "calls-check";
    /// Sends a fresh token on the open socket; answered by `renewed` or `renewal-failed`.
    pub const RENEW: &str = "renew";
    /// The page's visibility, focus or title changed.
    pub const PAGE_STATE: &str = "page-state";
    /// The user interacted with the page (sent by v1 pages, accepted from all).
    pub const ACTIVITY: &str = "activity";
    /// The document is being unloaded, or put into the back/forward cache.
    pub const LEAVING: &str = "leaving";
    /// Sends a query to the agent; answered by `query_accepted` and the messages after it, or by
    /// `query_failure`.
    pub const QUERY: &str = "query";
    /// Cancels a query.
    pub const QUERY_CANCEL: &str = "query_cancel";
    /// Attaches a new document of the session to a query; answered like `query`.
    pub const QUERY_ATTACH: &str = "query_attach";
    /// Answers a request for the approval of a tool call.
    pub const QUERY_ANSWER: &str = "query_answer";

    /// Every `type` of this direction.
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
        CALL_HAND_OVER,
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
        QUERY_ANSWER,
    ];
}

/// Messages that the bridge sends.
pub mod bridge_to_page {
    /// Accepts the page.
    pub const AUTHENTICATED: &str = "authenticated";
    /// Rejects the page; a close follows.
    pub const AUTHENTICATION_FAILED: &str = "authentication-failed";
    /// Answers `register`.
    pub const REGISTERED: &str = "registered";
    /// Answers `unregister`.
    pub const UNREGISTERED: &str = "unregistered";
    /// Calls a tool.
    pub const TOOL_CALL: &str = "tool-call";
    /// Gets a prompt.
    pub const PROMPT_GET: &str = "prompt-get";
    /// Reads a resource.
    pub const RESOURCE_READ: &str = "resource-read";
    /// Completes an argument.
    pub const COMPLETION: &str = "completion";
    /// Cancels a call, whose result is no longer awaited.
    pub const CALL_CANCEL: &str = "call-cancel";
    /// Answers `client-requests`.
    pub const CLIENT_RESPONSES: &str = "client-responses";
    /// Lists the resources that clients are subscribed to.
    pub const SUBSCRIPTIONS: &str = "subscriptions";
    /// Checks that page code runs; answered by `heartbeat-ack`.
    pub const HEARTBEAT: &str = "heartbeat";
    /// Answers `calls-check`.
    pub const CALLS_ALIVE: &str = "calls-alive";
    /// Answers `renew`: the fresh token is valid from now on.
    pub const RENEWED: &str = "renewed";
    /// Answers `renew`: the fresh token is rejected, and the former stays valid.
    pub const RENEWAL_FAILED: &str = "renewal-failed";
    /// Lists the AI clients that are connected for this token.
    pub const CLIENTS: &str = "clients";
    /// Ends the session; a close follows.
    pub const SESSION_CLOSED: &str = "session-closed";
    /// The agent has accepted the query.
    pub const QUERY_ACCEPTED: &str = "query_accepted";
    /// Reports the progress of the agent.
    pub const QUERY_PROGRESS: &str = "query_progress";
    /// The agent has completed the query.
    pub const QUERY_COMPLETE: &str = "query_complete";
    /// The query has failed.
    pub const QUERY_FAILURE: &str = "query_failure";
    /// The agent has cancelled the query.
    pub const QUERY_CANCEL: &str = "query_cancel";

    /// Every `type` of this direction.
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
