//! Callers: how they start a call, hear of it, answer for their client, leave and come back.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bridge_protocol::{CallId, ClientRequest, ClientResponse, SessionId};
use tokio::sync::{Notify, mpsc, oneshot};

use super::Hub;
use crate::auth::RealmId;
use crate::realm::{CallEvent, Ending, Failure, NewCall, Request};

/// Progress and log messages that wait for a caller. More are dropped: a client that does not read
/// must not hold up the page, and the newest news of a call comes with its result.
const WAITING_EVENTS: usize = 64;

/// The caller's end of a call.
#[derive(Debug)]
pub(crate) struct CallLine {
    pub(crate) ending: oneshot::Receiver<Ending>,
    pub(crate) events: mpsc::Receiver<CallEvent>,
    /// The page asks the client something: [`Hub::take_client_requests`], or [`Hub::park_call`].
    pub(crate) asks: Arc<Notify>,
}

/// The hub's end.
#[derive(Debug)]
pub(super) struct Caller {
    ending: oneshot::Sender<Ending>,
    events: mpsc::Sender<CallEvent>,
    asks: Arc<Notify>,
}

impl Caller {
    fn new() -> (Self, CallLine) {
        let (ending, ended) = oneshot::channel();
        let (events, told) = mpsc::channel(WAITING_EVENTS);
        let asks = Arc::new(Notify::new());
        let line = CallLine {
            ending: ended,
            events: told,
            asks: Arc::clone(&asks),
        };
        let caller = Self {
            ending,
            events,
            asks,
        };
        (caller, line)
    }

    pub(super) fn tell(&self, event: CallEvent) {
        // Full: see WAITING_EVENTS.
        let _ = self.events.try_send(event);
    }

    pub(super) fn ask(&self) {
        self.asks.notify_one();
    }

    pub(super) fn end(self, ending: Ending) {
        // A caller that is gone has cancelled already.
        let _ = self.ending.send(ending);
    }
}

impl Hub {
    /// An id that no other call of this life of the bridge has.
    pub(crate) fn new_call_id(&self) -> CallId {
        let number = self.next_id.fetch_add(1, Ordering::Relaxed);
        CallId(format!("{}-{number}", &self.bridge_id.0[..8]))
    }

    /// Starts a call; its ending arrives on the line.
    pub(crate) fn start_call(
        &self,
        realm: RealmId,
        session: &SessionId,
        call: NewCall,
    ) -> Result<CallLine, Failure> {
        let mut entry = self.realms.get_mut(&realm).ok_or_else(Failure::page_gone)?;
        if self.stopping.load(Ordering::SeqCst) {
            return Err(Failure::bridge_stopping());
        }
        let id = call.id.clone();
        let effects = entry.realm.call_requested(session, call, self.now())?;
        let (caller, line) = Caller::new();
        entry.callers.insert(id, caller);
        self.settle(realm, &mut entry, effects);
        Ok(line)
    }

    /// Nobody waits for the call any more.
    pub(crate) fn cancel_call(&self, realm: RealmId, call: &CallId, reason: &str) {
        self.change(realm, |realm, _| ((), realm.call_cancelled(call, reason)));
    }

    /// What the page asks the client, each request once.
    pub(crate) fn take_client_requests(&self, realm: RealmId, call: &CallId) -> Vec<ClientRequest> {
        self.change(realm, |realm, _| {
            (realm.take_client_requests(call), Vec::new())
        })
        .unwrap_or_default()
    }

    /// The client answered.
    pub(crate) fn answer_for_client(&self, realm: RealmId, call: &CallId, answer: ClientResponse) {
        self.change(realm, |realm, now| {
            ((), realm.client_answered(call, answer, now))
        });
    }

    /// The caller leaves with what its client must answer: the number of the round, and the
    /// requests. `None` when nothing is open any more.
    pub(crate) fn park_call(
        &self,
        realm: RealmId,
        call: &CallId,
    ) -> Option<(u64, Vec<ClientRequest>)> {
        let mut entry = self.realms.get_mut(&realm)?;
        let parked = entry.realm.call_parked(call)?;
        entry.callers.remove(call);
        Some(parked)
    }

    /// A caller takes up a parked call. `None` when no call waits for this round.
    pub(crate) fn resume_call(
        &self,
        realm: RealmId,
        call: &CallId,
        round: u64,
        answers: Vec<ClientResponse>,
    ) -> Option<(Request, CallLine)> {
        let mut entry = self.realms.get_mut(&realm)?;
        let now = self.now();
        let (request, effects) = entry.realm.call_resumed(call, round, answers, now)?;
        let (caller, line) = Caller::new();
        entry.callers.insert(call.clone(), caller);
        self.settle(realm, &mut entry, effects);
        Some((request, line))
    }
}

#[cfg(test)]
mod tests {
    use bridge_protocol::{CallProgress, ErrorCode};

    use super::*;

    #[tokio::test]
    async fn what_waits_for_a_caller_is_bounded_and_the_result_comes() {
        let (caller, mut line) = Caller::new();
        for n in 0..2 * WAITING_EVENTS {
            caller.tell(CallEvent::Progress(CallProgress {
                request_id: "c".into(),
                progress: n.into(),
                total: None,
                message: None,
            }));
        }
        let late = Failure::new(ErrorCode::CallTimeout, "late".to_owned());
        caller.end(Ending::Failed(late));
        let mut heard = 0;
        while line.events.recv().await.is_some() {
            heard += 1;
        }
        assert_eq!(heard, WAITING_EVENTS);
        assert!(matches!(line.ending.await, Ok(Ending::Failed(_))));
    }
}
