//! Checks of the names, users and values of secrets.

use super::error::SecretsError;
use super::limits::{MAX_NAME_CHARS, MAX_SECRET_BYTES, MAX_USER_BYTES};

/// Returns whether a text can be the name of a secret.
pub(super) fn is_valid_name(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    (1..=MAX_NAME_CHARS).contains(&name.len()) && name.bytes().all(is_allowed)
}

/// Returns whether a text can be the id of a user. The empty id belongs to all users whom the
/// bridge has not identified, and they have no secrets.
pub(super) fn is_valid_user(user: &str) -> bool {
    (1..=MAX_USER_BYTES).contains(&user.len())
}

/// Checks the name of a secret and the id of its user. The error quotes neither: they may
/// be the value, if the arguments of a command were confused.
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
