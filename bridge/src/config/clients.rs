//! The client profiles of a configuration file: a table `[[clients]]` for each.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::LocatedError;
use super::profiles::{ClientProfile, Profile};
use super::text_limit::MIN_TEXT_CHARS;
use crate::config::settings::SettingKind;
use crate::config::toml_values::{flag_text, unknown_key_message};
use bridge_service::values::{parse_count, parse_duration};

const PROFILE_KEYS: [&str; 5] = [
    "name",
    "max_result_bytes",
    "max_text_chars",
    "max_image_edge",
    "patience",
];

/// Parses the value of `clients`.
pub(super) fn parse_profiles(
    value: &Spanned<DeValue<'_>>,
) -> Result<Vec<ClientProfile>, LocatedError> {
    let no_tables = |value: &Spanned<DeValue<'_>>| {
        error_at(
            value,
            "`clients` must be tables: begin each with a line [[clients]]".to_owned(),
        )
    };
    let tables = value.get_ref().as_array().ok_or_else(|| no_tables(value))?;
    let clients = tables.iter().map(|table| {
        let fields = table.get_ref().as_table();
        parse_profile(table, fields.ok_or_else(|| no_tables(table))?)
    });
    clients.collect()
}

fn parse_profile(
    table: &Spanned<DeValue<'_>>,
    fields: &DeTable<'_>,
) -> Result<ClientProfile, LocatedError> {
    let mut name = None;
    let mut profile = Profile::default();
    for (key, value) in fields {
        match key.get_ref().as_ref() {
            "name" => {
                name = Some(parse_field(
                    "name",
                    SettingKind::Text,
                    value,
                    parse_client_name,
                )?)
            }
            "max_result_bytes" => {
                let bytes =
                    parse_field("max_result_bytes", SettingKind::Number, value, parse_count)?;
                profile.max_result_bytes = Some(bytes);
            }
            "max_text_chars" => {
                let chars = parse_field(
                    "max_text_chars",
                    SettingKind::Number,
                    value,
                    parse_text_chars,
                )?;
                profile.max_text_chars = Some(chars);
            }
            "max_image_edge" => {
                let pixels = parse_field(
                    "max_image_edge",
                    SettingKind::Number,
                    value,
                    parse_image_edge,
                )?;
                profile.max_image_edge = Some(pixels);
            }
            "patience" => {
                profile.patience = Some(parse_field(
                    "patience",
                    SettingKind::Time,
                    value,
                    parse_duration,
                )?);
            }
            other => {
                let problem = unknown_key_message(other, PROFILE_KEYS.into_iter(), value.get_ref());
                return Err(LocatedError {
                    offset: key.span().start,
                    problem: format!("in [[clients]]: {problem}"),
                });
            }
        }
    }
    let name = name.ok_or_else(|| error_at(table, "a client has no `name`: add one".to_owned()))?;
    Ok(ClientProfile { name, profile })
}

fn parse_field<T>(
    name: &str,
    kind: SettingKind,
    value: &Spanned<DeValue<'_>>,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<T, LocatedError> {
    let text = flag_text(name, kind, value)?;
    parse(&text)
        .map_err(|allowed| error_at(value, format!("`{name}` cannot be {text:?}: {allowed}")))
}

fn error_at(value: &Spanned<DeValue<'_>>, problem: String) -> LocatedError {
    LocatedError {
        offset: value.span().start,
        problem,
    }
}

fn parse_client_name(text: &str) -> Result<String, String> {
    match text {
        "" => {
            Err("allowed is the name in a client's clientInfo, or its beginning and *".to_owned())
        }
        name => Ok(name.to_owned()),
    }
}

fn parse_text_chars(text: &str) -> Result<usize, String> {
    match parse_count(text)? {
        chars if chars >= MIN_TEXT_CHARS => Ok(chars),
        _ => Err(format!(
            "allowed are whole numbers from {MIN_TEXT_CHARS} up"
        )),
    }
}

fn parse_image_edge(text: &str) -> Result<u32, String> {
    let pixels = parse_count(text)?;
    u32::try_from(pixels).map_err(|_| format!("allowed are 1 to {}", u32::MAX))
}
