//! The current usage of a bridge, for `GET /metrics`.

use super::Hub;
use crate::budget::RealmClass;

/// How much of each thing there is, and how many bytes the pools contain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HubUsage {
    /// Realms of each [`RealmClass`].
    pub(crate) realms: [usize; RealmClass::ALL.len()],
    /// Sessions whose page is connected.
    pub(crate) connected_sessions: usize,
    /// Sessions that wait for their page to reconnect.
    pub(crate) away_sessions: usize,
    /// Sockets of pages that have authenticated.
    pub(crate) authenticated_sockets: usize,
    /// Sockets of pages that have not authenticated yet.
    pub(crate) pending_sockets: usize,
    /// Calls that are running in pages.
    pub(crate) calls: usize,
    /// Queries that are running.
    pub(crate) queries: usize,
    /// Pieces of work that wait for the CPU pool.
    pub(crate) waiting_work: usize,
    /// Messages that wait for pages to read them.
    pub(crate) outbox_messages: usize,
    pub(crate) outbox_bytes: usize,
    pub(crate) kept_result_bytes: usize,
    pub(crate) unread_answer_bytes: usize,
    /// The memory of requests, messages and definitions.
    pub(crate) memory_bytes: usize,
    /// The JSON in the work that waits for the CPU pool.
    pub(crate) waiting_work_bytes: usize,
    pub(crate) catalogue_bytes: usize,
}

impl Hub {
    /// Counts what there is now. Realms are locked one after another, so that calls do not wait for
    /// all of them.
    pub(crate) fn usage(&self) -> HubUsage {
        let mut usage = HubUsage {
            pending_sockets: self.budgets.pending_pages.count(),
            waiting_work: self.budgets.cpu_pool.waiting_count(),
            kept_result_bytes: self.result_store.bytes(),
            unread_answer_bytes: self.budgets.unread_answers.bytes(),
            memory_bytes: self.budgets.memory.used_bytes(),
            waiting_work_bytes: self.budgets.waiting_work.used_bytes(),
            catalogue_bytes: self.budgets.catalogues.used_bytes(),
            ..HubUsage::default()
        };
        for id in self.find_realms(|_| true) {
            let Some(entry) = self.realms.get(&id) else {
                continue;
            };
            let realm = &entry.realm;
            let connected = realm.connected_session_count();
            usage.realms[entry.permit.class() as usize] += 1;
            usage.connected_sessions += connected;
            usage.away_sessions += realm.session_count() - connected;
            usage.authenticated_sockets += entry.outboxes.len();
            usage.calls += realm.call_count();
            usage.queries += realm.query_count();
            for outbox in entry.outboxes.values() {
                let (messages, bytes) = outbox.size();
                usage.outbox_messages += messages;
                usage.outbox_bytes += bytes;
            }
        }
        usage
    }
}
