//! A model of several nodes with one realm: the directory, the pages, and what can go wrong between them.

mod directory;
mod invariants;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::super::{ClaimEffect, ClaimEvent, NotRemoved, RealmClaim, RealmLoss, Verdict};
use crate::names::NodeId;
use crate::takeover::OwnerAnswer;
use directory::{Store, Write};

pub(super) use directory::Outcome;

/// One start of a node. A node that starts again has another one.
pub(super) type Start = u8;

/// A protection that the model leaves out, to show that a test notices it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Omission {
    CompareAndSet,
    SecondWitness,
    GuardAtConnecting,
}

/// The operation of a claim that is under way.
#[derive(Debug)]
enum Operation {
    Requested(ClaimEffect),
    /// The answer is on the way.
    Answered(ClaimEvent),
}

#[derive(Debug, Default)]
struct Node {
    start: Start,
    is_up: bool,
    is_cut_from_directory: bool,
    is_cut_from_peers: bool,
    leaving: Option<RealmLoss>,
    claim: Option<RealmClaim>,
    operation: Option<Operation>,
    wake_at: Option<Instant>,
    is_closing: bool,
    pages: usize,
    /// Arrivals that wait for a verdict.
    waiting: usize,
    /// Pages whose verdict was that this node owns the realm, and which have not connected yet.
    admitted: usize,
    /// The nodes whose lease is over, as this node sees it.
    dead: BTreeSet<Start>,
    /// The last answer of an owner: who was asked, and at which revision of its record.
    asked: Option<(Start, u64, OwnerAnswer)>,
    last_verdict: Option<Verdict>,
}

/// Counts of what has happened, to see that schedules reach what they should.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) steps: u64,
    pub(super) claims: u64,
    pub(super) takeovers: u64,
    pub(super) takeovers_of_living: u64,
    pub(super) losses: u64,
    pub(super) releases: u64,
    pub(super) moves: u64,
    pub(super) late_writes: u64,
    pub(super) stale_reads: u64,
    pub(super) refused_by_guard: u64,
}

impl Counts {
    pub(super) fn add(&mut self, other: Self) {
        self.steps += other.steps;
        self.claims += other.claims;
        self.takeovers += other.takeovers;
        self.takeovers_of_living += other.takeovers_of_living;
        self.losses += other.losses;
        self.releases += other.releases;
        self.moves += other.moves;
        self.late_writes += other.late_writes;
        self.stale_reads += other.stale_reads;
        self.refused_by_guard += other.refused_by_guard;
    }
}

#[derive(Debug)]
pub(super) struct Model {
    now: Instant,
    store: Store,
    nodes: Vec<Node>,
    starts: Start,
    is_engine_up: bool,
    late: Vec<(Start, Write, Option<OwnerAnswer>)>,
    omission: Option<Omission>,
    pub(super) counts: Counts,
    /// The first violation of an invariant.
    pub(super) violation: Option<String>,
}

fn id(start: Start) -> NodeId {
    NodeId::from_bytes([start; 16])
}

impl Model {
    pub(super) fn new(nodes: usize, omission: Option<Omission>) -> Self {
        let mut model = Self {
            now: Instant::now(),
            store: Store::default(),
            nodes: Vec::new(),
            starts: 0,
            is_engine_up: true,
            late: Vec::new(),
            omission,
            counts: Counts::default(),
            violation: None,
        };
        model.nodes.resize_with(nodes, Node::default);
        for node in 0..nodes {
            model.start(node);
        }
        model
    }

    pub(super) fn node_count(&self) -> usize {
        self.nodes.len()
    }

    fn violated(&mut self, invariant: String) {
        self.violation.get_or_insert(invariant);
    }

    fn node_of(&self, start: Start) -> Option<&Node> {
        self.nodes
            .iter()
            .find(|node| node.is_up && node.start == start)
    }

    // The steps of a schedule.

    pub(super) fn start(&mut self, node: usize) {
        if !self.nodes[node].is_up {
            self.starts += 1;
            self.nodes[node] = Node {
                start: self.starts,
                is_up: true,
                ..Node::default()
            };
        }
    }

    /// The process of a node ends. A write that it has requested may still be performed.
    pub(super) fn kill(&mut self, node: usize) {
        let start = self.nodes[node].start;
        if let Some(Operation::Requested(effect)) = self.nodes[node].operation.take()
            && let Some(write) = Write::of(&effect)
        {
            let asked = self.witness(node, write);
            self.late.push((start, write, asked));
        }
        self.nodes[node] = Node {
            start,
            ..Node::default()
        };
    }

    pub(super) fn arrive(&mut self, node: usize) {
        if self.nodes[node].is_up {
            self.nodes[node].waiting += 1;
            self.apply(node, ClaimEvent::Wanted);
        }
    }

    pub(super) fn misdirect(&mut self, node: usize) {
        let is_owner = || (self.nodes[node].claim.as_ref()).is_some_and(RealmClaim::owns);
        if self.nodes[node].is_up && !is_owner() {
            self.nodes[node].waiting += 1;
            self.apply(node, ClaimEvent::Misdirected);
        }
    }

    /// A page that was admitted connects, if the claim is still there.
    pub(super) fn connect(&mut self, node: usize) {
        let guarded = self.omission != Some(Omission::GuardAtConnecting);
        let node = &mut self.nodes[node];
        if node.admitted == 0 {
            return;
        }
        node.admitted -= 1;
        if !guarded || node.claim.as_ref().is_some_and(RealmClaim::owns) {
            node.pages += 1;
        } else {
            self.counts.refused_by_guard += 1;
        }
    }

    pub(super) fn depart(&mut self, node: usize) {
        self.nodes[node].pages = self.nodes[node].pages.saturating_sub(1);
    }

    /// The hub reports whether something of the realm is there. The report may be out of date.
    pub(super) fn report(&mut self, node: usize, is_outdated: bool) {
        let is_occupied = (self.nodes[node].pages > 0) != is_outdated;
        self.apply_known(
            node,
            if is_occupied {
                ClaimEvent::Occupied
            } else {
                ClaimEvent::Vacant
            },
        );
    }

    pub(super) fn check(&mut self, node: usize) {
        self.apply_known(node, ClaimEvent::CheckDue);
    }

    pub(super) fn leave(&mut self, node: usize, loss: RealmLoss) {
        if self.nodes[node].is_up {
            self.nodes[node].leaving = Some(loss);
            self.apply_known(node, ClaimEvent::Leaving(Some(loss)));
        }
    }

    pub(super) fn serve(&mut self, node: usize) {
        self.nodes[node].leaving = None;
        self.apply_known(node, ClaimEvent::Leaving(None));
    }

    pub(super) fn cut(&mut self, node: usize, from_directory: bool, from_peers: bool) {
        self.nodes[node].is_cut_from_directory = from_directory;
        self.nodes[node].is_cut_from_peers = from_peers;
    }

    pub(super) fn set_engine(&mut self, is_up: bool) {
        self.is_engine_up = is_up;
    }

    /// The directory loses its record, as after a restart without stored data.
    pub(super) fn lose_record(&mut self) {
        self.store.former.push(self.store.record.take());
    }

    /// A node sees the lease of another one as over, or not, rightly or not.
    pub(super) fn set_lease(&mut self, observer: usize, node: usize, is_over: bool) {
        let start = self.nodes[node].start;
        let dead = &mut self.nodes[observer].dead;
        if is_over {
            dead.insert(start);
        } else {
            dead.remove(&start);
        }
    }

    /// Lets time pass. Timers may run later than that.
    pub(super) fn wait(&mut self, duration: Duration) {
        self.now += duration;
    }

    pub(super) fn run_timer(&mut self, node: usize) {
        if self.nodes[node].wake_at.is_some_and(|at| at <= self.now) {
            self.nodes[node].wake_at = None;
            self.apply_known(node, ClaimEvent::Tick);
        }
    }

    /// Closes the realm at a node that has to.
    pub(super) fn close(&mut self, node: usize) {
        if std::mem::take(&mut self.nodes[node].is_closing) {
            self.nodes[node].pages = 0;
            self.apply_known(node, ClaimEvent::RealmClosed);
        }
    }

    pub(super) fn perform_late(&mut self, index: usize) {
        if let Some(index) = index.checked_rem(self.late.len()) {
            let (start, write, asked) = self.late.remove(index);
            if self.write(start, write, asked).is_ok() {
                self.counts.late_writes += 1;
            }
        }
    }

    /// Performs the operation that a node has requested. The answer is not delivered yet.
    pub(super) fn perform(&mut self, node: usize, outcome: Outcome) {
        if !matches!(self.nodes[node].operation, Some(Operation::Requested(_))) {
            return;
        }
        let Some(Operation::Requested(effect)) = self.nodes[node].operation.take() else {
            return;
        };
        let answer = match &effect {
            ClaimEffect::Find => ClaimEvent::Found(self.find(node, outcome)),
            ClaimEffect::AskOwner { node: owner, .. } => {
                ClaimEvent::OwnerAsked(self.ask_owner(node, *owner))
            }
            ClaimEffect::Remove { .. } if self.nodes[node].pages > 0 => {
                ClaimEvent::Removed(Err(NotRemoved::Occupied))
            }
            ClaimEffect::Remove { .. } => {
                let removed = self.write_with(node, &effect, outcome);
                ClaimEvent::Removed(removed.map(drop).map_err(NotRemoved::from))
            }
            _ => ClaimEvent::Written(self.write_with(node, &effect, outcome)),
        };
        self.nodes[node].operation = Some(Operation::Answered(answer));
    }

    pub(super) fn deliver(&mut self, node: usize) {
        if matches!(self.nodes[node].operation, Some(Operation::Answered(_)))
            && let Some(Operation::Answered(event)) = self.nodes[node].operation.take()
        {
            self.apply(node, event);
        }
    }

    // The nodes.

    fn apply_known(&mut self, node: usize, event: ClaimEvent) {
        if self.nodes[node].claim.is_some() {
            self.apply(node, event);
        }
    }

    fn apply(&mut self, index: usize, event: ClaimEvent) {
        let now = self.now;
        let node = &mut self.nodes[index];
        let leaving = node.leaving;
        let claim = node.claim.get_or_insert_with(|| RealmClaim::new(leaving));
        let mut is_forgotten = false;
        for effect in claim.on(event, now) {
            match effect {
                ClaimEffect::Answer(verdict) => {
                    assert!(node.waiting > 0, "a verdict that nothing waits for");
                    let waiting = std::mem::take(&mut node.waiting);
                    if verdict == Verdict::Owned {
                        node.admitted += waiting;
                        self.counts.claims += 1;
                    }
                    node.last_verdict = Some(verdict);
                }
                ClaimEffect::CloseRealm(_) => {
                    assert!(!std::mem::replace(&mut node.is_closing, true));
                    self.counts.losses += 1;
                }
                ClaimEffect::Claimed(_) => {}
                ClaimEffect::WakeAt(at) => node.wake_at = Some(at),
                ClaimEffect::Forget => is_forgotten = true,
                operation => {
                    assert!(node.operation.is_none(), "two operations at once");
                    node.operation = Some(Operation::Requested(operation));
                }
            }
        }
        if is_forgotten {
            assert!(node.operation.is_none() && node.waiting == 0);
            node.claim = None;
        }
        self.check_invariants();
    }
}
