//! Calls that outlive their document: they are armed, handed over when the document ends, and sent
//! to the next document of the session as soon as it has registered their items.
//!
//! 1. `call-hand-over` arms a call with a state, and `leaving` names the armed calls. They wait for
//!    the next document, for at most `page_return`. Such a call counts as unreceived, its requests to
//!    the client end, and messages of the former document about it change nothing.
//! 2. After `register`, the call is sent to the next document with its state. If the tool has
//!    another definition, the effect `ValidateInput` lets the task of the call validate the
//!    arguments first, because a realm does not validate.
//! 3. The socket of the next document may overtake `leaving`, and a newer state may be on its way.
//!    The bridge then closes the socket of the former document, and reads for a while what that has
//!    sent before (`HandOver::unconfirmed_on`).
//!
//! A document with the same id is a reconnect and gets none of these calls. A document runs a call
//! once for each number of hand-overs. A document in the back/forward cache can therefore continue
//! its own call, and a copy of the message cannot run it twice.

use std::sync::Arc;

use bridge_protocol::limits::MAX_HAND_OVERS;
#[cfg(any(test, feature = "in-memory"))]
use bridge_protocol::limits::{MAX_ARMED_BYTES, MAX_ARMED_CALLS};
use bridge_protocol::{CallId, Kind, SessionId};
use serde_json::value::RawValue;

#[cfg(any(test, feature = "in-memory"))]
use super::hand_over::HandOver;
use super::hand_over::{Arming, HandOverRequest, StateTotals, return_deadline};
use super::session::Session;
use super::{CallFailure, CallOutcome, ConnectionId, Effect, Effects, Now, PageRequest, Realm};
use crate::definition::SharedDefinition;
use crate::definition::tool::SharedTool;

impl Realm {
    /// A handler arms the hand-over of its call, replaces the state, or disarms it.
    pub fn hand_over_requested(
        &mut self,
        id: &SessionId,
        connection: ConnectionId,
        call: &CallId,
        request: HandOverRequest,
    ) {
        let is_unconfirmed = self.unconfirmed_calls(id, connection).any(|it| it == call);
        let may_return = |session: &mut Session| session.abilities().resumes_sessions;
        if !is_unconfirmed
            && (!self.session_on(id, connection).is_some_and(may_return)
                || self.call_on(id, connection, call).is_none())
        {
            return;
        }
        let arming = match request {
            HandOverRequest::Disarm => Arming::Disarmed,
            HandOverRequest::OutOfMemory => {
                Arming::Refused("the bridge has no memory for its state".to_owned())
            }
            HandOverRequest::Arm(state) => {
                let others = if is_unconfirmed {
                    self.waiting_totals(id, Some(call))
                } else {
                    self.armed_totals(id, call)
                };
                match others.exceeded_limit(state.bytes()) {
                    Some(limit) => Arming::Refused(limit),
                    None => Arming::Armed(state),
                }
            }
        };
        let Some(open) = self.calls.get_mut(call) else {
            return;
        };
        let hand_over = open.hand_over.get_or_insert_default();
        if is_unconfirmed {
            // A newer document has connected already, and waits for the last state.
            hand_over.continuation = match arming {
                Arming::Armed(state) => Some(state),
                Arming::Disarmed | Arming::Refused(_) => None,
            };
        } else {
            hand_over.arming = arming;
        }
    }

    /// The calls of a session whose former document, on this connection, has not confirmed yet that
    /// it hands them over.
    pub(super) fn unconfirmed_calls(
        &self,
        id: &SessionId,
        connection: ConnectionId,
    ) -> impl Iterator<Item = &CallId> {
        self.calls_awaiting_document(id).filter(move |id| {
            let call = self.calls.get(*id);
            call.is_some_and(|call| call.is_unconfirmed_on(connection))
        })
    }

    /// Whether what a former document has sent on this connection must still be read, although a
    /// newer document of the session is connected.
    pub fn awaits_former_document(&self, id: &SessionId, connection: ConnectionId) -> bool {
        self.unconfirmed_calls(id, connection).next().is_some()
    }

    /// The states with which all other calls of a session are armed.
    fn armed_totals(&self, id: &SessionId, except: &CallId) -> StateTotals {
        let calls = self.sessions.get(id).map(|session| &session.calls);
        let others = calls.into_iter().flatten().filter(|call| *call != except);
        let armed = others.filter_map(|call| {
            let hand_over = self.calls.get(call)?.hand_over.as_deref()?;
            hand_over.armed_bytes()
        });
        armed.fold(StateTotals::default(), StateTotals::add)
    }

    /// The states of the calls that wait for the next document of a session, except one.
    pub(super) fn waiting_totals(&self, id: &SessionId, except: Option<&CallId>) -> StateTotals {
        let waiting = self.calls_awaiting_document(id);
        let others = waiting.filter(|call| except != Some(*call));
        let states = others.filter_map(|call| {
            let hand_over = self.calls.get(call)?.hand_over.as_deref()?;
            hand_over.continuation.as_ref()
        });
        states.fold(StateTotals::default(), |totals, state| {
            totals.add(state.bytes())
        })
    }

    /// The calls of a session that wait for its next document.
    pub(super) fn calls_awaiting_document(&self, id: &SessionId) -> impl Iterator<Item = &CallId> {
        let calls = self.sessions.get(id).map(|session| &session.calls);
        calls.into_iter().flatten().filter(|id| {
            let call = self.calls.get(*id);
            call.is_some_and(|call| call.receipt.awaits_document())
        })
    }

    /// Hands a call over. Ends it instead if it is not armed, if its client has left, or if that
    /// exceeds a limit.
    pub(super) fn hand_over_call(&mut self, id: &CallId, why: &str, now: Now) -> Effects {
        let Some(call) = self.calls.get(id) else {
            return Effects::new();
        };
        let until = return_deadline(self.limits.page_return, now.instant);
        let hand_over = call.hand_over.as_deref().filter(|_| !call.is_parked());
        let armed = hand_over.and_then(|it| Some((it.armed_bytes()?, it.count)));
        let (Some(until), Some((bytes, count))) = (until, armed) else {
            return self.page_gone(id, why, now);
        };
        let waiting = self.waiting_totals(&call.session, None);
        let refusal = if count >= MAX_HAND_OVERS {
            Some(format!(
                "it was handed over {MAX_HAND_OVERS} times, which is the limit"
            ))
        } else {
            waiting.exceeded_limit(bytes)
        };
        if let Some(refusal) = refusal {
            self.update_call(id, |call| {
                call.hand_over.get_or_insert_default().arming = Arming::Refused(refusal);
            });
            return self.page_gone(id, why, now);
        }
        self.update_call(id, |call| call.hand_over(until, now));
        Effects::from([Effect::CallHandedOver { call: id.clone() }])
    }

    /// Sends the calls that wait for this document and whose items it has registered. If a tool has
    /// changed, the arguments are validated first.
    pub(super) fn send_awaited_calls(
        &mut self,
        id: &SessionId,
        connection: ConnectionId,
        now: Now,
    ) -> Effects {
        let waiting: Vec<_> = self.calls_awaiting_document(id).cloned().collect();
        let mut effects = Effects::new();
        for call in waiting {
            let (Some(open), Some(session)) = (self.calls.get(&call), self.sessions.get(id)) else {
                continue;
            };
            match session.find_requested(&open.request) {
                _ if !open.is_confirmed() => {}
                RequestedItem::Missing => {}
                RequestedItem::Changed(_) => effects.push(Effect::ValidateInput { call }),
                RequestedItem::Same => effects.extend(self.send_call(&call, connection, now)),
            }
        }
        effects
    }

    /// The tool for which the arguments of a call must be validated before the call is sent, with
    /// these arguments.
    pub fn input_to_validate(&self, call: &CallId) -> Option<(Arc<SharedTool>, Box<RawValue>)> {
        let open = self.calls.get(call)?;
        let PageRequest::Tool { input, .. } = &open.request else {
            return None;
        };
        let session = self.sessions.get(&open.session)?;
        let waits = open.receipt.awaits_document()
            && open.is_confirmed()
            && session.phase.connection().is_some();
        match session.find_requested(&open.request) {
            RequestedItem::Changed(tool) if waits => Some((Arc::clone(tool), input.clone())),
            _ => None,
        }
    }

    /// The arguments of a call were validated for a tool of its new document. A tool that has
    /// changed again meanwhile is validated again.
    pub fn input_validated(
        &mut self,
        call: &CallId,
        tool: &Arc<SharedTool>,
        outcome: Result<(), CallFailure>,
        now: Now,
    ) -> Effects {
        let Some((current, _)) = self.input_to_validate(call) else {
            return Effects::new();
        };
        if current.hash != tool.hash {
            return Effects::from([Effect::ValidateInput { call: call.clone() }]);
        }
        if let Err(failure) = outcome {
            return self.end_call(call, CallOutcome::Failed(failure), now);
        }
        if let Some(open) = self.calls.get_mut(call)
            && let PageRequest::Tool { tool, .. } = &mut open.request
        {
            *tool = current;
        }
        let session = self.calls.get(call).map(|call| &call.session);
        let connection = session.and_then(|session| self.sessions.get(session)?.phase.connection());
        connection.map_or_else(Effects::new, |connection| {
            self.send_call(call, connection, now)
        })
    }

    /// Sends a call to a page, which must acknowledge it in time.
    pub(super) fn send_call(&mut self, id: &CallId, connection: ConnectionId, now: Now) -> Effects {
        let session = self.calls.get(id).map(|call| &call.session);
        let Some(session) = session.and_then(|session| self.sessions.get(session)) else {
            return Effects::new();
        };
        let until = now.instant + session.receipt_timeout(self.limits.receipt_timeout);
        let receipt = session.abilities().receipt(until);
        // Without a new receipt timeout the call could end while its message is in transit, and the
        // page would run it anyway.
        let message = self.update_call(id, |call| {
            call.receipt = receipt;
            call.request_message(id, now)
        });
        let send = message.map(|message| Effect::Send {
            connection,
            message,
        });
        send.into_iter().collect()
    }
}

#[cfg(any(test, feature = "in-memory"))]
impl Realm {
    /// Panics when the state of hand-overs contradicts that of the session.
    pub(super) fn check_hand_overs(&self, id: &SessionId, session: &Session) {
        let is_between = matches!(session.phase, super::Phase::BetweenDocuments { .. });
        let mut armed = StateTotals::default();
        for call in session.calls.iter().map(|call| &self.calls[call]) {
            let hand_over = call.hand_over.as_deref();
            if call.receipt.awaits_document() {
                assert!(!call.is_parked() && !call.client_requests.is_waiting());
                let is_armed = hand_over.is_some_and(|it| it.armed_bytes().is_some());
                assert!(
                    !is_armed,
                    "a call of {id} waits for a document and is armed"
                );
            } else {
                assert!(
                    !is_between,
                    "{id} has no document and a call that runs in one"
                );
            }
            let count = hand_over.map_or(0, |it| it.count);
            assert!(count <= MAX_HAND_OVERS);
            if let Some(bytes) = hand_over.and_then(HandOver::armed_bytes) {
                armed = armed.add(bytes);
            }
        }
        for totals in [armed, self.waiting_totals(id, None)] {
            assert!(totals.count <= MAX_ARMED_CALLS && totals.bytes <= MAX_ARMED_BYTES);
        }
        if is_between {
            assert!(self.calls_awaiting_document(id).count() == session.calls.len());
        }
    }
}

/// The item of a call in the session of its new document.
enum RequestedItem<'a> {
    Missing,
    Same,
    /// The tool has another definition than the one for which the arguments were validated.
    Changed(&'a Arc<SharedTool>),
}

impl Session {
    fn find_requested(&self, request: &PageRequest) -> RequestedItem<'_> {
        let validates = !self.abilities().validates_arguments;
        let found = match request {
            _ if self.items_are_former() => false,
            PageRequest::Tool { tool, .. } => match self.item(Kind::Tool, tool.name()) {
                Some(SharedDefinition::Tool(found)) if validates && found.hash != tool.hash => {
                    return RequestedItem::Changed(found);
                }
                found => found.is_some(),
            },
            PageRequest::Prompt { name, .. } => self.item(Kind::Prompt, name).is_some(),
            PageRequest::Resource { uri, .. } => self.serves(uri),
            PageRequest::Completion { reference, .. } => {
                self.item(reference.kind, &reference.name).is_some()
            }
        };
        if found {
            RequestedItem::Same
        } else {
            RequestedItem::Missing
        }
    }
}
