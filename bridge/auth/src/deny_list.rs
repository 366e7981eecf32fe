//! The principals to which the operator has denied access.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bridge_protocol::ErrorCode;
use serde::{Deserialize, Serialize};

use crate::error::AuthError;
use crate::realm_id::RealmId;

/// The maximum number of denials. All of them fit in a few megabytes, also in a file.
pub const MAX_DENIALS: usize = 10_000;

/// The denials that have not expired. An empty list costs a request one branch.
#[derive(Debug, Default)]
pub struct DenyList {
    /// Whether there are any denials. It is set before a denial counts.
    has_denials: AtomicBool,
    denials: RwLock<Denials>,
}

#[derive(Debug, Default)]
struct Denials {
    by_realm: HashMap<RealmId, Denial>,
    /// The greatest version of a decision that this bridge knows.
    newest: u64,
}

/// Why and how long a principal is denied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denial {
    /// The version of the decision. Of two bridges that have decided about a principal, the one with the
    /// greater version has decided later. It is about the time in milliseconds since the Unix epoch.
    #[serde(default)]
    pub version: u64,
    /// When the denial expires, in seconds since the Unix epoch.
    pub until: u64,
    /// The subject, if the operator has named one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The reason that the operator has given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The error when the list has [`MAX_DENIALS`] entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{MAX_DENIALS} tokens and users are denied, which is the limit: allow some of them first")]
pub struct DenyListFull;

/// A denial as a line of a file.
#[derive(Serialize, Deserialize)]
struct DenialLine {
    realm: String,
    #[serde(flatten)]
    denial: Denial,
}

impl Denial {
    /// A denial for this long, from now on.
    pub fn for_duration(duration: Duration) -> Self {
        Self {
            version: 0,
            until: unix_seconds().saturating_add(duration.as_secs()),
            subject: None,
            reason: None,
        }
    }
}

impl DenyList {
    /// Checks that a principal is not denied.
    ///
    /// # Errors
    ///
    /// The refusal of a principal that is denied.
    pub fn check(&self, realm: RealmId) -> Result<(), AuthError> {
        if !self.has_denials.load(Ordering::Acquire) || !self.contains(realm) {
            return Ok(());
        }
        Err(AuthError {
            code: ErrorCode::AccessDenied,
            message:
                "the operator of this bridge has denied access to this user or token: ask them"
                    .to_owned(),
        })
    }

    fn contains(&self, realm: RealmId) -> bool {
        let denials = self.read();
        let denial = denials.by_realm.get(&realm);
        denial.is_some_and(|denial| denial.until > unix_seconds())
    }

    /// Denies a principal. The new denial replaces an older one. Returns its version.
    ///
    /// # Errors
    ///
    /// [`DenyListFull`] when there are too many others.
    pub fn deny(&self, realm: RealmId, mut denial: Denial) -> Result<u64, DenyListFull> {
        let mut denials = self.write();
        let version = denials.next_version();
        denial.version = version;
        self.insert(&mut denials, realm, denial)?;
        Ok(version)
    }

    /// Ends the denial of a principal. Returns the version of this decision, or `None` if the principal
    /// is not denied.
    pub fn allow(&self, realm: RealmId) -> Option<u64> {
        let mut denials = self.write();
        let was_denied = self.remove(&mut denials, realm);
        was_denied.then(|| denials.next_version())
    }

    /// Replaces the denial of a principal with a decision of another bridge, or of a former run, unless it
    /// has a greater version. A denial whose time is over ends the one that is there. Returns whether
    /// anything has changed.
    ///
    /// # Errors
    ///
    /// [`DenyListFull`] when there are too many others.
    pub fn replace(&self, realm: RealmId, denial: Denial) -> Result<bool, DenyListFull> {
        let mut denials = self.write();
        denials.newest = denials.newest.max(denial.version);
        let decision = |it: &Denial| (it.version, it.until);
        let former = denials.by_realm.get(&realm);
        if former.is_some_and(|former| decision(former) >= decision(&denial)) {
            return Ok(false);
        }
        // The directory sends decisions of more than a year.
        let was_denied = former.is_some();
        if denial.until <= unix_seconds() {
            return Ok(was_denied && self.remove(&mut denials, realm));
        }
        self.insert(&mut denials, realm, denial)?;
        Ok(true)
    }

    fn insert(
        &self,
        denials: &mut Denials,
        realm: RealmId,
        denial: Denial,
    ) -> Result<(), DenyListFull> {
        let by_realm = &mut denials.by_realm;
        if by_realm.len() >= MAX_DENIALS && !by_realm.contains_key(&realm) {
            remove_expired(by_realm);
            if by_realm.len() >= MAX_DENIALS {
                return Err(DenyListFull);
            }
        }
        by_realm.insert(realm, denial);
        self.has_denials.store(true, Ordering::Release);
        Ok(())
    }

    fn remove(&self, denials: &mut Denials, realm: RealmId) -> bool {
        let was_denied = denials.by_realm.remove(&realm).is_some();
        remove_expired(&mut denials.by_realm);
        let has_denials = !denials.by_realm.is_empty();
        self.has_denials.store(has_denials, Ordering::Release);
        was_denied
    }

    /// Returns all denials that have not expired, ordered by their realms.
    pub fn denials(&self) -> Vec<(RealmId, Denial)> {
        let now = unix_seconds();
        let denials = self.read();
        let current = denials.by_realm.iter();
        let current = current.filter(|(_, denial)| denial.until > now);
        let mut current: Vec<_> = current
            .map(|(realm, denial)| (*realm, denial.clone()))
            .collect();
        drop(denials);
        current.sort_by_key(|(realm, _)| *realm);
        current
    }

    /// Returns all denials as the lines of a file.
    pub fn to_lines(&self) -> String {
        let mut lines = String::new();
        for (realm, denial) in self.denials() {
            let realm = realm.to_hex();
            // Only strings and a number are written.
            let line = serde_json::to_string(&DenialLine { realm, denial });
            lines.push_str(&line.unwrap_or_default());
            lines.push('\n');
        }
        lines
    }

    /// Adds the denials of a file.
    ///
    /// # Errors
    ///
    /// The number of the first line that is not a denial, or of the first one over the limit. Without it,
    /// a principal could be admitted again.
    pub fn load_lines(&self, lines: &str) -> Result<(), usize> {
        for (index, line) in lines.lines().enumerate() {
            let record: DenialLine = serde_json::from_str(line).map_err(|_| index + 1)?;
            let realm = RealmId::from_hex(&record.realm).ok_or(index + 1)?;
            self.replace(realm, record.denial).map_err(|_| index + 1)?;
        }
        Ok(())
    }

    fn read(&self) -> RwLockReadGuard<'_, Denials> {
        self.denials.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Denials> {
        self.denials.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Denials {
    /// Returns the version of a decision of now. It is greater than all others, also if the clock of
    /// another bridge is ahead.
    fn next_version(&mut self) -> u64 {
        let now = since_epoch().as_millis();
        let now = u64::try_from(now).unwrap_or(u64::MAX);
        self.newest = now.max(self.newest.saturating_add(1));
        self.newest
    }
}

fn remove_expired(denials: &mut HashMap<RealmId, Denial>) {
    let now = unix_seconds();
    denials.retain(|_, denial| denial.until > now);
}

/// Returns the seconds since 1970 of the system's clock.
pub fn unix_seconds() -> u64 {
    since_epoch().as_secs()
}

fn since_epoch() -> Duration {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
    since_epoch.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn realm(number: usize) -> RealmId {
        RealmId::from_token(&number.to_string())
    }

    #[test]
    fn a_denied_principal_is_refused_until_the_denial_ends() {
        let list = DenyList::default();
        assert_eq!(list.check(realm(1)), Ok(()));
        list.deny(realm(1), Denial::for_duration(HOUR)).unwrap();
        assert_eq!(
            list.check(realm(1)).unwrap_err().code,
            ErrorCode::AccessDenied
        );
        assert_eq!(list.check(realm(2)), Ok(()));
        // A new denial replaces the former one, and this one has expired.
        list.deny(realm(1), Denial::for_duration(Duration::ZERO))
            .unwrap();
        assert_eq!(list.check(realm(1)), Ok(()));
        assert!(list.denials().is_empty());
        list.deny(realm(1), Denial::for_duration(HOUR)).unwrap();
        assert!(list.allow(realm(1)).is_some() && list.allow(realm(1)).is_none());
        assert_eq!(list.check(realm(1)), Ok(()));
        assert!(!list.has_denials.load(Ordering::Relaxed));
    }

    #[test]
    fn the_number_of_denials_is_bounded_and_expired_ones_make_room() {
        let list = DenyList::default();
        let denial = Denial::for_duration(HOUR);
        for number in 0..MAX_DENIALS {
            list.deny(realm(number), denial.clone()).unwrap();
        }
        let one_more = realm(MAX_DENIALS);
        assert_eq!(list.deny(one_more, denial.clone()), Err(DenyListFull));
        assert_eq!(list.check(one_more), Ok(()));
        list.deny(realm(0), Denial::for_duration(Duration::ZERO))
            .unwrap();
        list.deny(one_more, denial).unwrap();
        assert_eq!(list.denials().len(), MAX_DENIALS);
        assert!(list.to_lines().len() < 2_000_000);
    }

    #[test]
    fn a_later_decision_has_a_greater_version_than_all_that_are_known() {
        let list = DenyList::default();
        let denied = list.deny(realm(1), Denial::for_duration(HOUR)).unwrap();
        let allowed = list.allow(realm(1)).unwrap();
        assert!(allowed > denied);
        // Of a bridge whose clock is ahead.
        let ahead = Denial {
            version: allowed + 1_000_000,
            ..Denial::for_duration(HOUR)
        };
        assert_eq!(list.replace(realm(2), ahead.clone()), Ok(true));
        let later = list.deny(realm(1), Denial::for_duration(HOUR)).unwrap();
        assert!(later > ahead.version);
    }

    #[test]
    fn a_decision_of_another_bridge_replaces_or_ends_a_denial() {
        let list = DenyList::default();
        let own = Denial {
            reason: Some("stolen".to_owned()),
            ..Denial::for_duration(HOUR)
        };
        let version = list.deny(realm(1), own.clone()).unwrap();
        let other = |version, until| Denial {
            version,
            until,
            ..Denial::for_duration(HOUR)
        };
        // The same one does not remove the reason.
        assert_eq!(list.replace(realm(1), other(version, own.until)), Ok(false));
        assert_eq!(list.denials()[0].1.reason, own.reason);
        let longer = other(version + 1, own.until + 1);
        assert_eq!(list.replace(realm(1), longer.clone()), Ok(true));
        assert_eq!(list.replace(realm(1), other(version, 0)), Ok(false));
        assert_eq!(list.denials(), [(realm(1), longer)]);
        assert_eq!(list.replace(realm(1), other(version + 2, 0)), Ok(true));
        assert_eq!(list.replace(realm(1), other(version + 3, 0)), Ok(false));
        assert_eq!(list.check(realm(1)), Ok(()));
    }

    #[test]
    fn denials_survive_as_lines_and_a_damaged_line_is_an_error() {
        let list = DenyList::default();
        let denial = Denial {
            subject: Some("ann\n\"b\"".to_owned()),
            ..Denial::for_duration(HOUR)
        };
        list.deny(realm(1), denial).unwrap();
        list.deny(realm(2), Denial::for_duration(HOUR)).unwrap();
        let lines = list.to_lines();
        assert_eq!(lines.lines().count(), 2);
        let restored = DenyList::default();
        restored.load_lines(&lines).unwrap();
        assert_eq!(restored.denials(), list.denials());
        for damaged in [
            format!("{lines}{{"),
            format!("{lines}\n"),
            format!("{lines}{{}}"),
        ] {
            assert_eq!(
                DenyList::default().load_lines(&damaged),
                Err(3),
                "{damaged}"
            );
        }
    }
}
