//! Signed tokens that were checked before. Checking a signature takes about half a millisecond with
//! RS256 and ES256: many times what carrying a call takes.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use sha2::{Digest, Sha256};

use super::Principal;
use super::keys::Key;

/// So many tokens are remembered. With more than that in use, some are checked again.
const MAX_REMEMBERED: usize = 1024;

/// By the hash of the token: good tokens only, so that nobody can fill it with others.
#[derive(Default)]
pub(super) struct Verified(Mutex<HashMap<[u8; 32], Remembered>>);

struct Remembered {
    principal: Principal,
    /// What it was checked with.
    key: Arc<Key>,
}

impl Verified {
    /// Whom the token names, if it was good, has not ended since, and its key still counts.
    pub(super) fn principal(
        &self,
        token: &str,
        now: SystemTime,
        counts: impl Fn(&Arc<Key>) -> bool,
    ) -> Option<Principal> {
        let mut remembered = self.lock();
        let found = remembered.get(&hash(token))?;
        let ended = found.principal.expires.is_none_or(|end| end <= now);
        if ended || !counts(&found.key) {
            remembered.remove(&hash(token));
            return None;
        }
        Some(found.principal.clone())
    }

    pub(super) fn remember(&self, token: &str, principal: &Principal, key: Arc<Key>) {
        let principal = principal.clone();
        let mut remembered = self.lock();
        if remembered.len() >= MAX_REMEMBERED {
            remembered.clear();
        }
        remembered.insert(hash(token), Remembered { principal, key });
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<[u8; 32], Remembered>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token).into()
}

impl fmt::Debug for Verified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Verified({})", self.lock().len())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::auth::{RealmId, Scopes};

    fn ada(expires: SystemTime) -> Principal {
        Principal {
            realm: RealmId::of_subject("https://id.example", "ada"),
            sub: Some("ada".to_owned()),
            roles: Vec::new(),
            scopes: Scopes::all(),
            expires: Some(expires),
            query: None,
        }
    }

    #[test]
    fn a_token_is_good_again_until_it_ends_or_its_key_goes() {
        let now = SystemTime::now();
        let end = now + Duration::from_secs(60);
        let key = Arc::new(Key::secret(None, &[7; 32]).unwrap());
        let verified = Verified::default();
        let is_known = |token, now| verified.principal(token, now, |_| true).is_some();
        verified.remember("token", &ada(end), Arc::clone(&key));
        assert!(is_known("token", now) && !is_known("Token", now));
        let same = |own: &Arc<Key>| Arc::ptr_eq(own, &key);
        assert_eq!(verified.principal("token", now, same), Some(ada(end)));
        assert!(!is_known("token", end));
        assert!(!is_known("token", now), "what has ended is forgotten");
        verified.remember("token", &ada(end), Arc::clone(&key));
        assert_eq!(verified.principal("token", now, |_| false), None);
        assert!(
            !is_known("token", now),
            "what was checked with it is forgotten"
        );
    }

    #[test]
    fn so_many_tokens_are_remembered() {
        let verified = Verified::default();
        let end = SystemTime::now() + Duration::from_secs(60);
        let key = Arc::new(Key::secret(None, &[7; 32]).unwrap());
        for number in 0..=MAX_REMEMBERED {
            verified.remember(&number.to_string(), &ada(end), Arc::clone(&key));
        }
        assert_eq!(verified.lock().len(), 1);
    }
}
