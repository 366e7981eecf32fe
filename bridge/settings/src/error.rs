//! The errors of a configuration file.

use std::fmt;
use std::path::PathBuf;

use toml::de::DeValue;

/// An error in a configuration file, with the file and the line. It never contains a secret.
#[derive(Debug, PartialEq, Eq)]
pub struct SettingsFileError {
    pub(crate) path: PathBuf,
    pub(crate) line: Option<usize>,
    pub(crate) problem: String,
}

impl fmt::Display for SettingsFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.problem)
    }
}

/// An error in the text of a configuration file, at a byte offset.
#[derive(Debug)]
pub struct LocatedError {
    /// The offset in the text of the file, in bytes.
    pub offset: usize,
    /// The error, and the allowed values.
    pub problem: String,
}

/// Returns the message for an unknown key, with the most similar known one. `tables` is the key of
/// the tables that the file may have.
pub fn unknown_key_message<'a>(
    name: &str,
    known: impl Iterator<Item = &'a str>,
    value: &DeValue<'_>,
    tables: Option<&str>,
) -> String {
    if value.is_table() {
        let tables = match tables {
            Some(key) => format!("settings stand above all tables, and tables are [[{key}]]"),
            None => "settings stand above all tables, and this file has no tables".to_owned(),
        };
        return format!("`{name}` is not a setting: {tables}");
    }
    let as_key = name
        .trim_start_matches('-')
        .replace('-', "_")
        .to_lowercase();
    let similarity = |key: &str| strsim::jaro_winkler(&as_key, key);
    let nearest = known.max_by(|a, b| similarity(a).total_cmp(&similarity(b)));
    let nearest = nearest.unwrap_or_default();
    format!("`{name}` is not a setting: the nearest one is `{nearest}`")
}
