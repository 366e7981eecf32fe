//! Holds the requests of a realm whose owner is gone, until another node has taken the realm over.
//!
//! All requests of a realm wait for one task, which looks its record up again and again. If no node takes
//! the realm over, the task removes the record: then no node owns the realm.

use std::sync::Arc;
use std::time::Duration;

use bridge_auth::RealmId;
use bridge_cluster::{Peer, RealmKey, Revision};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep, timeout_at};

use super::claims::Testimony;
use super::cluster_counters::Held;
use super::held_realms::HeldRequest;
use super::node::ClusterNode;
use super::route::{AbandonedRecord, OwnerAway, RecordedOwner, Route};
use crate::budget::Party;

/// How long a request waits for another owner. The pages of a node that was killed connect again within
/// a second, and taking their realm over takes another one.
const HOLD_TIME: Duration = Duration::from_secs(3);

/// How long the requests of a realm wait until its record is removed: a little less than each of them, so
/// that the first one is still served.
const REMOVE_AFTER: Duration = Duration::from_millis(2_800);

/// How often the record is looked up.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The pause between two inquiries whether an owner is gone.
const INQUIRY_PAUSE: Duration = Duration::from_millis(500);

/// How long until a request is sent again to an owner that has refused it, and is still recorded.
const RETRY_AFTER: Duration = Duration::from_millis(500);

/// The time until which a request may be held.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HoldEnd(Instant);

impl HoldEnd {
    /// The end for a request that begins to wait now.
    pub(crate) fn from_now() -> Self {
        Self(Instant::now() + HOLD_TIME)
    }
}

impl ClusterNode {
    /// Waits until a node owns a realm, or no node does. `failed` is the owner that has refused the request
    /// just now, if there is one: its record may be out of date.
    ///
    /// # Errors
    ///
    /// When the time is over, too many requests wait already, or the bridge stops.
    pub(crate) async fn hold(
        self: &Arc<Self>,
        party: Party<RealmId>,
        failed: Option<&Peer>,
        HoldEnd(end): HoldEnd,
    ) -> Result<Route, OwnerAway> {
        let _passing = self.counters.count_request();
        let route = match self.hold_request(party) {
            Some(request) => {
                let waiting = wait(request, failed, end);
                self.stopping.run_until_cancelled(waiting).await.flatten()
            }
            None => None,
        };
        let Some(route) = route else {
            self.counters.count_held(Held::GivenUp);
            return Err(OwnerAway::Gone);
        };
        self.counters.count_held(Held::Served);
        self.remember(&route);
        Ok(route)
    }

    fn hold_request(self: &Arc<Self>, party: Party<RealmId>) -> Option<HeldRequest> {
        let realm = party.member;
        let key = self.key_of(realm);
        self.held.begin(key, &party, |found| {
            let cluster = Arc::clone(self);
            self.tasks.spawn(cluster.poll_owner(key, realm, found))
        })
    }

    /// Looks up the owner of a realm as long as its requests wait.
    async fn poll_owner(
        self: Arc<Self>,
        key: RealmKey,
        realm: RealmId,
        found: watch::Sender<Option<Route>>,
    ) {
        let mut remove_at = Instant::now() + REMOVE_AFTER;
        let mut last = None;
        let mut polls = interval_at(Instant::now() + POLL_INTERVAL, POLL_INTERVAL);
        polls.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // At most one at a time.
        let mut inquiries = FuturesUnordered::new();
        let mut pause = Duration::ZERO;
        // The result of the last one, and the record that it was about.
        let mut inquired = None;
        loop {
            let abandoned = tokio::select! {
                Some(result) = inquiries.next() => {
                    inquired = Some(result);
                    continue;
                }
                _ = polls.tick() => match self.held.look_up(self.recorded_owner(key, realm)).await {
                    RecordedOwner::At(route) => {
                        found.send_replace(Some(route));
                        continue;
                    }
                    RecordedOwner::Incompatible | RecordedOwner::Away => {
                        found.send_replace(None);
                        continue;
                    }
                    RecordedOwner::Gone(abandoned) => abandoned,
                }
            };
            let AbandonedRecord { revision, owner } = &abandoned;
            // A record that was just written has been abandoned just now.
            if last
                .replace(*revision)
                .is_some_and(|last| last != *revision)
            {
                remove_at = Instant::now() + REMOVE_AFTER;
            }
            let testimony = match (owner, inquired) {
                (None, _) => Testimony::Gone,
                (Some(_), Some((about, testimony))) if about == *revision => testimony,
                _ => Testimony::Unclear,
            };
            let route = match (testimony, owner) {
                (Testimony::Serves, Some(owner))
                    if self.is_compatible(&owner.id) && !self.reach.is_unreachable(&owner.id) =>
                {
                    Some(Route::Node(key, owner.clone()))
                }
                (Testimony::Gone, _) if Instant::now() >= remove_at => {
                    let is_removed = self.remove_abandoned((&key, realm), &abandoned).await;
                    is_removed.then_some(Route::Unowned)
                }
                _ => None,
            };
            found.send_replace(route);
            if let Some(owner) = abandoned.owner
                && inquiries.is_empty()
            {
                inquiries.push(self.inquire(key, owner, abandoned.revision, pause));
                pause = INQUIRY_PAUSE;
            }
        }
    }

    /// Finds out after a pause whether the owner that this record names is gone.
    async fn inquire(
        &self,
        key: RealmKey,
        owner: Peer,
        revision: Revision,
        pause: Duration,
    ) -> (Revision, Testimony) {
        sleep(pause).await;
        let testimony = self.ask_witnesses(&key, owner.id, &owner.address).await;
        (revision, testimony)
    }

    /// Removes the record of a realm that no node has taken over. Returns whether it was removed.
    async fn remove_abandoned(
        &self,
        (key, realm): (&RealmKey, RealmId),
        abandoned: &AbandonedRecord,
    ) -> bool {
        let removed = self.directory.remove(key, abandoned.revision).await;
        if removed.is_ok() {
            self.log_limits.log_removed(realm, abandoned.owner.as_ref());
        }
        removed.is_ok()
    }
}

/// Waits for a route, and for another one than to `failed` at first.
async fn wait(mut request: HeldRequest, failed: Option<&Peer>, end: Instant) -> Option<Route> {
    let is_other = |route: &Option<Route>| match route {
        Some(Route::Node(_, owner)) => Some(owner) != failed,
        route => route.is_some(),
    };
    let retry_at = end.min(Instant::now() + RETRY_AFTER);
    if let Ok(Ok(route)) = timeout_at(retry_at, request.found.wait_for(is_other)).await {
        return route.clone();
    }
    let found = timeout_at(end, request.found.wait_for(Option::is_some)).await;
    found.ok()?.ok()?.clone()
}
