//! Replacement of a whole file, so that its readers see the old content or the new one.

#[cfg(unix)]
use std::fs::{File, TryLockError};
use std::fs::{OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::{thread, time::Duration};

use uuid::Uuid;

use crate::read_file::read_file;

/// How often the lock of a folder is tried. Another program may keep one for ever: a file is then replaced
/// without it.
#[cfg(unix)]
const LOCK_ATTEMPTS: usize = 250;

/// The time between two attempts.
#[cfg(unix)]
const LOCK_INTERVAL: Duration = Duration::from_millis(20);

/// The bits of a Unix mode for others than the owner of a file.
#[cfg(unix)]
const MODE_OF_OTHERS: u32 = 0o077;

/// The mode of an existing file after it was replaced. Systems other than Unix have no modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileMode {
    /// The mode stays.
    Keep,
    /// The owner keeps the permissions, and others lose theirs.
    OwnerOnly,
}

/// Replaces a file if it has the expected content, or creates it if it is expected to be absent.
/// Returns whether it did. A new file is readable for its user only; an existing one keeps its owner
/// where possible. A file with more than `max_bytes` does not have the expected content.
///
/// # Errors
///
/// The folder does not exist, or the file or its folder cannot be read or written.
pub fn replace_file(
    path: &Path,
    expected: Option<&[u8]>,
    content: &[u8],
    max_bytes: usize,
    mode: FileMode,
) -> io::Result<bool> {
    let path = resolved(path)?;
    let folder = path.parent().unwrap_or(Path::new("."));
    #[cfg(unix)]
    let locked_folder = lock(folder)?;
    let temporary = folder.join(format!(".mcp-web.{}.tmp", Uuid::new_v4().simple()));
    let replaced = write_copy(&temporary, &path, content, mode)
        .and_then(|()| rename_if_unchanged(&temporary, &path, expected, max_bytes));
    if !matches!(replaced, Ok(true)) {
        let _ = std::fs::remove_file(&temporary);
    }
    // Keeps the new entry of the folder if the machine loses power. Not all file systems can do this.
    #[cfg(unix)]
    let _ = locked_folder.sync_all();
    replaced
}

/// Returns the absolute path of the file. A symbolic link stays one: the file that it refers to is
/// replaced, or created.
fn resolved(path: &Path) -> io::Result<PathBuf> {
    match path.canonicalize() {
        Err(error) if error.kind() == ErrorKind::NotFound => match path.read_link() {
            Ok(target) => resolved(&path.parent().unwrap_or(Path::new(".")).join(target)),
            Err(_) => std::path::absolute(path),
        },
        resolved => resolved,
    }
}

/// Locks a folder until the value is dropped, so that no two processes compare and replace a file in
/// it at the same time. Programs that do not use the lock, such as editors, are not excluded.
#[cfg(unix)]
fn lock(folder: &Path) -> io::Result<File> {
    let folder = File::open(folder)?;
    for _ in 0..LOCK_ATTEMPTS {
        match folder.try_lock() {
            Err(TryLockError::WouldBlock) => thread::sleep(LOCK_INTERVAL),
            // Some network file systems have no locks of folders. A file there is replaced without one.
            _ => break,
        }
    }
    Ok(folder)
}

/// Writes the new content next to the file, with the permissions of the file.
fn write_copy(temporary: &Path, path: &Path, content: &[u8], mode: FileMode) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(temporary)?;
    file.write_all(content)?;
    if let Ok(metadata) = path.metadata() {
        #[cfg(unix)]
        copy_owner(&file, &metadata);
        file.set_permissions(permissions(metadata.permissions(), mode))?;
    }
    file.sync_all()
}

#[cfg(unix)]
fn permissions(permissions: Permissions, mode: FileMode) -> Permissions {
    use std::os::unix::fs::PermissionsExt;
    match mode {
        FileMode::Keep => permissions,
        FileMode::OwnerOnly => Permissions::from_mode(permissions.mode() & !MODE_OF_OTHERS),
    }
}

#[cfg(not(unix))]
fn permissions(permissions: Permissions, _: FileMode) -> Permissions {
    permissions
}

/// Gives a file the owner and the group of another one, so that a service can still read a file that
/// root edits. Users other than root may not do so: the file becomes theirs.
#[cfg(unix)]
fn copy_owner(file: &File, metadata: &std::fs::Metadata) {
    use std::os::unix::fs::{MetadataExt, fchown};
    let _ = fchown(file, Some(metadata.uid()), Some(metadata.gid()));
}

fn rename_if_unchanged(
    temporary: &Path,
    path: &Path,
    expected: Option<&[u8]>,
    max_bytes: usize,
) -> io::Result<bool> {
    let current = match read_file(path, max_bytes) {
        Ok(current) => Some(current),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        // A file of this size was not loaded.
        Err(error) if error.kind() == ErrorKind::FileTooLarge => return Ok(false),
        Err(error) => return Err(error),
    };
    if current.as_deref() != expected {
        return Ok(false);
    }
    std::fs::rename(temporary, path)?;
    Ok(true)
}
