//! The client profiles of a configuration file: a table `[[clients]]` for each.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::file::Wrong;
use super::keys::Kind;
use super::profiles::{ClientProfile, Profile};
use super::text_limit::MIN_TEXT_CHARS;
use super::written::{unknown, written};
use super::{count, duration};

const KEYS: [&str; 5] = [
    "name",
    "max_result_bytes",
    "max_text_chars",
    "max_image_edge",
    "patience",
];

/// Reads the value of `clients`.
pub(super) fn read(value: &Spanned<DeValue<'_>>) -> Result<Vec<ClientProfile>, Wrong> {
    let no_tables = |value: &Spanned<DeValue<'_>>| {
        wrong(
            value,
            "`clients` must be tables: begin each with a line [[clients]]".to_owned(),
        )
    };
    let tables = value.get_ref().as_array().ok_or_else(|| no_tables(value))?;
    let clients = tables.iter().map(|table| {
        let fields = table.get_ref().as_table();
        client(table, fields.ok_or_else(|| no_tables(table))?)
    });
    clients.collect()
}

fn client(at: &Spanned<DeValue<'_>>, fields: &DeTable<'_>) -> Result<ClientProfile, Wrong> {
    let mut name = None;
    let mut profile = Profile::default();
    for (key, value) in fields {
        match key.get_ref().as_ref() {
            "name" => name = Some(field("name", Kind::Text, value, client_name)?),
            "max_result_bytes" => {
                let bytes = field("max_result_bytes", Kind::Number, value, count)?;
                profile.max_result_bytes = Some(bytes);
            }
            "max_text_chars" => {
                let chars = field("max_text_chars", Kind::Number, value, text_chars)?;
                profile.max_text_chars = Some(chars);
            }
            "max_image_edge" => {
                let pixels = field("max_image_edge", Kind::Number, value, edge)?;
                profile.max_image_edge = Some(pixels);
            }
            "patience" => {
                profile.patience = Some(field("patience", Kind::Time, value, duration)?);
            }
            other => {
                let problem = unknown(other, KEYS.into_iter(), value.get_ref());
                return Err(Wrong {
                    at: key.span().start,
                    problem: format!("in [[clients]]: {problem}"),
                });
            }
        }
    }
    let name = name.ok_or_else(|| wrong(at, "a client has no `name`: add one".to_owned()))?;
    Ok(ClientProfile { name, profile })
}

fn field<T>(
    name: &str,
    kind: Kind,
    value: &Spanned<DeValue<'_>>,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<T, Wrong> {
    let text = written(name, kind, value)?;
    parse(&text).map_err(|allowed| wrong(value, format!("`{name}` cannot be {text:?}: {allowed}")))
}

fn wrong(value: &Spanned<DeValue<'_>>, problem: String) -> Wrong {
    Wrong {
        at: value.span().start,
        problem,
    }
}

fn client_name(text: &str) -> Result<String, String> {
    match text {
        "" => {
            Err("allowed is the name in a client's clientInfo, or its beginning and *".to_owned())
        }
        name => Ok(name.to_owned()),
    }
}

fn text_chars(text: &str) -> Result<usize, String> {
    match count(text)? {
        chars if chars >= MIN_TEXT_CHARS => Ok(chars),
        _ => Err(format!(
            "allowed are whole numbers from {MIN_TEXT_CHARS} up"
        )),
    }
}

fn edge(text: &str) -> Result<u32, String> {
    let pixels = count(text)?;
    u32::try_from(pixels).map_err(|_| format!("allowed are 1 to {}", u32::MAX))
}
