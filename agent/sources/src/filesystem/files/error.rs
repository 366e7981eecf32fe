//! Why a file could not be read, listed or written, in words for a model.

use std::io::{self, ErrorKind};

use super::given_path::GivenPath;
use super::limits::MAX_FILE_BYTES;

/// Why a file could not be read, listed or written. Its text never has a path of the host.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    #[error(
        "the path {0} is not valid: {1}; write it as <root>/<path>, such as notes/today.md, and list the path \"\" for the roots"
    )]
    InvalidPath(GivenPath, &'static str),
    #[error("the path {path} begins with no root: begin it with one of {roots}")]
    UnknownRoot { path: GivenPath, roots: String },
    #[error("nothing exists at {0}: list its directory for the names in it")]
    NotFound(GivenPath),
    #[error(
        "the directory of {0} does not exist, and this tool creates none: write to a directory that exists"
    )]
    NoParent(GivenPath),
    #[error("{0} is the path of a directory: list it, or give the path of a file")]
    IsDirectory(GivenPath),
    #[error(
        "{0} is not a directory, or a part of its path is not: read it as a file, or give the path of a directory"
    )]
    NotADirectory(GivenPath),
    #[error("{0} is neither a file nor a directory: only regular files can be used")]
    NotRegular(GivenPath),
    #[error("{0} is a link, which is not replaced: write to the file that it names")]
    IsLink(GivenPath),
    #[error("{0} leads out of its root, through a link: use a path that stays in the root")]
    LeavesRoot(GivenPath),
    #[error(
        "the permissions of {0} do not allow this: use another path, or ask the person to change them"
    )]
    Denied(GivenPath),
    #[error(
        "nothing was written to {0}: the files can only be read; give the content to the person instead"
    )]
    ReadOnly(GivenPath),
    #[error(
        "the file {0} is larger than {MAX_FILE_BYTES} bytes and cannot be read: use a smaller file"
    )]
    FileTooLarge(GivenPath),
    #[error(
        "the content for {0} has {1} bytes, but at most {MAX_FILE_BYTES} can be written: write less, or several files"
    )]
    ContentTooLarge(GivenPath, usize),
    #[error("{path} cannot be used: {error}; retry once, then tell the person")]
    Failed { path: GivenPath, error: io::Error },
}

impl FileError {
    pub(super) fn unknown_root<'a>(
        path: GivenPath,
        roots: impl Iterator<Item = &'a String>,
    ) -> Self {
        Self::UnknownRoot {
            path,
            roots: roots.map(String::as_str).collect::<Vec<_>>().join(", "),
        }
    }

    /// Converts an error of the operating system or of `cap-std`, whose texts have no paths.
    pub(super) fn from_io(error: io::Error, path: GivenPath) -> Self {
        match error.kind() {
            ErrorKind::NotFound => Self::NotFound(path),
            ErrorKind::NotADirectory => Self::NotADirectory(path),
            ErrorKind::IsADirectory => Self::IsDirectory(path),
            // The operating system did not refuse it, so that cap-std did, which has no other reason.
            ErrorKind::PermissionDenied if error.raw_os_error().is_none() => Self::LeavesRoot(path),
            ErrorKind::PermissionDenied => Self::Denied(path),
            _ => Self::Failed { path, error },
        }
    }
}
