//! The limits of stored secrets.

use super::error::SecretsError;

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

/// Returns whether a text can be the name of a secret.
pub(super) fn is_valid_name(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    (1..=MAX_NAME_CHARS).contains(&name.len()) && name.bytes().all(is_allowed)
}

/// Returns whether a text can be the id of a user. An empty one is that of all users whom the bridge
/// has not identified, and these have no secrets of their own.
pub(super) fn is_valid_user(user: &str) -> bool {
    (1..=MAX_USER_BYTES).contains(&user.len())
}

/// Checks the name of a secret and the id of its user. The error quotes neither: who confuses the
/// arguments of a command has written a value there.
pub(super) fn check_owner(name: &str, user: Option<&str>) -> Result<(), SecretsError> {
    if !is_valid_name(name) {
        return Err(SecretsError::InvalidName);
    }
    if !user.is_none_or(is_valid_user) {
        return Err(SecretsError::InvalidUser);
    }
    Ok(())
}

/// Checks the value of a secret.
pub(super) fn check_value(value: &str) -> Result<(), SecretsError> {
    let problem = match value.len() {
        0 => "is empty",
        MAX_SECRET_BYTES.. if value.len() > MAX_SECRET_BYTES => "is too large",
        _ if value.contains('\0') => "has a NUL character",
        _ => return Ok(()),
    };
    Err(SecretsError::InvalidValue(problem))
}
