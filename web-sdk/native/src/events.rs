//! What happens to a connection: from its socket, its handlers and the program.

use bridge_protocol::CallId;
use tokio::sync::{mpsc, oneshot};
use web_sdk_core::HandlerOutcome;

use crate::call::CallEvent;
use crate::definition::NewDefinition;
use crate::socket::SocketEvent;

/// An event for the task of the connection.
pub(crate) enum Event {
    Connect,
    /// Ends the connection. The sender hears when the bridge has heard of it.
    Disconnect(oneshot::Sender<()>),
    Added(NewDefinition),
    /// The time has passed in which an answer is a receipt.
    TaskEnded,
    Removed(u32),
    ResourceUpdated(String),
    Token(Result<String, String>),
    /// An event of the socket with this number.
    Socket(u64, SocketEvent),
    Finished(CallId, HandlerOutcome<String>),
    /// A handler does something while it runs.
    OfCall(CallId, CallEvent),
    /// The task does nothing for a while.
    #[cfg(feature = "faults")]
    Fault(Fault),
}

/// The connection's task does nothing for a while, while its socket is read.
#[cfg(feature = "faults")]
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// How long.
    pub span: std::time::Duration,
    /// Whether the bridge is told before, as by a browser that freezes a page.
    pub is_announced: bool,
}

/// Where events are sent to. A connection that has ended ignores them.
#[derive(Clone)]
pub(crate) struct EventSender(mpsc::UnboundedSender<Event>);

impl EventSender {
    pub(crate) fn new() -> (Self, mpsc::UnboundedReceiver<Event>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Self(sender), receiver)
    }

    pub(crate) fn send(&self, event: Event) {
        let _ = self.0.send(event);
    }
}
