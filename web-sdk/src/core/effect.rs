//! What must happen next: the answer of [`super::Page`] to every event.

use std::borrow::Cow;

use bridge_protocol::CallId;

use super::messages::PageToBridge;

/// One thing to do. The effects of an event are done in their order.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect<V> {
    /// Ask for the token; answered by `token_ready` or `token_failed`.
    FetchToken,
    /// Open a socket, dropping any older one unheard.
    OpenSocket,
    /// Send one frame.
    Send(PageToBridge<V>),
    /// Close the socket as done with (1000), and hear no more of it.
    CloseSocket,
    /// Give up the socket, and hear no more of it. Its session goes on over the next one.
    AbandonSocket,
    /// Start the one timer over: `timer_fired` after so many milliseconds.
    SetTimer(u32),
    /// Stop the timer.
    StopTimer,
    /// Call `flush` when the running task is over, so that what an app does in one task
    /// travels together.
    ScheduleFlush,
    /// Run a handler; answered by `handler_finished`.
    StartCall(Call<V>),
    /// Tell the app.
    Report(Report<V>),
}

/// Effects that nobody has done yet, in order.
#[derive(Debug)]
pub(super) struct Effects<V>(Vec<Effect<V>>);

impl<V> Effects<V> {
    pub(super) fn new() -> Self {
        Self(Vec::new())
    }

    pub(super) fn push(&mut self, effect: Effect<V>) {
        self.0.push(effect);
    }

    pub(super) fn send(&mut self, message: PageToBridge<V>) {
        self.push(Effect::Send(message));
    }

    pub(super) fn report(&mut self, report: Report<V>) {
        self.push(Effect::Report(report));
    }

    pub(super) fn next(&mut self) -> Option<Effect<V>> {
        (!self.0.is_empty()).then(|| self.0.remove(0))
    }
}

/// A call to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call<V> {
    /// The call.
    pub id: CallId,
    /// Whose handler runs.
    pub definition: DefinitionKey,
    /// What it gets: the whole message.
    pub message: V,
}

/// A definition as the app holds it: two of one kind and name have different keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DefinitionKey(pub u32);

/// What the app hears.
#[derive(Clone, Debug, PartialEq)]
pub enum Report<V> {
    /// The connection's status changed.
    Status(Status),
    /// The bridge has let the page in.
    SessionAccepted {
        /// The name of the session as the bridge has it: one that was taken may be numbered.
        session_name: Option<String>,
        /// The largest message that it takes, in bytes.
        max_message_bytes: usize,
    },
    /// The connected AI clients; nothing when they are not known any more.
    Clients(Option<V>),
    /// The resources that clients are subscribed to; nothing when there cannot be any.
    Subscriptions(Option<V>),
    /// Clients can use the definition now.
    Registered {
        /// The definition.
        definition: DefinitionKey,
        /// The name that clients see, when the bridge said one.
        published_name: Option<String>,
    },
    /// The bridge or this page refused the definition.
    Refused {
        /// The definition.
        definition: DefinitionKey,
        /// Why.
        failure: Failure,
    },
    /// The definition was removed, or another one took its place.
    Dropped(DefinitionKey),
    /// No client can use the removed definition any more.
    Removed(DefinitionKey),
    /// The client behind a call answered, or cannot.
    ClientAnswered {
        /// The call.
        call: CallId,
        /// The key of the request.
        key: String,
        /// The whole answer, with `result` or `error`.
        answer: Result<V, Failure>,
    },
    /// What the bridge says of a query.
    Query(V),
    /// A call is over.
    CallEnded {
        /// The call.
        call: CallId,
        /// How.
        outcome: CallOutcome,
    },
    /// Something a developer should see.
    Warning(String),
}

/// How a call ended, as the app hears it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallOutcome {
    /// The handler returned.
    Finished,
    /// It threw, or its result cannot be sent.
    Failed(Failure),
    /// Nobody waits for it any more: its signal fires.
    Cancelled(Failure),
}

/// A failure: a word for programs, a sentence for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// One of the bridge's codes, or one of the constants here.
    pub code: Cow<'static, str>,
    /// What happened, and what to do.
    pub message: String,
}

impl Failure {
    /// No bridge answered at the address.
    pub const BRIDGE_UNREACHABLE: &'static str = "BridgeUnreachable";
    /// The browser refuses the address.
    pub const BRIDGE_URL_REFUSED: &'static str = "BridgeUrlRefused";
    /// The connection broke; the page comes back by itself.
    pub const CONNECTION_LOST: &'static str = "ConnectionLost";
    /// The bridge closed the connection for good.
    pub const CONNECTION_CLOSED: &'static str = "ConnectionClosed";
    /// The app called `disconnect`.
    pub const DISCONNECTED: &'static str = "Disconnected";
    /// The bridge does not speak this dialect.
    pub const PROTOCOL_UNSUPPORTED: &'static str = "ProtocolUnsupported";
    /// The app's token function failed.
    pub const TOKEN_FAILED: &'static str = "TokenFailed";

    /// A failure with this code and message.
    pub fn new(code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            message: message.into(),
        }
    }
}

/// The connection as the app sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// The first attempt is under way.
    Connecting,
    /// Calls can come.
    Connected,
    /// An attempt failed or the connection broke; the page keeps trying.
    Reconnecting {
        /// What went wrong last.
        error: Failure,
        /// When the next attempt starts; nothing while one is under way.
        retry_in_ms: Option<u32>,
    },
    /// The app called `disconnect`.
    Disconnected,
    /// Final until the app calls `connect`.
    Failed(Failure),
}
