//! Stores each definition once, however many pages register it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use dashmap::DashMap;
use serde_json::value::RawValue;

use super::hash::{DefinitionHash, hash_prefix, hash_text};

/// The number of unused entries of one kind that may wait for the next housekeeping, in addition to
/// as many as there are live entries.
pub(super) const MAX_UNUSED_ENTRIES: usize = 10_000;

/// A value that was parsed from a text and can be shared by all pages that register that text.
pub(super) trait Internable {
    /// Whether this value was parsed from `text`, whose hash is `hash`.
    fn matches_text(&self, text: &str, hash: &DefinitionHash) -> bool;

    fn hash_prefix(&self) -> u64;
}

/// The live definitions of one kind, by the hash of their text.
#[derive(Debug)]
pub(super) struct Interner<T> {
    /// The entries by the first 64 bits of the hash; a lookup compares the whole definition.
    pub(super) entries: DashMap<u64, Weak<T>>,
    /// The number of entries at which an insertion removes the unused ones.
    sweep_threshold: AtomicUsize,
}

impl<T> Default for Interner<T> {
    fn default() -> Self {
        Self {
            entries: DashMap::new(),
            sweep_threshold: AtomicUsize::new(MAX_UNUSED_ENTRIES),
        }
    }
}

impl<T: Internable> Interner<T> {
    /// Returns the live entry for a text, or parses the text and adds the result.
    pub(super) fn get_or_insert_with<E>(
        &self,
        raw: &RawValue,
        parse: impl FnOnce() -> Result<T, E>,
    ) -> Result<Arc<T>, E> {
        let text = raw.get();
        let hash = hash_text(text);
        if let Some(existing) = self.get(hash_prefix(&hash), |existing| {
            existing.matches_text(text, &hash)
        }) {
            return Ok(existing);
        }
        let new = Arc::new(parse()?);
        self.insert(&new);
        Ok(new)
    }

    /// The live entry with this hash prefix, if it also satisfies `is_meant`.
    pub(super) fn get(&self, start: u64, is_meant: impl Fn(&T) -> bool) -> Option<Arc<T>> {
        let live = self.entries.get(&start)?.upgrade();
        live.filter(|live| is_meant(live))
    }

    pub(super) fn insert(&self, made: &Arc<T>) {
        self.entries
            .insert(made.hash_prefix(), Arc::downgrade(made));
        if self.entries.len() >= self.sweep_threshold.load(Ordering::Relaxed) {
            self.remove_unused();
        }
    }

    /// Removes the entries that are no longer alive.
    pub(super) fn remove_unused(&self) {
        self.entries.retain(|_, live| live.strong_count() > 0);
        let most = 2 * self.entries.len() + MAX_UNUSED_ENTRIES;
        self.sweep_threshold.store(most, Ordering::Relaxed);
    }
}
