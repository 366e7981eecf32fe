//! What handlers ask of the client behind their call, and how the client's answers come back.

use bridge_protocol::{
    BridgeToPage, CallId, ClientRequest, ClientResponse, ClientResponses, SessionId,
};

use super::asking::{Asking, declared};
use super::call::Waiting;
use super::deadlines::Deadline;
use super::{Call, ConnectionId, Effect, Effects, Now, Realm, Request};

impl Realm {
    /// A handler asks the client.
    pub(crate) fn client_asked(
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
        let mut known = Vec::new();
        let asks = self.change_call(call, |open| {
            let client = open.context.client.as_ref();
            let capabilities = client.and_then(|client| client.capabilities.as_deref());
            // MCP answers no completion with a round: nobody would come back for it.
            let completes = matches!(open.request, Request::Completion { .. });
            let declared = declared(capabilities.filter(|_| !completes));
            for request in requests {
                known.extend(open.asking.asked(request, &declared, now.instant));
            }
            open.asking.is_waiting() && !open.is_parked()
        });
        let mut effects = self.responses(call, known);
        if asks == Some(true) {
            effects.push(Effect::Asks { call: call.clone() });
        }
        effects
    }

    /// What the caller must send to its client.
    pub(crate) fn take_client_requests(&mut self, call: &CallId) -> Vec<ClientRequest> {
        self.calls
            .get_mut(call)
            .map(|call| call.asking.take())
            .unwrap_or_default()
    }

    /// The caller hands what is open to its client and leaves. The call waits, for as long as the
    /// client may take, for the next round.
    pub(crate) fn call_parked(&mut self, call: &CallId) -> Option<(u64, Vec<ClientRequest>)> {
        let open = self.calls.get_mut(call)?;
        let requests = open.asking.open();
        if requests.is_empty() {
            return None;
        }
        Some((open.park(), requests))
    }

    /// The client comes back with answers. `None` when no call waits for this round.
    pub(crate) fn call_resumed(
        &mut self,
        call: &CallId,
        round: u64,
        answers: Vec<ClientResponse>,
        now: Now,
    ) -> Option<(Request, Effects)> {
        let open = self.calls.get_mut(call)?;
        match &open.waiting {
            Waiting::Parked { round: parked, .. } if *parked == round => {}
            _ => return None,
        }
        let request = open.request.clone();
        let parked = std::mem::replace(&mut open.waiting, Waiting::Caller);
        if let Waiting::Parked {
            ending: Some(ending),
            ..
        } = parked
        {
            return Some((request, self.end_call(call, ending, now)));
        }
        let mut effects = self.answers_taken(call, answers, now, Asking::answered);
        if self
            .calls
            .get(call)
            .is_some_and(|call| call.asking.is_waiting())
        {
            effects.push(Effect::Asks { call: call.clone() });
        }
        Some((request, effects))
    }

    /// The client answered. One whose call is parked brings its answers with the next round.
    pub(crate) fn client_answered(
        &mut self,
        call: &CallId,
        answer: ClientResponse,
        now: Now,
    ) -> Effects {
        self.answers_taken(call, vec![answer], now, Asking::answered_once)
    }

    fn answers_taken(
        &mut self,
        call: &CallId,
        answers: Vec<ClientResponse>,
        now: Now,
        take: fn(&mut Asking, ClientResponse) -> Option<ClientResponse>,
    ) -> Effects {
        let taken = self.change_call(call, |open| {
            if open.is_parked() {
                return Vec::new();
            }
            let answered = |answer| take(&mut open.asking, answer);
            let taken = answers.into_iter().filter_map(answered).collect();
            open.waited_for_client(now.instant);
            taken
        });
        self.responses(call, taken.unwrap_or_default())
    }

    /// The client did not answer in time: the handler hears it, and the call goes on.
    pub(super) fn client_silent(&mut self, call: &CallId, now: Now) -> Effects {
        let within = self.limits.input_within;
        let failed = self.change_call(call, |open| {
            let failed = open.asking.give_up(within);
            open.waited_for_client(now.instant);
            failed
        });
        self.responses(call, failed.unwrap_or_default())
    }

    /// Changes a call, and its deadline with it.
    pub(super) fn change_call<T>(
        &mut self,
        id: &CallId,
        change: impl FnOnce(&mut Call) -> T,
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

    /// A page that is away asks again when it is back.
    fn responses(&self, id: &CallId, responses: Vec<ClientResponse>) -> Effects {
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
