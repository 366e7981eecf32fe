//! Follows the records of all nodes.
//!
//! The watch of the client repairs itself, and reports nothing when it cannot: after its bucket was
//! removed it tries forever, and after the bucket was created anew it waits for a sequence that the bucket
//! reaches much later. So the watch must deliver each record that this node writes.

use std::future::pending;
use std::time::Duration;

use async_nats::jetstream::Context;
use async_nats::jetstream::kv::{Entry, Operation, Store, Watch};
use futures_util::StreamExt;
use tokio::time::{Instant, sleep_until};

use super::buckets::Buckets;
use super::events::{Events, Problem};
use super::shared::Shared;
use crate::directory::{DirectoryEvent, Revision};
use crate::names::NodeId;

/// How long the watch may take to deliver a record of this node after the write was acknowledged.
const DELIVERY_TIMEOUT: Duration = Duration::from_secs(2);

/// A watch that has been opened.
pub(super) struct NodesWatch(Watch);

impl NodesWatch {
    /// Opens the watch, which delivers the present records first.
    pub(super) async fn open(nodes: &Store) -> Result<Self, Problem> {
        let watch = nodes.watch_with_history(">").await;
        watch.map(Self).map_err(|error| {
            Problem::Failed(format!("the nodes in NATS cannot be watched: {error}"))
        })
    }
}

/// Passes the records on until the watch or a bucket is found to be lost.
pub(super) async fn follow(
    NodesWatch(mut watch): NodesWatch,
    buckets: &Buckets,
    context: &Context,
    shared: &Shared,
    own: &NodeId,
    events: &Events,
) {
    let mut announced = shared.announced.subscribe();
    let mut delivery = Delivery::default();
    loop {
        tokio::select! {
            entry = watch.next() => {
                let Some(Ok(entry)) = entry else {
                    return;
                };
                let Ok(node) = entry.key.parse::<NodeId>() else {
                    continue;
                };
                if node == *own {
                    delivery.delivered(Revision(entry.revision));
                }
                events.node(event(node, &entry));
            }
            Ok(()) = announced.changed() => {
                let revision = *announced.borrow_and_update();
                delivery.announced(revision, Instant::now());
            }
            () = delivery.timed_out() => {
                tracing::warn!("the nodes in NATS are watched anew, because a record did not arrive");
                return;
            }
            () = shared.suspicion.notified() => {
                if buckets.are_lost(context).await {
                    tracing::warn!("a bucket of NATS was removed");
                    return;
                }
            }
        }
    }
}

fn event(node: NodeId, entry: &Entry) -> DirectoryEvent {
    match entry.operation {
        Operation::Put => {
            let record = String::from_utf8_lossy(&entry.value).into_owned();
            DirectoryEvent::NodeAnnounced(node, record)
        }
        Operation::Delete | Operation::Purge => DirectoryEvent::NodeWithdrawn(node),
    }
}

/// Which record of this node the watch has to deliver, and until when.
#[derive(Default)]
struct Delivery {
    last: Option<Revision>,
    awaited: Option<(Revision, Instant)>,
}

impl Delivery {
    fn announced(&mut self, revision: Option<Revision>, now: Instant) {
        self.awaited = match (revision, self.awaited) {
            (None, _) => None,
            // It was delivered before its acknowledgement.
            (revision, _) if revision == self.last => None,
            // A later record does not give the watch more time.
            (Some(revision), Some((_, deadline))) => Some((revision, deadline)),
            (Some(revision), None) => Some((revision, now + DELIVERY_TIMEOUT)),
        };
    }

    fn delivered(&mut self, revision: Revision) {
        self.last = Some(revision);
        if self.awaited.is_some_and(|(awaited, _)| awaited == revision) {
            self.awaited = None;
        }
    }

    async fn timed_out(&self) {
        match self.awaited {
            Some((_, deadline)) => sleep_until(deadline).await,
            None => pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_may_be_delivered_before_or_after_its_acknowledgement() {
        let now = Instant::now();
        let mut delivery = Delivery::default();
        delivery.delivered(Revision(7));
        delivery.announced(Some(Revision(7)), now);
        assert_eq!(delivery.awaited, None);
        delivery.announced(Some(Revision(8)), now);
        assert_eq!(
            delivery.awaited,
            Some((Revision(8), now + DELIVERY_TIMEOUT))
        );
        delivery.delivered(Revision(8));
        assert_eq!(delivery.awaited, None);
    }

    #[test]
    fn later_records_do_not_extend_the_time() {
        let now = Instant::now();
        let mut delivery = Delivery::default();
        delivery.announced(Some(Revision(7)), now);
        delivery.announced(Some(Revision(8)), now + DELIVERY_TIMEOUT / 2);
        assert_eq!(
            delivery.awaited,
            Some((Revision(8), now + DELIVERY_TIMEOUT))
        );
        // A record of before the bucket was created anew.
        delivery.delivered(Revision(900));
        assert!(delivery.awaited.is_some());
        delivery.announced(None, now);
        assert_eq!(delivery.awaited, None);
    }
}
