//! One copy of what many pages register.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use dashmap::DashMap;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::{Listed, Refused, Template};
use crate::tool::Tool;

pub(super) type Hash = [u8; 32];

/// So many entries of one kind may wait for the next housekeeping, beside as many as are alive.
pub(super) const UNUSED_ENTRIES: usize = 10_000;

/// Something that was read from a text.
pub(super) trait FromText {
    /// Whether it was this text, which has this hash.
    fn is_of(&self, text: &str, hash: &Hash) -> bool;

    fn start_of_hash(&self) -> u64;
}

impl FromText for Tool {
    fn is_of(&self, text: &str, _: &Hash) -> bool {
        self.raw() == text
    }

    fn start_of_hash(&self) -> u64 {
        self.hash
    }
}

impl FromText for Listed {
    fn is_of(&self, _: &str, hash: &Hash) -> bool {
        self.hash == *hash
    }

    fn start_of_hash(&self) -> u64 {
        start_of(&self.hash)
    }
}

impl FromText for Template {
    fn is_of(&self, text: &str, hash: &Hash) -> bool {
        self.listed.is_of(text, hash)
    }

    fn start_of_hash(&self) -> u64 {
        self.listed.start_of_hash()
    }
}

/// Definitions of one kind, by the hash of their text.
#[derive(Debug)]
pub(super) struct Interned<T> {
    /// By the start of the hash: what they lead to says whether it is meant.
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

impl<T: FromText> Interned<T> {
    pub(super) fn get_or_make(
        &self,
        raw: &RawValue,
        make: impl FnOnce() -> Result<T, Refused>,
    ) -> Result<Arc<T>, Refused> {
        let text = raw.get();
        let hash = hash_of(text);
        if let Some(live) = self.get(start_of(&hash), |live| live.is_of(text, &hash)) {
            return Ok(live);
        }
        let made = Arc::new(make()?);
        self.put(&made);
        Ok(made)
    }

    /// The one whose hash starts so, if it is the one that is meant.
    pub(super) fn get(&self, start: u64, is_meant: impl Fn(&T) -> bool) -> Option<Arc<T>> {
        let live = self.entries.get(&start)?.upgrade();
        live.filter(|live| is_meant(live))
    }

    pub(super) fn put(&self, made: &Arc<T>) {
        self.entries
            .insert(made.start_of_hash(), Arc::downgrade(made));
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

pub(crate) fn hash_of(text: &str) -> Hash {
    Sha256::digest(text).into()
}

/// What of a hash tells texts apart where it does no harm if two should look the same.
pub(crate) fn start_of(hash: &Hash) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = *hash;
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}
