//! A call on the lane, with the notifications that it has sent meanwhile.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::StatusCode;

use super::hearer::Notifications;
use crate::hub::Hub;
use crate::mcp::session::InFlight;
use crate::result::Written;

/// A JSON-RPC response, with the HTTP status that it has as a body of its own.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) json: Written,
}

/// What comes of a call next.
#[derive(Debug)]
pub(super) enum Next {
    /// A notification.
    Message(Vec<u8>),
    Answer(Answer),
    /// The client has taken the call back, or ended its session: it hears no answer.
    Cancelled,
}

/// Dropped before its answer, the call is cancelled in the page.
pub(super) struct Running {
    call: Pin<Box<dyn Future<Output = Answer> + Send>>,
    notifications: Arc<Notifications>,
    /// In an MCP session.
    in_flight: Option<InFlight>,
    /// Said last.
    answer: Option<Answer>,
}

impl Running {
    pub(super) fn new(
        call: impl Future<Output = Answer> + Send + 'static,
        notifications: Arc<Notifications>,
        in_flight: Option<InFlight>,
    ) -> Self {
        Self {
            call: Box::pin(call),
            notifications,
            in_flight,
            answer: None,
        }
    }

    /// Not to be asked again after the answer.
    pub(super) async fn next(&mut self) -> Next {
        poll_fn(|context| self.poll_next(context)).await
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Next> {
        let in_flight = self.in_flight.as_ref();
        if in_flight.is_some_and(|call| call.poll_cancelled(context).is_ready()) {
            return Poll::Ready(Next::Cancelled);
        }
        if let Some(message) = self.notifications.next() {
            return Poll::Ready(Next::Message(message));
        }
        if self.answer.is_none()
            && let Poll::Ready(answer) = self.call.as_mut().poll(context)
        {
            self.answer = Some(answer);
        }
        if let Some(message) = self.notifications.next() {
            return Poll::Ready(Next::Message(message));
        }
        match self.answer.take() {
            Some(answer) => Poll::Ready(Next::Answer(answer)),
            None => Poll::Pending,
        }
    }

    pub(super) fn is_cancelled(&self) -> bool {
        let in_flight = self.in_flight.as_ref();
        in_flight.is_some_and(InFlight::is_cancelled)
    }

    pub(super) fn in_flight(&self) -> Option<&InFlight> {
        self.in_flight.as_ref()
    }
}

/// A call in an MCP session goes on when its connection is lost (MCP 2025-11-25, "Streamable
/// HTTP"): dropped with the call in it, this has it go on unheard.
pub(super) struct Held {
    running: Option<Running>,
    hub: Arc<Hub>,
}

impl Held {
    pub(super) fn new(running: Running, hub: &Arc<Hub>) -> Self {
        Self {
            running: Some(running),
            hub: Arc::clone(hub),
        }
    }

    pub(super) async fn next(&mut self) -> Next {
        match &mut self.running {
            Some(running) => running.next().await,
            None => std::future::pending().await,
        }
    }

    /// It has ended, or somebody else holds it.
    pub(super) fn release(mut self) -> Option<Running> {
        self.running.take()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(mut running) = self.running.take() {
            self.hub
                .kept
                .spawn(async move { while let Next::Message(_) = running.next().await {} });
        }
    }
}
