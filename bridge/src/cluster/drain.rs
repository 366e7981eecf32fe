//! Gives the realms of a node away before it stops, so that their users notice nothing.
//!
//! The turns of the realms are spread over a while. One without calls and queries leaves, and its pages
//! connect to other nodes. One with calls is paused: its further requests wait a moment, so that it becomes
//! quiet although there are calls at all times, if these are short. At the deadline all leave, and their
//! calls end. Pages whose realm is elsewhere connect to other nodes as well: their sockets end, spread over
//! the same while.
//!
//! Meanwhile this node passes requests on as before, and newcomers go to the node that their realm would
//! have without this one. Without another node that could take realms, this one keeps them,
//! except those whose records are being written.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bridge_auth::RealmId;
use bridge_cluster::{ClaimEvent, Peer, RealmKey, RealmLoss};
use tokio::time::{sleep, timeout};
use tokio_util::sync::DropGuard;

use super::cluster_counters::TunnelSide;
use super::node::ClusterNode;
use super::pause::PAUSE_TIME;

/// How often a node that drains looks which realms can leave.
const STEP: Duration = Duration::from_millis(20);

/// How many realms are being given away at the same time. Their records are written 64 at a time.
const MAX_LEAVING: usize = 256;

/// How long after a pause its realm is paused again. It doubles each time, for calls that take longer.
const PAUSE_INTERVAL: Duration = Duration::from_secs(2);

/// How long giving the last realms away may take after the deadline, which is one write for each.
const LAST_REALMS_TIMEOUT: Duration = Duration::from_secs(2);

/// Any realm has a successor if one has.
const ANY_REALM: RealmKey = RealmKey::from_bytes([0; 20]);

impl ClusterNode {
    /// Announces that this node takes no more realms, if another one can take them.
    pub(crate) fn begin_drain(&self) {
        self.update_leaving();
        self.membership.changed.notify_one();
    }

    /// Returns the node to which the realm of a newcomer goes, if this node drains.
    pub(super) fn successor(&self, realm: &RealmKey) -> Option<Peer> {
        let sends_on = self.claims.sends_newcomers_on();
        sends_on.then(|| self.find_successor(realm)).flatten()
    }

    fn find_successor(&self, realm: &RealmKey) -> Option<Peer> {
        let settings = self.membership.state().settings;
        let successors = self.peers().successors(realm, &settings, Instant::now());
        let mut successors = successors.into_iter();
        successors.find(|peer| self.is_reachable(&peer.id))
    }

    /// Takes no more realms if another node can take them. Returns whether one can.
    fn update_leaving(&self) -> bool {
        let is_connected = self.membership.state().connected_since.is_some();
        let can = is_connected && self.find_successor(&ANY_REALM).is_some();
        let mut leaving = self.claims.leaving();
        if can {
            *leaving = Some(RealmLoss::Drained);
        } else if *leaving != Some(RealmLoss::Isolated) {
            *leaving = None;
        }
        can
    }

    /// Gives all realms away: those without calls and queries within `spread`, and the others as they
    /// become quiet, but at the latest at the deadline. Returns whether they are given away: otherwise no
    /// other node can take them, and no call and no query runs or the deadline has come.
    pub(crate) async fn give_realms_away(
        self: &Arc<Self>,
        spread: Duration,
        deadline: Instant,
    ) -> bool {
        let began = Instant::now();
        let mut drain = Drain::new(self);
        loop {
            let can_give_away = self.update_leaving();
            if can_give_away {
                drain.step(Progress {
                    elapsed: began.elapsed(),
                    spread,
                });
                if drain.is_complete() {
                    return true;
                }
            } else {
                drain.end_pauses();
                if self.hub.upgrade().is_none_or(|hub| hub.is_quiet()) {
                    return false;
                }
            }
            if deadline <= Instant::now() {
                if can_give_away {
                    self.give_last_realms_away().await;
                }
                return can_give_away;
            }
            sleep(STEP).await;
        }
    }

    /// Lets the further requests of a realm wait for a moment, unless something of it needs them to end.
    fn pause(&self, key: &RealmKey, realm: RealmId) -> Option<DropGuard> {
        let hub = self.hub.upgrade()?;
        (!hub.awaits_requests_in(realm)).then(|| self.claims.pause(key))?
    }

    /// Gives the realms away whose calls or queries still run, and ends those.
    async fn give_last_realms_away(self: &Arc<Self>) {
        let last = self.claims.owned();
        if !last.is_empty() {
            tracing::warn!(
                tokens = last.len(),
                "`drain_timeout` is over: the running calls and queries of these tokens end now"
            );
        }
        for (key, realm) in &last {
            let leaving = ClaimEvent::Leaving(Some(RealmLoss::Drained));
            self.apply(*key, *realm, leaving, None);
        }
        let is_here = |key| self.claims.owns(key) || self.claims.is_moving(key);
        let all_left = async {
            while last.iter().any(|(key, _)| is_here(key)) {
                sleep(STEP).await;
            }
        };
        if timeout(LAST_REALMS_TIMEOUT, all_left).await.is_err() {
            tracing::warn!(
                "NATS or the next bridge does not answer: other bridges take over when this one has ended"
            );
        }
    }
}

/// How much of the time over which pages and realms are spread has passed.
#[derive(Clone, Copy)]
struct Progress {
    elapsed: Duration,
    spread: Duration,
}

/// Things of which each has its turn within a while.
struct Turns {
    count: usize,
    taken: usize,
}

impl Turns {
    fn new(count: usize) -> Self {
        Self { count, taken: 0 }
    }

    /// Returns how many turns have come and were not taken.
    fn due(&self, Progress { elapsed, spread }: Progress) -> usize {
        if elapsed >= spread {
            return self.count - self.taken;
        }
        // The first turn comes at once.
        let come = 1 + self.count as u128 * elapsed.as_millis() / spread.as_millis().max(1);
        let come = usize::try_from(come).unwrap_or(usize::MAX);
        come.min(self.count).saturating_sub(self.taken)
    }
}

/// A realm whose turn has come.
struct BusyRealm {
    key: RealmKey,
    realm: RealmId,
    /// Ends its pause.
    pause: Option<DropGuard>,
    /// When it is paused next.
    pause_at: Instant,
    /// From the end of that pause to the one after it.
    interval: Duration,
}

impl BusyRealm {
    fn new((key, realm): (RealmKey, RealmId)) -> Self {
        Self {
            key,
            realm,
            pause: None,
            pause_at: Instant::now(),
            interval: PAUSE_INTERVAL,
        }
    }
}

/// A drain that is under way.
struct Drain<'a> {
    cluster: &'a Arc<ClusterNode>,
    /// The realms that were not looked at yet, and when their turns come.
    untried: VecDeque<(RealmKey, RealmId)>,
    turns: Turns,
    /// The realms of which something ran.
    busy: VecDeque<BusyRealm>,
    leaving: Vec<RealmKey>,
    tunnels: Turns,
}

impl<'a> Drain<'a> {
    fn new(cluster: &'a Arc<ClusterNode>) -> Self {
        let owned = cluster.claims.owned();
        Self {
            cluster,
            turns: Turns::new(owned.len()),
            untried: owned.into(),
            busy: VecDeque::new(),
            leaving: Vec::new(),
            tunnels: Turns::new(cluster.counters.tunnels(TunnelSide::Edge)),
        }
    }

    /// Gives the next realms away, and ends the next tunnels.
    fn step(&mut self, progress: Progress) {
        let claims = &self.cluster.claims;
        self.leaving.retain(|key| claims.is_moving(key));
        for _ in 0..self.tunnels.due(progress) {
            self.tunnels.taken += 1;
            // Otherwise the page that connects next would lose its tunnel.
            if self.cluster.counters.tunnels(TunnelSide::Edge) > 0 {
                self.cluster.end_one_tunnel();
            }
        }
        for _ in 0..self.busy.len().min(self.room()) {
            let busy = self.busy.pop_front();
            self.try_realm(busy);
        }
        for _ in 0..self.turns.due(progress).min(self.room()) {
            self.turns.taken += 1;
            let first = self.untried.pop_front();
            self.try_realm(first.map(BusyRealm::new));
        }
        if self.untried.is_empty() && self.busy.is_empty() {
            // Those whose claim had begun before the drain.
            let owned = self.cluster.claims.owned();
            self.busy.extend(owned.into_iter().map(BusyRealm::new));
        }
    }

    /// The requests run here after all.
    fn end_pauses(&mut self) {
        for busy in &mut self.busy {
            busy.pause = None;
        }
    }

    fn room(&self) -> usize {
        MAX_LEAVING.saturating_sub(self.leaving.len())
    }

    /// Gives a realm away if it is quiet, and pauses it otherwise.
    fn try_realm(&mut self, busy: Option<BusyRealm>) {
        let Some(mut busy) = busy else {
            return;
        };
        if self.cluster.give_away_if_quiet(busy.key, busy.realm) {
            self.leaving.push(busy.key);
            return;
        }
        let now = Instant::now();
        if busy.pause_at <= now
            && let Some(pause) = self.cluster.pause(&busy.key, busy.realm)
        {
            busy.pause = Some(pause);
            busy.pause_at = now + PAUSE_TIME + busy.interval;
            busy.interval *= 2;
        }
        self.busy.push_back(busy);
    }

    fn is_complete(&self) -> bool {
        let tunnels = self.cluster.counters.tunnels(TunnelSide::Edge);
        let has_realms =
            !(self.untried.is_empty() && self.busy.is_empty() && self.leaving.is_empty());
        !has_realms && (tunnels == 0 || self.tunnels.taken == self.tunnels.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_spread_evenly_and_all_have_come_at_the_end() {
        let mut turns = Turns::new(10);
        let spread = Duration::from_secs(10);
        for second in 0..10 {
            let elapsed = Duration::from_secs(second);
            assert_eq!(turns.due(Progress { elapsed, spread }), 1);
            turns.taken += 1;
        }
        let elapsed = 2 * spread;
        assert_eq!(turns.due(Progress { elapsed, spread }), 0);
        let elapsed = Duration::ZERO;
        let spread = Duration::ZERO;
        assert_eq!(Turns::new(10).due(Progress { elapsed, spread }), 10);
        assert_eq!(Turns::new(0).due(Progress { elapsed, spread }), 0);
    }
}
