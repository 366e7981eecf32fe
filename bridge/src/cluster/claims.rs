//! Performs what [`RealmClaim`](bridge_cluster::RealmClaim) decides, one operation on the directory at a
//! time for each realm.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bridge_auth::RealmId;
use bridge_cluster::{
    Away, ClaimEffect, ClaimEvent, ClaimHolder, ClaimOrigin, ClaimRecord, InvalidRecord, Listens,
    NodeId, NotRemoved, OwnerAnswer, Peer, RealmKey, RealmLoss, Revision, StoredRecord, Verdict,
    may_take,
};
use bridge_protocol::ErrorCode;
use bridge_realm::realm::{RealmEnd, Refusal};
use dashmap::mapref::one::RefMut;
use tokio::sync::oneshot;
use tokio_util::task::AbortOnDropHandle;

use super::claim_table::ClaimEntry;
use super::node::ClusterNode;
use crate::hub::RealmOwnership;

/// How long a node that does not listen to the directory is given to do so: after a restart of the
/// directory, it has to subscribe again.
const LISTEN_AGAIN: Duration = Duration::from_secs(1);

/// The testimony of both witnesses about the owner of a realm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Testimony {
    /// Both agree that it is gone: another node may take the realm.
    Gone,
    /// It answers that it serves the realm.
    Serves,
    Unclear,
}

impl RealmOwnership for ClusterNode {
    /// Called with the lock of the realm: a realm that is given up is closed after this has failed once.
    fn check(&self, realm: RealmId) -> Result<(), Refusal> {
        if self.owns(realm) {
            return Ok(());
        }
        Err(Refusal {
            code: ErrorCode::ClusterUnavailable,
            message: "another bridge serves this token now: connect again".to_owned(),
        })
    }

    fn taken_over(&self, realm: RealmId) -> Option<Instant> {
        self.claims.taken_over(&self.key_of(realm))
    }

    fn node(&self) -> String {
        self.own.short()
    }

    /// The records of others have arrived meanwhile, and were not read.
    fn on_stall(&self) {
        self.restart_clocks();
    }
}

impl ClusterNode {
    /// Whether this node owns a realm.
    pub(crate) fn owns(&self, realm: RealmId) -> bool {
        self.claims.owns(&self.key_of(realm))
    }

    /// Claims a realm for this node, before a page or a client connects to it. If this node drains, the
    /// realm of a newcomer goes to another one.
    pub(crate) async fn claim(self: &Arc<Self>, realm: RealmId) -> Verdict {
        let key = self.key_of(realm);
        if self.claims.owns(&key) {
            return Verdict::Owned;
        }
        if let Some(owner) = self.owners.get(&key) {
            return Verdict::Elsewhere(owner);
        }
        let verdict = match self.ask(key, realm, ClaimEvent::Wanted).await {
            Verdict::Away => match self.ask_all(&key).await {
                Some(owner) => Verdict::Elsewhere(owner),
                None => Verdict::Away,
            },
            verdict => verdict,
        };
        let verdict = match verdict {
            Verdict::Elsewhere(owner) if !self.is_compatible(&owner.id) => Verdict::Away,
            verdict => verdict,
        };
        if let Verdict::Elsewhere(owner) = &verdict
            && self.is_reachable(&owner.id)
        {
            self.remember_owner(key, owner);
        }
        let verdict = match verdict {
            Verdict::Unowned | Verdict::OwnerDead => {
                (self.successor(&key)).map_or(verdict, Verdict::Elsewhere)
            }
            verdict => verdict,
        };
        self.counters.count_verdict(&verdict);
        verdict
    }

    /// Finds out whether this node owns a realm for which another one has sent a request, after all.
    pub(super) async fn check_misdirected(
        self: &Arc<Self>,
        key: RealmKey,
        realm: RealmId,
    ) -> Verdict {
        self.ask(key, realm, ClaimEvent::Misdirected).await
    }

    /// Applies an event, and waits for the verdict.
    async fn ask(self: &Arc<Self>, key: RealmKey, realm: RealmId, event: ClaimEvent) -> Verdict {
        let (sender, verdict) = oneshot::channel();
        self.apply(key, realm, event, Some(sender));
        // While the bridge stops, no operation ends any more.
        let verdict = self.stopping.run_until_cancelled(verdict).await;
        verdict.and_then(Result::ok).unwrap_or(Verdict::Away)
    }

    /// Applies an event to a claim, which exists already unless something waits for its verdict.
    pub(super) fn apply(
        self: &Arc<Self>,
        key: RealmKey,
        realm: RealmId,
        event: ClaimEvent,
        waiting: Option<oneshot::Sender<Verdict>>,
    ) {
        // Only what waits for a verdict begins a claim: a late event could leave one behind.
        let entry = match waiting {
            Some(_) => Some(self.claims.get_or_begin(key, realm)),
            None => self.claims.claims.get_mut(&key),
        };
        if let Some(mut entry) = entry {
            entry.waiting.extend(waiting);
            self.apply_to(entry, event);
        }
    }

    /// Gives a realm away if this node owns it and nothing of it runs here. Returns whether it is, or was,
    /// given away.
    pub(super) fn give_away_if_quiet(self: &Arc<Self>, key: RealmKey, realm: RealmId) -> bool {
        let Some(mark) = self.claims.idle_mark(&key) else {
            return !self.claims.owns(&key);
        };
        let hub = self.hub.upgrade();
        if !hub.is_none_or(|hub| hub.is_quiet_in(realm)) {
            return false;
        }
        match self.claims.claims.get_mut(&key) {
            // A request that has begun meanwhile may have begun a call.
            Some(entry) if entry.claim.owns() && entry.idle_mark() != Some(mark) => false,
            Some(entry) => {
                self.apply_to(entry, ClaimEvent::Leaving(Some(RealmLoss::Drained)));
                true
            }
            None => true,
        }
    }

    fn apply_to(self: &Arc<Self>, mut entry: RefMut<'_, RealmKey, ClaimEntry>, event: ClaimEvent) {
        let (key, realm) = (*entry.key(), entry.realm);
        let mut is_forgotten = false;
        for effect in entry.claim.on(event, Instant::now()) {
            match effect {
                ClaimEffect::Claimed(origin) => self.claimed(realm, origin),
                ClaimEffect::Answer(verdict) => {
                    for waiting in entry.waiting.drain(..) {
                        // Whoever waited may be gone.
                        let _ = waiting.send(verdict.clone());
                    }
                }
                ClaimEffect::WakeAt(at) => {
                    let cluster = Arc::downgrade(self);
                    let task = tokio::spawn(async move {
                        tokio::time::sleep_until(at.into()).await;
                        if let Some(cluster) = cluster.upgrade() {
                            cluster.apply(key, realm, ClaimEvent::Tick, None);
                        }
                    });
                    entry.timer = Some(AbortOnDropHandle::new(task));
                }
                ClaimEffect::Forget => is_forgotten = true,
                effect => {
                    let cluster = Arc::clone(self);
                    self.spawn(async move {
                        if let Some(event) = cluster.perform(key, realm, effect).await {
                            cluster.apply(key, realm, event, None);
                        }
                    });
                }
            }
        }
        drop(entry);
        if is_forgotten {
            let is_unused =
                |entry: &ClaimEntry| entry.claim.is_unknown() && entry.waiting.is_empty();
            self.claims
                .claims
                .remove_if(&key, |_, entry| is_unused(entry));
        }
    }

    /// Performs an effect, and returns its result as an event.
    async fn perform(
        self: &Arc<Self>,
        key: RealmKey,
        realm: RealmId,
        effect: ClaimEffect,
    ) -> Option<ClaimEvent> {
        // Not for questions to other nodes, which may take seconds: when a node ends, all of its realms
        // are asked for.
        let _operation = match effect {
            ClaimEffect::AskOwner { .. } | ClaimEffect::CloseRealm(_) => None,
            // It is never closed.
            _ => Some(self.claims.operations.acquire().await.ok()?),
        };
        let own = || self.own_claim(key);
        Some(match effect {
            ClaimEffect::Find => ClaimEvent::Found(self.find_claim(&key).await),
            ClaimEffect::Create => ClaimEvent::Written(self.directory.create(&key, own()).await),
            ClaimEffect::Replace { moved, last } => {
                let record = if moved { self.moved(key) } else { own() };
                ClaimEvent::Written(self.directory.replace(&key, record, last).await)
            }
            ClaimEffect::Remove { last } => {
                // Somebody may have connected before the claim was about to be released.
                ClaimEvent::Removed(if self.is_occupied(realm) {
                    Err(NotRemoved::Occupied)
                } else {
                    self.directory
                        .remove(&key, last)
                        .await
                        .map_err(NotRemoved::from)
                })
            }
            ClaimEffect::AskOwner { node, address } => {
                let testimony = self.ask_witnesses(&key, node, &address).await;
                ClaimEvent::OwnerAsked(testimony == Testimony::Gone)
            }
            ClaimEffect::CloseRealm(loss) => {
                if loss == RealmLoss::Drained {
                    self.hand_catalogue_over(key, realm).await;
                }
                self.close_realm(realm, loss);
                ClaimEvent::RealmClosed
            }
            ClaimEffect::Claimed(_)
            | ClaimEffect::Answer(_)
            | ClaimEffect::WakeAt(_)
            | ClaimEffect::Forget => return None,
        })
    }

    fn own_claim(&self, key: RealmKey) -> String {
        let record = ClaimRecord::Owned {
            node: self.own,
            address: self.membership.address().to_string(),
        };
        record.encode(&self.keys, &key)
    }

    fn moved(&self, key: RealmKey) -> String {
        ClaimRecord::Moved.encode(&self.keys, &key)
    }

    /// Reads which node the record of a realm names, if any, whether it lives or not.
    pub(crate) async fn node_in_record(&self, realm: RealmId) -> Result<Option<Peer>, Away> {
        let found = self.find_claim(&self.key_of(realm)).await?;
        Ok(found.and_then(|(holder, _)| match holder {
            ClaimHolder::Own => Some(Peer {
                id: self.own,
                address: self.address().to_string(),
            }),
            ClaimHolder::Other { node, address, .. } => Some(Peer { id: node, address }),
            ClaimHolder::Moved | ClaimHolder::Invalid => None,
        }))
    }

    /// Reads the record of a realm, as it concerns this node.
    pub(super) async fn find_claim(
        &self,
        key: &RealmKey,
    ) -> Result<Option<(ClaimHolder, Revision)>, Away> {
        let Some(StoredRecord { record, revision }) = self.directory.find(key).await? else {
            return Ok(None);
        };
        let found = match ClaimRecord::decode(&record, &self.keys, key) {
            Ok(ClaimRecord::Owned { node, .. }) if node == self.own => ClaimHolder::Own,
            Ok(ClaimRecord::Owned { node, address }) => ClaimHolder::Other {
                is_alive: self.is_reachable(&node),
                node,
                address,
            },
            Ok(ClaimRecord::Moved) => ClaimHolder::Moved,
            Err(error) => {
                self.report_record(error);
                ClaimHolder::Invalid
            }
        };
        Ok(Some((found, revision)))
    }

    /// Reports a record that was not written by a node of this cluster.
    pub(super) fn report_record(&self, error: InvalidRecord) {
        if error != InvalidRecord::UnknownVersion {
            self.counters.count_invalid_record();
            self.log_limits.log_invalid_record();
        }
    }

    /// Asks both witnesses about the owner of a realm: the directory, and the owner itself.
    pub(super) async fn ask_witnesses(
        &self,
        key: &RealmKey,
        node: NodeId,
        address: &str,
    ) -> Testimony {
        let is_lease_over = !self.is_alive(&node);
        let listens = async {
            // The end of the lease is what the directory has to say.
            if is_lease_over {
                Listens::Unknown
            } else {
                self.listens(&node).await
            }
        };
        let (listens, owner) = tokio::join!(listens, self.ask_owner(key, node, address));
        match owner {
            OwnerAnswer::Mine => Testimony::Serves,
            owner if may_take(is_lease_over, listens, owner) => Testimony::Gone,
            _ => Testimony::Unclear,
        }
    }

    async fn listens(&self, node: &NodeId) -> Listens {
        let is_connected = self.membership.is_connected_for_a_lease();
        match self.directory.listens(node).await {
            Ok(true) => return Listens::Yes,
            Ok(false) if is_connected => {}
            Ok(false) | Err(_) => return Listens::Unknown,
        }
        tokio::time::sleep(LISTEN_AGAIN).await;
        match self.directory.listens(node).await {
            Ok(false) => Listens::No,
            Ok(true) => Listens::Yes,
            Err(_) => Listens::Unknown,
        }
    }

    /// Whether anything of a realm is here.
    fn is_occupied(&self, realm: RealmId) -> bool {
        let hub = self.hub.upgrade();
        hub.is_some_and(|hub| hub.is_occupied(realm))
    }

    /// Reports that this node has become the owner of a realm.
    fn claimed(&self, realm: RealmId, origin: ClaimOrigin) {
        self.counters.count_claim(origin);
        match origin {
            ClaimOrigin::Unowned => {}
            ClaimOrigin::Dead(node) => {
                let is_lease_over = !self.is_alive(&node);
                self.log_limits.log_takeover(realm, &node, is_lease_over);
            }
            ClaimOrigin::Moved => self.log_limits.log_taken_when_moved(realm),
        }
    }

    fn close_realm(&self, realm: RealmId, loss: RealmLoss) {
        self.counters.count_lost_realm(loss);
        self.log_limits.log_loss(realm, loss);
        if let Some(hub) = self.hub.upgrade() {
            hub.close_realm(&realm, RealmEnd::ServedElsewhere);
        }
    }

    /// Reports to each claim whether anything of its realm is here.
    pub(super) fn report_occupancy(self: &Arc<Self>) {
        for (key, realm) in self.claims.keys() {
            let event = if self.is_occupied(realm) {
                ClaimEvent::Occupied
            } else {
                ClaimEvent::Vacant
            };
            self.apply(key, realm, event, None);
        }
    }

    /// Gives all realms away and takes no others, or serves them again.
    pub(super) fn set_leaving(self: &Arc<Self>, leaving: Option<RealmLoss>) {
        {
            let mut current = self.claims.leaving();
            // A drain gives them away one after another.
            if *current == Some(RealmLoss::Drained) {
                return;
            }
            // A claim that begins later begins with this, and all others get an event.
            *current = leaving;
        }
        for (key, realm) in self.claims.keys() {
            self.apply(key, realm, ClaimEvent::Leaving(leaving), None);
        }
    }

    /// Has all claims checked against the directory.
    pub(super) fn check_claims(self: &Arc<Self>) {
        for (key, realm) in self.claims.keys() {
            self.apply(key, realm, ClaimEvent::CheckDue, None);
        }
    }
}
