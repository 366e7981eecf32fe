//! Releasing a realm that is vacant.

use super::*;

/// A claim whose record is being removed.
fn releasing() -> Clocked {
    let mut claim = Clocked::owned();
    let end = claim.wake_after(VACANCY);
    assert_eq!(claim.on(Vacant), [end]);
    assert_eq!(claim.tick_after(VACANCY), [remove(5)]);
    assert!(!claim.claim.owns());
    claim
}

#[test]
fn a_realm_is_released_after_30_s_without_anything() {
    let mut claim = releasing();
    assert_eq!(claim.on(Removed(Ok(()))), [Forget]);
    assert!(claim.claim.is_unknown());
}

#[test]
fn a_claim_that_nothing_connects_to_is_released() {
    let mut claim = Clocked::new();
    claim.on(Wanted);
    claim.on(found(None));
    claim.on(written(5));
    assert_eq!(claim.tick_after(VACANCY), [remove(5)]);
}

#[test]
fn a_vacancy_that_ends_releases_nothing() {
    let mut claim = Clocked::owned();
    claim.on(Vacant);
    claim.now += VACANCY / 2;
    claim.on(Occupied);
    assert_eq!(claim.tick_after(VACANCY), []);
    // A second report does not begin the vacancy anew.
    claim.on(Vacant);
    claim.now += VACANCY / 2;
    claim.on(Vacant);
    assert_eq!(claim.tick_after(VACANCY / 2), [remove(5)]);
}

#[test]
fn an_arrival_begins_a_vacancy_anew() {
    let mut claim = Clocked::owned();
    claim.on(Vacant);
    claim.now += VACANCY;
    let end = claim.wake_after(VACANCY);
    assert_eq!(claim.on(Wanted), [Answer(Verdict::Owned), end]);
    assert_eq!(claim.tick_after(VACANCY), [remove(5)]);
}

#[test]
fn a_realm_that_is_occupied_after_all_is_kept() {
    let mut claim = releasing();
    assert_eq!(claim.on(Wanted), []);
    let occupied = Removed(Err(NotRemoved::Occupied));
    assert_eq!(claim.on(occupied), [Answer(Verdict::Owned)]);
    assert!(claim.claim.owns());
    assert_eq!(claim.tick_after(2 * VACANCY), []);
}

#[test]
fn an_arrival_while_the_record_is_removed_claims_the_realm_again() {
    let mut claim = releasing();
    assert_eq!(claim.on(Wanted), []);
    assert_eq!(claim.on(Removed(Ok(()))), [Find]);
    assert_eq!(claim.on(found(None)), [Create]);
    claim.owns_after(written(7), Unowned);
}

#[test]
fn a_read_of_the_removed_record_is_too_old() {
    let mut claim = releasing();
    claim.on(Wanted);
    claim.on(Removed(Ok(())));
    let pause = claim.wake_after(STALE_PAUSE);
    assert_eq!(claim.on(found_own(5)), [pause]);
}

#[test]
fn a_removal_that_was_not_written_is_repeated() {
    let mut claim = releasing();
    assert_eq!(claim.on(NOT_REMOVED), [Find]);
    assert_eq!(claim.on(found_own(5)), [remove(5)]);
    for record in [found(None), found_other(6, true), found_moved(6)] {
        let mut claim = releasing();
        claim.on(NOT_REMOVED);
        assert_eq!(claim.on(record), [Forget]);
    }
}

/// The removal may still be performed, but not after the record was replaced.
#[test]
fn a_realm_whose_removal_may_come_late_is_kept_by_a_new_record() {
    let mut claim = releasing();
    claim.on(NOT_REMOVED);
    assert_eq!(claim.on(found_own(5)), [remove(5)]);
    let occupied = Removed(Err(NotRemoved::Occupied));
    assert_eq!(claim.on(occupied), [Find]);
    assert_eq!(claim.on(found_own(5)), [replace(5)]);
    assert_eq!(claim.on(written(6)), []);
    // The same for an arrival, which waits until then.
    let mut claim = releasing();
    claim.on(Wanted);
    assert_eq!(claim.on(NOT_REMOVED), [Find]);
    assert_eq!(claim.on(found_own(5)), [replace(5)]);
    claim.owns_after(written(6), Unowned);
    let mut claim = releasing();
    assert_eq!(claim.on(NOT_REMOVED), [Find]);
    claim.on(Wanted);
    assert_eq!(claim.on(found_own(5)), [replace(5)]);
}

#[test]
fn a_release_ends_although_the_directory_is_away() {
    let mut claim = releasing();
    claim.on(NOT_REMOVED);
    let (after, effects) = claim.is_away_until_it_gives_up();
    assert_eq!((after, effects), (DIRECTORY_PATIENCE, vec![Forget]));
}
