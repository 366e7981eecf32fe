//! The end of a page's document: the page was closed, left or reloaded, or did not reconnect in time.
//!
//! - Its calls end with [`ErrorCode::PageGone`](bridge_protocol::ErrorCode::PageGone), except those
//!   that it hands over: they wait for the next document of the session.
//! - Its queries wait until another document attaches to them, and end otherwise.
//! - The session ends, unless a call waits for the next document.

use bridge_protocol::{CallId, SessionId};

use super::query::{EndedQuery, PagePresence};
use super::{CallOutcome, ConnectionId, Effects, Now, PageHello, Phase, Realm, Receipt, Session};

/// Why calls end that another document of their tab must not run again.
const RELOADED: &str = "the page was reloaded";

impl Realm {
    /// The document of a session is gone. Its calls end, except those that it hands over. While
    /// calls wait for the next document, the session waits with them, and ends otherwise.
    pub(super) fn document_gone(
        &mut self,
        id: &SessionId,
        why: &'static str,
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
        let former = self.update_session(id, |session| {
            session.mark_responsive();
            std::mem::replace(&mut session.phase, Phase::BetweenDocuments { until })
        });
        effects.extend(self.notify_builtin_resources_updated());
        effects.extend(former.and_then(|former| self.page_away(id, former, why, now)));
        effects
    }

    /// The connection of a former document has ended. The next document continues the calls that it
    /// handed over. Its other calls end, because they may have done more than the last state
    /// records.
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

    /// Another document of a session connects, before its former document has reported its end. The
    /// calls that the former document may have started end, because the new document must not run
    /// them again. Those that are armed wait until everything that the former document has sent was
    /// read.
    ///
    /// A page that does not resume its session connects again only from the same document.
    pub(super) fn document_replaced(
        &mut self,
        id: &SessionId,
        hello: &PageHello,
        now: Now,
    ) -> Effects {
        let Some(session) = self.sessions.get(id) else {
            return Effects::new();
        };
        let abilities = [session.abilities(), hello.abilities];
        if abilities.iter().all(|page| !page.resumes_sessions)
            || session.is_same_document(hello.document.as_ref())
        {
            return Effects::new();
        }
        // Whether the new document may continue the calls of the former one.
        let is_successor =
            hello.abilities.resumes_sessions && session.origin() == hello.origin.as_deref();
        let former = session.phase.connection();
        let calls = session.calls.clone();
        let mut effects = self.detach_queries(id, now);
        for call in calls {
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

    /// Ends a call whose document is gone.
    pub(super) fn page_gone(&mut self, id: &CallId, why: &str, now: Now) -> Effects {
        let Some(call) = self.calls.get(id) else {
            return Effects::new();
        };
        let failure = call.page_gone_failure(why);
        self.end_call(id, CallOutcome::Failed(failure), now)
    }

    /// Ends a call for which no document has connected in time, or none that has its item.
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

    /// The document of a page is gone: its queries end, or wait for another document to attach.
    pub(super) fn detach_queries(&mut self, session: &SessionId, now: Now) -> Effects {
        let abilities = self.sessions.get(session).map(Session::abilities);
        let wait = abilities
            .unwrap_or_default()
            .return_timeout(self.limits.queries.attach_timeout);
        let until = now.instant + wait;
        let mut effects = Effects::new();
        for id in self.session_query_ids(session) {
            if wait.is_zero() {
                effects.extend(self.query_page_gone(&id, now));
            } else {
                self.update_query(&id, |query| {
                    query.page_presence = PagePresence::Detached { until }
                });
            }
        }
        let kept = |ended: &EndedQuery| ended.session == *session && ended.delivery.is_replayable();
        let ended = self.ended_queries.iter().filter(|(_, ended)| kept(ended));
        let ended: Vec<_> = ended.map(|(id, _)| id.clone()).collect();
        for id in ended {
            self.update_ended_query(&id, |ended| {
                ended.must_attach = true;
                ended.attachable_until = Some(until);
            });
        }
        effects
    }
}
