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
    denials: RwLock<HashMap<RealmId, Denial>>,
}

/// Why and how long a principal is denied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denial {
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
struct DenialRecord {
    realm: String,
    #[serde(flatten)]
    denial: Denial,
}

impl Denial {
    /// A denial for this long, from now on.
    pub fn for_duration(duration: Duration) -> Self {
        Self {
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
        let denial = denials.get(&realm);
        denial.is_some_and(|denial| denial.until > unix_seconds())
    }

    /// Denies a principal. The new denial replaces an older one.
    ///
    /// # Errors
    ///
    /// [`DenyListFull`] when there are too many others.
    pub fn deny(&self, realm: RealmId, denial: Denial) -> Result<(), DenyListFull> {
        let mut denials = self.write();
        if denials.len() >= MAX_DENIALS && !denials.contains_key(&realm) {
            remove_expired(&mut denials);
            if denials.len() >= MAX_DENIALS {
                return Err(DenyListFull);
            }
        }
        denials.insert(realm, denial);
        self.has_denials.store(true, Ordering::Release);
        Ok(())
    }

    /// Ends the denial of a principal. Returns false if there is none.
    pub fn allow(&self, realm: RealmId) -> bool {
        let mut denials = self.write();
        let was_denied = denials.remove(&realm).is_some();
        remove_expired(&mut denials);
        self.has_denials
            .store(!denials.is_empty(), Ordering::Release);
        was_denied
    }

    /// Returns all denials that have not expired, ordered by their realms.
    pub fn denials(&self) -> Vec<(RealmId, Denial)> {
        let now = unix_seconds();
        let denials = self.read();
        let current = denials.iter().filter(|(_, denial)| denial.until > now);
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
            let line = serde_json::to_string(&DenialRecord { realm, denial });
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
            let record: DenialRecord = serde_json::from_str(line).map_err(|_| index + 1)?;
            let realm = RealmId::from_hex(&record.realm).ok_or(index + 1)?;
            self.deny(realm, record.denial).map_err(|_| index + 1)?;
        }
        Ok(())
    }

    fn read(&self) -> RwLockReadGuard<'_, HashMap<RealmId, Denial>> {
        self.denials.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, HashMap<RealmId, Denial>> {
        self.denials.write().unwrap_or_else(PoisonError::into_inner)
    }
}

fn remove_expired(denials: &mut HashMap<RealmId, Denial>) {
    let now = unix_seconds();
    denials.retain(|_, denial| denial.until > now);
}

fn unix_seconds() -> u64 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
    since_epoch.unwrap_or_default().as_secs()
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
        assert!(list.allow(realm(1)) && !list.allow(realm(1)));
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
    fn denials_survive_as_lines_and_a_damaged_line_is_an_error() {
        let list = DenyList::default();
        let denial = Denial {
            subject: Some("ann\n\"b\"".to_owned()),
            ..Denial::for_duration(HOUR)
        };
        list.deny(realm(1), denial.clone()).unwrap();
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
