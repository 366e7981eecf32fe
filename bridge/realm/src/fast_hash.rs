//! The hasher of the tables that every call uses.
//!
//! It is fast, and it has one random seed per process and one per table. An attacker cannot
//! construct keys that collide without seeing the hashes, and no table exposes its order. The
//! bridge chooses most of the keys itself; a page chooses keys only within its own realm.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::LazyLock;

use foldhash::SharedSeed;
use foldhash::fast::{FoldHasher, SeedableRandomState};

static SEED: LazyLock<SharedSeed> = LazyLock::new(|| SharedSeed::from_u64(random_seed()));

/// A fast hasher with random seeds, for tables whose order is not visible.
#[derive(Clone)]
pub struct FastHash(SeedableRandomState);

impl Default for FastHash {
    fn default() -> Self {
        Self(SeedableRandomState::with_seed(random_seed(), &SEED))
    }
}

impl BuildHasher for FastHash {
    type Hasher = FoldHasher<'static>;

    fn build_hasher(&self) -> Self::Hasher {
        self.0.build_hasher()
    }
}

/// Hides the seed, which would let a reader construct colliding keys.
impl std::fmt::Debug for FastHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Quick")
    }
}

/// Takes a seed from the operating system through the standard library's `RandomState`.
fn random_seed() -> u64 {
    RandomState::new().hash_one(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_hasher_has_its_own_seed() {
        let (one, other) = (FastHash::default(), FastHash::default());
        assert_eq!(one.hash_one("key"), one.clone().hash_one("key"));
        assert_ne!(one.hash_one("key"), other.hash_one("key"));
    }
}
