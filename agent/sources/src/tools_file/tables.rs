//! The tables of the file, with the place of what is wrong in them.

use std::borrow::Cow;
use std::ops::Range;

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Error, ValueDeserializer};

/// An error in the file, and the byte at which it is. It quotes no value that may be a secret.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TableError {
    pub(super) offset: Option<usize>,
    pub(super) problem: String,
}

impl TableError {
    pub(super) fn new(span: Range<usize>, problem: impl Into<String>) -> Self {
        Self {
            offset: Some(span.start),
            problem: problem.into(),
        }
    }

    /// Adds the source or profile that has the problem.
    pub(super) fn of(self, owner: &str) -> Self {
        Self {
            problem: format!("{owner}: {}", self.problem),
            ..self
        }
    }
}

/// A table or a value, with its name and the place of that name.
pub(super) struct NamedTable<'a> {
    pub(super) name: String,
    pub(super) span: Range<usize>,
    pub(super) value: Spanned<DeValue<'a>>,
}

/// Parses a text, and returns its tables in the order of the file.
pub(super) fn parse_document(text: &str) -> Result<Vec<NamedTable<'_>>, TableError> {
    let document = DeTable::parse(text).map_err(|error| TableError {
        offset: error.span().map(|span| span.start),
        problem: error.message().to_owned(),
    })?;
    Ok(in_file_order(document.into_inner()))
}

/// Returns the tables below a name, such as `sources`, in the order of the file.
pub(super) fn children(table: NamedTable<'_>) -> Result<Vec<NamedTable<'_>>, TableError> {
    match table.value.into_inner() {
        DeValue::Table(tables) => Ok(in_file_order(tables)),
        _ => {
            let name = table.name;
            let problem = format!("`{name}` must be a table: write [{name}.NAME]");
            Err(TableError::new(table.span, problem))
        }
    }
}

fn in_file_order(tables: DeTable<'_>) -> Vec<NamedTable<'_>> {
    let tables = tables.into_iter().map(|(key, value)| NamedTable {
        span: key.span(),
        name: key.into_inner().into_owned(),
        value,
    });
    let mut tables: Vec<_> = tables.collect();
    tables.sort_by_key(|table| table.span.start);
    tables
}

/// Removes a key from a table, and returns its value.
pub(super) fn remove<'a>(
    table: &mut Spanned<DeValue<'a>>,
    key: &str,
) -> Option<Spanned<DeValue<'a>>> {
    match table.get_mut() {
        DeValue::Table(entries) => entries.remove(key),
        _ => None,
    }
}

/// Reads settings from a table. The error names the key.
pub(super) fn parse_settings<T: DeserializeOwned>(
    table: Spanned<DeValue<'_>>,
) -> Result<T, TableError> {
    let span = table.span();
    T::deserialize(ValueDeserializer::from(table.clone()))
        .map_err(|error| settings_error(&table, span, &error))
}

fn settings_error(
    table: &Spanned<DeValue<'_>>,
    table_span: Range<usize>,
    error: &Error,
) -> TableError {
    let span = error.span().unwrap_or(table_span);
    let problem = without_value(error.message());
    let key = table.as_ref().as_table();
    let key = key.and_then(|entries| key_at(entries, span.start));
    let problem = match key {
        // Most of our own errors name it already, and those about unknown keys as well.
        Some(key) if !problem.contains(&format!("`{key}`")) => format!("`{key}`: {problem}"),
        _ => problem.into_owned(),
    };
    TableError::new(span, problem)
}

/// Returns the key of the table whose value is at this place, also if it is deeper in that value.
fn key_at<'a>(entries: &'a DeTable<'_>, offset: usize) -> Option<&'a str> {
    let is_there = |key: &Spanned<_>, value: &Spanned<DeValue<'_>>| {
        key.span().contains(&offset)
            || value.span().contains(&offset)
            // The keys of a table may be on lines that are not within its own place.
            || value.as_ref().as_table().is_some_and(|it| key_at(it, offset).is_some())
    };
    let found = entries.iter().find(|(key, value)| is_there(key, value));
    found.map(|(key, _)| key.get_ref().as_ref())
}

/// Replaces the message of serde about a wrong type, which quotes the value.
fn without_value(message: &str) -> Cow<'_, str> {
    let is_about_value = ["invalid type: ", "invalid value: ", "invalid length: "]
        .iter()
        .any(|start| message.starts_with(start));
    match message.rsplit_once(", expected ") {
        Some((_, expected)) if is_about_value => {
            format!("it must be {}", expected_words(expected)).into()
        }
        _ if is_about_value => "its value cannot be used".into(),
        _ => message.into(),
    }
}

/// Returns the words of TOML for what serde expects.
fn expected_words(expected: &str) -> &str {
    match expected {
        "a boolean" => "true or false",
        "a map" => "a table, such as { name = \"value\" }",
        "a sequence" => "a list, such as [\"value\"]",
        "usize" | "u32" | "u64" => "a whole number",
        "a string" => "a string in quotes",
        expected if expected.starts_with("struct ") => "a table",
        expected => expected,
    }
}
