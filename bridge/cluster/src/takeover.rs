//! When a node may take a realm whose record names another node.

/// Whether a node is connected to the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listens {
    Yes,
    /// The directory has not answered, or this node has been connected to it for less than one lease: after
    /// a restart of the directory, the other node has to connect again first.
    Unknown,
    /// It was not connected twice, one second apart.
    No,
}

/// The answer of a node that was asked whether it owns a realm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnerAnswer {
    /// It has not answered in time.
    Silent,
    /// It lives, and has not accepted the question: for example, because the clocks differ.
    Refused,
    NotMine,
    Mine,
}

/// Returns whether both witnesses, the directory and the owner itself, agree that the owner is gone.
///
/// The directory alone is not enough: a node that is cut off from the directory only still serves its
/// realms. Nor is the owner's silence: the connection between the two nodes may be cut.
pub fn may_take(is_lease_over: bool, listens: Listens, owner: OwnerAnswer) -> bool {
    let is_gone_from_directory = is_lease_over || listens == Listens::No;
    is_gone_from_directory && matches!(owner, OwnerAnswer::Silent | OwnerAnswer::NotMine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_realm_is_taken_only_if_both_witnesses_agree() {
        for owner in [OwnerAnswer::Silent, OwnerAnswer::NotMine] {
            assert!(may_take(true, Listens::Yes, owner));
            assert!(may_take(true, Listens::Unknown, owner));
            assert!(may_take(false, Listens::No, owner));
            assert!(!may_take(false, Listens::Yes, owner));
            assert!(!may_take(false, Listens::Unknown, owner));
        }
    }

    #[test]
    fn a_realm_is_never_taken_from_an_owner_that_answers() {
        for is_lease_over in [false, true] {
            for listens in [Listens::Yes, Listens::Unknown, Listens::No] {
                for owner in [OwnerAnswer::Mine, OwnerAnswer::Refused] {
                    assert!(!may_take(is_lease_over, listens, owner));
                }
            }
        }
    }
}
