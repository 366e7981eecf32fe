//! The lifecycle of calls, from the request to the outcome. Each call ends exactly once, through
//! [`Realm::end_call`].

use bridge_protocol::{
    BridgeToPage, CallCancel, CallId, CallsAlive, CallsCheck, ErrorCode, SessionId,
};

use super::call::CallerState;
use super::deadlines::Deadline;
use super::{
    CallFailure, CallOutcome, CallerEvent, ConnectionId, Effect, Effects, NewCall, Now, PageAnswer,
    PageRequest, Phase, Realm, RealmCall, Receipt,
};

impl Realm {
    /// A caller starts a call. While the page is disconnected the call waits and is sent when it
    /// reconnects.
    pub fn call_requested(
        &mut self,
        session_id: &SessionId,
        call: NewCall,
        now: Now,
    ) -> Result<Effects, CallFailure> {
        if self.calls.len() >= self.limits.calls {
            return Err(CallFailure::new(
                ErrorCode::CallLimitExceeded,
                format!(
                    "{} calls are in flight for this token, which is the limit: wait for some to \
                     end, or raise `max_calls`",
                    self.limits.calls
                ),
            ));
        }
        if let Some(query) = &call.context.query_id {
            self.check_query_call(query, session_id, call.request.name())?;
        }
        let Some(session) = self.sessions.get_mut(session_id) else {
            return Err(CallFailure::page_gone());
        };
        let id = call.id.clone();
        let mut call = RealmCall::new(
            call,
            session.abilities(),
            session_id.clone(),
            session.receipt_timeout(self.limits.receipt_timeout),
            self.limits.input_timeout,
            now,
        );
        if session.frozen {
            return Err(call.suspended_failure());
        }
        let mut effects = Effects::new();
        match session.phase {
            Phase::Connected { connection, .. } => effects.push(Effect::Send {
                connection,
                message: call.request_message(&id, now),
            }),
            Phase::Disconnected { .. } => {}
            Phase::BetweenDocuments { until } => call.receipt = Receipt::AwaitsDocument { until },
        }
        session.calls.insert(id.clone());
        self.deadlines
            .insert(call.deadline(), Deadline::Call(id.clone()));
        self.calls.insert(id, call);
        Ok(effects)
    }

    /// The page has acknowledged the call.
    pub fn call_received(
        &mut self,
        id: &SessionId,
        connection: ConnectionId,
        call: &CallId,
    ) -> Effects {
        let Some(open) = self.call_on(id, connection, call) else {
            return Effects::new();
        };
        let is_traced = open.context.trace.is_some();
        self.update_call(call, RealmCall::acknowledge);
        if !is_traced {
            return Effects::new();
        }
        Effects::from([Effect::CallReceived { call: call.clone() }])
    }

    /// A page that was suspended checks which calls are still alive before it starts them.
    pub fn calls_checked(
        &mut self,
        id: &SessionId,
        connection: ConnectionId,
        asked: CallsCheck,
    ) -> Effects {
        if self.session_on(id, connection).is_none() {
            return Effects::new();
        }
        let is_alive = |call: &CallId| {
            let open = self.calls.get(call);
            open.is_some_and(|open| open.session == *id && !open.receipt.awaits_document())
        };
        let (request_ids, ended) = asked.request_ids.into_iter().partition(is_alive);
        let message = BridgeToPage::CallsAlive(CallsAlive {
            check: asked.check,
            request_ids,
            ended,
        });
        Effects::from([Effect::Send {
            connection,
            message,
        }])
    }

    /// The page has answered a call, which it may have received on an earlier connection.
    pub fn call_answered(
        &mut self,
        id: &SessionId,
        connection: ConnectionId,
        call: &CallId,
        answer: Result<PageAnswer, CallFailure>,
        now: Now,
    ) -> Effects {
        if let Some(session) = self.session_on(id, connection)
            && let Phase::Connected { answer_count, .. } = &mut session.phase
        {
            *answer_count += 1;
        }
        let Some(open) = self.call_on(id, connection, call) else {
            return Effects::new();
        };
        let answer = answer.map_or_else(CallOutcome::Failed, CallOutcome::Answered);
        if let CallerState::Parked {
            outcome: ending, ..
        } = &mut open.caller_state
        {
            // The client retrieves the outcome with its next round, within the input timeout.
            ending.get_or_insert(answer);
            return Effects::new();
        }
        self.end_call(call, answer, now)
    }

    /// The page reports progress or a log message of a call.
    pub fn call_event_emitted(
        &mut self,
        id: &SessionId,
        connection: ConnectionId,
        call: &CallId,
        event: CallerEvent,
    ) -> Effects {
        let Some(open) = self.call_on(id, connection, call) else {
            return Effects::new();
        };
        let is_requested = match &event {
            CallerEvent::Progress(_) => open.context.progress,
            CallerEvent::Log(log) => open
                .context
                .log_level
                .is_some_and(|min_level| log.level >= min_level),
        };
        if !is_requested {
            return Effects::new();
        }
        Effects::from([Effect::EmitEvent {
            call: call.clone(),
            event,
        }])
    }

    /// The URI that a call of this session reads; `None` if it does not read a resource.
    pub fn call_resource_uri(&self, id: &SessionId, call: &CallId) -> Option<&str> {
        match self
            .calls
            .get(call)
            .filter(|call| call.session == *id)?
            .request
        {
            PageRequest::Resource { ref uri, .. } => Some(uri),
            _ => None,
        }
    }

    /// The caller has cancelled the call: it ends, and the page is notified.
    pub fn call_cancelled(&mut self, call: &CallId, reason: &str, now: Now) -> Effects {
        let failure = CallFailure::new(ErrorCode::CallCancelled, reason.to_owned());
        self.abort_call(call, failure, now)
    }

    /// Ends a call that the page may still be working on.
    pub(super) fn abort_call(&mut self, id: &CallId, failure: CallFailure, now: Now) -> Effects {
        let Some(call) = self.calls.get(id) else {
            return Effects::new();
        };
        let connection = self
            .sessions
            .get(&call.session)
            .and_then(|session| session.phase.connection());
        let mut effects = Effects::new();
        if let Some(connection) = connection {
            effects.push(Effect::Send {
                connection,
                message: BridgeToPage::CallCancel(CallCancel {
                    request_id: id.clone(),
                    code: failure.code,
                    reason: failure.message.clone(),
                }),
            });
        }
        effects.extend(self.end_call(id, CallOutcome::Failed(failure), now));
        effects
    }

    /// Ends a call and delivers its outcome. All calls end through this method.
    pub(super) fn end_call(&mut self, id: &CallId, ending: CallOutcome, now: Now) -> Effects {
        let Some(call) = self.calls.remove(id) else {
            return Effects::new();
        };
        self.deadlines
            .remove((call.deadline(), Deadline::Call(id.clone())));
        if let Some(session) = self.sessions.get_mut(&call.session) {
            session.calls.shift_remove(id);
        }
        let mut effects = self.query_call_ended(&call, &ending, now);
        effects.push(Effect::CompleteCall {
            call: id.clone(),
            outcome: ending,
        });
        effects
    }

    /// Sends the calls that may not have reached the page yet; the page runs each id at most once.
    pub(super) fn send_unreceived_calls(
        &mut self,
        id: &SessionId,
        connection: ConnectionId,
        now: Now,
    ) -> Effects {
        let waiting: Vec<_> = self.unreceived_calls(id).cloned().collect();
        let send = |id: CallId| self.send_call(&id, connection, now);
        waiting.into_iter().flat_map(send).collect()
    }

    /// The calls of a session that its page may have been sent and has not acknowledged.
    pub(super) fn unreceived_calls(&self, id: &SessionId) -> impl Iterator<Item = &CallId> {
        let calls = self.sessions.get(id).map(|session| &session.calls);
        calls.into_iter().flatten().filter(|id| {
            let call = self.calls.get(*id);
            call.is_some_and(|call| {
                call.receipt != Receipt::Received && !call.receipt.awaits_document()
            })
        })
    }

    /// The call, if it belongs to the session, this connection is the session's current one, and the
    /// call does not wait for another document.
    pub(super) fn call_on(
        &mut self,
        id: &SessionId,
        connection: ConnectionId,
        call: &CallId,
    ) -> Option<&mut RealmCall> {
        self.session_on(id, connection)?;
        let open = self.calls.get_mut(call);
        open.filter(|call| call.session == *id && !call.receipt.awaits_document())
    }
}
