//! The folder with what must survive a restart: a key, and files to which lines are appended.
//!
//! One process at a time uses a folder. It holds a lock, which the system releases when the process
//! ends, however it ends.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bridge_settings::file_permissions::has_mode_bits;
use bridge_settings::{Secret, parse_key};
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
    /// Other users could write the key, or what must survive.
    #[error(
        "others can write to {path}: run `chmod o-w {path}`, or choose a folder that this program \
         can create", path = .0.display()
    )]
    OpenToAll(PathBuf),
    /// The folder belongs to another user.
    #[error(
        "{} belongs to another user: choose a folder of the user who runs this program", .0.display()
    )]
    NotOwned(PathBuf),
    /// Another process uses the folder.
    #[error("another bridge uses {}: stop it, or choose another folder", .0.display())]
    InUse(PathBuf),
    /// The file with the key does not contain one.
    #[error("{} has no key of at least 32 characters: remove the file, and a new one is made", .0.display())]
    MalformedKey(PathBuf),
}

/// A folder that this process uses, until [`Self::release`], or until it and its files are dropped.
#[derive(Debug)]
pub struct StateFolder {
    path: PathBuf,
    lock: Arc<File>,
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
        check_owner(path, FolderUse::Now)?;
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
            lock: Arc::new(lock),
            key,
        })
    }

    /// Checks what [`Self::open`] and the files of these names would find. It locks nothing, and of what
    /// it creates nothing remains.
    ///
    /// # Errors
    ///
    /// [`StateFolderError`] when there is something that cannot be used.
    pub fn check(path: &Path, files: &[&str]) -> Result<(), StateFolderError> {
        let unusable = |error| StateFolderError::Unusable(path.to_owned(), error);
        match path.metadata() {
            Ok(metadata) if metadata.is_dir() => {
                check_owner(path, FolderUse::Later)?;
                load_key(path)?;
                let mut files = files.iter();
                files.try_for_each(|name| load(&path.join(name)).map(drop))
            }
            Ok(_) => Err(unusable(ErrorKind::NotADirectory.into())),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                // It will be created in the nearest folder that exists.
                let mut existing = path.ancestors().skip(1).filter(|it| it.exists());
                let parent = existing.next().unwrap_or(Path::new("."));
                private_file::create_temporary(parent)
                    .map(drop)
                    .map_err(unusable)
            }
            Err(error) => Err(unusable(error)),
        }
    }

    /// The path of the file with the key of a folder.
    pub fn key_file(path: &Path) -> PathBuf {
        path.join(KEY_FILE)
    }

    /// Reads a file of a folder that another process may use. Returns an empty text if there is none.
    ///
    /// # Errors
    ///
    /// [`StateFolderError`] when the file exists and cannot be read.
    pub fn read(path: &Path, name: &str) -> Result<String, StateFolderError> {
        load(&path.join(name))
    }

    /// The key of this folder.
    pub fn key(&self) -> &Secret {
        &self.key
    }

    /// The file of this name, which need not exist.
    pub fn file(&self, name: &str) -> StateFile {
        StateFile {
            path: self.path.join(name),
            has_failed: AtomicBool::new(false),
            _lock: Arc::clone(&self.lock),
        }
    }

    /// Lets another process use the folder. This one must not write to its files any more.
    pub fn release(&self) {
        // The lock is released at the latest when the process ends.
        let _ = self.lock.unlock();
    }
}

/// When a folder will be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FolderUse {
    /// By this process.
    Now,
    /// By the program that a check is for. If root checks, it may run as another user, who owns the folder.
    Later,
}

/// Checks that this user can create files in a folder, and that others cannot: they could choose the
/// key, or remove what was recorded.
pub(crate) fn check_owner(folder: &Path, used: FolderUse) -> Result<(), StateFolderError> {
    const WRITE_BY_ALL: u32 = 0o002;
    let unusable = |error| StateFolderError::Unusable(folder.to_owned(), error);
    let own = private_file::create_temporary(folder).map_err(unusable)?;
    if has_mode_bits(folder, WRITE_BY_ALL) {
        return Err(StateFolderError::OpenToAll(folder.to_owned()));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        const ROOT: u32 = 0;
        let owner = folder.metadata().map_err(unusable)?.uid();
        let is_checked_by_root = used == FolderUse::Later && own.uid() == ROOT;
        if ![own.uid(), ROOT].contains(&owner) && !is_checked_by_root {
            return Err(StateFolderError::NotOwned(folder.to_owned()));
        }
    }
    #[cfg(not(unix))]
    drop((own, used));
    Ok(())
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

/// Loads a file, which need not exist.
fn load(path: &Path) -> Result<String, StateFolderError> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(StateFolderError::Unusable(path.to_owned(), error)),
    }
}

/// A file of lines in a [`StateFolder`], to which one thread at a time writes. A write that fails is
/// logged once, until one succeeds.
#[derive(Debug)]
pub struct StateFile {
    path: PathBuf,
    has_failed: AtomicBool,
    /// No other process may use the folder while this one has a file of it.
    _lock: Arc<File>,
}

impl StateFile {
    /// Loads the file. Its last line may be incomplete.
    ///
    /// # Errors
    ///
    /// [`StateFolderError`] when the file exists and cannot be read.
    pub fn load(&self) -> Result<String, StateFolderError> {
        load(&self.path)
    }

    /// Appends lines. Returns whether they were written: otherwise a part of them may have been, and
    /// [`Self::replace`] must follow.
    #[must_use]
    pub fn append(&self, lines: &str) -> bool {
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        let file = private_file::open(&mut options, &self.path);
        self.log(file.and_then(|mut file| file.write_all(lines.as_bytes())))
    }

    /// Replaces all lines, and returns whether they were written. If not, the former ones stay.
    #[must_use]
    pub fn replace(&self, lines: &str) -> bool {
        let rename = |temporary: &Path| std::fs::rename(temporary, &self.path);
        self.log(private_file::write_whole(
            &self.path,
            lines.as_bytes(),
            rename,
        ))
    }

    fn log(&self, written: io::Result<()>) -> bool {
        let had_failed = self.has_failed.swap(written.is_err(), Ordering::Relaxed);
        if let Err(error) = &written
            && !had_failed
        {
            tracing::error!(
                "{} cannot be written: {error}; a restart will not find what is missing in it",
                self.path.display()
            );
        }
        written.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_and_its_key_are_created_once_and_are_private() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("a/state");
        StateFolder::check(&path, &[]).unwrap();
        let mut created = parent.path().read_dir().unwrap();
        assert!(created.next().is_none(), "nothing of a check remains");
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
        StateFolder::check(folder.path(), &[]).unwrap();
        first.release();
        StateFolder::open(folder.path()).unwrap();
    }

    #[test]
    fn a_file_keeps_its_folder_in_use() {
        let folder = tempfile::tempdir().unwrap();
        let file = StateFolder::open(folder.path()).unwrap().file("lines");
        let error = StateFolder::open(folder.path()).unwrap_err();
        assert!(matches!(error, StateFolderError::InUse(_)), "{error}");
        drop(file);
        StateFolder::open(folder.path()).unwrap();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_check_finds_what_would_fail_at_the_start() {
        // No user can create files there.
        let path = Path::new("/proc/mcp-web/state");
        for error in [
            StateFolder::open(path).map(drop).unwrap_err(),
            StateFolder::check(path, &[]).unwrap_err(),
        ] {
            assert!(matches!(error, StateFolderError::Unusable(..)), "{error}");
        }
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("lines")).unwrap();
        let error = StateFolder::check(folder.path(), &["lines"]).unwrap_err();
        assert!(error.to_string().contains("lines"), "{error}");
    }

    #[cfg(unix)]
    #[cfg(unix)]
    #[test]
    fn root_checks_a_folder_of_the_user_who_will_use_it() {
        const ANOTHER_USER: u32 = 65_534;
        let folder = tempfile::tempdir().unwrap();
        match std::os::unix::fs::chown(folder.path(), Some(ANOTHER_USER), None) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                eprintln!("not tested: only root can give a folder to another user");
                return;
            }
            Err(error) => panic!("{error}"),
        }
        StateFolder::check(folder.path(), &[]).unwrap();
        let opened = StateFolder::open(folder.path());
        assert!(matches!(opened, Err(StateFolderError::NotOwned(_))));
    }

    #[test]
    fn a_folder_of_everybody_is_refused() {
        use std::fs::{Permissions, set_permissions};
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        for (mode, is_refused) in [
            (0o700, false),
            (0o770, false),
            (0o777, true),
            (0o1777, true),
        ] {
            set_permissions(folder.path(), Permissions::from_mode(mode)).unwrap();
            for result in [
                StateFolder::check(folder.path(), &[]),
                StateFolder::open(folder.path()).map(drop),
            ] {
                let is_open = matches!(result, Err(StateFolderError::OpenToAll(_)));
                assert_eq!(is_open, is_refused, "{mode:o}: {result:?}");
            }
            // One that is created in it is private.
            let within = folder.path().join(format!("{mode}"));
            StateFolder::check(&within, &[]).unwrap();
            StateFolder::open(&within).unwrap();
        }
    }

    #[test]
    fn a_folder_that_cannot_be_used_is_reported_without_the_key() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        for path in [file.clone(), file.join("below")] {
            for error in [
                StateFolder::open(&path).map(drop).unwrap_err(),
                StateFolder::check(&path, &[]).unwrap_err(),
            ] {
                assert!(matches!(error, StateFolderError::Unusable(..)), "{error}");
            }
        }
        for malformed in ["", "hush-hush", "hush-hush-\u{0}"] {
            std::fs::write(folder.path().join(KEY_FILE), malformed).unwrap();
            for error in [
                StateFolder::open(folder.path()).map(drop).unwrap_err(),
                StateFolder::check(folder.path(), &[]).unwrap_err(),
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
    fn a_write_that_fails_is_reported() {
        let parent = tempfile::tempdir().unwrap();
        let [path, away] = ["state", "away"].map(|name| parent.path().join(name));
        let file = StateFolder::open(&path).unwrap().file("lines");
        assert_eq!(file.load().unwrap(), "");
        assert!(file.append("one\n"));
        std::fs::rename(&path, &away).unwrap();
        assert!(!file.append("lost\n") && !file.replace("lost\n"));
        std::fs::rename(&away, &path).unwrap();
        assert!(file.append("two\nthree\n"));
        assert_eq!(file.load().unwrap(), "one\ntwo\nthree\n");
        assert!(file.replace("new\n"));
        assert_eq!(file.load().unwrap(), "new\n");
    }
}
