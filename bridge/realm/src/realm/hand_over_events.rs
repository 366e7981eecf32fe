//! Calls that outlive their document: they are armed, handed over when the document ends, and sent
//! to the next document of the session as soon as it has registered their items.

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
use super::{
    CallFailure, CallOutcome, ConnectionId, Effect, Effects, Now, PageAbilities, PageRequest,
    Phase, Realm, Receipt,
};
use crate::definition::Definition;
use crate::definition::tool::Tool;

/// Why calls end that another document of their tab must not run again.
const RELOADED: &str = "the page was reloaded";

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

    /// The calls of a session whose former document, on this connection, has not said yet that it
    /// hands them over.
    fn unconfirmed_calls(
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

    /// The connection of a former document has ended. The next document goes on with the calls that
    /// it handed over; those of which it said nothing end, because they may have done more than the
    /// last state says.
    pub(super) fn former_document_gone(
        &mut self,
        id: &SessionId,
        connection: ConnectionId,
        hands_over: &[CallId],
        now: Now,
    ) -> Effects {
        let unconfirmed: Vec<_> = self.unconfirmed_calls(id, connection).cloned().collect();
        if unconfirmed.is_empty() {
            return Effects::new();
        }
        let mut effects = Effects::new();
        for call in unconfirmed {
            let hand_over = self
                .calls
                .get_mut(&call)
                .and_then(|it| it.hand_over.as_deref_mut());
            let state = hand_over.and_then(|it| {
                it.unconfirmed_on = None;
                it.continuation.as_ref()
            });
            if state.is_none() || !hands_over.contains(&call) {
                effects.extend(self.page_gone(&call, RELOADED, now));
            }
        }
        let session = self.sessions.get(id);
        if let Some(next) = session.and_then(|session| session.phase.connection()) {
            effects.extend(self.send_awaited_calls(id, next, now));
        }
        effects
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

    /// The states of the calls that wait for the next document of a session, but for one.
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

    /// The document of a session is gone. Its calls end, but for those that it hands over. While
    /// calls wait for the next document, the session waits with them, and ends otherwise.
    pub(super) fn document_gone(
        &mut self,
        id: &SessionId,
        why: &str,
        hands_over: &[CallId],
        now: Now,
    ) -> Effects {
        let Some(session) = self.sessions.get(id) else {
            return Effects::new();
        };
        let may_return = session.abilities().resumes_sessions;
        let mut effects = Effects::new();
        for call in session.calls.clone() {
            let Some(open) = self.calls.get(&call) else {
                continue;
            };
            effects.extend(match open.receipt {
                Receipt::AwaitsDocument { until } if may_return && until > now.instant => continue,
                Receipt::AwaitsDocument { .. } => self.document_did_not_return(&call, now),
                _ if hands_over.contains(&call) => self.hand_over_call(&call, why, now),
                _ => self.page_gone(&call, why, now),
            });
        }
        let waiting = self.calls_awaiting_document(id);
        let until = waiting
            .filter_map(|call| self.calls.get(call)?.receipt.until())
            .max();
        let Some(until) = until else {
            effects.extend(self.end_session(id, why, now));
            return effects;
        };
        effects.extend(self.detach_queries(id, now));
        self.update_session(id, |session| {
            session.phase = Phase::BetweenDocuments { until };
            session.mark_responsive();
        });
        effects.extend(self.notify_builtin_resources_updated());
        effects
    }

    /// Another document of a session has connected, before its former document has reported its
    /// end. The calls that the former document may have started end, because the new document must
    /// not run them again. Those that are armed wait until everything that the former document has
    /// sent was read.
    pub(super) fn calls_of_replaced_document(
        &mut self,
        id: &SessionId,
        is_successor: bool,
        now: Now,
    ) -> Effects {
        let session = self.sessions.get(id);
        let former = session.and_then(|session| session.phase.connection());
        let calls = session.map(|session| session.calls.clone());
        let mut effects = Effects::new();
        for call in calls.into_iter().flatten() {
            let Some(open) = self.calls.get(&call) else {
                continue;
            };
            effects.extend(match open.receipt {
                Receipt::AwaitsDocument { .. } if is_successor => continue,
                _ if open.send_count == 0 && is_successor => continue,
                _ if is_successor && former.is_some() => {
                    let effects = self.hand_over_call(&call, RELOADED, now);
                    let handed_over = self.calls.get_mut(&call);
                    if let Some(hand_over) = handed_over.and_then(|it| it.hand_over.as_deref_mut())
                    {
                        hand_over.unconfirmed_on = former;
                    }
                    effects
                }
                _ => self.page_gone(&call, RELOADED, now),
            });
        }
        effects
    }

    /// Hands a call over, or ends it if it is not armed, if its client has left until it goes on, or
    /// if that exceeds a limit.
    fn hand_over_call(&mut self, id: &CallId, why: &str, now: Now) -> Effects {
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

    /// Ends a call whose document is gone.
    fn page_gone(&mut self, id: &CallId, why: &str, now: Now) -> Effects {
        let Some(call) = self.calls.get(id) else {
            return Effects::new();
        };
        let failure = call.page_gone_failure(why);
        self.end_call(id, CallOutcome::Failed(failure), now)
    }

    /// Ends a call for which no document has come back in time, or none that has its item.
    pub(super) fn document_did_not_return(&mut self, id: &CallId, now: Now) -> Effects {
        let Some(call) = self.calls.get(id) else {
            return Effects::new();
        };
        if !call.is_confirmed() {
            return self.page_gone(id, RELOADED, now);
        }
        let session = self.sessions.get(&call.session);
        let shown = session.filter(|session| session.phase.connection().is_some());
        let title = shown.map(|session| session.page_title().unwrap_or_default());
        let failure = call.not_returned_failure(title, self.limits.page_return);
        self.end_call(id, CallOutcome::Failed(failure), now)
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
    pub fn input_to_validate(&self, call: &CallId) -> Option<(Arc<Tool>, Box<RawValue>)> {
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
        tool: &Arc<Tool>,
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
        let is_between = matches!(session.phase, Phase::BetweenDocuments { .. });
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
    Changed(&'a Arc<Tool>),
}

impl Session {
    fn find_requested(&self, request: &PageRequest) -> RequestedItem<'_> {
        let validates = !self.abilities().validates_arguments;
        let found = match request {
            _ if self.items_are_former() => false,
            PageRequest::Tool { tool, .. } => match self.item(Kind::Tool, tool.name()) {
                Some(Definition::Tool(found)) if validates && found.hash != tool.hash => {
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

/// Whether a page that connects may go on with the calls of the former document.
pub(super) fn is_successor(
    abilities: PageAbilities,
    former_origin: Option<&str>,
    origin: Option<&str>,
) -> bool {
    abilities.resumes_sessions && former_origin == origin
}
