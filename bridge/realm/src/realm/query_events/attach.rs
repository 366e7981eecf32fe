//! Attaches documents to queries whose former document is gone.

use bridge_protocol::{QueryId, SessionId};

use super::QueryError;
use crate::realm::query::{PagePresence, QueryOrigin};
use crate::realm::{AgentEffect, ConnectionId, Effect, Effects, Now, Realm};

impl Realm {
    /// A document attaches to a query of its session and receives all stored and all later
    /// messages.
    pub fn query_attached(
        &mut self,
        session: &SessionId,
        connection: ConnectionId,
        id: &QueryId,
        now: Now,
    ) -> Effects {
        let Some(page) = self.session_on(session, connection) else {
            return Effects::new();
        };
        let has_registered = page.has_registered();
        let running = self.queries.get(id);
        if running.is_some_and(|it| it.session == *session && it.origin != QueryOrigin::Frontend) {
            self.update_query(id, |query| {
                query.page_presence = match query.page_presence {
                    PagePresence::Detached { .. } if !has_registered => PagePresence::Reattaching,
                    PagePresence::Detached { .. } => PagePresence::Attached,
                    there => there,
                };
                query.delivery.rewind();
                query.update_approval_times(now.instant);
            });
            let mut effects = self.send_query_updates(id);
            effects.push(Effect::Agent(AgentEffect::PageAttached {
                query: id.clone(),
            }));
            return effects;
        }
        match self
            .ended_queries
            .get_mut(id)
            .filter(|ended| ended.session == *session)
        {
            Some(ended) if ended.delivery.has_final_message() => {
                ended.must_attach = false;
                ended.delivery.rewind();
                Effect::send_all(connection, ended.delivery.take_undelivered(id))
            }
            _ => Effect::send_all(
                connection,
                [QueryError::not_found().into_message(id.clone())],
            ),
        }
    }

    /// A page has registered its items, so calls of its queries that wait for them can be made.
    pub(in crate::realm) fn resume_queries(&mut self, session: &SessionId) -> Effects {
        let mut effects = Effects::new();
        for id in self.session_query_ids(session) {
            let Some(query) = self.queries.get(&id) else {
                continue;
            };
            // No document attaches to the query of a frontend, so registration is enough.
            let is_back = match query.page_presence {
                PagePresence::Attached => false,
                PagePresence::Reattaching => true,
                PagePresence::Detached { .. } => query.origin == QueryOrigin::Frontend,
            };
            if is_back {
                self.update_query(&id, |query| query.page_presence = PagePresence::Attached);
                effects.push(Effect::Agent(AgentEffect::PageAttached { query: id }));
            }
        }
        effects
    }

    /// Whether calls of a query must wait because its page is being reloaded.
    pub fn is_query_detached(&self, id: &QueryId) -> bool {
        let query = self.queries.get(id);
        query.is_some_and(|query| query.page_presence != PagePresence::Attached)
    }
}
