//! Keeps one copy of each definition that several pages register.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use dashmap::DashMap;
use serde_json::value::RawValue;

use super::hash::{DefinitionHash, hash_prefix, hash_text};

/// So many entries of one kind may wait for the next housekeeping, beside as many as are alive.
pub(super) const MAX_UNUSED_ENTRIES: usize = 10_000;

/// Something that was read from a text.
pub(super) trait Internable {
    /// Whether it was this text, which has this hash.
    fn matches_text(&self, text: &str, hash: &DefinitionHash) -> bool;

    fn hash_prefix(&self) -> u64;
}

/// Definitions of one kind, by the hash of their text.
#[derive(Debug)]
pub(super) struct Interner<T> {
    /// By the start of the hash: what they lead to says whether it is meant.
    pub(super) entries: DashMap<u64, Weak<T>>,
    /// With so many entries those that nobody holds are looked for at once.
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

    /// The one whose hash starts so, if it is the one that is meant.
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

    pub(super) fn remove_unused(&self) {
        self.entries.retain(|_, live| live.strong_count() > 0);
        let most = 2 * self.entries.len() + MAX_UNUSED_ENTRIES;
        self.sweep_threshold.store(most, Ordering::Relaxed);
    }
}
