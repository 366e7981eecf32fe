//! State that the operations and the task of the directory share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_nats::Client;
use async_nats::jetstream::kv::Store;
use tokio::sync::{Notify, watch};

use crate::directory::Revision;

/// The connection, and what the operations report about it.
#[derive(Default)]
pub(super) struct Shared {
    session: Mutex<Option<Arc<Session>>>,
    /// The newest record of this node that NATS has acknowledged. The watch must deliver it.
    pub(super) announced: watch::Sender<Option<Revision>>,
    /// An operation failed in a way that a missing bucket explains.
    pub(super) suspicion: Notify,
}

/// A connection whose buckets exist.
pub(super) struct Session {
    pub(super) client: Client,
    pub(super) nodes: Store,
    pub(super) realms: Store,
    pub(super) denials: Store,
}

impl Shared {
    /// Returns the connection, if there is one.
    pub(super) fn session(&self) -> Option<Arc<Session>> {
        self.lock().clone()
    }

    pub(super) fn set_session(&self, session: Option<Session>) {
        *self.lock() = session.map(Arc::new);
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<Session>>> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
