//! The invariants: those of every step, and those of nodes that have come to rest.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::super::super::{Phase, RealmClaim, Verdict};
use super::directory::{Outcome, Record, Write};
use super::{Model, Node, Start, id};
use crate::directory::Revision;
use crate::takeover::OwnerAnswer;

impl Model {
    /// The record of a node that lives and answers is replaced by no other node, and a node does not
    /// remove the record under its own claim.
    pub(super) fn check_write(&mut self, writer: Start, write: Write, asked: Option<OwnerAnswer>) {
        let Some((Record::Owned(owner), revision)) = self.store.record else {
            return;
        };
        let owner_node = self.node_of(owner);
        let holds = owner_node.and_then(Node::held) == Some(revision);
        if owner == writer {
            let owns = owner_node
                .and_then(|node| node.claim.as_ref())
                .is_some_and(RealmClaim::owns);
            if matches!(write, Write::Remove { .. }) && holds && owns {
                self.violated(format!("{owner} removes the record under its claim"));
            }
            return;
        }
        let is_living = owner_node.is_some();
        self.counts.takeovers += 1;
        self.counts.takeovers_of_living += u64::from(is_living);
        match asked {
            Some(OwnerAnswer::Silent) => {}
            Some(OwnerAnswer::NotMine) if !holds => {}
            asked => self.violated(format!(
                "{writer} replaces the record of {owner}, which was asked: {asked:?}, holds it: {holds}"
            )),
        }
    }

    pub(super) fn check_invariants(&mut self) {
        let mut held = BTreeMap::new();
        let mut violations = Vec::new();
        for node in self.nodes.iter().filter(|node| node.is_up) {
            let phase = node.claim.as_ref().map(|claim| &claim.phase);
            if node.pages > 0 && matches!(phase, None | Some(Phase::Unknown | Phase::Claiming)) {
                violations.push(format!("{} has pages, and no claim", node.start));
            }
            let Some(revision) = node.held() else {
                continue;
            };
            if let Some(other) = held.insert(revision, node.start) {
                violations.push(format!("{other} and {} hold {revision}", node.start));
            }
            if self.store.writers.get(&revision) != Some(&node.start) {
                violations.push(format!("{} holds {revision} of another node", node.start));
            }
        }
        for violation in violations {
            self.violated(violation);
        }
    }

    /// Lets everything come to rest: all operations succeed, each node sees which ones live, and checks
    /// its claim. Then exactly the node of the record owns the realm, and no arrival waits.
    pub(in super::super) fn come_to_rest(&mut self) {
        self.is_engine_up = true;
        let living: BTreeSet<_> = self
            .nodes
            .iter()
            .filter(|node| node.is_up)
            .map(|node| node.start)
            .collect();
        for node in &mut self.nodes {
            node.is_cut_from_directory = false;
            node.is_cut_from_peers = false;
            node.dead = (0..=self.starts)
                .filter(|start| !living.contains(start))
                .collect();
        }
        while !self.late.is_empty() {
            self.perform_late(0);
        }
        self.run_until_quiet();
        for node in 0..self.nodes.len() {
            self.check(node);
        }
        self.run_until_quiet();
        // A request that the record leads to a node shows it.
        for node in 0..self.nodes.len() {
            if self.recorded_owner() == Some(self.nodes[node].start) {
                self.misdirect(node);
            }
        }
        self.run_until_quiet();
        self.check_rest();
    }

    pub(super) fn recorded_owner(&self) -> Option<Start> {
        match self.store.record {
            Some((Record::Owned(start), _)) => Some(start),
            _ => None,
        }
    }

    pub(super) fn run_until_quiet(&mut self) {
        // Twice the longest series of operations.
        for _ in 0..200 {
            for node in 0..self.nodes.len() {
                self.perform(node, Outcome::Performed);
                self.deliver(node);
                self.close(node);
                self.connect(node);
                self.run_timer(node);
            }
            let is_quiet = |node: &Node| {
                let has_timer = node
                    .wake_at
                    .is_some_and(|at| at < self.now + Duration::from_secs(1));
                node.operation.is_none() && node.admitted == 0 && !has_timer && !node.is_closing
            };
            if self.nodes.iter().all(is_quiet) {
                return;
            }
            self.now += Duration::from_millis(100);
        }
        self.violated("the nodes do not come to rest".to_owned());
    }

    pub(super) fn check_rest(&mut self) {
        self.check_invariants();
        let owner = self.recorded_owner();
        let mut violations = Vec::new();
        for node in self.nodes.iter().filter(|node| node.is_up) {
            let owns = node.claim.as_ref().is_some_and(RealmClaim::owns);
            if owns != (owner == Some(node.start)) {
                violations.push(format!(
                    "{} owns: {owns}, the record: {owner:?}",
                    node.start
                ));
            }
            if node.waiting > 0 {
                violations.push(format!("{} arrivals wait at {}", node.waiting, node.start));
            }
        }
        for violation in violations {
            self.violated(violation);
        }
    }

    /// Checks that every node that serves then answers an arrival with the same owner.
    pub(in super::super) fn check_that_all_agree(&mut self) {
        let serving: Vec<_> = (0..self.nodes.len())
            .filter(|node| self.nodes[*node].is_up && self.nodes[*node].leaving.is_none())
            .collect();
        for node in serving {
            self.nodes[node].last_verdict = None;
            self.arrive(node);
            self.run_until_quiet();
            let own = self.nodes[node].start;
            let owner = match self.nodes[node].last_verdict.take() {
                Some(Verdict::Owned) => Some(own),
                Some(Verdict::Elsewhere(peer)) => {
                    (1..=self.starts).find(|start| id(*start) == peer.id)
                }
                _ => None,
            };
            if owner.is_none() || owner != self.recorded_owner() {
                self.violated(format!("{own} answers {owner:?}, not the owner"));
            }
        }
        self.check_rest();
    }
}

impl Node {
    /// The revision at which this node holds the realm.
    pub(super) fn held(&self) -> Option<u64> {
        match &self.claim.as_ref()?.phase {
            Phase::Owned(ownership) | Phase::Releasing(ownership) => Some(ownership.revision.0),
            Phase::Moving(Revision(revision), _) => Some(*revision),
            Phase::Unknown | Phase::Claiming | Phase::Closing => None,
        }
    }
}
