//! The record of ended queries: their ids, so that no id is used twice, and for a while the
//! messages that their pages have not received or may request again.

use bridge_protocol::QueryId;

use crate::realm::deadlines::Deadline;
use crate::realm::query::{EndedQuery, EndedQueryState};
use crate::realm::{AgentEffect, Effect, Effects, Realm};

/// The number of ended queries that are recorded. When one more ends, the oldest is removed.
pub(super) const MAX_ENDED_QUERIES: usize = 64;

/// The maximum size of the messages of all ended queries of a realm, in bytes. When it is exceeded,
/// the messages of the oldest queries are dropped, but never those of the newest query.
const MAX_ENDED_QUERY_BYTES: usize = 16 * 1024 * 1024;

impl Realm {
    /// Sends the final message if the page is connected.
    pub(super) fn send_final_message(&self, id: &QueryId, ended: &mut EndedQuery) -> Effects {
        let session = self.sessions.get(&ended.session);
        let connection = session.and_then(|session| session.phase.connection());
        match connection.filter(|_| !ended.must_attach) {
            Some(connection) => Effect::send_all(connection, ended.delivery.take_undelivered(id)),
            None => Effects::new(),
        }
    }

    /// Records a query that has ended, and evicts the oldest ended query or its messages if
    /// necessary.
    pub(super) fn record_ended_query(&mut self, id: &QueryId, ended: EndedQuery) -> Effects {
        let mut effects = Effects::new();
        if self.ended_queries.len() == MAX_ENDED_QUERIES
            && let Some(oldest) = self.ended_queries.keys().next().cloned()
        {
            effects.extend(self.release_query_id(&oldest));
            self.update_ended_query(&oldest, |ended| ended.attachable_until = None);
            self.ended_queries.shift_remove(&oldest);
        }
        if ended.state == EndedQueryState::Released {
            effects.push(Effect::Agent(AgentEffect::Forget { query: id.clone() }));
        }
        if let Some(at) = ended.deadline() {
            self.deadlines.insert(at, Deadline::Query(id.clone()));
        }
        self.ended_queries.insert(id.clone(), ended);
        self.evict_over_budget();
        effects
    }

    fn evict_over_budget(&mut self) {
        let mut bytes = 0;
        let mut excess = Vec::new();
        for (age, (id, ended)) in self.ended_queries.iter().rev().enumerate() {
            bytes += ended.delivery.bytes();
            if age > 0 && bytes > MAX_ENDED_QUERY_BYTES && ended.delivery.bytes() > 0 {
                excess.push(id.clone());
            }
        }
        for id in excess {
            self.update_ended_query(&id, |ended| {
                ended.delivery.clear();
                ended.attachable_until = None;
            });
        }
    }

    /// Releases the id of an ended query, so that only its page can refer to it.
    pub(in crate::realm) fn release_query_id(&mut self, id: &QueryId) -> Effects {
        if self
            .ended_queries
            .get(id)
            .is_none_or(|ended| ended.state == EndedQueryState::Released)
        {
            return Effects::new();
        }
        self.update_ended_query(id, |ended| ended.state = EndedQueryState::Released);
        Effects::from([Effect::Agent(AgentEffect::Forget { query: id.clone() })])
    }

    /// The agent has confirmed that the query is cancelled, or could not be reached.
    pub fn agent_cancelled(&mut self, id: &QueryId) -> Effects {
        match self.ended_queries.get(id).map(|ended| ended.state) {
            Some(EndedQueryState::PageGone { .. }) => Effects::new(),
            _ => self.release_query_id(id),
        }
    }

    /// Changes an ended query and updates its deadline.
    pub(in crate::realm) fn update_ended_query(
        &mut self,
        id: &QueryId,
        change: impl FnOnce(&mut EndedQuery),
    ) {
        let Some(ended) = self.ended_queries.get_mut(id) else {
            return;
        };
        let former = ended.deadline();
        change(ended);
        let due = ended.deadline();
        if former != due {
            let deadline = || Deadline::Query(id.clone());
            if let Some(former) = former {
                self.deadlines.remove((former, deadline()));
            }
            if let Some(due) = due {
                self.deadlines.insert(due, deadline());
            }
        }
    }
}
