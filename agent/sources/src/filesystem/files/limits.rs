//! The limits of files.

/// The maximum size of a file that is read or written, in bytes: more than a model can use at once.
pub(super) const MAX_FILE_BYTES: usize = 1024 * 1024;
