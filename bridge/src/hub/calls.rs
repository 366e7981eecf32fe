//! Callers: how they start a call, hear of it, answer for their client, leave and come back.

use std::sync::atomic::Ordering;

use bridge_protocol::{CallId, ClientRequest, ClientResponse, SessionId};

use super::Hub;
use super::line::{CallLine, line};
use crate::auth::RealmId;
use crate::realm::{Failure, NewCall, Request};

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
        let (caller, line) = line();
        entry.callers.insert(id, caller);
        self.settle(realm, &mut entry, effects);
        Ok(line)
    }

    /// Nobody waits for the call any more.
    pub(crate) fn cancel_call(&self, realm: RealmId, call: &CallId, reason: &str) {
        self.change(realm, |realm, now| {
            ((), realm.call_cancelled(call, reason, now))
        });
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
        let (caller, line) = line();
        entry.callers.insert(call.clone(), caller);
        self.settle(realm, &mut entry, effects);
        Some((request, line))
    }
}
