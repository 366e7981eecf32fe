//! One copy of what many pages register.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use dashmap::DashMap;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::{Listed, Refused, Template};
use crate::tool::Tool;

/// So many entries of one kind may wait for the next housekeeping, beside as many as are alive.
pub(super) const UNUSED_ENTRIES: usize = 10_000;

/// Something that is known by the hash of the text that it was read from.
pub(super) trait Hashed {
    fn hash(&self) -> &[u8; 32];
}

impl Hashed for Tool {
    fn hash(&self) -> &[u8; 32] {
        &self.hash
    }
}

impl Hashed for Listed {
    fn hash(&self) -> &[u8; 32] {
        &self.hash
    }
}

impl Hashed for Template {
    fn hash(&self) -> &[u8; 32] {
        &self.listed.hash
    }
}

/// Definitions of one kind, by the hash of their text.
#[derive(Debug)]
pub(super) struct Interned<T> {
    /// By the first eight bytes of the hash: the rest stands in what they lead to.
    pub(super) entries: DashMap<u64, Weak<T>>,
    /// With so many entries those that nobody holds are looked for at once.
    most: AtomicUsize,
}

impl<T> Default for Interned<T> {
    fn default() -> Self {
        Self {
            entries: DashMap::new(),
            most: AtomicUsize::new(UNUSED_ENTRIES),
        }
    }
}

impl<T: Hashed> Interned<T> {
    pub(super) fn get_or_make(
        &self,
        raw: &RawValue,
        make: impl FnOnce() -> Result<T, Refused>,
    ) -> Result<Arc<T>, Refused> {
        let hash: [u8; 32] = Sha256::digest(raw.get()).into();
        if let Some(live) = self.get(&hash) {
            return Ok(live);
        }
        let made = Arc::new(make()?);
        self.put(&made);
        Ok(made)
    }

    pub(super) fn get(&self, hash: &[u8; 32]) -> Option<Arc<T>> {
        let live = self.entries.get(&start_of(hash))?.upgrade();
        live.filter(|live| live.hash() == hash)
    }

    pub(super) fn put(&self, made: &Arc<T>) {
        let key = start_of(made.hash());
        self.entries.insert(key, Arc::downgrade(made));
        if self.entries.len() >= self.most.load(Ordering::Relaxed) {
            self.forget_unused();
        }
    }

    pub(super) fn forget_unused(&self) {
        self.entries.retain(|_, live| live.strong_count() > 0);
        let most = 2 * self.entries.len() + UNUSED_ENTRIES;
        self.most.store(most, Ordering::Relaxed);
    }
}

fn start_of(hash: &[u8; 32]) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = *hash;
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}
