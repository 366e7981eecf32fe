//! The channel from the hub to the caller of a call. It allocates nothing for events until there is
//! one, because most calls have only an outcome.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::SystemTime;

use bridge_realm::realm::{CallFailure, CallOutcome, CallerEvent};

/// The maximum number of progress and log messages that wait for a caller. Further ones are
/// dropped: a client that does not read must not block the page, and the result of the call follows
/// in any case.
const MAX_PENDING_EVENTS: usize = 64;

/// The caller's end of the channel.
#[derive(Debug)]
pub(crate) struct CallReceiver(Arc<Mutex<State>>);

/// The hub's end of the channel.
#[derive(Debug)]
pub(super) struct CallSender(Arc<Mutex<State>>);

/// A message to the caller.
#[derive(Debug)]
pub(crate) enum CallerMessage {
    /// The call has ended. Only events from before its end may follow.
    Ended(CallOutcome),
    /// The page has acknowledged the call, whose trace is recorded, at this time.
    Received(SystemTime),
    /// The page has sent requests to the client: see [`Hub::take_client_requests`](super::Hub) and
    /// [`Hub::park_call`](super::Hub).
    ClientRequested,
    /// The requests of the page to the client have ended, because the call was handed over to
    /// another document.
    ClientRequestsEnded,
    /// The arguments must be validated for the tool of the new document: see
    /// [`Hub::input_to_validate`](super::Hub).
    ValidationRequested,
    Event(CallerEvent),
}

/// The state that both ends share.
#[derive(Debug, Default)]
struct State {
    outcome: Option<CallOutcome>,
    /// The hub has dropped its end.
    closed: bool,
    received: Option<SystemTime>,
    client_requested: bool,
    client_requests_ended: bool,
    validation_requested: bool,
    events: VecDeque<CallerEvent>,
    waker: Option<Waker>,
}

/// Creates a channel for one call.
pub(super) fn channel() -> (CallSender, CallReceiver) {
    let state = Arc::new(Mutex::new(State::default()));
    (CallSender(Arc::clone(&state)), CallReceiver(state))
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl CallSender {
    /// Sends an event to the caller, or drops it when [`MAX_PENDING_EVENTS`] are waiting.
    pub(super) fn send_event(&self, event: CallerEvent) {
        self.update(|state| {
            if state.events.len() < MAX_PENDING_EVENTS {
                state.events.push_back(event);
            }
        });
    }

    /// Notifies the caller that the page has acknowledged the call.
    pub(super) fn report_receipt(&self) {
        self.update(|state| state.received = Some(SystemTime::now()));
    }

    /// Notifies the caller that the page has sent requests to the client.
    pub(super) fn request_client(&self) {
        self.update(|state| state.client_requested = true);
    }

    /// Notifies the caller that the requests of the page to the client have ended.
    pub(super) fn end_client_requests(&self) {
        self.update(|state| {
            state.client_requested = false;
            state.client_requests_ended = true;
        });
    }

    /// Asks the caller to validate the arguments again.
    pub(super) fn request_validation(&self) {
        self.update(|state| state.validation_requested = true);
    }

    /// Sends the outcome of the call.
    pub(super) fn complete(self, ending: CallOutcome) {
        // A caller that has dropped its end has already cancelled the call.
        lock(&self.0).outcome = Some(ending);
    }

    fn update(&self, f: impl FnOnce(&mut State)) {
        let mut state = lock(&self.0);
        f(&mut state);
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Drop for CallSender {
    fn drop(&mut self) {
        self.update(|state| state.closed = true);
    }
}

impl CallReceiver {
    /// Receives the next message, with the receipt and the outcome before any other. Progress and logs are received
    /// only if `events` is set. No message is lost when the future is dropped.
    pub(crate) async fn recv(&mut self, events: bool) -> CallerMessage {
        poll_fn(|context| self.poll_recv(context, events)).await
    }

    fn poll_recv(&mut self, context: &mut Context<'_>, events: bool) -> Poll<CallerMessage> {
        let mut state = lock(&self.0);
        if let Some(time) = state.received.take() {
            return Poll::Ready(CallerMessage::Received(time));
        }
        if let Some(ending) = state.outcome.take() {
            return Poll::Ready(CallerMessage::Ended(ending));
        }
        if state.closed {
            return Poll::Ready(CallerMessage::Ended(CallOutcome::Failed(
                CallFailure::page_gone(),
            )));
        }
        if std::mem::take(&mut state.client_requests_ended) {
            return Poll::Ready(CallerMessage::ClientRequestsEnded);
        }
        if std::mem::take(&mut state.validation_requested) {
            return Poll::Ready(CallerMessage::ValidationRequested);
        }
        if std::mem::take(&mut state.client_requested) {
            return Poll::Ready(CallerMessage::ClientRequested);
        }
        if events && let Some(event) = state.events.pop_front() {
            return Poll::Ready(CallerMessage::Event(event));
        }
        match &mut state.waker {
            Some(caller) => caller.clone_from(context.waker()),
            None => state.waker = Some(context.waker().clone()),
        }
        Poll::Pending
    }

    /// Returns the next event that has not been received, if there is one.
    pub(crate) fn try_recv_event(&mut self) -> Option<CallerEvent> {
        lock(&self.0).events.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use bridge_protocol::{CallProgress, ErrorCode};
    use futures_util::FutureExt;

    use super::*;

    fn progress(n: usize) -> CallerEvent {
        CallerEvent::Progress(CallProgress {
            request_id: "c".into(),
            progress: n.into(),
            total: None,
            message: None,
        })
    }

    #[tokio::test]
    async fn pending_events_are_bounded_and_the_outcome_still_arrives() {
        let (caller, mut line) = channel();
        for n in 0..2 * MAX_PENDING_EVENTS {
            caller.send_event(progress(n));
        }
        let late = CallFailure::new(ErrorCode::CallTimeout, "late".to_owned());
        caller.complete(CallOutcome::Failed(late));
        let CallerMessage::Ended(CallOutcome::Failed(failure)) = line.recv(true).await else {
            panic!("the call has not failed")
        };
        assert_eq!(failure.code, ErrorCode::CallTimeout);
        let untold = std::iter::from_fn(|| line.try_recv_event());
        assert_eq!(untold.count(), MAX_PENDING_EVENTS);
    }

    #[tokio::test]
    async fn each_message_arrives_once_and_a_dropped_sender_ends_the_call() {
        let (caller, mut line) = channel();
        caller.request_client();
        assert!(matches!(
            line.recv(true).await,
            CallerMessage::ClientRequested
        ));
        caller.send_event(progress(1));
        assert!(line.recv(false).now_or_never().is_none());
        caller.request_client();
        assert!(matches!(
            line.recv(true).await,
            CallerMessage::ClientRequested
        ));
        assert!(matches!(line.recv(true).await, CallerMessage::Event(_)));
        let waits = async {
            let CallerMessage::Ended(CallOutcome::Failed(failure)) = line.recv(true).await else {
                panic!("the call has not failed")
            };
            assert_eq!(failure.code, ErrorCode::PageGone);
        };
        let lets_go = async move { drop(caller) };
        tokio::join!(waits, lets_go);
    }
}
