//! The claim of one node to one realm.
//!
//! ```text
//! Unknown ── wanted ──▶ Claiming ── written ──▶ Owned
//! Claiming ── the record names another node, or the directory is away for 8 s ──▶ Unknown
//! Owned ── vacant for 30 s ──▶ Releasing ── removed ──▶ Unknown
//! Owned ── leaving ──▶ Moving ── `moved` is written ──▶ Closing ── closed ──▶ Unknown
//! Owned ── the record names another node ──▶ Closing ── closed ──▶ Unknown
//! ```
//!
//! A claim rests on an acknowledged write. A read may be older than a removal that was acknowledged, and a
//! write that was reported as not written may be performed later. So a record that names this node becomes
//! a claim by being replaced at its revision, after which neither matters.

mod answers;
mod events;
mod operations;

use std::time::{Duration, Instant};

use crate::directory::Revision;
use crate::peers::Peer;
use crate::takeover::OwnerAnswer;

pub use events::{
    ClaimEffect, ClaimEvent, ClaimHolder, ClaimOrigin, NotRemoved, RealmLoss, Verdict,
};

/// How long the hub is without a realm until its record is removed. A page that reloads comes back before.
const VACANCY: Duration = Duration::from_secs(30);
/// How long the directory may be away while something waits for it. A page has 10 s to authenticate.
const DIRECTORY_PATIENCE: Duration = Duration::from_secs(8);
/// How long the directory may be away while something waits for it, at a node that other nodes do not
/// reach: its pages find another node sooner.
const ISOLATED_PATIENCE: Duration = Duration::from_secs(2);
/// How long to wait until the directory is asked again after it has not answered.
const AWAY_PAUSE: Duration = Duration::from_millis(250);
/// How long to wait after a read that was too old, or a second refused write.
const STALE_PAUSE: Duration = Duration::from_millis(50);
/// How long reads that are too old are repeated. No replica of a directory is that late.
const STALE_PATIENCE: Duration = Duration::from_secs(2);
/// When a record is written again: half of the time after which the directory removes it.
const REWRITE_AFTER: Duration = Duration::from_hours(12);

/// The claim of this node to one realm: events in, effects out. Events that do not fit its phase change
/// nothing.
#[derive(Debug, Default)]
pub struct RealmClaim {
    phase: Phase,
    step: Step,
    /// When the present series of operations has begun.
    series_began: Option<Instant>,
    /// Whether a write of this series was refused.
    was_refused: bool,
    /// The holder of the record that the present series replaces.
    origin: ClaimOrigin,
    /// Reads of records before this revision are too old.
    newest: Option<Revision>,
    waiting: Option<Waiting>,
    /// Why this node gives its realms away, if it does.
    leaving: Option<RealmLoss>,
    /// The last time that was asked for.
    wake_at: Option<Instant>,
    effects: Vec<ClaimEffect>,
}

#[derive(Debug, Default)]
enum Phase {
    #[default]
    Unknown,
    Claiming,
    Owned(Ownership),
    /// The record is being removed.
    Releasing(Ownership),
    /// `moved` is being written.
    Moving(Revision, RealmLoss),
    /// The realm is being closed.
    Closing,
}

#[derive(Debug)]
struct Ownership {
    revision: Revision,
    /// When the record was written, or none if it has to be written again: an earlier write or removal of
    /// it may still be performed.
    written: Option<Instant>,
    vacant_since: Option<Instant>,
    is_check_due: bool,
    /// When the realm came from another node, which had it before.
    taken_over: Option<Instant>,
}

/// The operation that is under way.
#[derive(Debug, Default, PartialEq, Eq)]
enum Step {
    #[default]
    None,
    /// The directory is asked again at this time.
    Pause(Instant),
    Find,
    Write {
        moved: bool,
    },
    Remove,
    /// The owner is asked. The record that names it has this revision.
    Ask(Peer, Revision),
}

/// Something waits for a verdict.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    /// Whether the realm is to be claimed.
    claims: bool,
}

impl Ownership {
    fn is_vacant(&self, now: Instant) -> bool {
        let since = self.vacant_since;
        since.is_some_and(|since| now.saturating_duration_since(since) >= VACANCY)
    }
}

impl RealmClaim {
    /// A claim of a node that gives all its realms away for this reason, if it does.
    pub fn new(leaving: Option<RealmLoss>) -> Self {
        Self {
            leaving,
            ..Self::default()
        }
    }

    /// Returns whether the realm is on this node. It does not depend on the lease: an owner remains one
    /// until it learns otherwise.
    ///
    /// Whatever connects to the realm has to check this under the lock of the realm, because it may have
    /// changed after the verdict.
    pub fn owns(&self) -> bool {
        matches!(self.phase, Phase::Owned(_))
    }

    /// Returns when the realm came from another node. Pages of that node may not be back yet.
    pub fn taken_over(&self) -> Option<Instant> {
        match &self.phase {
            Phase::Owned(ownership) => ownership.taken_over,
            _ => None,
        }
    }

    /// Returns whether the realm is being given up.
    pub fn is_moving(&self) -> bool {
        matches!(self.phase, Phase::Moving(..) | Phase::Closing)
    }

    /// Returns whether this is the first state, in which the claim can be dropped.
    pub fn is_unknown(&self) -> bool {
        matches!(self.phase, Phase::Unknown)
    }

    /// Returns whether the realm is on this node and no operation is under way, so that it begins to leave
    /// at once when it has to.
    pub fn is_settled(&self) -> bool {
        self.owns() && matches!(self.step, Step::None | Step::Pause(_))
    }

    /// The answer to a node that would take this realm. While a write is under way, it may have been
    /// performed already.
    pub fn owner_answer(&self) -> OwnerAnswer {
        match self.phase {
            Phase::Owned(_) | Phase::Releasing(_) | Phase::Moving(..) => OwnerAnswer::Mine,
            Phase::Claiming if matches!(self.step, Step::Write { .. }) => OwnerAnswer::Mine,
            Phase::Unknown | Phase::Claiming | Phase::Closing => OwnerAnswer::NotMine,
        }
    }

    /// Applies an event.
    pub fn on(&mut self, event: ClaimEvent, now: Instant) -> Vec<ClaimEffect> {
        match event {
            ClaimEvent::Wanted => self.arrived(true, now),
            ClaimEvent::Misdirected => self.arrived(false, now),
            ClaimEvent::Found(_)
            | ClaimEvent::Written(_)
            | ClaimEvent::Removed(_)
            | ClaimEvent::OwnerAsked(_) => self.answered(event, now),
            ClaimEvent::RealmClosed => {
                if let Phase::Closing = self.phase {
                    self.end(now);
                }
            }
            ClaimEvent::CheckDue => {
                if let Phase::Owned(ownership) = &mut self.phase {
                    ownership.is_check_due = true;
                }
            }
            ClaimEvent::Vacant => {
                if let Phase::Owned(ownership) = &mut self.phase {
                    ownership.vacant_since.get_or_insert(now);
                }
            }
            ClaimEvent::Occupied => {
                if let Phase::Owned(ownership) = &mut self.phase {
                    ownership.vacant_since = None;
                }
            }
            ClaimEvent::Leaving(leaving) => self.leaving = leaving,
            ClaimEvent::Tick => self.continue_after_pause(now),
        }
        self.continue_as_owner(now);
        self.ask_to_wake();
        std::mem::take(&mut self.effects)
    }

    /// Applies the answer to the operation that is under way.
    fn answered(&mut self, answer: ClaimEvent, now: Instant) {
        match (std::mem::take(&mut self.step), answer) {
            (Step::Find, ClaimEvent::Found(Ok(record))) => self.found(record, now),
            (Step::Find, ClaimEvent::Found(Err(_))) => self.pause(AWAY_PAUSE, now),
            (Step::Write { moved }, ClaimEvent::Written(Ok(revision))) => {
                self.written(moved, revision, now);
            }
            (Step::Write { .. }, ClaimEvent::Written(Err(_))) => self.not_written(now),
            (Step::Remove, ClaimEvent::Removed(answer)) => self.removed(answer, now),
            (Step::Ask(peer, revision), ClaimEvent::OwnerAsked(may_take)) => {
                self.owner_asked(peer, revision, may_take, now);
            }
            (step, _) => self.step = step,
        }
    }

    /// Does what an owner has to do: answers arrivals, and begins the next operation if none is under way.
    fn continue_as_owner(&mut self, now: Instant) {
        let Phase::Owned(ownership) = &mut self.phase else {
            return;
        };
        let is_idle = matches!(self.step, Step::None | Step::Pause(_));
        let last = ownership.revision;
        if let Some(loss) = self.leaving {
            if is_idle {
                self.phase = Phase::Moving(last, loss);
                self.begin_series(now);
                self.replace(true, last);
            }
            return;
        }
        if self.waiting.is_some() {
            // They are about to connect, so a vacancy starts anew.
            ownership.vacant_since = ownership.vacant_since.map(|_| now);
            self.answer(Verdict::Owned);
        } else if is_idle && ownership.is_vacant(now) {
            let Phase::Owned(ownership) = std::mem::take(&mut self.phase) else {
                return;
            };
            self.phase = Phase::Releasing(ownership);
            self.begin_series(now);
            self.remove(last);
            return;
        }
        if let Phase::Owned(ownership) = &mut self.phase
            && is_idle
            && std::mem::take(&mut ownership.is_check_due)
        {
            self.begin_series(now);
            self.find();
        }
    }

    fn ask_to_wake(&mut self) {
        let pause_end = match self.step {
            Step::Pause(until) => Some(until),
            _ => None,
        };
        let vacancy_end = match &self.phase {
            // The answer to an operation that is under way continues by itself.
            Phase::Owned(ownership) if matches!(self.step, Step::None | Step::Pause(_)) => {
                ownership.vacant_since.map(|since| since + VACANCY)
            }
            _ => None,
        };
        let wake_at = [pause_end, vacancy_end].into_iter().flatten().min();
        if wake_at != self.wake_at {
            self.wake_at = wake_at;
            self.effects.extend(wake_at.map(ClaimEffect::WakeAt));
        }
    }
}

#[cfg(test)]
mod tests;
