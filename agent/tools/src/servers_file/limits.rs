//! The limits of the file and of what it refers to.

/// The maximum number of servers in a file. The tools of more of them would not fit into a prompt.
pub(crate) const MAX_SERVERS: usize = 64;

/// The maximum size of a file, in bytes.
pub(crate) const MAX_FILE_BYTES: usize = 1024 * 1024;

/// The maximum size of a file that `${file:…}` refers to, in bytes: more than any key or
/// certificate needs.
pub(crate) const MAX_SECRET_BYTES: usize = 64 * 1024;

/// The maximum length of a server's name. It is a part of the names of its tools, which models limit
/// to 64 characters.
pub(crate) const MAX_NAME_CHARS: usize = 32;
