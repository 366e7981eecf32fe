//! The meaning of each answer in each phase.

use std::time::Instant;

use super::events::{ClaimEffect, ClaimHolder, ClaimOrigin, NotRemoved, RealmLoss, Verdict};
use super::{
    Ownership, Phase, REWRITE_AFTER, RealmClaim, STALE_PATIENCE, STALE_PAUSE, Step, Waiting,
};
use crate::directory::Revision;
use crate::peers::Peer;

impl RealmClaim {
    /// Something waits for a verdict, perhaps to claim the realm.
    pub(super) fn arrived(&mut self, claims: bool, now: Instant) {
        let claims = claims || self.waiting.is_some_and(|waiting| waiting.claims);
        self.waiting = Some(Waiting { claims });
        // Every other phase answers or claims at its end.
        if self.is_unknown() {
            self.start_claiming(now);
        }
    }

    pub(super) fn found(&mut self, record: Option<(ClaimHolder, Revision)>, now: Instant) {
        if let Some((_, revision)) = record {
            // After a loss of its data, the directory may count from the start.
            if Some(revision) < self.newest && self.series_lasts(STALE_PATIENCE, now) {
                return self.pause(STALE_PAUSE, now);
            }
            self.newest = Some(revision);
        }
        match &mut self.phase {
            Phase::Claiming => self.found_claiming(record, now),
            Phase::Owned(ownership) => match record {
                None => self.create(),
                Some((ClaimHolder::Own, revision)) => {
                    ownership.revision = revision;
                    let age = |written| now.saturating_duration_since(written);
                    if ownership.written.is_none_or(|at| age(at) >= REWRITE_AFTER) {
                        self.replace(false, revision);
                    }
                }
                Some((ClaimHolder::Other { node, .. }, _)) => {
                    self.close(RealmLoss::Record(Some(node)));
                }
                Some((ClaimHolder::Moved, _)) => self.close(RealmLoss::Record(None)),
                // A record that no node has written takes no realm from a node that lives.
                Some((ClaimHolder::Invalid, _)) => {}
            },
            Phase::Releasing(_) if self.waiting.is_some() => {
                self.phase = Phase::Claiming;
                self.begin_series(now);
                self.found_claiming(record, now);
            }
            Phase::Releasing(ownership) => match record {
                Some((ClaimHolder::Own, revision)) => {
                    ownership.revision = revision;
                    self.remove(revision);
                }
                _ => self.end(now),
            },
            Phase::Moving(last, loss) => match record {
                Some((ClaimHolder::Own, revision)) => {
                    *last = revision;
                    self.replace(true, revision);
                }
                _ => {
                    let loss = *loss;
                    self.close(loss);
                }
            },
            Phase::Unknown | Phase::Closing => {}
        }
    }

    fn found_claiming(&mut self, record: Option<(ClaimHolder, Revision)>, now: Instant) {
        let claims = self.claims();
        let verdict = match record {
            None if claims => {
                self.origin = ClaimOrigin::Unowned;
                return self.create();
            }
            Some((ClaimHolder::Moved, revision)) if claims => {
                self.origin = ClaimOrigin::Moved;
                return self.replace(false, revision);
            }
            None | Some((ClaimHolder::Moved, _)) => Verdict::Unowned,
            // A late write of this node. If it stayed without a claim, it would send requests to a node
            // that refuses them.
            Some((ClaimHolder::Own, revision)) => {
                return self.replace(self.leaving.is_some(), revision);
            }
            Some((
                ClaimHolder::Other {
                    node,
                    address,
                    is_alive,
                },
                revision,
            )) => {
                let peer = Peer { id: node, address };
                match is_alive {
                    true => Verdict::Elsewhere(peer),
                    false if claims => return self.ask_owner(peer, revision),
                    false => Verdict::OwnerDead,
                }
            }
            Some((ClaimHolder::Invalid, _)) => Verdict::Away,
        };
        self.answer(verdict);
        self.end(now);
    }

    fn ask_owner(&mut self, peer: Peer, revision: Revision) {
        let Peer { id: node, address } = peer.clone();
        self.effects.push(ClaimEffect::AskOwner { node, address });
        self.step = Step::Ask(peer, revision);
    }

    pub(super) fn owner_asked(
        &mut self,
        peer: Peer,
        revision: Revision,
        may_take: bool,
        now: Instant,
    ) {
        let verdict = match may_take {
            // It answers, so it lives.
            false => Verdict::Elsewhere(peer),
            true if self.claims() => {
                self.origin = ClaimOrigin::Dead(peer.id);
                return self.replace(false, revision);
            }
            true => Verdict::OwnerDead,
        };
        self.answer(verdict);
        self.end(now);
    }

    pub(super) fn written(&mut self, moved: bool, revision: Revision, now: Instant) {
        self.newest = Some(revision);
        match &mut self.phase {
            Phase::Claiming if moved => {
                self.answer(Verdict::Unowned);
                self.end(now);
            }
            Phase::Claiming => {
                let origin = std::mem::take(&mut self.origin);
                self.effects.push(ClaimEffect::Claimed(origin));
                self.phase = Phase::Owned(Ownership {
                    revision,
                    written: Some(now),
                    // Nothing has connected yet.
                    vacant_since: Some(now),
                    is_check_due: false,
                    taken_over: (origin != ClaimOrigin::Unowned).then_some(now),
                });
            }
            Phase::Owned(ownership) => {
                ownership.revision = revision;
                ownership.written = Some(now);
            }
            Phase::Moving(_, loss) => {
                let loss = *loss;
                self.close(loss);
            }
            Phase::Unknown | Phase::Releasing(_) | Phase::Closing => {}
        }
    }

    /// The record decides what follows a write that was not confirmed.
    pub(super) fn not_written(&mut self, now: Instant) {
        if std::mem::replace(&mut self.was_refused, true) {
            self.pause(STALE_PAUSE, now);
        } else {
            self.find();
        }
    }

    pub(super) fn removed(&mut self, answer: Result<(), NotRemoved>, now: Instant) {
        let Phase::Releasing(mut ownership) = std::mem::take(&mut self.phase) else {
            return;
        };
        match answer {
            Ok(()) => {
                self.newest = Some(Revision(ownership.revision.0 + 1));
                self.end(now);
            }
            Err(NotRemoved::Occupied) => {
                ownership.vacant_since = None;
                // An earlier removal may still be performed, unless the record is replaced before.
                ownership.is_check_due |= ownership.written.is_none();
                self.phase = Phase::Owned(ownership);
            }
            Err(NotRemoved::NotWritten) if self.waiting.is_some() => self.start_claiming(now),
            Err(NotRemoved::NotWritten) => {
                ownership.written = None;
                self.phase = Phase::Releasing(ownership);
                self.not_written(now);
            }
        }
    }

    fn claims(&self) -> bool {
        self.leaving.is_none() && self.waiting.is_some_and(|waiting| waiting.claims)
    }
}
