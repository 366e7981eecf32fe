//! Claiming a realm, and finding its owner.

use super::*;

fn claiming() -> Clocked {
    let mut claim = Clocked::new();
    assert_eq!(claim.on(Wanted), [Find]);
    claim
}

#[test]
fn creates_a_record_where_none_is() {
    let mut claim = claiming();
    assert_eq!(claim.on(found(None)), [Create]);
    assert!(!claim.claim.owns());
    let vacancy = claim.wake_after(VACANCY);
    let effects = [Claimed(Unowned), Answer(Verdict::Owned), vacancy];
    assert_eq!(claim.on(written(1)), effects);
    assert!(claim.claim.owns());
    assert_eq!(claim.claim.taken_over(), None);
    assert_eq!(claim.on(Wanted), [Answer(Verdict::Owned)]);
}

#[test]
fn takes_a_realm_that_was_given_away() {
    let mut claim = claiming();
    assert_eq!(claim.on(found_moved(3)), [replace(3)]);
    claim.owns_after(written(4), Moved);
    assert_eq!(claim.claim.taken_over(), Some(claim.now));
}

#[test]
fn answers_with_an_owner_that_lives() {
    let mut claim = claiming();
    assert_eq!(claim.on(Wanted), []);
    assert_eq!(claim.on(found_other(3, true)), [elsewhere(), Forget]);
    assert!(claim.claim.is_unknown());
}

#[test]
fn takes_the_realm_of_a_dead_owner_only_after_asking_it() {
    let mut claim = claiming();
    assert_eq!(claim.on(found_other(3, false)), [ask_owner()]);
    assert_eq!(claim.on(OwnerAsked(true)), [replace(3)]);
    claim.owns_after(written(4), Dead(OTHER));
    assert_eq!(claim.claim.taken_over(), Some(claim.now));
    let mut claim = claiming();
    assert_eq!(claim.on(found_other(3, false)), [ask_owner()]);
    assert_eq!(claim.on(OwnerAsked(false)), [elsewhere(), Forget]);
}

#[test]
fn asks_the_owner_again_after_a_takeover_that_was_not_written() {
    let mut claim = claiming();
    claim.on(found_other(3, false));
    assert_eq!(claim.on(OwnerAsked(true)), [replace(3)]);
    assert_eq!(claim.on(NOT_WRITTEN), [Find]);
    assert_eq!(claim.on(found_other(3, false)), [ask_owner()]);
}

#[test]
fn confirms_a_record_of_this_node_by_replacing_it() {
    let mut claim = claiming();
    assert_eq!(claim.on(found(None)), [Create]);
    assert_eq!(claim.on(NOT_WRITTEN), [Find]);
    assert_eq!(claim.on(found_own(1)), [replace(1)]);
    assert!(!claim.claim.owns());
    claim.owns_after(written(2), Unowned);
}

#[test]
fn a_takeover_whose_answer_was_lost_is_still_one() {
    let mut claim = claiming();
    claim.on(found_other(3, false));
    assert_eq!(claim.on(OwnerAsked(true)), [replace(3)]);
    assert_eq!(claim.on(NOT_WRITTEN), [Find]);
    assert_eq!(claim.on(found_own(4)), [replace(4)]);
    claim.owns_after(written(5), Dead(OTHER));
}

/// Another node has removed the record meanwhile.
#[test]
fn a_realm_that_is_created_after_all_was_not_taken_over() {
    let mut claim = claiming();
    claim.on(found_other(3, false));
    assert_eq!(claim.on(OwnerAsked(true)), [replace(3)]);
    assert_eq!(claim.on(NOT_WRITTEN), [Find]);
    assert_eq!(claim.on(found(None)), [Create]);
    claim.owns_after(written(5), Unowned);
}

#[test]
fn lets_the_record_decide_after_a_refused_write() {
    let mut claim = claiming();
    claim.on(found(None));
    assert_eq!(claim.on(NOT_WRITTEN), [Find]);
    assert_eq!(claim.on(found_other(1, true)), [elsewhere(), Forget]);
}

#[test]
fn waits_after_a_second_refused_write() {
    let mut claim = claiming();
    claim.on(found(None));
    assert_eq!(claim.on(NOT_WRITTEN), [Find]);
    assert_eq!(claim.on(found(None)), [Create]);
    let pause = claim.wake_after(STALE_PAUSE);
    assert_eq!(claim.on(NOT_WRITTEN), [pause]);
    assert_eq!(claim.tick_after(STALE_PAUSE), [Find]);
}

#[test]
fn never_writes_over_an_invalid_record() {
    let mut claim = claiming();
    let invalid = found(Some((ClaimHolder::Invalid, 3)));
    assert_eq!(claim.on(invalid), [Answer(Verdict::Away), Forget]);
}

#[test]
fn gives_up_after_the_directory_was_away_for_8_s() {
    let mut claim = claiming();
    let (after, effects) = claim.is_away_until_it_gives_up();
    assert_eq!(after, DIRECTORY_PATIENCE);
    assert_eq!(effects, [Answer(Verdict::Away), Forget]);
}

#[test]
fn a_tick_that_comes_early_asks_for_another() {
    let mut claim = claiming();
    let pause = claim.wake_after(AWAY_PAUSE);
    assert_eq!(
        claim.on(ClaimEvent::Found(Err(Away)))[..],
        *std::slice::from_ref(&pause)
    );
    assert_eq!(claim.tick_after(AWAY_PAUSE / 2), [pause]);
    assert_eq!(claim.tick_after(AWAY_PAUSE / 2), [Find]);
}

#[test]
fn a_peer_s_request_does_not_claim_the_realm() {
    let dead = (found_other(3, false), Answer(Verdict::OwnerDead));
    let alive = (found_other(3, true), elsewhere());
    let moved = (found_moved(3), Answer(Verdict::Unowned));
    for (record, verdict) in [dead, alive, moved, (found(None), Answer(Verdict::Unowned))] {
        let mut claim = Clocked::new();
        assert_eq!(claim.on(Misdirected), [Find]);
        assert_eq!(claim.on(record), [verdict, Forget]);
    }
}

#[test]
fn a_peer_s_request_finds_a_late_write_of_this_node() {
    let mut claim = Clocked::new();
    assert_eq!(claim.on(Misdirected), [Find]);
    assert_eq!(claim.on(found_own(3)), [replace(3)]);
    claim.owns_after(written(4), Unowned);
}

#[test]
fn an_arrival_after_a_peer_s_request_claims_the_realm() {
    let mut claim = Clocked::new();
    assert_eq!(claim.on(Misdirected), [Find]);
    assert_eq!(claim.on(Wanted), []);
    assert_eq!(claim.on(found(None)), [Create]);
}

#[test]
fn a_draining_node_claims_no_realm() {
    let dead = (found_other(3, false), Answer(Verdict::OwnerDead));
    let alive = (found_other(3, true), elsewhere());
    let moved = (found_moved(3), Answer(Verdict::Unowned));
    for (record, verdict) in [dead, alive, moved, (found(None), Answer(Verdict::Unowned))] {
        let mut claim = Clocked::new();
        assert_eq!(claim.on(DRAINING), []);
        assert_eq!(claim.on(Wanted), [Find]);
        assert_eq!(claim.on(record), [verdict, Forget]);
    }
}

#[test]
fn a_draining_node_gives_a_late_write_away() {
    let mut claim = Clocked::new();
    claim.on(DRAINING);
    assert_eq!(claim.on(Wanted), [Find]);
    assert_eq!(claim.on(found_own(3)), [replace_by_moved(3)]);
    assert_eq!(claim.on(written(4)), [Answer(Verdict::Unowned), Forget]);
}

#[test]
fn answers_mine_while_its_write_may_have_been_performed() {
    let mut claim = claiming();
    assert_eq!(claim.claim.owner_answer(), OwnerAnswer::NotMine);
    claim.on(found(None));
    assert_eq!(claim.claim.owner_answer(), OwnerAnswer::Mine);
    claim.on(NOT_WRITTEN);
    assert_eq!(claim.claim.owner_answer(), OwnerAnswer::NotMine);
    assert_eq!(Clocked::owned().claim.owner_answer(), OwnerAnswer::Mine);
}

#[test]
fn events_that_do_not_fit_change_nothing() {
    let mut claim = Clocked::new();
    for event in [
        found(None),
        written(1),
        NOT_WRITTEN,
        NOT_REMOVED,
        OwnerAsked(true),
        RealmClosed,
        CheckDue,
        Vacant,
        Occupied,
        Tick,
    ] {
        assert_eq!(claim.on(event.clone()), [], "{event:?}");
        assert!(claim.claim.is_unknown());
    }
    let mut claim = claiming();
    for event in [
        written(1),
        Removed(Ok(())),
        OwnerAsked(true),
        RealmClosed,
        Vacant,
        Tick,
    ] {
        assert_eq!(claim.on(event.clone()), [], "{event:?}");
    }
    assert_eq!(claim.on(found(None)), [Create]);
}
