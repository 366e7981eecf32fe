//! The configuration file of a client on the disk: reading, backup and replacement.

use std::ffi::OsString;
use std::fs::DirBuilder;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use bridge_shared_files::{FileMode, read_file, replace_file};

use crate::error::EntryError;

/// The maximum size of a file. The largest, that of Claude Code, has the history of all projects.
const MAX_FILE_BYTES: usize = 64 * 1024 * 1024;

/// How often a change is made again in a file that another program has changed meanwhile.
const MAX_ATTEMPTS: usize = 5;

/// The end of the name of the copy of a file from before the first change.
const BACKUP_SUFFIX: &str = ".before-mcp-web";

/// A configuration file.
#[derive(Debug)]
pub(crate) struct ClientFile<'a> {
    path: &'a Path,
}

/// The new state of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NewState {
    /// The file stays.
    Unchanged,
    /// It has this content. It contains a token, so that only its owner may read it. The content from
    /// before is backed up, unless it has entries of this program only.
    Private { content: Vec<u8>, backs_up: bool },
    /// It has this content, and the permissions that it had.
    Content(Vec<u8>),
    /// It has the content of its backup, which is removed.
    Restored(Vec<u8>),
    /// It does not exist.
    Removed,
}

impl<'a> ClientFile<'a> {
    pub(crate) fn new(path: &'a Path) -> Self {
        Self { path }
    }

    /// Returns the content, or `None` if the file does not exist.
    pub(crate) fn load(&self) -> Result<Option<Vec<u8>>, EntryError> {
        load(self.path)
    }

    /// Returns the content from before the first change, if the file existed then.
    pub(crate) fn load_backup(&self) -> Result<Option<Vec<u8>>, EntryError> {
        load(&self.backup_path())
    }

    /// Changes the file. The new state is computed again if another program has changed the file
    /// since it was read, so that both changes are in it.
    pub(crate) fn change(
        &self,
        new_state: impl Fn(Option<&[u8]>) -> Result<NewState, EntryError>,
    ) -> Result<NewState, EntryError> {
        for _ in 0..MAX_ATTEMPTS {
            let content = self.load()?;
            let state = new_state(content.as_deref())?;
            let is_done = match (&state, &content) {
                (NewState::Unchanged, _) | (NewState::Removed, None) => true,
                (
                    NewState::Private {
                        content: new,
                        backs_up,
                    },
                    _,
                ) => {
                    let has_new_backup = self.back_up(content.as_deref().filter(|_| *backs_up))?;
                    let is_done = self.replace(content.as_deref(), new, FileMode::OwnerOnly)?;
                    if has_new_backup && !is_done {
                        remove(&self.backup_path())?;
                    }
                    is_done
                }
                (NewState::Content(new), _) => {
                    self.replace(content.as_deref(), new, FileMode::Keep)?
                }
                (NewState::Restored(new), _) => {
                    let is_done = self.replace(content.as_deref(), new, FileMode::Keep)?;
                    if is_done {
                        remove(&self.backup_path())?;
                    }
                    is_done
                }
                (NewState::Removed, Some(_)) => {
                    let is_same = self.load()? == content;
                    if is_same {
                        remove(self.path)?;
                    }
                    is_same
                }
            };
            if is_done {
                return Ok(state);
            }
        }
        Err(EntryError::Changed(self.path.to_owned()))
    }

    fn replace(
        &self,
        expected: Option<&[u8]>,
        new: &[u8],
        mode: FileMode,
    ) -> Result<bool, EntryError> {
        if expected.is_none() {
            self.create_folder()?;
        }
        replace_file(self.path, expected, new, MAX_FILE_BYTES, mode)
            .map_err(|error| EntryError::Unwritable(self.path.to_owned(), error))
    }

    fn create_folder(&self) -> Result<(), EntryError> {
        let Some(folder) = self.path.parent() else {
            return Ok(());
        };
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        let created = builder.recursive(true).create(folder);
        created.map_err(|error| EntryError::Unwritable(folder.to_owned(), error))
    }

    /// Keeps the first content of a file, which may have the tokens of other servers. Returns whether it is
    /// a new backup.
    fn back_up(&self, content: Option<&[u8]>) -> Result<bool, EntryError> {
        let path = self.backup_path();
        let Some(content) = content.filter(|_| path.symlink_metadata().is_err()) else {
            return Ok(false);
        };
        replace_file(&path, None, content, MAX_FILE_BYTES, FileMode::Keep)
            .map_err(|error| EntryError::Unwritable(path, error))
    }

    fn backup_path(&self) -> PathBuf {
        let mut name = OsString::from(self.path.file_name().unwrap_or_default());
        name.push(BACKUP_SUFFIX);
        self.path.with_file_name(name)
    }
}

fn load(path: &Path) -> Result<Option<Vec<u8>>, EntryError> {
    match read_file(path, MAX_FILE_BYTES) {
        Ok(content) => Ok(Some(content)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(EntryError::Unreadable(path.to_owned(), error)),
    }
}

fn remove(path: &Path) -> Result<(), EntryError> {
    let removed: io::Result<()> = std::fs::remove_file(path);
    removed.map_err(|error| EntryError::Unwritable(path.to_owned(), error))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn private(content: Vec<u8>) -> NewState {
        NewState::Private {
            content,
            backs_up: true,
        }
    }

    #[test]
    fn a_change_of_another_program_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        std::fs::write(&path, "1").unwrap();
        let attempts = Cell::new(0);
        let state = ClientFile::new(&path).change(|content| {
            attempts.set(attempts.get() + 1);
            let content = [content.unwrap(), b"+"].concat();
            if attempts.get() == 1 {
                std::fs::write(&path, "2").unwrap();
            }
            Ok(private(content))
        });
        assert_eq!(state.unwrap(), private(b"2+".to_vec()));
        assert_eq!(std::fs::read(&path).unwrap(), b"2+");
    }

    #[test]
    fn a_file_that_changes_all_the_time_is_left_to_the_other_program() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        let attempts = Cell::new(0);
        let result = ClientFile::new(&path).change(|_| {
            attempts.set(attempts.get() + 1);
            std::fs::write(&path, attempts.get().to_string()).unwrap();
            Ok(private(b"ours".to_vec()))
        });
        assert!(matches!(result, Err(EntryError::Changed(_))));
        assert_eq!(
            std::fs::read(&path).unwrap(),
            MAX_ATTEMPTS.to_string().as_bytes()
        );
    }
}
