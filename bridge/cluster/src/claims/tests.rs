mod claiming;
mod model;
mod owned;
mod releasing;
mod schedules;

use std::time::{Duration, Instant};

use super::*;
use crate::directory::{Away, NotWritten};
use crate::names::NodeId;
use ClaimEffect::{Answer, Claimed, CloseRealm, Create, Find, Forget, Remove, Replace, WakeAt};
use ClaimEvent::{
    CheckDue, Leaving, Misdirected, Occupied, OwnerAsked, RealmClosed, Removed, Tick, Vacant,
    Wanted, Written,
};
use ClaimOrigin::{Dead, Moved, Unowned};

const DRAINING: ClaimEvent = Leaving(Some(RealmLoss::Drained));
const ISOLATED: ClaimEvent = Leaving(Some(RealmLoss::Isolated));

const OTHER: NodeId = NodeId::from_bytes([1; 16]);

/// A claim with a clock that the test moves.
struct Clocked {
    claim: RealmClaim,
    now: Instant,
}

impl Clocked {
    fn new() -> Self {
        Self {
            claim: RealmClaim::default(),
            now: Instant::now(),
        }
    }

    /// A claim that owns the realm at revision 5, and has pages.
    fn owned() -> Self {
        let mut claim = Self::new();
        assert_eq!(claim.on(Wanted), [Find]);
        assert_eq!(claim.on(found(None)), [Create]);
        let vacancy = WakeAt(claim.now + VACANCY);
        let effects = [Claimed(Unowned), Answer(Verdict::Owned), vacancy];
        assert_eq!(claim.on(written(5)), effects);
        assert_eq!(claim.on(Occupied), []);
        assert!(claim.claim.owns());
        claim
    }

    fn on(&mut self, event: ClaimEvent) -> Vec<ClaimEffect> {
        self.claim.on(event, self.now)
    }

    /// Sends the event with which this node becomes the owner.
    fn owns_after(&mut self, event: ClaimEvent, origin: ClaimOrigin) {
        let effects = self.on(event);
        assert_eq!(effects[..2], [Claimed(origin), Answer(Verdict::Owned)]);
        assert!(self.claim.owns());
    }

    /// Lets time pass, and sends a tick.
    fn tick_after(&mut self, duration: Duration) -> Vec<ClaimEffect> {
        self.now += duration;
        self.on(Tick)
    }

    fn wake_after(&self, duration: Duration) -> ClaimEffect {
        WakeAt(self.now + duration)
    }

    /// Answers finds with [`Away`] until the claim gives up, and returns its last effects.
    fn is_away_until_it_gives_up(&mut self) -> (Duration, Vec<ClaimEffect>) {
        let start = self.now;
        loop {
            let effects = self.on(ClaimEvent::Found(Err(Away)));
            if !matches!(effects[..], [WakeAt(_)]) {
                return (self.now - start, effects);
            }
            assert_eq!(self.tick_after(AWAY_PAUSE), [Find]);
        }
    }
}

fn found(record: Option<(ClaimHolder, u64)>) -> ClaimEvent {
    ClaimEvent::Found(Ok(
        record.map(|(record, revision)| (record, Revision(revision)))
    ))
}

fn found_own(revision: u64) -> ClaimEvent {
    found(Some((ClaimHolder::Own, revision)))
}

fn found_moved(revision: u64) -> ClaimEvent {
    found(Some((ClaimHolder::Moved, revision)))
}

fn found_other(revision: u64, is_alive: bool) -> ClaimEvent {
    let other = ClaimHolder::Other {
        node: OTHER,
        address: "other".to_owned(),
        is_alive,
    };
    found(Some((other, revision)))
}

fn written(revision: u64) -> ClaimEvent {
    Written(Ok(Revision(revision)))
}

const NOT_WRITTEN: ClaimEvent = Written(Err(NotWritten));
const NOT_REMOVED: ClaimEvent = Removed(Err(NotRemoved::NotWritten));

fn replace(last: u64) -> ClaimEffect {
    Replace {
        moved: false,
        last: Revision(last),
    }
}

fn replace_by_moved(last: u64) -> ClaimEffect {
    Replace {
        moved: true,
        last: Revision(last),
    }
}

fn remove(last: u64) -> ClaimEffect {
    Remove {
        last: Revision(last),
    }
}

fn elsewhere() -> ClaimEffect {
    Answer(Verdict::Elsewhere(Peer {
        id: OTHER,
        address: "other".to_owned(),
    }))
}

fn ask_owner() -> ClaimEffect {
    ClaimEffect::AskOwner {
        node: OTHER,
        address: "other".to_owned(),
    }
}
