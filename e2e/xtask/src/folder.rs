//! Folders that steps create and remove.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Creates a folder and its parents where they are missing.
pub(crate) fn create(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("make {} writable", folder.display()))
}

/// Removes a folder and everything in it, if it exists.
pub(crate) fn remove(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)
            .with_context(|| format!("remove {} by hand and try again", folder.display()))?;
    }
    Ok(())
}
