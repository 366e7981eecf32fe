//! Handlers send requests to the client of their call, and the client responds.

use bridge_protocol::{
    BridgeToPage, CallId, ClientRequest, ClientResponse, ClientResponses, SessionId,
};

use super::call::CallerState;
use super::deadlines::Deadline;
use super::{ConnectionId, Effect, Effects, Now, PageRequest, Realm, RealmCall};
use crate::realm::client_requests::{PendingClientRequests, parse_capabilities};

impl Realm {
    /// A handler sends requests to the client.
    pub fn client_requests_received(
        &mut self,
        id: &SessionId,
        connection: ConnectionId,
        call: &CallId,
        requests: Vec<ClientRequest>,
        now: Now,
    ) -> Effects {
        if self.call_on(id, connection, call).is_none() {
            return Effects::new();
        }
        let mut known_responses = Vec::new();
        let must_ask = self.update_call(call, |open| {
            let client = open.context.client.as_ref();
            let capabilities = client.and_then(|client| client.capabilities.as_deref());
            // A completion cannot be resumed in MCP, so its handler cannot ask the client.
            let is_completion = matches!(open.request, PageRequest::Completion { .. });
            let declared = parse_capabilities(capabilities.filter(|_| !is_completion));
            for request in requests {
                known_responses.extend(open.client_requests.request(
                    request,
                    &declared,
                    now.instant,
                ));
            }
            open.client_requests.is_waiting() && !open.is_parked()
        });
        let mut effects = self.send_client_responses(call, known_responses);
        if must_ask == Some(true) {
            effects.push(Effect::ClientRequestsPending { call: call.clone() });
        }
        effects
    }

    /// Returns the requests that the caller must send to its client.
    pub fn take_client_requests(&mut self, call: &CallId) -> Vec<ClientRequest> {
        self.calls
            .get_mut(call)
            .map(|call| call.client_requests.take_unsent())
            .unwrap_or_default()
    }

    /// The caller returns the unanswered requests to its client and leaves. The call waits for the
    /// next round until the input timeout.
    pub fn call_parked(&mut self, call: &CallId) -> Option<(u64, Vec<ClientRequest>)> {
        let open = self.calls.get_mut(call)?;
        let requests = open.client_requests.pending();
        if requests.is_empty() {
            return None;
        }
        Some((open.park(), requests))
    }

    /// The client resumes a parked call with responses. `None` when no call waits for this round.
    pub fn call_resumed(
        &mut self,
        call: &CallId,
        round: u64,
        answers: Vec<ClientResponse>,
        now: Now,
    ) -> Option<(PageRequest, Effects)> {
        let open = self.calls.get_mut(call)?;
        match &open.caller_state {
            CallerState::Parked { round: parked, .. } if *parked == round => {}
            _ => return None,
        }
        let request = open.request.clone();
        let parked = std::mem::replace(&mut open.caller_state, CallerState::Waiting);
        if let CallerState::Parked {
            outcome: Some(ending),
            ..
        } = parked
        {
            return Some((request, self.end_call(call, ending, now)));
        }
        let mut effects =
            self.apply_client_responses(call, answers, now, PendingClientRequests::resolve);
        if self
            .calls
            .get(call)
            .is_some_and(|call| call.client_requests.is_waiting())
        {
            effects.push(Effect::ClientRequestsPending { call: call.clone() });
        }
        Some((request, effects))
    }

    /// The client has responded. A parked call ignores the response, because its responses arrive
    /// with the next round.
    pub fn client_answered(&mut self, call: &CallId, answer: ClientResponse, now: Now) -> Effects {
        self.apply_client_responses(
            call,
            vec![answer],
            now,
            PendingClientRequests::resolve_or_fail,
        )
    }

    fn apply_client_responses(
        &mut self,
        call: &CallId,
        answers: Vec<ClientResponse>,
        now: Now,
        resolve: fn(&mut PendingClientRequests, ClientResponse) -> Option<ClientResponse>,
    ) -> Effects {
        let responses = self.update_call(call, |open| {
            if open.is_parked() {
                return Vec::new();
            }
            let answered = |answer| resolve(&mut open.client_requests, answer);
            let responses = answers.into_iter().filter_map(answered).collect();
            open.exclude_client_wait(now.instant);
            responses
        });
        self.send_client_responses(call, responses.unwrap_or_default())
    }

    /// The client has not responded in time: the requests fail, and the call continues.
    pub(super) fn client_timed_out(&mut self, call: &CallId, now: Now) -> Effects {
        let timeout = self.limits.input_timeout;
        let failed = self.update_call(call, |open| {
            let failed = open.client_requests.expire(timeout);
            open.exclude_client_wait(now.instant);
            failed
        });
        let mut effects = self.send_client_responses(call, failed.unwrap_or_default());
        effects.push(Effect::ClientRequestsExpired { call: call.clone() });
        effects
    }

    /// Changes a call and updates its deadline.
    pub(super) fn update_call<T>(
        &mut self,
        id: &CallId,
        change: impl FnOnce(&mut RealmCall) -> T,
    ) -> Option<T> {
        let call = self.calls.get_mut(id)?;
        let due = call.deadline();
        let outcome = change(call);
        let next = call.deadline();
        if next != due {
            self.deadlines.remove((due, Deadline::Call(id.clone())));
            self.deadlines.insert(next, Deadline::Call(id.clone()));
        }
        Some(outcome)
    }

    /// Sends responses to the page. A page that is not connected repeats its requests after it has
    /// reconnected.
    fn send_client_responses(&self, id: &CallId, responses: Vec<ClientResponse>) -> Effects {
        let connection = self
            .calls
            .get(id)
            .and_then(|call| self.sessions.get(&call.session))
            .and_then(|session| session.phase.connection());
        match connection {
            Some(connection) if !responses.is_empty() => Effects::from([Effect::Send {
                connection,
                message: BridgeToPage::ClientResponses(ClientResponses {
                    request_id: id.clone(),
                    responses,
                }),
            }]),
            _ => Effects::new(),
        }
    }
}
