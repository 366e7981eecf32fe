//! The folder with what must survive a restart: a key, and files to which lines are appended.
//!
//! One process at a time uses a folder. It holds a lock, which the system releases when the process
//! ends, however it ends.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bridge_settings::{Secret, parse_key, warning_if_open_to_all};
use sha2::{Digest, Sha256};

use crate::private_file;

/// The file with the key.
const KEY_FILE: &str = "key";

/// The file that is locked while a process uses the folder.
const LOCK_FILE: &str = "lock";

/// The reason why a folder cannot be used. No message contains the key.
#[derive(Debug, thiserror::Error)]
pub enum StateFolderError {
    /// The folder or a file in it cannot be created, read or locked.
    #[error(
        "{path} cannot be used: {error}; the folder must be one in which this program may create, \
         read and lock files", path = .0.display(), error = .1
    )]
    Unusable(PathBuf, io::Error),
    /// Another process uses the folder.
    #[error("another bridge uses {}: stop it, or choose another folder", .0.display())]
    InUse(PathBuf),
    /// The file with the key does not contain one.
    #[error("{} has no key of at least 32 characters: remove the file, and a new one is made", .0.display())]
    MalformedKey(PathBuf),
}

/// A folder that this process uses, until [`Self::release`] or its end.
#[derive(Debug)]
pub struct StateFolder {
    path: PathBuf,
    lock: File,
    key: Secret,
}

impl StateFolder {
    /// Opens a folder, and creates it and its key if they do not exist.
    ///
    /// # Errors
    ///
    /// [`StateFolderError`] when it cannot be used, or when another process uses it.
    pub fn open(path: &Path) -> Result<Self, StateFolderError> {
        let unusable = |error| StateFolderError::Unusable(path.to_owned(), error);
        private_file::create_folder(path).map_err(unusable)?;
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        let lock = private_file::open(&mut options, &path.join(LOCK_FILE)).map_err(unusable)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(StateFolderError::InUse(path.to_owned())),
            Err(TryLockError::Error(error)) => return Err(unusable(error)),
        }
        let key = match load_key(path)? {
            Some(key) => key,
            None => create_key(path)?,
        };
        Ok(Self {
            path: path.to_owned(),
            lock,
            key,
        })
    }

    /// Checks what [`Self::open`] would find, without creating or locking anything.
    ///
    /// # Errors
    ///
    /// [`StateFolderError`] when there is something that cannot be used.
    pub fn check(path: &Path) -> Result<(), StateFolderError> {
        match path.metadata() {
            Ok(metadata) if metadata.is_dir() => load_key(path).map(drop),
            Ok(_) => {
                let error = ErrorKind::NotADirectory.into();
                Err(StateFolderError::Unusable(path.to_owned(), error))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(StateFolderError::Unusable(path.to_owned(), error)),
        }
    }

    /// The key of this folder.
    pub fn key(&self) -> &Secret {
        &self.key
    }

    /// The file of this name, which need not exist.
    pub fn file(&self, name: &str) -> StateFile {
        StateFile {
            path: self.path.join(name),
            writer: Mutex::default(),
        }
    }

    /// Lets another process use the folder. This one must not write to its files any more.
    pub fn release(&self) {
        // The lock is released at the latest when the process ends.
        let _ = self.lock.unlock();
    }
}

/// Derives the key for one purpose, so that nothing that was sealed for one is valid for another.
pub fn derive_key(secret: &Secret, purpose: &str) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update((purpose.len() as u64).to_be_bytes());
    hash.update(purpose);
    hash.update(secret.expose());
    hash.finalize().into()
}

fn load_key(folder: &Path) -> Result<Option<Secret>, StateFolderError> {
    let path = folder.join(KEY_FILE);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) if error.kind() == ErrorKind::InvalidData => {
            return Err(StateFolderError::MalformedKey(path));
        }
        Err(error) => return Err(StateFolderError::Unusable(path, error)),
    };
    if let Some(warning) = warning_if_open_to_all(&path) {
        tracing::warn!("{warning}");
    }
    match parse_key(text.trim()) {
        Ok(key) => Ok(Some(key)),
        Err(_) => Err(StateFolderError::MalformedKey(path)),
    }
}

fn create_key(folder: &Path) -> Result<Secret, StateFolderError> {
    let (path, key) = (folder.join(KEY_FILE), Secret::random());
    let line = format!("{}\n", key.expose());
    let rename = |temporary: &Path| std::fs::rename(temporary, &path);
    match private_file::write_whole(&path, line.as_bytes(), rename) {
        Ok(()) => Ok(key),
        Err(error) => Err(StateFolderError::Unusable(path, error)),
    }
}

/// A file of lines in a [`StateFolder`]. A write that fails is logged once, until one succeeds.
#[derive(Debug)]
pub struct StateFile {
    path: PathBuf,
    writer: Mutex<Writer>,
}

/// Writes to a [`StateFile`], one thread at a time.
#[derive(Debug, Default)]
struct Writer {
    has_failed: bool,
}

impl StateFile {
    /// Loads the file. Its last line may be incomplete.
    ///
    /// # Errors
    ///
    /// [`StateFolderError`] when the file exists and cannot be read.
    pub fn load(&self) -> Result<String, StateFolderError> {
        match std::fs::read(&self.path) {
            Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
            Err(error) => Err(StateFolderError::Unusable(self.path.clone(), error)),
        }
    }

    /// Begins a change of the file. Another thread waits until it is written.
    pub fn begin(&self) -> StateFileChange<'_> {
        StateFileChange {
            path: &self.path,
            writer: self.writer.lock().unwrap_or_else(PoisonError::into_inner),
        }
    }
}

/// A change of a [`StateFile`].
#[derive(Debug)]
pub struct StateFileChange<'a> {
    path: &'a Path,
    writer: MutexGuard<'a, Writer>,
}

impl StateFileChange<'_> {
    /// Appends a line.
    pub fn append(mut self, line: &str) {
        // A write that failed may have left the beginning of a line.
        let separator = if self.writer.has_failed { "\n" } else { "" };
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        let written = private_file::open(&mut options, self.path)
            .and_then(|mut file| file.write_all(format!("{separator}{line}\n").as_bytes()));
        self.log(written);
    }

    /// Replaces all lines. If that fails, the former ones stay.
    pub fn replace(mut self, lines: &str) {
        let rename = |temporary: &Path| std::fs::rename(temporary, self.path);
        let written = private_file::write_whole(self.path, lines.as_bytes(), rename);
        self.log(written);
    }

    fn log(&mut self, written: io::Result<()>) {
        match written {
            Ok(()) => self.writer.has_failed = false,
            Err(error) if !self.writer.has_failed => {
                self.writer.has_failed = true;
                tracing::error!(
                    "{} cannot be written: {error}; a restart will not find what is missing in it",
                    self.path.display()
                );
            }
            Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_and_its_key_are_created_once_and_are_private() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("a/state");
        StateFolder::check(&path).unwrap();
        assert!(!path.exists(), "a check creates nothing");
        let key = StateFolder::open(&path).unwrap().key().clone();
        assert_eq!(key.expose().len(), 64);
        assert!(*StateFolder::open(&path).unwrap().key() == key);
        #[cfg(unix)]
        for (path, mode) in [(path.clone(), 0o700), (path.join(KEY_FILE), 0o600)] {
            use std::os::unix::fs::PermissionsExt;
            let permissions = path.metadata().unwrap().permissions();
            assert_eq!(permissions.mode() & 0o777, mode, "{path:?}");
        }
        let mut files: Vec<_> = path
            .read_dir()
            .unwrap()
            .map(|it| it.unwrap().file_name())
            .collect();
        files.sort();
        assert_eq!(files, [KEY_FILE, LOCK_FILE], "no temporary file is left");
    }

    #[test]
    fn one_process_uses_a_folder_until_it_releases_it() {
        let folder = tempfile::tempdir().unwrap();
        let first = StateFolder::open(folder.path()).unwrap();
        let error = StateFolder::open(folder.path()).unwrap_err().to_string();
        assert!(error.contains("another bridge uses"), "{error}");
        StateFolder::check(folder.path()).unwrap();
        first.release();
        StateFolder::open(folder.path()).unwrap();
    }

    #[test]
    fn a_folder_that_cannot_be_used_is_reported_without_the_key() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        for path in [file.clone(), file.join("below")] {
            for error in [
                StateFolder::open(&path).map(drop).unwrap_err(),
                StateFolder::check(&path).unwrap_err(),
            ] {
                assert!(matches!(error, StateFolderError::Unusable(..)), "{error}");
            }
        }
        for malformed in ["", "hush-hush", "hush-hush-\u{0}"] {
            std::fs::write(folder.path().join(KEY_FILE), malformed).unwrap();
            for error in [
                StateFolder::open(folder.path()).map(drop).unwrap_err(),
                StateFolder::check(folder.path()).unwrap_err(),
            ] {
                let error = error.to_string();
                assert!(
                    error.contains("remove the file") && !error.contains("hush"),
                    "{error}"
                );
            }
        }
    }

    #[test]
    fn keys_of_different_purposes_differ() {
        let secret = Secret::random();
        assert_eq!(derive_key(&secret, "a"), derive_key(&secret, "a"));
        assert_ne!(derive_key(&secret, "a"), derive_key(&secret, "b"));
        assert_ne!(derive_key(&secret, "a"), derive_key(&Secret::random(), "a"));
    }

    #[test]
    fn a_line_after_a_failed_write_is_complete() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("state");
        let folder = StateFolder::open(&path).unwrap();
        let file = folder.file("lines");
        assert_eq!(file.load().unwrap(), "");
        file.begin().append("one");
        std::fs::rename(&path, parent.path().join("away")).unwrap();
        file.begin().append("lost");
        file.begin().replace("lost");
        std::fs::rename(parent.path().join("away"), &path).unwrap();
        // The first part of a line, which a full disk leaves.
        std::fs::write(path.join("lines"), "one\nlo").unwrap();
        file.begin().append("two");
        assert_eq!(file.load().unwrap(), "one\nlo\ntwo\n");
        file.begin().append("three");
        assert_eq!(file.load().unwrap(), "one\nlo\ntwo\nthree\n");
        file.begin().replace("new\n");
        assert_eq!(file.load().unwrap(), "new\n");
    }
}
