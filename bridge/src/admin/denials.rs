//! The denials in the state folder, where they survive a restart.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use bridge_auth::DenyList;
use bridge_edge::{StateFile, StateFolder, StateFolderError};

/// The name of the file in the state folder.
const DENIALS_FILE: &str = "denied";

/// Why the denials of a former run cannot be loaded. Without them, a user who is denied could connect.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DenialsError {
    #[error(transparent)]
    Folder(#[from] StateFolderError),
    #[error(
        "line {0} of the file `{DENIALS_FILE}` in it is not a denial, or one too many: correct the line, \
         or remove it"
    )]
    Line(usize),
}

/// The list of denials, and the file that has the same entries.
#[derive(Debug)]
pub(crate) struct StoredDenials {
    list: Arc<DenyList>,
    file: Option<StateFile>,
    /// Held while the list is written, so that the file has its last state. Decisions of other bridges change
    /// the list without it, and are written afterwards.
    changing: Mutex<()>,
}

/// Where a change is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Storage {
    Stored,
    /// The file cannot be written.
    Failed,
    /// The bridge has no state folder.
    Absent,
    /// The directory of the other bridges cannot be written.
    Unpublished,
}

impl StoredDenials {
    /// Adds the denials of the folder to the list.
    ///
    /// # Errors
    ///
    /// [`DenialsError`] when they cannot be read.
    pub(crate) fn load(
        list: &Arc<DenyList>,
        folder: Option<&StateFolder>,
    ) -> Result<Self, DenialsError> {
        let file = folder.map(|folder| folder.file(DENIALS_FILE));
        if let Some(file) = &file {
            list.load_lines(&file.load()?).map_err(DenialsError::Line)?;
        }
        Ok(Self {
            list: Arc::clone(list),
            file,
            changing: Mutex::default(),
        })
    }

    /// Checks that the denials of a folder can be loaded.
    ///
    /// # Errors
    ///
    /// [`DenialsError`] when they cannot be read.
    pub(crate) fn check(folder: &Path) -> Result<(), DenialsError> {
        let lines = StateFolder::read(folder, DENIALS_FILE)?;
        let loaded = DenyList::default().load_lines(&lines);
        loaded.map_err(DenialsError::Line)
    }

    pub(super) fn list(&self) -> &DenyList {
        &self.list
    }

    /// Changes the list, and writes it to the disk, for which it waits.
    pub(super) fn change<T>(&self, change: impl FnOnce(&DenyList) -> T) -> (T, Storage) {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = change(&self.list);
        let storage = match &self.file {
            None => Storage::Absent,
            Some(file) if file.replace(&self.list.to_lines()) => Storage::Stored,
            Some(_) => Storage::Failed,
        };
        (outcome, storage)
    }
}

impl Storage {
    /// Returns the warning for the operator.
    pub(super) fn warning(self) -> Option<&'static str> {
        match self {
            Self::Stored => None,
            Self::Failed => Some(
                "This does not survive a restart, because `state_dir` cannot be written: see the log.",
            ),
            Self::Absent => Some("This does not survive a restart: set `state_dir`."),
            Self::Unpublished => Some(
                "The other bridges apply this as soon as this one reaches NATS: do not restart it before, and \
                 see the log.",
            ),
        }
    }
}
