//! Events of callers: they start a call, deliver the responses of their client, park a call, resume
//! it, and cancel it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bridge_auth::RealmId;
use bridge_protocol::{CallId, ClientRequest, ClientResponse, SessionId};
use bridge_realm::definition::SharedTool;
use bridge_realm::realm::{CallFailure, NewCall, PageRequest};
use serde_json::value::RawValue;

use super::Hub;
use super::call_channel::{CallReceiver, channel};

impl Hub {
    /// Returns an id that no other call of this process has.
    pub(crate) fn new_call_id(&self) -> CallId {
        let number = self.next_id.fetch_add(1, Ordering::Relaxed);
        CallId(format!("{}-{number}", &self.bridge_id.0[..8]))
    }

    /// Starts a call. The returned receiver gets its events and its outcome.
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
        let (sender, receiver) = channel();
        entry.call_senders.insert(id, sender);
        self.apply_effects(realm, &mut entry, effects);
        Ok(receiver)
    }

    /// Cancels a call that its caller no longer waits for.
    pub(crate) fn cancel_call(&self, realm: RealmId, call: &CallId, reason: &str) {
        self.apply(realm, |realm, now| {
            ((), realm.call_cancelled(call, reason, now))
        });
    }

    /// Takes the requests of the page to the client. Each request is returned only once.
    pub(crate) fn take_client_requests(&self, realm: RealmId, call: &CallId) -> Vec<ClientRequest> {
        self.apply(realm, |realm, _| {
            (realm.take_client_requests(call), Vec::new())
        })
        .unwrap_or_default()
    }

    /// Delivers a response of the client to the page that sent the request.
    pub(crate) fn deliver_client_response(
        &self,
        realm: RealmId,
        call: &CallId,
        response: ClientResponse,
    ) {
        self.apply(realm, |realm, now| {
            ((), realm.client_answered(call, response, now))
        });
    }

    /// Returns the tool for which the arguments of a call must be validated, with these arguments,
    /// or `None` if that is not necessary any more.
    pub(crate) fn input_to_validate(
        &self,
        realm: RealmId,
        call: &CallId,
    ) -> Option<(Arc<SharedTool>, Box<RawValue>)> {
        self.with_realm(realm, |realm| realm.input_to_validate(call))?
    }

    /// The arguments of a call were validated for this tool.
    pub(crate) fn input_validated(
        &self,
        realm: RealmId,
        call: &CallId,
        tool: &Arc<SharedTool>,
        outcome: Result<(), CallFailure>,
    ) {
        self.apply(realm, |realm, now| {
            ((), realm.input_validated(call, tool, outcome, now))
        });
    }

    /// Parks a call until its client has answered the page's requests. Returns the number of the
    /// round and the requests, or `None` when no request is pending any more.
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

    /// Resumes a parked call. Returns `None` when no call waits for this round.
    pub(crate) fn resume_call(
        &self,
        realm: RealmId,
        call: &CallId,
        round: u64,
        responses: Vec<ClientResponse>,
    ) -> Option<(PageRequest, CallReceiver)> {
        let mut entry = self.realms.get_mut(&realm)?;
        let now = self.now();
        let (request, effects) = entry.realm.call_resumed(call, round, responses, now)?;
        let (sender, receiver) = channel();
        entry.call_senders.insert(call.clone(), sender);
        self.apply_effects(realm, &mut entry, effects);
        Some((request, receiver))
    }
}
