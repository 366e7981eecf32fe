//! The document of a page goes while its queries go on, and another one takes them up.

use bridge_protocol::{QueryId, SessionId};

use super::{QueryFailed, sends};
use crate::realm::query::{Asker, Over, Page};
use crate::realm::{ConnectionId, Effect, Effects, Now, Realm};

impl Realm {
    /// The document of a page is gone: its queries wait for it to attach again, or end.
    pub(in crate::realm) fn queries_lose_page(&mut self, session: &SessionId, now: Now) -> Effects {
        let dialect = self.sessions.get(session).map(|session| session.dialect());
        let wait = dialect.map(|it| it.attach_within(self.limits.queries.attach_within));
        let wait = wait.unwrap_or_default();
        let until = now.instant + wait;
        let mut effects = Effects::new();
        for id in self.queries_of(session) {
            if wait.is_zero() {
                effects.extend(self.query_page_gone(&id, now));
            } else {
                self.change_query(&id, |query| query.page = Page::Gone { until });
            }
        }
        let kept = |over: &Over| over.session == *session && over.hearing.keeps();
        let over = self.over.iter().filter(|(_, over)| kept(over));
        let over: Vec<_> = over.map(|(id, _)| id.clone()).collect();
        for id in over {
            self.change_over(&id, |over| {
                over.must_attach = true;
                over.kept_until = Some(until);
            });
        }
        effects
    }

    /// A document takes up a query of its session: it hears all that is kept, and what comes.
    pub(crate) fn query_attached(
        &mut self,
        session: &SessionId,
        connection: ConnectionId,
        id: &QueryId,
    ) -> Effects {
        let Some(page) = self.session_on(session, connection) else {
            return Effects::new();
        };
        let has_registered = page.has_registered();
        let running = self.queries.get(id);
        if running.is_some_and(|it| it.session == *session && it.asker != Asker::Frontend) {
            self.change_query(id, |query| {
                query.page = match query.page {
                    Page::Gone { .. } if !has_registered => Page::Arriving,
                    Page::Gone { .. } => Page::There,
                    there => there,
                };
                query.hearing.again();
            });
            let mut effects = self.tell(id);
            effects.push(Effect::QueryHasPage { query: id.clone() });
            return effects;
        }
        match self
            .over
            .get_mut(id)
            .filter(|over| over.session == *session)
        {
            Some(over) if over.hearing.has_end() => {
                over.must_attach = false;
                over.hearing.again();
                sends(connection, over.hearing.take_untold(id))
            }
            _ => sends(connection, [QueryFailed::not_found().message(id.clone())]),
        }
    }

    /// A page has registered what it has: calls that wait for it can be made.
    pub(in crate::realm) fn queries_find_tools(&mut self, session: &SessionId) -> Effects {
        let mut effects = Effects::new();
        for id in self.queries_of(session) {
            let Some(query) = self.queries.get(&id) else {
                continue;
            };
            // Nobody else takes up what a frontend has asked.
            let is_back = match query.page {
                Page::There => false,
                Page::Arriving => true,
                Page::Gone { .. } => query.asker == Asker::Frontend,
            };
            if is_back {
                self.change_query(&id, |query| query.page = Page::There);
                effects.push(Effect::QueryHasPage { query: id });
            }
        }
        effects
    }

    /// Whether calls of a query must wait: its page is being loaded anew.
    pub(crate) fn query_awaits_page(&self, id: &QueryId) -> bool {
        let query = self.queries.get(id);
        query.is_some_and(|query| query.page != Page::There)
    }
}
