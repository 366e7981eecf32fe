//! Why stored secrets cannot be used or changed. No message has a value or a key.

use std::io;
use std::path::PathBuf;

use super::limits::{
    MAX_FILE_BYTES, MAX_NAME_CHARS, MAX_SECRET_BYTES, MAX_SECRETS, MAX_USER_BYTES,
};
use super::master_key::{KeyId, MasterKeyError};
use super::private_file::PrivateFileError;

/// Why stored secrets cannot be used or changed.
#[derive(Debug, thiserror::Error)]
pub enum SecretsError {
    /// The file cannot be read, locked or replaced.
    #[error(transparent)]
    File(#[from] PrivateFileError),
    /// No usable master key was found.
    #[error(transparent)]
    Key(#[from] MasterKeyError),
    /// The file is not one that this module has written. The problem quotes nothing of it.
    #[error(
        "{path} is not a file of secrets, or is incomplete: {problem}. Use a copy of the file, or \
         remove it and set the secrets again", path = .0.display(), problem = .1
    )]
    Malformed(PathBuf, String),
    /// A newer agent has written the file.
    #[error(
        "{path} has the format {format}, which this agent does not know: use the agent that wrote it, \
         or a newer one", path = .0.display(), format = .1
    )]
    UnknownFormat(PathBuf, u32),
    /// The file is encrypted under another master key.
    #[error(
        "{path} is encrypted under the master key with the id {file_key}, and the given key has the \
         id {given_key}: use the key with which the secrets were set", path = path.display()
    )]
    OtherKey {
        /// The path of the file.
        path: PathBuf,
        /// The id of the key that the file needs.
        file_key: KeyId,
        /// The id of the key that was given.
        given_key: KeyId,
    },
    /// The file is encrypted under this master key, and another program has changed it since.
    #[error(
        "{} was changed by another program, so nothing in it can be trusted: use a \
         copy of the file, or remove it and set the secrets again", .0.display()
    )]
    Changed(PathBuf),
    /// The file has [`MAX_SECRETS`] secrets already.
    #[error("{} has {MAX_SECRETS} secrets, which is the maximum: remove one first", .0.display())]
    TooManySecrets(PathBuf),
    /// The file would be larger than [`MAX_FILE_BYTES`].
    #[error(
        "{} would be larger than {MAX_FILE_BYTES} bytes, which is the maximum: remove secrets that \
         are not needed", .0.display()
    )]
    FileFull(PathBuf),
    /// The name of a secret is invalid.
    #[error(
        "the name of a secret must have 1 to {MAX_NAME_CHARS} characters, which are letters, digits, \
         `_`, `.` and `-`"
    )]
    InvalidName,
    /// The id of a user is invalid.
    #[error("the id of a user must have 1 to {MAX_USER_BYTES} bytes")]
    InvalidUser,
    /// The value of a secret is invalid. The field says why, as the end of a sentence.
    #[error(
        "the value of the secret {0}: it must have 1 to {MAX_SECRET_BYTES} bytes of UTF-8 without NUL"
    )]
    InvalidValue(&'static str),
    /// The value of a secret cannot be read from stdin.
    #[error("the value of the secret cannot be read from stdin: {0}")]
    UnreadableValue(io::Error),
    /// The secret to remove does not exist.
    #[error("there is no such secret in {}: `secrets list` has their names and users", .0.display())]
    Missing(PathBuf),
    /// The new master key is the current one.
    #[error(
        "the new master key has the id {0}, which is that of the current one: generate another key"
    )]
    SameKey(KeyId),
    /// The operating system has no random bytes.
    #[error("nothing can be encrypted, because this system has no random bytes: {0}")]
    NoRandomness(io::Error),
}
