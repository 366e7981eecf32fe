//! The values of a configuration file as the text for their flags, and the messages for invalid
//! ones.

use toml::Spanned;
use toml::de::DeValue;

use crate::error::LocatedError;
use crate::setting::{Setting, SettingKind, SettingValue};

/// The value for the flag, if the flag accepts it.
pub(crate) fn checked_value(
    setting: Setting<'_>,
    value: &Spanned<DeValue<'_>>,
) -> Result<SettingValue, LocatedError> {
    let parsed = setting_value(setting, value)?;
    setting.validate(&parsed).map_err(|allowed| LocatedError {
        offset: value.span().start,
        problem: invalid_value_message(setting, value.get_ref(), &allowed),
    })?;
    Ok(parsed)
}

/// The value for the flag, if it has the right type.
fn setting_value(
    key: Setting<'_>,
    value: &Spanned<DeValue<'_>>,
) -> Result<SettingValue, LocatedError> {
    match (key.kind(), value.get_ref()) {
        (SettingKind::List, DeValue::Array(entries)) => {
            let entries = entries.iter();
            let texts = entries.map(|entry| flag_text(key.name(), SettingKind::List, entry));
            Ok(SettingValue::List(texts.collect::<Result<_, _>>()?))
        }
        (kind, _) => flag_text(key.name(), kind, value).map(SettingValue::Text),
    }
}

/// Returns a TOML value as the text for its flag. Numbers may be in quotes, like all values of
/// flags.
///
/// # Errors
///
/// When the value has another type than this kind of setting.
pub fn flag_text(
    name: &str,
    kind: SettingKind,
    value: &Spanned<DeValue<'_>>,
) -> Result<String, LocatedError> {
    match (kind, value.get_ref()) {
        (SettingKind::Switch, DeValue::Boolean(on)) => Ok(on.to_string()),
        (SettingKind::Decimal, DeValue::Float(number)) => Ok(number.to_string()),
        (SettingKind::Number | SettingKind::Decimal, DeValue::Integer(number)) => {
            let digits = i128::from_str_radix(number.as_str(), number.radix());
            Ok(digits.map_or_else(|_| number.to_string(), |digits| digits.to_string()))
        }
        (
            SettingKind::Number
            | SettingKind::Decimal
            | SettingKind::Time
            | SettingKind::Text
            | SettingKind::List,
            DeValue::String(text),
        ) => Ok(text.clone().into_owned()),
        _ => Err(type_error(name, kind, value)),
    }
}

fn type_error(name: &str, kind: SettingKind, value: &Spanned<DeValue<'_>>) -> LocatedError {
    let found = value.get_ref().type_str();
    LocatedError {
        offset: value.span().start,
        problem: format!(
            "`{name}` cannot be of type {found}: {}",
            kind.allowed_values()
        ),
    }
}

/// The message for a value that the flag does not accept.
fn invalid_value_message(key: Setting<'_>, value: &DeValue<'_>, allowed: &str) -> String {
    let name = key.name();
    match value {
        _ if key.is_secret() => format!("`{name}` has a wrong value: {allowed}"),
        DeValue::String(text) => format!("`{name}` cannot be {text:?}: {allowed}"),
        DeValue::Float(number) => format!("`{name}` cannot be {number}: {allowed}"),
        DeValue::Integer(number) => format!("`{name}` cannot be {number}: {allowed}"),
        _ => format!("`{name}` has a wrong value: {allowed}"),
    }
}
