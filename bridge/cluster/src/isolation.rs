//! When a node that is cut off gives its realms away, and when it takes realms again.
//!
//! Two nodes that cannot reach each other answer for different realms, and requests that arrive at the
//! wrong one fail. A node therefore gives way that the others do not reach, if another one
//! serves in its place:
//!
//! - It has lost its lease, a serving node lived then, and for five pings none has said that it reaches
//!   this one. A lone node continues without the directory, and so do all when only the directory is away.
//! - It has its lease, for ten seconds no node has reached it, and another serving node is reached.
//! - Only one other node serves, neither reaches the other for ten seconds, and that one has the smaller id.
//!
//! If no node reaches any other, the fault is in what they share, and none gives way.

use std::time::{Duration, Instant};

use crate::names::NodeId;
use crate::reachability::{MAX_MISSED_PINGS, PingAnswer};

/// How long a node without a lease may be unreached: as long as the pings that may be missed.
const UNREACHED_WITHOUT_LEASE: Duration = Duration::from_secs(MAX_MISSED_PINGS as u64);

/// How long a node with a lease may be unreached. Records show it a second or two late.
const UNREACHED_WITH_LEASE: Duration = Duration::from_secs(10);

/// How long a node is reached before it takes realms again.
const REACHED_AGAIN: Duration = Duration::from_secs(10);

/// The cluster as one node sees it at one time.
#[derive(Clone, Debug, Default)]
pub struct Sight {
    /// Whether this node has a lease.
    pub has_lease: bool,
    /// Whether the records of the others arrive. A lease lasts a while longer.
    pub is_connected: bool,
    /// All other nodes that it knows.
    pub peers: Vec<SeenPeer>,
}

/// Another node as one sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenPeer {
    pub id: NodeId,
    /// Whether it lives and takes new realms.
    pub is_serving: bool,
    /// The nodes that it reaches, according to its record, if it lives.
    pub reaches: Vec<NodeId>,
    /// Its answer to the last ping of this node, if it has answered.
    pub answer: Option<PingAnswer>,
}

/// Whether a node is cut off from the others: what it sees in, changes out.
#[derive(Debug)]
pub struct Isolation {
    own: NodeId,
    cause: Option<IsolationCause>,
    had_lease: bool,
    /// Whether another node served when the lease was lost.
    lost_beside_serving: bool,
    /// When another node has reached this one for the last time, or could not be expected to.
    last_reached: Option<Instant>,
    /// Since when another node has reached this one all the time.
    reached_since: Option<Instant>,
    /// Whether it was reported that no node reaches any other.
    was_blind: bool,
}

/// Why a node gives its realms away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IsolationCause {
    /// It has lost its lease, and is not reached.
    LeaseLost,
    /// It is not reached, and others are.
    Unreached,
    /// It and the only other node do not reach each other, and that one remains.
    Pair,
}

/// Why a node takes realms again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReturnCause {
    /// Another node has reached it for ten seconds.
    Reached,
    /// No other node serves.
    Alone,
}

/// A change of whether a node is cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IsolationChange {
    /// The node gives all its realms away, and takes no others.
    Isolated(IsolationCause),
    /// The node takes realms again.
    Returned(ReturnCause),
    /// No node reaches any other, and none gives way. It is reported once for as long as it lasts.
    NoneReached,
}

impl Isolation {
    /// A node that takes realms.
    pub fn new(own: NodeId) -> Self {
        Self {
            own,
            cause: None,
            had_lease: false,
            lost_beside_serving: false,
            last_reached: None,
            reached_since: None,
            was_blind: false,
        }
    }

    /// Returns whether the node gives its realms away.
    pub fn is_isolated(&self) -> bool {
        self.cause.is_some()
    }

    /// This node may have missed that others reach it: its process has stalled, or its network was away.
    pub fn restart(&mut self, now: Instant) {
        self.last_reached = Some(now);
        self.reached_since = None;
    }

    /// Applies what the node sees, which it looks at every second.
    pub fn observe(&mut self, sight: &Sight, now: Instant) -> Option<IsolationChange> {
        match (self.had_lease, sight.has_lease) {
            // Meanwhile the records of the others did not arrive.
            (false, true) => self.last_reached = Some(now),
            (true, false) => self.lost_beside_serving = sight.serving().next().is_some(),
            _ => {}
        }
        self.had_lease = sight.has_lease;
        if sight.is_reached(self.own) {
            self.last_reached = Some(now);
            self.reached_since.get_or_insert(now);
        } else {
            self.reached_since = None;
        }
        if self.is_isolated() {
            let cause = self.return_cause(sight, now)?;
            self.cause = None;
            return Some(IsolationChange::Returned(cause));
        }
        if let Some(cause) = self.isolation_cause(sight, now) {
            self.cause = Some(cause);
            return Some(IsolationChange::Isolated(cause));
        }
        let is_blind = self.is_blind(sight, now);
        let was_blind = std::mem::replace(&mut self.was_blind, is_blind);
        (is_blind && !was_blind).then_some(IsolationChange::NoneReached)
    }

    fn isolation_cause(&self, sight: &Sight, now: Instant) -> Option<IsolationCause> {
        if !sight.has_lease {
            let gives_way =
                self.lost_beside_serving && self.is_unreached(UNREACHED_WITHOUT_LEASE, now);
            return gives_way.then_some(IsolationCause::LeaseLost);
        }
        // A node whose record is old may be dead.
        if !sight.is_connected || !self.is_unreached(UNREACHED_WITH_LEASE, now) {
            return None;
        }
        if sight.is_any_other_reached() {
            return Some(IsolationCause::Unreached);
        }
        match *sight.serving().collect::<Vec<_>>() {
            [other] if other.answer.is_none() && other.id < self.own => Some(IsolationCause::Pair),
            _ => None,
        }
    }

    fn return_cause(&self, sight: &Sight, now: Instant) -> Option<ReturnCause> {
        if !sight.has_lease || !sight.is_connected {
            None
        } else if sight.serving().next().is_none() {
            Some(ReturnCause::Alone)
        } else {
            let since = self.reached_since?;
            let is_reached = now.saturating_duration_since(since) >= REACHED_AGAIN;
            is_reached.then_some(ReturnCause::Reached)
        }
    }

    /// Whether this node, as several others, is not reached by any, and none of them is by another.
    fn is_blind(&self, sight: &Sight, now: Instant) -> bool {
        sight.has_lease
            && sight.is_connected
            && self.is_unreached(UNREACHED_WITH_LEASE, now)
            && sight.serving().count() > 1
            && !sight.is_any_other_reached()
    }

    fn is_unreached(&self, time: Duration, now: Instant) -> bool {
        let last = self.last_reached;
        last.is_some_and(|last| now.saturating_duration_since(last) >= time)
    }
}

impl Sight {
    fn serving(&self) -> impl Iterator<Item = &SeenPeer> {
        self.peers.iter().filter(|peer| peer.is_serving)
    }

    /// Whether a node reaches this one, by its answer or its record. Without a lease, records may be old.
    fn is_reached(&self, own: NodeId) -> bool {
        self.peers.iter().any(|peer| {
            peer.answer.is_some_and(|answer| answer.is_reached)
                || self.has_lease && peer.reaches.contains(&own)
        })
    }

    /// Whether a serving node is reached by another one than this.
    fn is_any_other_reached(&self) -> bool {
        let is_reached = |id| self.peers.iter().any(|peer| peer.reaches.contains(&id));
        self.serving().any(|peer| is_reached(peer.id))
    }
}

impl IsolationCause {
    /// Describes the cause for the log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LeaseLost => "it has lost NATS, and no other bridge says that it reaches it",
            Self::Unreached => "no other bridge reaches it, and they reach each other",
            Self::Pair => {
                "it and the other bridge do not reach each other, and the one with the smaller id remains"
            }
        }
    }
}

impl ReturnCause {
    /// Describes the cause for the log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reached => "another bridge has reached it for 10 s",
            Self::Alone => "no other bridge serves",
        }
    }
}

#[cfg(test)]
mod tests;
