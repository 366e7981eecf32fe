//! Loading of a configuration file: TOML with settings under the names of their flags.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Command;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::{LocatedError, SettingsFileError, unknown_key_message};
use crate::setting::{Setting, SettingValue, settings};
use crate::toml_values::checked_value;

/// The tables that a program has in its file besides settings. `()` means none, and a pair means two
/// kinds of tables.
pub trait FileTables: Default {
    /// The key of the tables, if there are any.
    const KEY: Option<&'static str>;

    /// The keys of all kinds of tables.
    fn keys() -> Vec<&'static str> {
        Self::KEY.into_iter().collect()
    }

    /// Parses the value of one of the keys.
    ///
    /// # Errors
    ///
    /// When the value is invalid.
    fn insert(&mut self, _key: &str, value: &Spanned<DeValue<'_>>) -> Result<(), LocatedError> {
        *self = Self::parse(value)?;
        Ok(())
    }

    /// Parses the value of [`FileTables::KEY`].
    ///
    /// # Errors
    ///
    /// When the value is invalid.
    fn parse(value: &Spanned<DeValue<'_>>) -> Result<Self, LocatedError>;
}

impl FileTables for () {
    const KEY: Option<&'static str> = None;

    fn parse(_value: &Spanned<DeValue<'_>>) -> Result<Self, LocatedError> {
        Ok(())
    }
}

impl<A: FileTables, B: FileTables> FileTables for (A, B) {
    const KEY: Option<&'static str> = None;

    fn keys() -> Vec<&'static str> {
        [A::keys(), B::keys()].concat()
    }

    fn insert(&mut self, key: &str, value: &Spanned<DeValue<'_>>) -> Result<(), LocatedError> {
        if A::keys().contains(&key) {
            self.0.insert(key, value)
        } else {
            self.1.insert(key, value)
        }
    }

    fn parse(_value: &Spanned<DeValue<'_>>) -> Result<Self, LocatedError> {
        Ok(Self::default())
    }
}

/// The settings and tables of a configuration file.
#[derive(Debug)]
pub struct ConfigFile<T> {
    pub(crate) path: PathBuf,
    settings: BTreeMap<String, SettingValue>,
    tables: T,
}

impl<T: FileTables> ConfigFile<T> {
    /// Loads the file for a program with these flags.
    pub(crate) fn load(path: &Path, command: &Command) -> Result<Self, SettingsFileError> {
        let text = std::fs::read_to_string(path).map_err(|error| SettingsFileError {
            path: path.to_owned(),
            line: None,
            problem: format!("the configuration file cannot be read: {error}"),
        })?;
        Self::parse(path, &text, command)
    }

    /// Parses the text of a file for a program with these flags. The path is for error messages.
    ///
    /// # Errors
    ///
    /// When the text is not TOML, or when it has an unknown key or an invalid value.
    pub fn parse(path: &Path, text: &str, command: &Command) -> Result<Self, SettingsFileError> {
        let file_error = |error: LocatedError| SettingsFileError {
            path: path.to_owned(),
            line: Some(line_number(text, error.offset)),
            problem: error.problem,
        };
        let mut file = ConfigFile {
            path: path.to_owned(),
            settings: BTreeMap::new(),
            tables: T::default(),
        };
        for (key, value) in parse_entries(text).map_err(file_error)? {
            file.insert_entry(&key, &value, command)
                .map_err(file_error)?;
        }
        Ok(file)
    }

    fn insert_entry(
        &mut self,
        key: &Spanned<Cow<'_, str>>,
        value: &Spanned<DeValue<'_>>,
        command: &Command,
    ) -> Result<(), LocatedError> {
        let name: &str = key.get_ref();
        let table_keys = T::keys();
        if table_keys.contains(&name) {
            return self.tables.insert(name, value);
        }
        let Some(setting) = settings(command).find(|setting| setting.name() == name) else {
            let known = settings(command).map(Setting::name);
            let known = known.chain(table_keys.iter().copied());
            // The message encloses the text in brackets.
            let tables = table_keys.join("]] and [[");
            let tables = (!tables.is_empty()).then_some(tables.as_str());
            return Err(LocatedError {
                offset: key.span().start,
                problem: unknown_key_message(name, known, value.get_ref(), tables),
            });
        };
        let parsed = checked_value(setting, value)?;
        self.settings.insert(name.to_owned(), parsed);
        Ok(())
    }

    /// Returns the value of a setting in the file.
    pub fn get(&self, name: &str) -> Option<&SettingValue> {
        self.settings.get(name)
    }

    /// Returns the tables of the file.
    pub fn tables(&self) -> &T {
        &self.tables
    }
}

type TableEntries<'a> = Vec<(Spanned<Cow<'a, str>>, Spanned<DeValue<'a>>)>;

/// Returns the keys of the file with their values, in the order of the file.
fn parse_entries(text: &str) -> Result<TableEntries<'_>, LocatedError> {
    let table = DeTable::parse(text).map_err(|error| LocatedError {
        offset: error.span().map_or(0, |span| span.start),
        // Only the message: the full error quotes the line, which may contain a secret.
        problem: format!("this is not TOML: {}", error.message()),
    })?;
    let mut entries: Vec<_> = table.into_inner().into_iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    Ok(entries)
}

fn line_number(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().iter().take(offset);
    before.filter(|byte| **byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use clap::{Arg, ArgAction};

    use super::*;

    #[test]
    fn a_setting_that_conflicts_with_another_may_be_in_the_file() {
        let command = Command::new("program").args([
            Arg::new("token").long("token").env("PROGRAM_TOKEN"),
            Arg::new("token_file")
                .long("token-file")
                .conflicts_with("token"),
            Arg::new("hosts")
                .long("hosts")
                .action(ArgAction::Append)
                .value_delimiter(',')
                .required(true),
        ]);
        let text = "token_file = \"/a,b\"\nhosts = [\"a\", \"b\"]";
        let file = ConfigFile::<()>::parse(Path::new("program.toml"), text, &command).unwrap();
        let entries = |name| file.get(name).unwrap().entries();
        assert_eq!(entries("token_file"), ["/a,b"]);
        assert_eq!(entries("hosts"), ["a", "b"]);
        let error = ConfigFile::<()>::parse(Path::new("program.toml"), "[hosts_]", &command);
        let error = error.unwrap_err().to_string();
        assert!(error.contains("this file has no tables"), "{error}");
    }
}
