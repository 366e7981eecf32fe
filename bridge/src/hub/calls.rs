//! Callers: how they start a call, hear of it, answer for their client, leave and come back.

use std::sync::atomic::Ordering;

use bridge_protocol::{CallId, ClientRequest, ClientResponse, SessionId};

use super::Hub;
use crate::hub::call_channel::{CallReceiver, channel};
use bridge_auth::RealmId;
use bridge_realm::realm::{CallFailure, NewCall, PageRequest};

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
    ) -> Result<CallReceiver, CallFailure> {
        let mut entry = self
            .realms
            .get_mut(&realm)
            .ok_or_else(CallFailure::page_gone)?;
        if self.stopping.load(Ordering::SeqCst) {
            return Err(CallFailure::bridge_stopping());
        }
        let id = call.id.clone();
        let effects = entry.realm.call_requested(session, call, self.now())?;
        let (caller, line) = channel();
        entry.call_senders.insert(id, caller);
        self.apply_effects(realm, &mut entry, effects);
        Ok(line)
    }

    /// Nobody waits for the call any more.
    pub(crate) fn cancel_call(&self, realm: RealmId, call: &CallId, reason: &str) {
        self.apply(realm, |realm, now| {
            ((), realm.call_cancelled(call, reason, now))
        });
    }

    /// What the page asks the client, each request once.
    pub(crate) fn take_client_requests(&self, realm: RealmId, call: &CallId) -> Vec<ClientRequest> {
        self.apply(realm, |realm, _| {
            (realm.take_client_requests(call), Vec::new())
        })
        .unwrap_or_default()
    }

    /// The client answered.
    pub(crate) fn deliver_client_response(
        &self,
        realm: RealmId,
        call: &CallId,
        answer: ClientResponse,
    ) {
        self.apply(realm, |realm, now| {
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
        entry.call_senders.remove(call);
        Some(parked)
    }

    /// A caller takes up a parked call. `None` when no call waits for this round.
    pub(crate) fn resume_call(
        &self,
        realm: RealmId,
        call: &CallId,
        round: u64,
        answers: Vec<ClientResponse>,
    ) -> Option<(PageRequest, CallReceiver)> {
        let mut entry = self.realms.get_mut(&realm)?;
        let now = self.now();
        let (request, effects) = entry.realm.call_resumed(call, round, answers, now)?;
        let (caller, line) = channel();
        entry.call_senders.insert(call.clone(), caller);
        self.apply_effects(realm, &mut entry, effects);
        Some((request, line))
    }
}
