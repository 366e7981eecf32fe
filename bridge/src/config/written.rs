//! The values of a configuration file, as their flags would be given them, and what is said about
//! wrong ones.

use toml::Spanned;
use toml::de::DeValue;

use super::file::Wrong;
use super::keys::{Given, Key, Kind};

/// What the flag would be given, if the value has the right type.
pub(super) fn given(key: Key<'_>, value: &Spanned<DeValue<'_>>) -> Result<Given, Wrong> {
    match (key.kind(), value.get_ref()) {
        (Kind::List, DeValue::Array(entries)) => {
            let entries = entries.iter();
            let texts = entries.map(|entry| written(key.name(), Kind::List, entry));
            Ok(Given::Entries(texts.collect::<Result<_, _>>()?))
        }
        (kind, _) => written(key.name(), kind, value).map(Given::Text),
    }
}

/// A value as a flag has it. Numbers may be in quotes, as everything that a flag takes.
pub(super) fn written(
    name: &str,
    kind: Kind,
    value: &Spanned<DeValue<'_>>,
) -> Result<String, Wrong> {
    match (kind, value.get_ref()) {
        (Kind::Switch, DeValue::Boolean(on)) => Ok(on.to_string()),
        (Kind::Number, DeValue::Integer(number)) => {
            let digits = i128::from_str_radix(number.as_str(), number.radix());
            Ok(digits.map_or_else(|_| number.to_string(), |digits| digits.to_string()))
        }
        (Kind::Number | Kind::Time | Kind::Text | Kind::List, DeValue::String(text)) => {
            Ok(text.clone().into_owned())
        }
        _ => Err(wrong_type(name, kind, value)),
    }
}

fn wrong_type(name: &str, kind: Kind, value: &Spanned<DeValue<'_>>) -> Wrong {
    let found = value.get_ref().type_str();
    Wrong {
        at: value.span().start,
        problem: format!("`{name}` cannot be of type {found}: {}", kind.allowed()),
    }
}

pub(super) fn wrong_value(key: Key<'_>, value: &DeValue<'_>, allowed: &str) -> String {
    let name = key.name();
    match value {
        _ if key.is_secret() => format!("`{name}` has a wrong value: {allowed}"),
        DeValue::String(text) => format!("`{name}` cannot be {text:?}: {allowed}"),
        DeValue::Integer(number) => format!("`{name}` cannot be {number}: {allowed}"),
        _ => format!("`{name}` has a wrong value: {allowed}"),
    }
}

/// Says that a key means nothing, and which one may have been meant.
pub(super) fn unknown<'a>(
    name: &str,
    known: impl Iterator<Item = &'a str>,
    value: &DeValue<'_>,
) -> String {
    if value.is_table() {
        return format!(
            "`{name}` is not a setting: settings stand above all tables, and tables are [[clients]]"
        );
    }
    let as_key = name
        .trim_start_matches('-')
        .replace('-', "_")
        .to_lowercase();
    let likeness = |key: &str| strsim::jaro_winkler(&as_key, key);
    let nearest = known.max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    let nearest = nearest.unwrap_or_default();
    format!("`{name}` is not a setting: the nearest one is `{nearest}`")
}
