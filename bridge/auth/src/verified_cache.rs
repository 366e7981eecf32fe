//! A cache of signed tokens that were verified. Verifying a signature takes about half a
//! millisecond with RS256 and ES256, which is many times the cost of forwarding a call.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use sha2::{Digest, Sha256};

use crate::principal::Principal;
use crate::verification_key::VerificationKey;

/// The maximum number of tokens in the cache. If more are in use, some are verified again.
const MAX_CACHED_TOKENS: usize = 1024;

/// Verified tokens by their hashes. The cache contains only valid tokens, so that invalid ones
/// cannot fill it.
#[derive(Default)]
pub struct VerifiedTokenCache(Mutex<HashMap<[u8; 32], CachedToken>>);

struct CachedToken {
    principal: Principal,
    /// The key with which the token was verified.
    key: Arc<VerificationKey>,
}

impl VerifiedTokenCache {
    /// The principal of the token, if it was verified, has not expired, and its key is still
    /// trusted.
    pub fn get(
        &self,
        token: &str,
        now: SystemTime,
        is_trusted: impl Fn(&Arc<VerificationKey>) -> bool,
    ) -> Option<Principal> {
        let mut tokens = self.lock();
        let cached = tokens.get(&token_hash(token))?;
        let expired = cached.principal.expires.is_none_or(|end| end <= now);
        if expired || !is_trusted(&cached.key) {
            tokens.remove(&token_hash(token));
            return None;
        }
        Some(cached.principal.clone())
    }

    /// Adds a verified token. When the cache is full, it is emptied first.
    pub fn insert(&self, token: &str, principal: &Principal, key: Arc<VerificationKey>) {
        let principal = principal.clone();
        let mut remembered = self.lock();
        if remembered.len() >= MAX_CACHED_TOKENS {
            remembered.clear();
        }
        remembered.insert(token_hash(token), CachedToken { principal, key });
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<[u8; 32], CachedToken>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn token_hash(token: &str) -> [u8; 32] {
    Sha256::digest(token).into()
}

impl fmt::Debug for VerifiedTokenCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VerifiedTokenCache({})", self.lock().len())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{RealmId, Scopes};

    fn ada_principal(expires: SystemTime) -> Principal {
        Principal {
            realm: RealmId::from_subject("https://id.example", "ada"),
            sub: Some("ada".to_owned()),
            roles: Vec::new(),
            scopes: Scopes::all(),
            expires: Some(expires),
            query: None,
        }
    }

    #[test]
    fn a_token_is_cached_until_it_expires_or_its_key_is_removed() {
        let now = SystemTime::now();
        let end = now + Duration::from_secs(60);
        let key = Arc::new(VerificationKey::from_secret(None, &[7; 32]).unwrap());
        let verified = VerifiedTokenCache::default();
        let is_known = |token, now| verified.get(token, now, |_| true).is_some();
        verified.insert("token", &ada_principal(end), Arc::clone(&key));
        assert!(is_known("token", now) && !is_known("Token", now));
        let same = |own: &Arc<VerificationKey>| Arc::ptr_eq(own, &key);
        assert_eq!(verified.get("token", now, same), Some(ada_principal(end)));
        assert!(!is_known("token", end));
        assert!(!is_known("token", now), "an expired token is removed");
        verified.insert("token", &ada_principal(end), Arc::clone(&key));
        assert_eq!(verified.get("token", now, |_| false), None);
        assert!(
            !is_known("token", now),
            "what was checked with it is forgotten"
        );
    }

    #[test]
    fn a_full_cache_is_cleared() {
        let verified = VerifiedTokenCache::default();
        let end = SystemTime::now() + Duration::from_secs(60);
        let key = Arc::new(VerificationKey::from_secret(None, &[7; 32]).unwrap());
        for number in 0..=MAX_CACHED_TOKENS {
            verified.insert(&number.to_string(), &ada_principal(end), Arc::clone(&key));
        }
        assert_eq!(verified.lock().len(), 1);
    }
}
