//! A file on its way into an archive.

use std::sync::Arc;

/// A file with its path in the archive. The bytes are shared, because a program is in many archives.
#[derive(Debug, Clone)]
pub(super) struct PackedFile {
    pub(super) path: String,
    /// The permissions, as in `0o644`.
    pub(super) mode: u32,
    pub(super) content: Arc<[u8]>,
}

impl PackedFile {
    /// A file that everyone may read.
    pub(super) fn text(path: impl Into<String>, content: impl AsRef<[u8]>) -> Self {
        Self {
            path: path.into(),
            mode: 0o644,
            content: content.as_ref().into(),
        }
    }

    /// A file that everyone may run.
    pub(super) fn program(path: impl Into<String>, content: &Arc<[u8]>) -> Self {
        Self {
            path: path.into(),
            mode: 0o755,
            content: content.clone(),
        }
    }

    /// Puts the file into a folder.
    pub(super) fn below(mut self, folder: &str) -> Self {
        self.path = format!("{folder}/{}", self.path);
        self
    }
}
