//! The keys that tokens have named, and that the last fetch did not bring.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use crate::verification_key::KeyName;

/// The maximum number of keys that are remembered as unknown. Tokens with further ones wait for the
/// next fetch.
const MAX_UNKNOWN_KEYS: usize = 4096;

/// The hashes of keys that were not among those of one fetch.
#[derive(Debug, Default)]
pub(super) struct UnknownKeys {
    /// The number of the fetch.
    fetch: u64,
    hashes: HashSet<u64>,
    hasher: RandomState,
}

impl UnknownKeys {
    /// Records that a fetch has not brought a key. Keys of other fetches are forgotten.
    pub(super) fn insert(&mut self, fetch: u64, name: KeyName<'_>) {
        if fetch != self.fetch {
            self.fetch = fetch;
            self.hashes.clear();
        }
        if self.hashes.len() < MAX_UNKNOWN_KEYS {
            let hash = self.hash(name);
            self.hashes.insert(hash);
        }
    }

    /// Whether a key was looked for in the result of this fetch, and was not there.
    pub(super) fn contains(&self, fetch: u64, name: KeyName<'_>) -> bool {
        fetch == self.fetch && self.hashes.contains(&self.hash(name))
    }

    fn hash(&self, name: KeyName<'_>) -> u64 {
        self.hasher.hash_one((name.kid, name.algorithm.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::Algorithm;

    #[test]
    fn unknown_keys_are_those_of_the_last_fetch_and_their_number_is_bounded() {
        let kids: Vec<_> = (0..2 * MAX_UNKNOWN_KEYS).map(|it| it.to_string()).collect();
        let name = |kid| KeyName {
            kid,
            algorithm: Algorithm::Es256,
        };
        let mut unknown = UnknownKeys::default();
        for kid in &kids {
            unknown.insert(7, name(Some(kid)));
        }
        assert_eq!(unknown.hashes.len(), MAX_UNKNOWN_KEYS);
        assert!(unknown.contains(7, name(Some("0"))) && !unknown.contains(8, name(Some("0"))));
        assert!(!unknown.contains(7, name(None)));
        unknown.insert(8, name(None));
        assert!(unknown.contains(8, name(None)) && !unknown.contains(7, name(Some("0"))));
    }
}
