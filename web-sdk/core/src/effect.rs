//! Effects: what the caller of [`super::Page`] must do after an event.

use std::borrow::Cow;

use bridge_protocol::CallId;

use super::messages::{HandlerRequest, PageToBridge};

/// An action for the caller of [`Page`](super::Page). Effects are performed in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect<J> {
    /// Fetch the token; answered by `token_ready` or `token_failed`.
    FetchToken,
    /// Open a socket and drop any former one without an event.
    OpenSocket,
    /// Send a message.
    Send(PageToBridge<J>),
    /// Close the socket with 1000, which ends the session, and report no further events of it.
    CloseSocket,
    /// Close the socket with a code that does not end the session, and report no further events of
    /// it. The next socket resumes the session.
    AbandonSocket,
    /// Restart the only timer: call `timer_fired` after this many milliseconds.
    SetTimer(u32),
    /// Stop the timer.
    StopTimer,
    /// Call `flush` at the end of the current task, so that the changes that an app makes in one
    /// task are sent together.
    ScheduleFlush,
    /// Call `task_ended` in a later task.
    ScheduleTask,
    /// Start a handler; answered by `handler_finished`.
    StartCall(StartedCall<J>),
    /// Report an event to the app.
    Report(Report<J>),
}

/// A queue of effects that have not been performed.
#[derive(Debug)]
pub(super) struct Effects<J>(Vec<Effect<J>>);

impl<J> Effects<J> {
    pub(super) fn new() -> Self {
        Self(Vec::new())
    }

    pub(super) fn push(&mut self, effect: Effect<J>) {
        self.0.push(effect);
    }

    pub(super) fn send(&mut self, message: PageToBridge<J>) {
        self.push(Effect::Send(message));
    }

    pub(super) fn report(&mut self, report: Report<J>) {
        self.push(Effect::Report(report));
    }

    pub(super) fn next(&mut self) -> Option<Effect<J>> {
        (!self.0.is_empty()).then(|| self.0.remove(0))
    }
}

/// A call whose handler must be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartedCall<J> {
    /// The request.
    pub request: HandlerRequest<J>,
    /// The definition whose handler is called.
    pub definition: DefinitionKey,
    /// After this time on the page's clock the call may have ended; `None` if the bridge has not
    /// said when it sent the call.
    pub start_by_ms: Option<u64>,
}

/// Identifies a definition of the app. Definitions with the same kind and name have different keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DefinitionKey(pub u32);

/// An event for the app.
#[derive(Clone, Debug, PartialEq)]
pub enum Report<J> {
    /// The connection's status changed.
    Status(Status),
    /// The bridge has accepted the page.
    SessionAccepted {
        /// The name of the session. The bridge may append a number to a name that is in use.
        session_name: Option<String>,
        /// The largest message that the bridge accepts, in bytes.
        max_message_bytes: usize,
    },
    /// The connected AI clients; `None` when they are not known any more.
    Clients(Option<J>),
    /// The resources that clients are subscribed to; `None` when subscriptions are impossible.
    Subscriptions(Option<J>),
    /// Clients can use the definition from now on.
    Registered {
        /// The key of the definition.
        definition: DefinitionKey,
        /// The name that clients see, if the bridge reported one.
        published_name: Option<String>,
    },
    /// The bridge or this page rejected the definition.
    Rejected {
        /// The key of the definition.
        definition: DefinitionKey,
        /// The reason.
        failure: Failure,
    },
    /// The definition was removed or replaced.
    Dropped(DefinitionKey),
    /// Clients can no longer use the removed definition.
    Removed(DefinitionKey),
    /// The client that made a call answered a request, or the request failed.
    ClientAnswered {
        /// The id of the call.
        call: CallId,
        /// The key of the request.
        key: String,
        /// The complete response, with `result` or `error`.
        answer: Result<J, Failure>,
    },
    /// A message of the bridge about a query.
    Query(J),
    /// A call has ended.
    CallEnded {
        /// The id of the call.
        call: CallId,
        /// How the call ended.
        outcome: CallEnd,
    },
    /// A warning for the developer.
    Warning(String),
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallEnd {
    /// The handler returned.
    Finished,
    /// The handler threw an exception, or its result cannot be sent.
    Failed(Failure),
    /// The result is not awaited any more. The handler's abort signal fires.
    Cancelled(Failure),
}

/// An error with a machine-readable code and a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// An error code of the bridge, or one of the constants of this type.
    pub code: Cow<'static, str>,
    /// A description of the error, and what to do next.
    pub message: String,
}

impl Failure {
    /// No bridge responded at the address.
    pub const BRIDGE_UNREACHABLE: &'static str = "BridgeUnreachable";
    /// The browser rejected the address.
    pub const BRIDGE_URL_REFUSED: &'static str = "BridgeUrlRefused";
    /// The connection broke; the page reconnects.
    pub const CONNECTION_LOST: &'static str = "ConnectionLost";
    /// The bridge closed the connection, and the page does not reconnect.
    pub const CONNECTION_CLOSED: &'static str = "ConnectionClosed";
    /// The app called `disconnect`.
    pub const DISCONNECTED: &'static str = "Disconnected";
    /// The bridge does not support this protocol version.
    pub const PROTOCOL_UNSUPPORTED: &'static str = "ProtocolUnsupported";
    /// The app's token function failed.
    pub const TOKEN_FAILED: &'static str = "TokenFailed";

    /// Creates a failure.
    pub fn new(code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            message: message.into(),
        }
    }
}

/// The status of the connection, for the app.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// The first attempt is in progress.
    Connecting,
    /// The page is connected, and clients can call its tools.
    Connected,
    /// An attempt failed or the connection broke, and the page retries.
    Reconnecting {
        /// The latest error.
        error: Failure,
        /// The time until the next attempt, in milliseconds; `None` while one is in progress.
        retry_in_ms: Option<u32>,
    },
    /// The app called `disconnect`.
    Disconnected,
    /// The connection failed. The page does not retry until the app calls `connect`.
    Failed(Failure),
}
