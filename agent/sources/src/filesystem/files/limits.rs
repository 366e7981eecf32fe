//! The limits of files and paths.

/// The maximum size of a file that is read or written, in bytes: more than a model can use at once.
pub(super) const MAX_FILE_BYTES: usize = 1024 * 1024;

/// The maximum number of entries of a directory that are listed: about 50 kB for a model.
pub(crate) const MAX_ENTRIES: usize = 1000;

/// The maximum length of a path, in bytes: that of Linux.
pub(super) const MAX_PATH_BYTES: usize = 4096;

/// The maximum length of the name of a root, in bytes.
pub(super) const MAX_ROOT_NAME_BYTES: usize = 32;

/// The maximum length of a path in an error, in characters.
pub(super) const MAX_GIVEN_CHARS: usize = 200;
