//! The directory of the model, and the question to another node.

use std::collections::BTreeMap;

use super::super::super::{ClaimEffect, ClaimHolder, RealmClaim, Step};
use super::{Model, Node, Omission, Start, id};
use crate::directory::{Away, NotWritten, Revision};
use crate::names::NodeId;
use crate::takeover::{Listens, OwnerAnswer, may_take};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Record {
    Owned(Start),
    Moved,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Write {
    Create,
    Replace { moved: bool, last: u64 },
    Remove { last: u64 },
}

/// How an operation ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Outcome {
    Performed,
    /// A read returns an older record: this many writes ago.
    Stale(u8),
    /// It is performed, but the answer is lost.
    AnswerLost,
    Refused,
    /// It is reported as not written, and may be performed later.
    Late,
}

/// The directory, which has one record.
#[derive(Debug, Default)]
pub(super) struct Store {
    pub(super) record: Option<(Record, u64)>,
    pub(super) last: u64,
    pub(super) former: Vec<Option<(Record, u64)>>,
    pub(super) writers: BTreeMap<u64, Start>,
}

impl Write {
    pub(super) fn of(effect: &ClaimEffect) -> Option<Self> {
        match effect {
            ClaimEffect::Create => Some(Self::Create),
            ClaimEffect::Replace { moved, last } => Some(Self::Replace {
                moved: *moved,
                last: last.0,
            }),
            ClaimEffect::Remove { last } => Some(Self::Remove { last: last.0 }),
            _ => None,
        }
    }
}

impl Model {
    pub(super) fn reaches_directory(&self, node: usize) -> bool {
        self.is_engine_up && !self.nodes[node].is_cut_from_directory
    }

    pub(super) fn find(
        &mut self,
        node: usize,
        outcome: Outcome,
    ) -> Result<Option<(ClaimHolder, Revision)>, Away> {
        if !self.reaches_directory(node) || matches!(outcome, Outcome::Refused | Outcome::Late) {
            return Err(Away);
        }
        let mut record = self.store.record;
        if let Outcome::Stale(age) = outcome
            && let Some(index) = self.store.former.len().checked_sub(usize::from(age) + 1)
        {
            record = self.store.former[index];
            self.counts.stale_reads += 1;
        }
        let own = self.nodes[node].start;
        Ok(record.map(|(record, revision)| {
            let found = match record {
                Record::Moved => ClaimHolder::Moved,
                Record::Owned(start) if start == own => ClaimHolder::Own,
                Record::Owned(start) => ClaimHolder::Other {
                    node: id(start),
                    address: start.to_string(),
                    is_alive: !self.nodes[node].dead.contains(&start),
                },
            };
            (found, Revision(revision))
        }))
    }

    pub(super) fn ask_owner(&mut self, node: usize, owner: NodeId) -> bool {
        let start = (0..=self.starts).find(|start| id(*start) == owner).unwrap();
        let is_reached =
            |owner: &&Node| !owner.is_cut_from_peers && !self.nodes[node].is_cut_from_peers;
        let answer = match self.node_of(start).filter(is_reached) {
            None => OwnerAnswer::Silent,
            Some(owner) => {
                (owner.claim.as_ref()).map_or(OwnerAnswer::NotMine, RealmClaim::owner_answer)
            }
        };
        let revision = match self.nodes[node].claim.as_ref().map(|claim| &claim.step) {
            Some(Step::Ask(_, Revision(revision))) => *revision,
            step => panic!("an owner is asked at {step:?}"),
        };
        let is_lease_over = self.nodes[node].dead.contains(&start);
        self.nodes[node].asked = Some((start, revision, answer));
        match self.omission {
            Some(Omission::SecondWitness) => is_lease_over,
            _ => may_take(is_lease_over, Listens::Unknown, answer),
        }
    }

    pub(super) fn write_with(
        &mut self,
        node: usize,
        effect: &ClaimEffect,
        outcome: Outcome,
    ) -> Result<Revision, NotWritten> {
        let write = Write::of(effect).expect("a write");
        let (start, asked) = (self.nodes[node].start, self.witness(node, write));
        if !self.reaches_directory(node) {
            return Err(NotWritten);
        }
        match outcome {
            Outcome::Performed | Outcome::Stale(_) => self.write(start, write, asked),
            Outcome::Refused => Err(NotWritten),
            Outcome::AnswerLost => {
                let _ = self.write(start, write, asked);
                Err(NotWritten)
            }
            Outcome::Late => {
                self.late.push((start, write, asked));
                Err(NotWritten)
            }
        }
    }

    /// Returns the answer of the owner whose record a write replaces.
    pub(super) fn witness(&self, node: usize, write: Write) -> Option<OwnerAnswer> {
        let (_, revision, answer) = self.nodes[node].asked?;
        matches!(write, Write::Replace { last, .. } if last == revision).then_some(answer)
    }

    pub(super) fn write(
        &mut self,
        writer: Start,
        write: Write,
        asked: Option<OwnerAnswer>,
    ) -> Result<Revision, NotWritten> {
        let stored = self.store.record.map(|(_, revision)| revision);
        let (expected, record) = match write {
            Write::Create => (None, Some(Record::Owned(writer))),
            Write::Replace { moved: true, last } => (Some(last), Some(Record::Moved)),
            Write::Replace { moved: false, last } => (Some(last), Some(Record::Owned(writer))),
            Write::Remove { last } => (Some(last), None),
        };
        if stored != expected && self.omission != Some(Omission::CompareAndSet) {
            return Err(NotWritten);
        }
        self.check_write(writer, write, asked);
        self.store.former.push(self.store.record);
        self.store.last += 1;
        let revision = self.store.last;
        self.store.record = record.map(|record| (record, revision));
        self.store.writers.insert(revision, writer);
        match write {
            Write::Remove { .. } => self.counts.releases += 1,
            Write::Replace { moved: true, .. } => self.counts.moves += 1,
            _ => {}
        }
        Ok(Revision(revision))
    }
}
