//! The directory in NATS: buckets of JetStream's key-value store, and a subject for each node.
//!
//! A task connects, prepares the buckets, and follows the records of the nodes and the denials, over and
//! over. Each connection is a new client: a client that reconnects resumes its watch at the old sequence,
//! and misses all that is written to a bucket that was created anew. It also never ends while it
//! reconnects, even if all its handles were dropped.

mod buckets;
mod connection;
mod events;
mod nats_check;
#[cfg(all(target_os = "linux", any(test, feature = "testing")))]
#[allow(clippy::unwrap_used, reason = "for tests")]
pub(crate) mod nats_server;
#[cfg(all(target_os = "linux", any(test, feature = "testing")))]
#[allow(clippy::unwrap_used, reason = "for tests")]
pub(crate) mod reserved_port;
mod session;
mod settings;
mod shared;
mod watches;

use std::fmt::{self, Debug, Display};
use std::sync::Arc;
use std::time::Duration;

use async_nats::client::RequestErrorKind;
use async_nats::jetstream::kv::{CreateErrorKind, Operation, UpdateErrorKind};
use futures_util::future::BoxFuture;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use crate::directory::{Away, Directory, DirectoryObserver, NotWritten, Revision, StoredRecord};
use crate::names::{DenialKey, NodeId, RealmKey};
pub use nats_check::NatsCheck;
pub use settings::NatsSettings;
use shared::{Session, Shared};

/// How long an operation may take.
const OPERATION_TIMEOUT: Duration = Duration::from_secs(1);

/// The directory in NATS.
pub struct NatsDirectory {
    name: String,
    shared: Arc<Shared>,
    _task: AbortOnDropHandle<()>,
}

impl NatsDirectory {
    /// Starts to connect, and returns at once. The connection ends when the directory is dropped.
    ///
    /// # Errors
    ///
    /// The error names the setting that is wrong.
    ///
    /// # Panics
    ///
    /// Outside a runtime of tokio.
    pub fn start(
        settings: NatsSettings,
        own: NodeId,
        observer: Arc<dyn DirectoryObserver>,
    ) -> Result<Arc<Self>, String> {
        connection::check(&settings)?;
        let shared = Arc::<Shared>::default();
        let name = settings.name.clone();
        let task = session::run(Arc::clone(&shared), settings, own, observer);
        Ok(Arc::new(Self {
            name,
            shared,
            _task: AbortOnDropHandle::new(tokio::spawn(task)),
        }))
    }
}

impl fmt::Debug for NatsDirectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NatsDirectory")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl NatsDirectory {
    /// Runs a write, and has the buckets checked if it fails for another reason than a conflict.
    async fn write<K>(
        &self,
        write: impl AsyncFnOnce(Arc<Session>) -> Result<u64, async_nats::error::Error<K>>,
        conflict: Option<K>,
    ) -> Result<Revision, NotWritten>
    where
        K: Clone + Debug + Display + PartialEq,
    {
        let session = self.shared.session().ok_or(NotWritten)?;
        match timeout(OPERATION_TIMEOUT, write(session)).await {
            Ok(Ok(revision)) => Ok(Revision(revision)),
            Ok(Err(error)) if Some(error.kind()) == conflict => Err(NotWritten),
            Ok(Err(_)) | Err(_) => {
                self.shared.suspicion.notify_one();
                Err(NotWritten)
            }
        }
    }
}

impl Directory for NatsDirectory {
    fn find<'a>(
        &'a self,
        realm: &'a RealmKey,
    ) -> BoxFuture<'a, Result<Option<StoredRecord>, Away>> {
        Box::pin(async move {
            let session = self.shared.session().ok_or(Away)?;
            let entry = session.realms.entry(realm.to_string());
            let Ok(Ok(entry)) = timeout(OPERATION_TIMEOUT, entry).await else {
                self.shared.suspicion.notify_one();
                return Err(Away);
            };
            let entry = entry.filter(|entry| entry.operation == Operation::Put);
            Ok(entry.map(|entry| StoredRecord {
                record: String::from_utf8_lossy(&entry.value).into_owned(),
                revision: Revision(entry.revision),
            }))
        })
    }

    fn create<'a>(
        &'a self,
        realm: &'a RealmKey,
        record: String,
    ) -> BoxFuture<'a, Result<Revision, NotWritten>> {
        let key = realm.to_string();
        let write =
            async move |session: Arc<Session>| session.realms.create(key, record.into()).await;
        Box::pin(self.write(write, Some(CreateErrorKind::AlreadyExists)))
    }

    fn replace<'a>(
        &'a self,
        realm: &'a RealmKey,
        record: String,
        last: Revision,
    ) -> BoxFuture<'a, Result<Revision, NotWritten>> {
        let key = realm.to_string();
        let write = async move |session: Arc<Session>| {
            session.realms.update(key, record.into(), last.0).await
        };
        Box::pin(self.write(write, Some(UpdateErrorKind::WrongLastRevision)))
    }

    fn remove<'a>(
        &'a self,
        realm: &'a RealmKey,
        last: Revision,
    ) -> BoxFuture<'a, Result<(), NotWritten>> {
        let key = realm.to_string();
        Box::pin(async move {
            let write = async move |session: Arc<Session>| {
                let removed = session.realms.delete_expect_revision(key, Some(last.0));
                removed.await.map(|()| last.0)
            };
            let removed = self.write(write, Some(UpdateErrorKind::WrongLastRevision));
            removed.await.map(drop)
        })
    }

    fn announce<'a>(
        &'a self,
        node: &'a NodeId,
        record: String,
        last: Option<Revision>,
    ) -> BoxFuture<'a, Result<Revision, NotWritten>> {
        let key = node.to_string();
        Box::pin(async move {
            let revision = match last {
                Some(last) => {
                    let write = async move |session: Arc<Session>| {
                        session.nodes.update(key, record.into(), last.0).await
                    };
                    self.write(write, Some(UpdateErrorKind::WrongLastRevision))
                        .await
                }
                // Not `create`: the answer to an earlier write may have been lost.
                None => {
                    let write = async move |session: Arc<Session>| {
                        session.nodes.put(key, record.into()).await
                    };
                    self.write(write, None).await
                }
            }?;
            self.shared.announced.send_replace(Some(revision));
            Ok(revision)
        })
    }

    fn withdraw<'a>(&'a self, node: &'a NodeId) -> BoxFuture<'a, Result<(), NotWritten>> {
        let key = node.to_string();
        Box::pin(async move {
            self.shared.announced.send_replace(None);
            let write =
                async move |session: Arc<Session>| session.nodes.delete(key).await.map(|()| 0);
            self.write(write, None).await.map(drop)
        })
    }

    fn deny<'a>(
        &'a self,
        denial: &'a DenialKey,
        record: String,
    ) -> BoxFuture<'a, Result<(), NotWritten>> {
        let key = denial.to_string();
        let write =
            async move |session: Arc<Session>| session.denials.put(key, record.into()).await;
        Box::pin(async move { self.write(write, None).await.map(drop) })
    }

    fn listens<'a>(&'a self, node: &'a NodeId) -> BoxFuture<'a, Result<bool, Away>> {
        let subject = session::node_subject(&self.name, node);
        Box::pin(async move {
            let session = self.shared.session().ok_or(Away)?;
            let request = session.client.request(subject, Default::default());
            match timeout(OPERATION_TIMEOUT, request).await {
                Ok(Ok(_)) => Ok(true),
                Ok(Err(error)) if error.kind() == RequestErrorKind::NoResponders => Ok(false),
                Ok(Err(_)) | Err(_) => Err(Away),
            }
        })
    }
}
