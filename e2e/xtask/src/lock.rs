//! A file lock between processes.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result};

use crate::folder;

/// A file lock that is held while a process makes something that another process may also make.
///
/// The kernel releases it when the process ends, however it ends.
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Waits until no other process holds the lock at `path`.
    pub(crate) fn acquire(path: &Path) -> Result<Self> {
        if let Some(parent) = path.parent() {
            folder::create(parent)?;
        }
        let file =
            File::create(path).with_context(|| format!("make {} writable", path.display()))?;
        if file.try_lock().is_err() {
            println!("    waiting for another run to finish");
            file.lock()
                .with_context(|| format!("cannot lock {}", path.display()))?;
        }
        Ok(Self { _file: file })
    }
}
