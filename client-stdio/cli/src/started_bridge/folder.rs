//! The folder of the bridge at one port, in the user's folder for state: the lock of those who start it, the
//! secret, the log, and its state.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use bridge_edge::shared_credential::{self, SharedCredentialError};
use bridge_edge::user_folders::state_folder;
use bridge_settings::Secret;

/// The size from which the log is moved to another file, which replaces the former one.
const MAX_LOG_BYTES: u64 = 1024 * 1024;

/// How much of the log is read for the reason of a failed start.
const MAX_REASON_BYTES: u64 = 4096;

/// The folder of a bridge.
#[derive(Clone, Debug)]
pub(crate) struct StartedBridgeFolder(PathBuf);

impl StartedBridgeFolder {
    pub(super) fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// Returns the folder of the bridge at this port. Returns `None` if the environment names no home folder.
    pub(crate) fn of_port(port: u16) -> Option<Self> {
        let path = format!("mcp-web/started-bridge/{port}");
        state_folder().map(|folder| Self(folder.join(path)))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// The folder of what survives a restart of the bridge.
    pub(super) fn state(&self) -> PathBuf {
        self.0.join("state")
    }

    /// The path of the log.
    pub(super) fn log(&self) -> PathBuf {
        self.0.join("log")
    }

    /// Loads the secret. Creates it and the folder, unless they exist.
    pub(super) fn load_or_create_secret(&self) -> Result<Secret, SharedCredentialError> {
        shared_credential::load_or_create_at(&self.secret())
    }

    /// Loads the secret, if there is one.
    pub(super) fn load_secret(&self) -> Result<Option<Secret>, SharedCredentialError> {
        shared_credential::load(&self.secret())
    }

    /// Locks the start of a bridge. Returns `None` while another process has the lock. The system releases
    /// the lock when its process ends, however it ends.
    pub(super) fn try_lock(&self) -> io::Result<Option<File>> {
        let mut options = OpenOptions::new();
        let lock = options.write(true).create(true).truncate(false);
        let lock = private(lock).open(self.0.join("lock"))?;
        match lock.try_lock() {
            Ok(()) => Ok(Some(lock)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Opens the log for a bridge that starts, and returns its length.
    pub(super) fn open_log(&self) -> io::Result<(File, u64)> {
        self.limit_log();
        let log = private(OpenOptions::new().append(true).create(true)).open(self.log())?;
        let length = log.metadata()?.len();
        Ok((log, length))
    }

    /// Moves the content of a long log to another file. The log itself stays, because the stderr of a bridge
    /// appends to it.
    pub(super) fn limit_log(&self) {
        let log = self.log();
        let is_long = log.metadata().is_ok_and(|it| it.len() > MAX_LOG_BYTES);
        if is_long {
            // A log that cannot be copied is lost.
            let _ = std::fs::copy(&log, self.0.join("log.old"));
            let _ = OpenOptions::new().write(true).truncate(true).open(&log);
        }
    }

    /// Returns the last error, or else the last line, that was logged from this position on.
    pub(super) fn last_error(&self, from: u64) -> Option<String> {
        let mut log = File::open(self.log()).ok()?;
        let length = log.metadata().ok()?.len();
        let start = from.max(length.saturating_sub(MAX_REASON_BYTES));
        log.seek(SeekFrom::Start(start)).ok()?;
        let mut text = Vec::new();
        log.take(MAX_REASON_BYTES).read_to_end(&mut text).ok()?;
        let text = String::from_utf8_lossy(&text);
        let lines = || text.lines().rev().filter(|line| !line.trim().is_empty());
        let error = lines().find(|line| line.contains("ERROR") || line.starts_with("error:"));
        let line = error.or_else(|| lines().next())?;
        // Without the time.
        let (_, reason) = line.split_once("ERROR ").unwrap_or(("", line));
        Some(reason.to_owned())
    }

    fn secret(&self) -> PathBuf {
        self.0.join("secret")
    }
}

/// Makes a file that these options create readable for its owner only.
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, StartedBridgeFolder) {
        let parent = tempfile::tempdir().unwrap();
        let folder = StartedBridgeFolder::new(parent.path().join("a/3001"));
        folder.load_or_create_secret().unwrap();
        (parent, folder)
    }

    #[test]
    fn a_long_log_becomes_a_second_file_and_the_first_is_appended_to() {
        use std::io::Write;

        let (_parent, folder) = folder();
        let (mut log, length) = folder.open_log().unwrap();
        assert_eq!(length, 0);
        log.write_all(&vec![b'a'; MAX_LOG_BYTES as usize]).unwrap();
        folder.limit_log();
        assert_eq!(folder.log().metadata().unwrap().len(), MAX_LOG_BYTES);
        log.write_all(b"b").unwrap();
        folder.limit_log();
        log.write_all(b"c\n").unwrap();
        assert_eq!(std::fs::read(folder.log()).unwrap(), b"c\n");
        let old = folder.path().join("log.old");
        assert_eq!(old.metadata().unwrap().len(), MAX_LOG_BYTES + 1);
    }

    #[test]
    fn the_reason_is_the_last_error_since_the_start() {
        use std::io::Write;

        let (_parent, folder) = folder();
        let (mut log, _) = folder.open_log().unwrap();
        log.write_all(b"ERROR of another start\n").unwrap();
        let (mut log, start) = folder.open_log().unwrap();
        assert_eq!(folder.last_error(start), None);
        log.write_all(b"INFO one\n ERROR two\nINFO three\n\n")
            .unwrap();
        assert_eq!(folder.last_error(start).as_deref(), Some("two"));
    }

    #[cfg(unix)]
    #[test]
    fn only_the_user_can_read_the_files() {
        use std::os::unix::fs::PermissionsExt;

        let (_parent, folder) = folder();
        let _log = folder.open_log().unwrap();
        let lock = folder.try_lock().unwrap();
        assert!(lock.is_some() && folder.try_lock().unwrap().is_none());
        drop(lock);
        assert!(folder.try_lock().unwrap().is_some());
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(folder.path()), 0o700);
        for file in ["secret", "log", "lock"] {
            assert_eq!(mode(&folder.path().join(file)), 0o600, "{file}");
        }
    }
}
