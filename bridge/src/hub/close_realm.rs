//! Closes single realms: those of tokens that are not valid any more, and those that the operator ends.

use std::sync::{MutexGuard, PoisonError, Weak};

use bridge_auth::RealmId;
use bridge_realm::realm::RealmEnd;

use super::{ClientSessions, Hub};

impl Hub {
    /// Registers sessions that [`Self::close_realm`] ends.
    pub(crate) fn register_client_sessions(&self, sessions: Weak<dyn ClientSessions>) {
        self.lock_client_sessions().push(sessions);
    }

    fn lock_client_sessions(&self) -> MutexGuard<'_, Vec<Weak<dyn ClientSessions>>> {
        let sessions = self.client_sessions.lock();
        sessions.unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends everything of a realm: pages, calls, queries, MCP sessions
    /// and streams of clients, stored results, and the catalogue. Nothing of it is left when this
    /// returns, except for queries that their agent has not confirmed to be cancelled. A realm that does
    /// not exist is closed already.
    ///
    /// Whoever calls this first makes sure that the token is not accepted any more.
    pub(crate) fn close_realm(&self, realm: &RealmId, end: RealmEnd) {
        let realm = *realm;
        self.apply(realm, |state, now| ((), state.closed(end, now)));
        if let Some(mut entry) = self.realms.get_mut(&realm) {
            if let Some(waiting) = entry.next_registration.take() {
                waiting.notify_waiters();
            }
            for queue in entry.notification_queues.values() {
                queue.close();
            }
        }
        // The end of a session takes the lock of its realm.
        let all = self.lock_client_sessions().clone();
        for sessions in all.iter().filter_map(Weak::upgrade) {
            sessions.end_of_realm(realm);
        }
        self.result_store.remove_realm(realm);
        self.remove_if_empty(realm);
    }

    /// Lets the pages of a realm authenticate again. Their sessions and calls wait for them.
    pub(crate) fn expire_tokens(&self, realm: &RealmId) {
        self.apply(*realm, |state, now| ((), state.tokens_expired(now)));
    }

    /// All realms with pages, clients or sessions of clients, in their order. A client without a page may
    /// have a session only.
    pub(crate) fn all_realms(&self) -> Vec<RealmId> {
        let mut realms = self.find_realms(|_| true);
        let all = self.lock_client_sessions().clone();
        for sessions in all.iter().filter_map(Weak::upgrade) {
            realms.extend(sessions.realms());
        }
        realms.sort_unstable();
        realms.dedup();
        realms
    }

    /// Whether a realm has pages, clients, sessions of clients, or stored results.
    pub(crate) fn is_occupied(&self, realm: RealmId) -> bool {
        if self.realms.contains_key(&realm) || self.result_store.has_realm(realm) {
            return true;
        }
        let all = self.lock_client_sessions().clone();
        let mut sessions = all.iter().filter_map(Weak::upgrade);
        sessions.any(|sessions| sessions.has_realm(realm))
    }

    /// The ids of the realms with pages or clients for which the predicate holds.
    pub(crate) fn find_realms(&self, predicate: impl Fn(&RealmId) -> bool) -> Vec<RealmId> {
        let ids = self.realms.iter().map(|entry| *entry.key());
        ids.filter(predicate).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;
    use std::sync::{Arc, Mutex};

    use serde_json::json;

    use super::*;
    use crate::agent_queries::AgentQueries;
    use crate::config::Config;

    /// Records the realms whose sessions were ended.
    #[derive(Default)]
    struct EndedSessions(Mutex<Vec<RealmId>>);

    impl ClientSessions for EndedSessions {
        fn realms(&self) -> Vec<RealmId> {
            vec![RealmId::from_token("session only")]
        }

        fn end_of_realm(&self, realm: RealmId) {
            self.0.lock().unwrap().push(realm);
        }
    }

    #[tokio::test]
    async fn closing_a_realm_ends_its_clients_and_leaves_others() {
        let hub = Hub::new(
            Config::default(),
            |_, _| Ok(()),
            Arc::<AgentQueries>::default(),
        );
        let ended = Arc::new(EndedSessions::default());
        let registered = Arc::downgrade(&ended);
        hub.register_client_sessions(registered);
        let [closed, other] = ["closed", "other"].map(RealmId::from_token);
        let connect = |realm| {
            let client =
                json!({ "id": 0, "name": "n", "version": "1", "protocolVersion": "2025-11-25" });
            let client = serde_json::from_value(client).unwrap();
            let address = IpAddr::from([127, 0, 0, 1]).into();
            hub.client_connected(realm, address, client)
                .unwrap()
                .unwrap()
        };
        let ((id, queue), (_, other_queue)) = (connect(closed), connect(other));
        assert_eq!(hub.all_realms().len(), 3);
        hub.close_realm(&closed, RealmEnd::TokenRevoked);
        hub.close_realm(&RealmId::from_token("unknown"), RealmEnd::TokenRevoked);
        queue.closed().await;
        assert_eq!(ended.0.lock().unwrap()[0], closed);
        tokio::select! {
            biased;
            () = other_queue.closed() => panic!("the other realm was closed"),
            () = std::future::ready(()) => {}
        }
        // The session of the client would do this.
        hub.client_disconnected(closed, id);
        assert_eq!(hub.find_realms(|_| true), [other]);
    }
}
