//! The operations of a claim: how a series of them begins, is repeated, and ends.

use std::time::{Duration, Instant};

use super::events::{ClaimEffect, ClaimOrigin, RealmLoss, Verdict};
use super::{DIRECTORY_PATIENCE, ISOLATED_PATIENCE, Phase, RealmClaim, Step};
use crate::directory::Revision;

impl RealmClaim {
    pub(super) fn start_claiming(&mut self, now: Instant) {
        self.phase = Phase::Claiming;
        self.origin = ClaimOrigin::Unowned;
        self.begin_series(now);
        self.find();
    }

    pub(super) fn begin_series(&mut self, now: Instant) {
        self.series_began = Some(now);
        self.was_refused = false;
    }

    pub(super) fn find(&mut self) {
        self.step = Step::Find;
        self.effects.push(ClaimEffect::Find);
    }

    pub(super) fn create(&mut self) {
        self.step = Step::Write { moved: false };
        self.effects.push(ClaimEffect::Create);
    }

    pub(super) fn replace(&mut self, moved: bool, last: Revision) {
        self.step = Step::Write { moved };
        self.effects.push(ClaimEffect::Replace { moved, last });
    }

    pub(super) fn remove(&mut self, last: Revision) {
        self.step = Step::Remove;
        self.effects.push(ClaimEffect::Remove { last });
    }

    /// Gives a verdict to all that wait.
    pub(super) fn answer(&mut self, verdict: Verdict) {
        if self.waiting.take().is_some() {
            self.effects.push(ClaimEffect::Answer(verdict));
        }
    }

    pub(super) fn close(&mut self, loss: RealmLoss) {
        self.phase = Phase::Closing;
        self.effects.push(ClaimEffect::CloseRealm(loss));
    }

    pub(super) fn pause(&mut self, pause: Duration, now: Instant) {
        let patience = match self.phase {
            Phase::Moving(_, RealmLoss::Isolated) => ISOLATED_PATIENCE,
            _ => DIRECTORY_PATIENCE,
        };
        if self.series_lasts(patience, now) {
            self.step = Step::Pause(now + pause);
        } else {
            self.give_up(now);
        }
    }

    pub(super) fn continue_after_pause(&mut self, now: Instant) {
        self.wake_at = None;
        if matches!(self.step, Step::Pause(until) if until <= now) {
            self.find();
        }
    }

    pub(super) fn series_lasts(&self, patience: Duration, now: Instant) -> bool {
        let lasts = |began| now.saturating_duration_since(began) < patience;
        self.series_began.is_some_and(lasts)
    }

    /// The directory has been away for too long.
    fn give_up(&mut self, now: Instant) {
        match self.phase {
            Phase::Claiming => {
                self.answer(Verdict::Away);
                self.end(now);
            }
            // The record leads requests to this node, and the first of them claims the realm again.
            Phase::Releasing(_) => self.end(now),
            Phase::Moving(_, loss) => self.close(loss),
            // The next check repeats it.
            Phase::Owned(_) | Phase::Unknown | Phase::Closing => {}
        }
    }

    /// Returns to the first state, and starts anew for what has arrived meanwhile.
    pub(super) fn end(&mut self, now: Instant) {
        self.phase = Phase::Unknown;
        if self.waiting.is_some() {
            self.start_claiming(now);
        } else {
            self.effects.push(ClaimEffect::Forget);
        }
    }
}
