//! The hasher of the tables that are used by each call.
//!
//! It is fast and has a random seed for the process and for each table. Whoever cannot see the hashes
//! cannot find keys that collide, and no table exposes its order. Most of their keys are the bridge's own; a
//! page chooses others within its own realm only.

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

/// A seed is nobody's business.
impl std::fmt::Debug for FastHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Quick")
    }
}

/// From where the standard library has its seeds: the operating system.
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
