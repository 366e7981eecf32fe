//! A cache of signed tokens that were verified. Verifying a signature takes about half a
//! millisecond with RS256 and ES256, which is many times the cost of forwarding a call.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use bridge_edge::TokenHash;

use crate::principal::Principal;
use crate::verification_key::VerificationKey;

/// The maximum size of the cache in bytes, unless another one is set. Half of it holds more than 20,000
/// tokens with few roles: those of the page and the client of 10,000 users. If more are in use, some are
/// verified again.
pub const DEFAULT_CACHE_BYTES: usize = 16 * 1024 * 1024;

/// The size of the cache in bytes up to which expired tokens stay in it.
const MIN_CLEANUP_BYTES: usize = 256 * 1024;

/// Verified tokens by their hashes. The cache contains only valid tokens, so that invalid ones
/// cannot fill it.
pub struct VerifiedTokenCache {
    max_bytes: usize,
    tokens: Mutex<CachedTokens>,
}

#[derive(Default)]
struct CachedTokens {
    by_hash: HashMap<TokenHash, CachedToken>,
    bytes: usize,
    /// The size in bytes at which expired tokens are removed.
    cleanup_at: usize,
}

struct CachedToken {
    /// Shared, so that a long list of roles is not copied while the cache is locked.
    principal: Arc<Principal>,
    /// The key with which the token was verified.
    key: Arc<VerificationKey>,
}

impl VerifiedTokenCache {
    /// Creates an empty cache with this maximum size in bytes.
    pub fn new(max_bytes: usize) -> Self {
        Self {
            max_bytes,
            tokens: Mutex::default(),
        }
    }

    /// The principal of the token, if it was verified, has not expired, and its key is still
    /// trusted.
    pub fn get(
        &self,
        token: &str,
        now: SystemTime,
        is_trusted: impl Fn(&Arc<VerificationKey>) -> bool,
    ) -> Option<Principal> {
        let hash = TokenHash::from_token(token);
        let mut tokens = self.lock();
        let cached = tokens.by_hash.get(&hash)?;
        if cached.is_expired(now) || !is_trusted(&cached.key) {
            tokens.remove(&hash);
            return None;
        }
        let principal = Arc::clone(&cached.principal);
        drop(tokens);
        Some(Arc::unwrap_or_clone(principal))
    }

    /// Adds a token that was verified now. When the cache has grown to twice its size, the expired
    /// tokens are removed first.
    pub fn insert(
        &self,
        token: &str,
        now: SystemTime,
        principal: &Principal,
        key: Arc<VerificationKey>,
    ) {
        let hash = TokenHash::from_token(token);
        let principal = Arc::new(principal.clone());
        let added = CachedToken { principal, key };
        let mut tokens = self.lock();
        if tokens.bytes >= tokens.cleanup_at {
            tokens.remove_expired(now, self.max_bytes);
        }
        tokens.remove(&hash);
        tokens.bytes += added.bytes();
        tokens.by_hash.insert(hash, added);
    }

    fn lock(&self) -> MutexGuard<'_, CachedTokens> {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CachedTokens {
    fn remove(&mut self, hash: &TokenHash) {
        if let Some(removed) = self.by_hash.remove(hash) {
            self.bytes -= removed.bytes();
        }
    }

    /// Removes the tokens that have expired. If the others take more than half of the maximum, they are
    /// also removed.
    fn remove_expired(&mut self, now: SystemTime, max_bytes: usize) {
        self.by_hash.retain(|_, token| !token.is_expired(now));
        self.bytes = self.by_hash.values().map(CachedToken::bytes).sum();
        if self.bytes > max_bytes / 2 {
            *self = Self::default();
        }
        self.by_hash.shrink_to(2 * self.by_hash.len());
        self.cleanup_at = (2 * self.bytes).max(MIN_CLEANUP_BYTES);
    }
}

impl CachedToken {
    fn is_expired(&self, now: SystemTime) -> bool {
        self.principal.expires.is_none_or(|end| end <= now)
    }

    /// The memory of the token. The table has spare capacity for as many again.
    fn bytes(&self) -> usize {
        let texts = self.principal.sub.iter().chain(&self.principal.roles);
        let texts = texts.map(|text| size_of::<String>() + text.len());
        2 * size_of::<(TokenHash, Self)>() + size_of::<Principal>() + texts.sum::<usize>()
    }
}

impl fmt::Debug for VerifiedTokenCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VerifiedTokenCache({})", self.lock().by_hash.len())
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
        let verified = VerifiedTokenCache::new(DEFAULT_CACHE_BYTES);
        let is_known = |token, now| verified.get(token, now, |_| true).is_some();
        verified.insert("token", now, &ada_principal(end), Arc::clone(&key));
        assert!(is_known("token", now) && !is_known("Token", now));
        let same = |own: &Arc<VerificationKey>| Arc::ptr_eq(own, &key);
        assert_eq!(verified.get("token", now, same), Some(ada_principal(end)));
        assert!(!is_known("token", end));
        assert!(!is_known("token", now), "an expired token is removed");
        verified.insert("token", now, &ada_principal(end), Arc::clone(&key));
        assert_eq!(verified.get("token", now, |_| false), None);
        assert!(
            !is_known("token", now),
            "what was checked with it is forgotten"
        );
    }

    #[test]
    fn the_tokens_of_5000_users_stay_and_expired_ones_make_room() {
        let verified = VerifiedTokenCache::new(DEFAULT_CACHE_BYTES);
        let now = SystemTime::now();
        let end = now + Duration::from_secs(60);
        let key = Arc::new(VerificationKey::from_secret(None, &[7; 32]).unwrap());
        // Of each user a page, a client, and one that has renewed its token.
        let tokens: Vec<_> = (0..15_000).map(|number| number.to_string()).collect();
        for token in &tokens {
            verified.insert(token, now, &ada_principal(end), Arc::clone(&key));
        }
        let is_known = |token: &&String| verified.get(token, now, |_| true).is_some();
        assert_eq!(tokens.iter().filter(is_known).count(), tokens.len());
        let sizes = tokens.iter().map(|token| {
            let (token, later) = (format!("{token} "), end + Duration::from_secs(60));
            verified.insert(&token, end, &ada_principal(later), Arc::clone(&key));
            verified.lock().bytes
        });
        assert!(sizes.max().unwrap() < DEFAULT_CACHE_BYTES);
        assert!(!is_known(&&tokens[0]), "it made room");
    }

    #[test]
    fn the_memory_of_long_tokens_is_bounded() {
        let verified = VerifiedTokenCache::new(DEFAULT_CACHE_BYTES);
        let now = SystemTime::now();
        let end = now + Duration::from_secs(60);
        let key = Arc::new(VerificationKey::from_secret(None, &[7; 32]).unwrap());
        let principal = Principal {
            roles: vec!["x".repeat(100_000); 10],
            ..ada_principal(end)
        };
        for number in 0..100 {
            verified.insert(&number.to_string(), now, &principal, Arc::clone(&key));
            let tokens = verified.lock();
            let bytes = tokens.by_hash.values().map(CachedToken::bytes);
            assert_eq!(tokens.bytes, bytes.sum::<usize>());
            assert!(tokens.bytes <= DEFAULT_CACHE_BYTES + 2_000_000, "{number}");
        }
    }
}
