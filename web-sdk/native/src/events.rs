//! The events of a connection: from its socket, its handlers and the program.

use bridge_protocol::CallId;
use tokio::sync::{mpsc, oneshot};
use web_sdk_core::HandlerOutcome;

use crate::call::CallEvent;
use crate::definition::NewDefinition;
use crate::socket::SocketEvent;

/// An event for the task of the connection.
pub(crate) enum Event {
    Connect,
    /// Ends the connection. The sender is notified when the bridge has been.
    Disconnect(oneshot::Sender<()>),
    Added(NewDefinition),
    /// The time in which an answer replaces the receipt has passed.
    TaskEnded,
    Removed(u32),
    ResourceUpdated(String),
    Token(Result<String, String>),
    /// An event of the socket with this number.
    Socket(u64, SocketEvent),
    Finished(CallId, HandlerOutcome<String>),
    /// An event of a running handler.
    OfCall(CallId, CallEvent),
    /// The task does nothing for some time.
    #[cfg(feature = "faults")]
    Fault(Fault),
}

/// The connection's task does nothing for some time, while its socket is still read.
#[cfg(feature = "faults")]
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// The duration.
    pub span: std::time::Duration,
    /// Whether the bridge is notified first, as by a browser that freezes a page.
    pub is_announced: bool,
}

/// The sender of events. A connection that has ended ignores them.
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
