//! Files that only their user may read: how they are read, locked and replaced.

use std::ffi::OsStr;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The bits of a Unix mode with which others than its user can read or write a file.
const READ_OR_WRITE_BY_OTHERS: u32 = 0o066;

/// The bits of a Unix mode with which others than its user can replace the files in a folder.
const WRITE_BY_OTHERS: u32 = 0o022;

/// Why a private file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PrivateFileError {
    /// The file cannot be read.
    #[error(
        "{path} cannot be read: {error}. It must be a file that this program may read",
        path = .0.display(), error = .1
    )]
    Unreadable(PathBuf, io::Error),
    /// Others can read or write the file.
    #[error(
        "others can read or write {path}: forbid it with `chmod 600 {path}`, and replace what is in \
         it if others may know it", path = .0.display()
    )]
    OpenToOthers(PathBuf),
    /// Others can replace the file.
    #[error(
        "others can write to the folder {path}, so that they can replace the secrets in it: forbid \
         it with `chmod go-w {path}`", path = .0.display()
    )]
    FolderWritableByOthers(PathBuf),
    /// The file is too large.
    #[error("{path} is larger than {max} bytes: it is not the file that is expected here",
        path = .0.display(), max = .1)]
    TooLarge(PathBuf, usize),
    /// The file to create exists already.
    #[error("{} exists already, and is left unchanged: choose another path", .0.display())]
    Exists(PathBuf),
    /// The file cannot be locked, created or replaced. It is unchanged.
    #[error(
        "{path} cannot be written: {error}. Its folder must exist, and this program must be allowed \
         to create files in it and to lock them", path = .0.display(), error = .1
    )]
    Unwritable(PathBuf, io::Error),
}

/// The content of a private file.
pub(super) struct PrivateFile {
    pub(super) bytes: Vec<u8>,
    pub(super) version: FileVersion,
}

/// Attributes that change when the content or the permissions of a file change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileVersion {
    modified_at: Option<SystemTime>,
    len: u64,
    /// The inode and the mode.
    #[cfg(unix)]
    identity: (u64, u32),
}

/// The right to replace a file, until it is dropped.
pub(super) struct WriteLock {
    /// Its lock ends when it is closed.
    _file: File,
}

impl FileVersion {
    /// Returns the version of a file, or `None` if there is none.
    pub(super) fn load(path: &Path) -> Result<Option<Self>, PrivateFileError> {
        let metadata = if_it_exists(path.metadata());
        let metadata =
            metadata.map_err(|error| PrivateFileError::Unreadable(path.to_owned(), error))?;
        Ok(metadata.as_ref().map(Self::new))
    }

    fn new(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        use std::os::unix::fs::MetadataExt;
        Self {
            modified_at: metadata.modified().ok(),
            len: metadata.len(),
            #[cfg(unix)]
            identity: (metadata.ino(), metadata.mode()),
        }
    }
}

impl WriteLock {
    /// Waits until no other process replaces the file. The lock is on a file beside it, with the
    /// suffix `.lock`, because the file itself is another one after it was replaced. The lock file
    /// is not removed: otherwise two processes could hold locks of two files.
    pub(super) fn acquire(path: &Path) -> Result<Self, PrivateFileError> {
        check_folders(path)?;
        let path = with_suffix(&resolve(path)?, ".lock");
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        let file = private(&mut options).open(&path);
        let locked = file.and_then(|file| file.lock().map(|()| file));
        let file = locked.map_err(|error| PrivateFileError::Unwritable(path, error))?;
        Ok(Self { _file: file })
    }
}

/// Reads a file, or returns `None` if there is none. On systems other than Unix, permissions are not
/// checked.
pub(super) fn read(path: &Path, max_bytes: usize) -> Result<Option<PrivateFile>, PrivateFileError> {
    let unreadable = |error| PrivateFileError::Unreadable(path.to_owned(), error);
    // To open a named pipe could block until another program writes to it.
    match if_it_exists(path.metadata()).map_err(unreadable)? {
        None => return Ok(None),
        Some(metadata) if metadata.is_file() => {}
        Some(_) => return Err(unreadable(io::Error::other("it is not a regular file"))),
    }
    let Some(file) = if_it_exists(File::open(path)).map_err(unreadable)? else {
        return Ok(None);
    };
    let metadata = file.metadata().map_err(unreadable)?;
    if has_mode_bits(&metadata, READ_OR_WRITE_BY_OTHERS) {
        return Err(PrivateFileError::OpenToOthers(path.to_owned()));
    }
    // With room for all of it, the buffer never moves, and no copy of a key is left in memory.
    let limit = max_bytes as u64 + 1;
    let mut bytes = Vec::with_capacity(metadata.len().min(limit) as usize + 1);
    let mut limited = file.take(limit);
    limited.read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() > max_bytes {
        return Err(PrivateFileError::TooLarge(path.to_owned(), max_bytes));
    }
    let version = FileVersion::new(&metadata);
    Ok(Some(PrivateFile { bytes, version }))
}

/// Checks that others can replace neither a file nor a symbolic link to it.
pub(super) fn check_folders(path: &Path) -> Result<(), PrivateFileError> {
    for path in [path, &resolve(path)?] {
        let folder = folder_of(path);
        // Other errors are reported when the file is read or written.
        let is_open = |metadata: Metadata| has_mode_bits(&metadata, WRITE_BY_OTHERS);
        if folder.metadata().is_ok_and(is_open) {
            return Err(PrivateFileError::FolderWritableByOthers(folder.to_owned()));
        }
    }
    Ok(())
}

/// Creates a file that does not exist.
pub(super) fn create(path: &Path, content: &[u8]) -> Result<(), PrivateFileError> {
    write_new(path, content, folder_of(path)).map_err(|error| {
        if error.kind() == ErrorKind::AlreadyExists {
            PrivateFileError::Exists(path.to_owned())
        } else {
            PrivateFileError::Unwritable(path.to_owned(), error)
        }
    })?;
    sync_folder(path);
    Ok(())
}

/// Replaces a file, or creates it. Readers see the old content or the new one, also after a crash. A
/// symbolic link stays one: the file that it refers to is replaced.
pub(super) fn replace(
    path: &Path,
    content: &[u8],
    _lock: &WriteLock,
) -> Result<FileVersion, PrivateFileError> {
    let path = resolve(path)?;
    // Only the holder of the lock writes it, so the file of a process that crashed is unused.
    let temporary = with_suffix(&path, ".tmp");
    let replaced = if_it_exists(std::fs::remove_file(&temporary))
        .and_then(|_| write_new(&temporary, content, &path))
        .and_then(|metadata| std::fs::rename(&temporary, &path).map(|()| metadata));
    match replaced {
        Ok(metadata) => {
            sync_folder(&path);
            Ok(FileVersion::new(&metadata))
        }
        Err(error) => {
            let _ = std::fs::remove_file(&temporary);
            Err(PrivateFileError::Unwritable(path, error))
        }
    }
}

/// Writes a new file, and removes it if that fails. It gets the owner of another file.
fn write_new(path: &Path, content: &[u8], owner: &Path) -> io::Result<Metadata> {
    let mut options = OpenOptions::new();
    let mut file = private(options.write(true).create_new(true)).open(path)?;
    copy_owner(&file, owner);
    let written = file
        .write_all(content)
        .and_then(|()| file.sync_all())
        .and_then(|()| file.metadata());
    if written.is_err() {
        let _ = std::fs::remove_file(path);
    }
    written
}

/// Gives a file the owner of another one, or of the folder of that if it does not exist, so that a
/// service can read what root writes. Users other than root may not do so, and the file is theirs.
#[cfg(unix)]
fn copy_owner(file: &File, other: &Path) {
    use std::os::unix::fs::{MetadataExt, fchown};
    if let Ok(metadata) = other.metadata().or_else(|_| folder_of(other).metadata()) {
        let _ = fchown(file, Some(metadata.uid()), Some(metadata.gid()));
    }
}

#[cfg(not(unix))]
fn copy_owner(_: &File, _: &Path) {}

/// Keeps the new entry of a folder if the machine loses power. Not all file systems can do this.
fn sync_folder(path: &Path) {
    if cfg!(unix) {
        let _ = File::open(folder_of(path)).and_then(|folder| folder.sync_all());
    }
}

#[cfg(unix)]
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600)
}

#[cfg(not(unix))]
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

#[cfg(unix)]
fn has_mode_bits(metadata: &Metadata, bits: u32) -> bool {
    std::os::unix::fs::MetadataExt::mode(metadata) & bits != 0
}

#[cfg(not(unix))]
fn has_mode_bits(_: &Metadata, _: u32) -> bool {
    false
}

fn if_it_exists<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the absolute path of a file, with the target of a symbolic link.
fn resolve(path: &Path) -> Result<PathBuf, PrivateFileError> {
    let resolved = match if_it_exists(path.canonicalize()) {
        Ok(None) => std::path::absolute(path),
        Ok(Some(resolved)) => Ok(resolved),
        Err(error) => Err(error),
    };
    resolved.map_err(|error| PrivateFileError::Unwritable(path.to_owned(), error))
}

fn folder_of(path: &Path) -> &Path {
    path.parent()
        .filter(|folder| *folder != Path::new(""))
        .unwrap_or(Path::new("."))
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or(OsStr::new("")).to_owned();
    name.push(suffix);
    path.with_file_name(name)
}
