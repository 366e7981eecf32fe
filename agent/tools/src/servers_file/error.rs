//! The errors of loading, editing and saving the file. No message quotes a value of an entry, except
//! one of `x-policy`.

use std::io;
use std::path::PathBuf;

use super::limits::{MAX_FILE_BYTES, MAX_SERVERS};

/// An error in the file as a whole.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", path.display())]
pub struct ServersFileError {
    /// The path of the file.
    pub(crate) path: PathBuf,
    /// A description of the error, with a correction.
    pub(crate) problem: String,
}

/// Why a server cannot be added or removed.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// The name or the entry of the server is invalid. The field is the whole message.
    #[error("{0}")]
    Invalid(String),
    /// The file has a server of this name. The field names both.
    #[error("{0} exists already: remove it first, or choose another name")]
    Exists(String),
    /// The file has no server of this name. The field names both.
    #[error("{0} does not exist: write the name as in the file")]
    Missing(String),
    /// The file has [`MAX_SERVERS`] servers already.
    #[error("{} has {MAX_SERVERS} servers, which is the maximum: remove one first", .0.display())]
    TooManyServers(PathBuf),
}

/// Why a file cannot be saved. The file is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    /// Another program has changed, created or removed the file since it was loaded.
    #[error(
        "{} was changed by another program since it was loaded, and is left unchanged: load it and \
         make the change again", .0.display()
    )]
    Changed(PathBuf),
    /// The file would be larger than [`MAX_FILE_BYTES`].
    #[error(
        "{} would be larger than {MAX_FILE_BYTES} bytes, which is the maximum: remove what is not \
         needed", .0.display()
    )]
    TooLarge(PathBuf),
    /// The file, or a temporary file in its folder, cannot be written.
    #[error(
        "{path} cannot be replaced by a new file in its folder: {error}. The folder must exist, and \
         this program must be allowed to create files in it",
        path = .0.display(), error = .1
    )]
    Unwritable(PathBuf, io::Error),
}
