//! Follows the records of all nodes, and the denials.
//!
//! The watch of the client repairs itself, and reports nothing when it cannot: after its bucket was
//! removed it tries forever, and after the bucket was created anew it waits for a sequence that the bucket
//! reaches much later. The watch of the nodes must therefore deliver each record that this node writes. Denials are
//! seldom written, and their bucket is looked at from time to time.

use std::future::pending;
use std::time::Duration;

use async_nats::jetstream::Context;
use async_nats::jetstream::kv::{Entry, Operation, Store, Watch};
use futures_util::StreamExt;
use tokio::time::{Instant, Interval, interval_at, sleep_until, timeout};

use super::buckets::Buckets;
use super::events::{Events, Problem};
use super::shared::Shared;
use crate::directory::{DirectoryEvent, Revision};
use crate::names::{DenialKey, NodeId};

/// How long the watch may take to deliver a record of this node after the write was acknowledged.
const DELIVERY_TIMEOUT: Duration = Duration::from_secs(2);

/// How often the buckets are looked at without a reason.
const CHECK_INTERVAL: Duration = Duration::from_secs(30);

/// How long the next of the present denials may take.
const PRESENT_TIMEOUT: Duration = Duration::from_secs(2);

/// The watches of a connection, which have been opened.
pub(super) struct Watches {
    nodes: Watch,
    denials: Watch,
}

impl Watches {
    /// Opens the watches, which deliver the present records first. All present denials have been passed on
    /// when this returns.
    pub(super) async fn open(buckets: &Buckets, events: &Events) -> Result<Self, Problem> {
        let nodes = open(&buckets.nodes).await?;
        let mut denials = open(&buckets.denials).await?;
        let mut has_more = buckets.denials.stream.cached_info().state.messages > 0;
        while has_more {
            let Ok(Some(Ok(entry))) = timeout(PRESENT_TIMEOUT, denials.next()).await else {
                let problem = "the denials in NATS cannot be read".to_owned();
                return Err(Problem::Failed(problem));
            };
            has_more = !entry.seen_current;
            events.denial(&entry);
        }
        Ok(Self { nodes, denials })
    }
}

async fn open(bucket: &Store) -> Result<Watch, Problem> {
    let watch = bucket.watch_with_history(">").await;
    watch.map_err(|error| {
        let name = &bucket.name;
        Problem::Failed(format!(
            "the bucket {name} of NATS cannot be watched: {error}"
        ))
    })
}

/// Passes the records on until a watch or a bucket is found to be lost.
pub(super) async fn follow(
    Watches {
        mut nodes,
        mut denials,
    }: Watches,
    buckets: &Buckets,
    context: &Context,
    shared: &Shared,
    own: &NodeId,
    events: &Events,
) {
    let mut announced = shared.announced.subscribe();
    let mut delivery = Delivery::default();
    let mut checks = interval_at(Instant::now() + CHECK_INTERVAL, CHECK_INTERVAL);
    loop {
        tokio::select! {
            entry = denials.next() => {
                let Some(Ok(entry)) = entry else {
                    return;
                };
                events.denial(&entry);
            }
            entry = nodes.next() => {
                let Some(Ok(entry)) = entry else {
                    return;
                };
                let Ok(node) = entry.key.parse::<NodeId>() else {
                    continue;
                };
                if node == *own {
                    delivery.delivered(Revision(entry.revision));
                }
                events.node(node, &entry);
            }
            Ok(()) = announced.changed() => {
                let revision = *announced.borrow_and_update();
                delivery.announced(revision, Instant::now());
            }
            () = delivery.timed_out() => {
                tracing::warn!("the nodes in NATS are watched anew, because a record did not arrive");
                return;
            }
            () = suspicion(shared, &mut checks) => {
                if buckets.are_lost(context).await {
                    tracing::warn!("a bucket of NATS was removed");
                    return;
                }
            }
        }
    }
}

/// Waits until there is a reason to look at the buckets.
async fn suspicion(shared: &Shared, checks: &mut Interval) {
    tokio::select! {
        () = shared.suspicion.notified() => {}
        _ = checks.tick() => {}
    }
}

impl Events {
    fn node(&self, node: NodeId, entry: &Entry) {
        self.record(match entry.operation {
            Operation::Put => DirectoryEvent::NodeAnnounced(node, text(entry)),
            Operation::Delete | Operation::Purge => DirectoryEvent::NodeWithdrawn(node),
        });
    }

    /// Nodes remove no denial. The removal by another client does not end one.
    fn denial(&self, entry: &Entry) {
        if let Ok(denial) = entry.key.parse::<DenialKey>()
            && entry.operation == Operation::Put
        {
            self.record(DirectoryEvent::DenialWritten(denial, text(entry)));
        }
    }
}

fn text(entry: &Entry) -> String {
    String::from_utf8_lossy(&entry.value).into_owned()
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
