use std::fs::{self, File};
use std::path::Path;

use anyhow::{Context, Result};

/// Held while one process makes something that another may be about to make too.
/// The kernel lets go of it when the process ends, however it ends.
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Waits until no other process holds the lock at `path`.
    pub(crate) fn acquire(path: &Path) -> Result<Self> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)
                .with_context(|| format!("make {} writable", folder.display()))?;
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
