//! Fields in which `null` is a value.

use serde::{Deserialize, Deserializer};

/// Deserializes a field so that `null` is `Some`: only an absent field is `None`. It also needs
/// `#[serde(default)]`.
///
/// # Errors
///
/// The error of the field itself.
pub fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    field: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(field).map(Some)
}
