//! Checking a claim, and losing it.

use super::*;

#[test]
fn a_check_that_finds_this_node_changes_nothing() {
    let mut claim = Clocked::owned();
    assert_eq!(claim.on(CheckDue), [Find]);
    assert_eq!(claim.on(found_own(5)), []);
    assert!(claim.claim.owns());
}

#[test]
fn an_owner_remains_one_while_it_checks_and_while_the_directory_is_away() {
    let mut claim = Clocked::owned();
    assert_eq!(claim.on(CheckDue), [Find]);
    assert!(claim.claim.owns());
    assert_eq!(claim.on(Wanted), [Answer(Verdict::Owned)]);
    let (after, effects) = claim.is_away_until_it_gives_up();
    assert_eq!((after, effects), (DIRECTORY_PATIENCE, Vec::new()));
    assert!(claim.claim.owns());
    assert_eq!(claim.on(CheckDue), [Find]);
}

#[test]
fn a_lost_record_is_created_again() {
    let mut claim = Clocked::owned();
    claim.on(CheckDue);
    assert_eq!(claim.on(found(None)), [Create]);
    assert!(claim.claim.owns());
    assert_eq!(claim.on(written(6)), []);
    // Another node was faster.
    claim.on(CheckDue);
    assert_eq!(claim.on(found(None)), [Create]);
    assert_eq!(claim.on(NOT_WRITTEN), [Find]);
    assert_eq!(
        claim.on(found_other(7, true)),
        [CloseRealm(RealmLoss::Record(Some(OTHER)))]
    );
}

#[test]
fn a_record_of_another_node_closes_the_realm() {
    for (record, owner) in [
        (found_other(6, true), Some(OTHER)),
        (found_other(6, false), Some(OTHER)),
        (found_moved(6), None),
    ] {
        let mut claim = Clocked::owned();
        claim.on(CheckDue);
        assert_eq!(claim.on(record), [CloseRealm(RealmLoss::Record(owner))]);
        assert!(claim.claim.is_moving() && !claim.claim.owns());
        assert_eq!(claim.claim.owner_answer(), OwnerAnswer::NotMine);
        assert_eq!(claim.on(RealmClosed), [Forget]);
    }
}

#[test]
fn an_arrival_while_the_realm_is_closed_starts_anew() {
    let mut claim = Clocked::owned();
    claim.on(CheckDue);
    claim.on(found_other(6, true));
    assert_eq!(claim.on(Wanted), []);
    assert_eq!(claim.on(RealmClosed), [Find]);
    assert_eq!(claim.on(found_other(6, true)), [elsewhere(), Forget]);
}

#[test]
fn a_read_that_is_too_old_is_repeated() {
    let mut claim = Clocked::owned();
    claim.on(CheckDue);
    let pause = claim.wake_after(STALE_PAUSE);
    assert_eq!(claim.on(found_other(4, true)), [pause]);
    assert!(claim.claim.owns());
    assert_eq!(claim.tick_after(STALE_PAUSE), [Find]);
    assert_eq!(claim.on(found_own(5)), []);
}

/// A directory that has lost its data may count its revisions from the start.
#[test]
fn a_read_that_stays_old_is_believed_after_2_s() {
    let mut claim = Clocked::owned();
    claim.on(CheckDue);
    let start = claim.now;
    while let [WakeAt(_)] = claim.on(found_other(1, true))[..] {
        assert!(claim.claim.owns());
        assert_eq!(claim.tick_after(STALE_PAUSE), [Find]);
    }
    assert_eq!(claim.now - start, STALE_PATIENCE);
    assert!(!claim.claim.owns());
    assert_eq!(claim.on(RealmClosed), [Forget]);
}

#[test]
fn an_invalid_record_does_not_end_a_claim() {
    let mut claim = Clocked::owned();
    claim.on(CheckDue);
    assert_eq!(claim.on(found(Some((ClaimHolder::Invalid, 6)))), []);
    assert!(claim.claim.owns());
}

#[test]
fn a_check_that_is_due_during_another_follows_it() {
    let mut claim = Clocked::owned();
    assert_eq!(claim.on(CheckDue), [Find]);
    assert_eq!(claim.on(CheckDue), []);
    assert_eq!(claim.on(found_own(5)), [Find]);
    assert_eq!(claim.on(found_own(5)), []);
}

#[test]
fn a_record_is_written_again_after_12_hours() {
    let mut claim = Clocked::owned();
    claim.now += REWRITE_AFTER - Duration::from_secs(1);
    claim.on(CheckDue);
    assert_eq!(claim.on(found_own(5)), []);
    claim.now += Duration::from_secs(1);
    claim.on(CheckDue);
    assert_eq!(claim.on(found_own(5)), [replace(5)]);
    assert_eq!(claim.on(NOT_WRITTEN), [Find]);
    assert_eq!(claim.on(found_own(5)), [replace(5)]);
    assert_eq!(claim.on(written(6)), []);
    claim.on(CheckDue);
    assert_eq!(claim.on(found_own(6)), []);
}

#[test]
fn a_draining_owner_gives_its_realm_away_and_then_closes_it() {
    for (event, loss) in [
        (DRAINING, RealmLoss::Drained),
        (ISOLATED, RealmLoss::Isolated),
    ] {
        let mut claim = Clocked::owned();
        assert_eq!(claim.on(event), [replace_by_moved(5)]);
        assert!(claim.claim.is_moving() && !claim.claim.owns());
        assert_eq!(claim.on(Wanted), []);
        assert_eq!(claim.on(written(6)), [CloseRealm(loss)]);
        assert_eq!(claim.on(RealmClosed), [Find]);
        assert_eq!(claim.on(found_moved(6)), [Answer(Verdict::Unowned), Forget]);
    }
}

#[test]
fn a_draining_owner_lets_the_record_decide_after_a_refused_write() {
    let moving = || {
        let mut claim = Clocked::owned();
        claim.on(DRAINING);
        assert_eq!(claim.on(NOT_WRITTEN), [Find]);
        claim
    };
    assert_eq!(moving().on(found_own(6)), [replace_by_moved(6)]);
    for record in [found(None), found_moved(6), found_other(6, true)] {
        assert_eq!(moving().on(record), [CloseRealm(RealmLoss::Drained)]);
    }
}

#[test]
fn a_draining_owner_closes_its_realm_although_the_directory_is_away() {
    for (event, loss, patience) in [
        (DRAINING, RealmLoss::Drained, DIRECTORY_PATIENCE),
        (ISOLATED, RealmLoss::Isolated, ISOLATED_PATIENCE),
    ] {
        let mut claim = Clocked::owned();
        claim.on(event);
        assert_eq!(claim.on(NOT_WRITTEN), [Find]);
        let (after, effects) = claim.is_away_until_it_gives_up();
        assert_eq!((after, effects), (patience, vec![CloseRealm(loss)]));
    }
}

#[test]
fn an_arrival_is_answered_if_the_node_serves_again_before_it_gave_the_realm_away() {
    let mut claim = Clocked::owned();
    claim.on(CheckDue);
    assert_eq!(claim.on(DRAINING), []);
    assert_eq!(claim.on(Wanted), []);
    assert_eq!(claim.on(Leaving(None)), [Answer(Verdict::Owned)]);
}
