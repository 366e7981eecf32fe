//! The key of a provider. One in a file is read for each request, so that it can be replaced while the agent
//! runs.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use bridge_settings::{Secret, parse_credential};
use tokio::task::spawn_blocking;

/// The key of a provider, if it needs one. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct ProviderKey {
    file: Option<PathBuf>,
    last: Arc<RwLock<Option<Secret>>>,
}

/// Why a file has no key. The message does not contain its text.
#[derive(Debug, thiserror::Error)]
pub(super) enum KeyFileError {
    #[error("{} cannot be read: {}", .0.display(), .1)]
    Unreadable(PathBuf, std::io::Error),
    #[error("{} holds no key", .0.display())]
    NoKey(PathBuf),
}

impl ProviderKey {
    /// `file` is the file from which `key` was loaded, if there is one.
    pub(super) fn new(key: Option<Secret>, file: Option<PathBuf>) -> Self {
        Self {
            file,
            last: Arc::new(RwLock::new(key)),
        }
    }

    /// Returns the key that was read last. A poisoned lock is used anyway, because no code panics while
    /// it holds the lock.
    pub(super) fn last(&self) -> Option<Secret> {
        let last = self.last.read().unwrap_or_else(PoisonError::into_inner);
        last.clone()
    }

    /// Reads the key. While its file cannot be used, it is the last one.
    pub(super) async fn read(&self) -> Option<Secret> {
        let Some(path) = self.file.clone() else {
            return self.last();
        };
        match spawn_blocking(move || load_key(&path)).await {
            Ok(Ok(key)) => self.replace(key),
            Ok(Err(error)) => tracing::warn!("the former key of the model is used: {error}"),
            Err(error) => tracing::error!(%error, "the key of the model cannot be read"),
        }
        self.last()
    }

    /// Reads the key after a provider has refused this one. Returns whether there is another one.
    pub(super) async fn has_changed(&self, refused: Option<&Secret>) -> bool {
        self.file.is_some() && self.read().await.as_ref() != refused
    }

    /// Hides the key of a request in the answer to it, if it was replaced meanwhile: errors hide only the
    /// key that was read last.
    pub(super) fn hide_replaced(&self, key: Option<Secret>, text: String) -> String {
        match key.filter(|key| self.last().as_ref() != Some(key)) {
            Some(replaced) => text.replace(replaced.expose(), "…"),
            None => text,
        }
    }

    fn replace(&self, key: Secret) {
        let mut last = self.last.write().unwrap_or_else(PoisonError::into_inner);
        if last.as_ref() != Some(&key) {
            tracing::info!("the key of the model has changed");
            *last = Some(key);
        }
    }
}

/// Loads the key of a file, which has nothing else.
pub(super) fn load_key(path: &Path) -> Result<Secret, KeyFileError> {
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|error| KeyFileError::Unreadable(path.to_owned(), error))?;
    parse_credential(text.trim()).map_err(|_| KeyFileError::NoKey(path.to_owned()))
}
