//! The wire protocol between a web page and the bridge.
//!
//! A page opens a WebSocket, sends `authenticate`, registers tools, and answers the calls that the
//! bridge forwards to it. Every frame is one JSON object with a `type`; this crate defines the
//! types, their fields, and the codes and limits that both sides obey.
//!
//! The crate has two layers, both tested against the golden files in `golden/`:
//!
//! 1. Without dependencies: [`message_types`], [`ErrorCode`], [`CloseCode`], [`limits`], [`invisible`],
//!    [`event_data`]. The wasm of pages uses only these and leaves JSON to the browser, which keeps it small.
//! 2. With the feature `serde`: [`PageToBridge`] and [`BridgeToPage`], one enum per direction, for
//!    native code. With `sse`: the decoder of event streams.
//!
//! The crate has no I/O, no async runtime and no clock, and builds for `wasm32-unknown-unknown`.
#![warn(missing_docs)]

mod close_code;
mod error_code;
pub mod event_data;
mod ids;
pub mod invisible;
pub mod limits;
pub mod message_parts;
pub mod message_types;
mod retry_hint;

#[cfg(feature = "serde")]
mod messages;
#[cfg(feature = "serde")]
mod present;
#[cfg(feature = "sse")]
pub mod sse;
mod well_formed;

pub use close_code::{CloseCode, Retry};
pub use error_code::ErrorCode;
pub use ids::{BridgeId, CallId, QueryId, RegistrationId, SessionId, is_conversation_id};
pub use retry_hint::RetryHint;
pub use well_formed::to_well_formed;

#[cfg(feature = "serde")]
pub use present::present;

#[cfg(feature = "serde")]
pub use messages::{
    App, Argument, Attachment, Authenticate, Authenticated, AuthenticationFailed, BridgeToPage,
    CallCancel, CallContext, CallError, CallHandOver, CallLog, CallProgress, CallReceived,
    CallResponse, Caller, CallerTransport, CallingClient, CallsAlive, CallsCheck, ClientError,
    ClientInfo, ClientLimits, ClientRequest, ClientRequests, ClientResponse, ClientResponses,
    Clients, Completion, ConnectedClient, ContextItem, ContextKind, DecodeError, Definition,
    Heartbeat, Item, Kind, Leaving, Limits, LogLevel, MAX_QUERY_CALLER_BYTES, PageState,
    PageToBridge, PromptGet, QUERY_CALLER_HEADER, Query, QueryAccepted, QueryAnswer, QueryAttach,
    QueryCaller, QueryCancel, QueryComplete, QueryContent, QueryFailure, QueryProgress, QueryTool,
    QueryToolCall, QueryUsage, Register, Registered, RegisteredItem, RegistrationFailure, Renew,
    RenewalFailed, Renewed, ResourceRead, ResourceUpdated, SessionClosed, Subject, Subscriptions,
    TokenUsage, ToolCall, TraceContext, Unregister, Unregistered, Visibility,
};

/// The bridge's own tools as a JSON array of MCP tool objects.
///
/// The bridge always lists them, and so does a stdio client that has no bridge. Their names are
/// reserved.
pub const BUILTIN_TOOLS: &str = include_str!("builtin_tools.json");

/// The bridge's own resources as a JSON array of MCP resource objects, always listed like
/// [`BUILTIN_TOOLS`].
pub const BUILTIN_RESOURCES: &str = include_str!("builtin_resources.json");

/// URI of the resource in [`BUILTIN_RESOURCES`] that lists the pages of the token.
pub const SESSIONS_URI: &str = "sessions://list";

/// URI of the resource in [`BUILTIN_RESOURCES`] that shows whether a page is connected.
pub const STATUS_URI: &str = "status://connection";

/// The header of requests of a client that was connected before the bridge was restarted. A bridge
/// that has just started waits for the page that such a request needs. The value has no meaning.
pub const RECONNECTED_HEADER: &str = "mcp-web-reconnected";

/// The version of the page protocol that this crate defines.
pub const PROTOCOL_VERSION: u32 = 2;
