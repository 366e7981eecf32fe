//! The limits of stored secrets.

/// The maximum number of secrets in a file.
pub(crate) const MAX_SECRETS: usize = 4096;

/// The maximum size of a secret, in bytes: more than any key or certificate needs.
pub(crate) const MAX_SECRET_BYTES: usize = 64 * 1024;

/// The maximum size of the file, in bytes: 3 kB for each of [`MAX_SECRETS`]. An agent that redacts
/// may need twenty times as much memory.
pub(crate) const MAX_FILE_BYTES: usize = 16 * 1024 * 1024;

/// The minimum size of a secret that is redacted, in bytes. A shorter one is a part of many texts
/// that have nothing to do with it.
pub(crate) const MIN_REDACTED_BYTES: usize = 8;

/// The maximum length of the name of a secret.
pub(super) const MAX_NAME_CHARS: usize = 64;

/// The maximum size of the id of a user, in bytes.
pub(super) const MAX_USER_BYTES: usize = 512;
