//! A table of a configuration file whose keys are settings: several sets of values for the same flags.

use std::collections::BTreeMap;

use clap::{ArgMatches, Command};
use toml::de::DeTable;

use crate::error::{LocatedError, unknown_key_message};
use crate::print::table_line;
use crate::setting::{Setting, SettingValue, settings, with_default};
use crate::toml_values::checked_value;

/// The settings of one table. A key has the name of its flag and goes through its parser.
#[derive(Clone, Debug)]
pub struct SettingsTable {
    command: Command,
    given: BTreeMap<String, SettingValue>,
}

impl SettingsTable {
    /// Parses a table of those settings of a command that are allowed in it. Their environment
    /// variables do not apply to it. `key` is the key of the table.
    ///
    /// # Errors
    ///
    /// When the table has an unknown key or an invalid value. The error contains no secret.
    pub fn parse(
        key: &str,
        table: &DeTable<'_>,
        command: Command,
        is_allowed: impl Fn(&str) -> bool,
    ) -> Result<Self, LocatedError> {
        let command = command.mut_args(|arg| arg.env(None::<&'static str>));
        let mut given = BTreeMap::new();
        for (name, value) in table {
            let text: &str = name.get_ref();
            let allowed = || settings(&command).filter(|it| is_allowed(it.name()));
            let Some(setting) = allowed().find(|it| it.name() == text) else {
                let known = allowed().map(Setting::name);
                let problem = unknown_key_message(text, known, value.get_ref(), Some(key));
                return Err(LocatedError {
                    offset: name.span().start,
                    problem: format!("in [[{key}]]: {problem}"),
                });
            };
            given.insert(text.to_owned(), checked_value(setting, value)?);
        }
        Ok(Self { command, given })
    }

    /// The values of all settings, those that the table does not have with their defaults.
    ///
    /// # Errors
    ///
    /// When a required setting is missing.
    pub fn matches(&self) -> Result<ArgMatches, clap::Error> {
        let given = self.given.iter();
        let command = given.fold(self.command.clone(), |command, (name, value)| {
            with_default(command, name, value)
        });
        command.try_get_matches_from([self.command.get_name()])
    }

    /// The settings that the table has, as lines of TOML. Secrets are replaced by a comment.
    pub fn to_toml(&self) -> String {
        let given = settings(&self.command)
            .filter_map(|setting| Some((setting, self.given.get(setting.name())?)));
        given
            .map(|(setting, value)| table_line(setting, value) + "\n")
            .collect()
    }
}
