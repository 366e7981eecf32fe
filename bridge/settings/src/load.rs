//! Loading of the settings. A flag takes precedence over its environment variable, that over the
//! file, and that over the default.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{ArgMatches, Command};

use crate::error::SettingsFileError;
use crate::file::{ConfigFile, FileTables};
use crate::setting::{Setting, arg_for_value, redact_secret, settings};

/// The settings of a program, and the source of each.
#[derive(Debug)]
pub struct LoadedSettings<T = ()> {
    pub(crate) command: Command,
    /// The values of all arguments. Those of the file are among them as defaults.
    pub matches: ArgMatches,
    pub(crate) file: Option<ConfigFile<T>>,
}

/// Why the settings cannot be loaded.
#[derive(Debug)]
pub enum LoadError {
    /// A flag or variable is invalid, or help was requested.
    Arguments(clap::Error),
    /// The file is invalid.
    File(SettingsFileError),
}

/// The source of the value of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SettingSource {
    Flag,
    EnvVar,
    File,
    Default,
}

impl<T: FileTables> LoadedSettings<T> {
    /// Loads the arguments, the environment, and the file that one of them names.
    ///
    /// # Errors
    ///
    /// When a value is invalid, when the file is, or when help was requested. No error contains a
    /// secret.
    pub fn load(
        command: Command,
        arguments: impl IntoIterator<Item = OsString>,
    ) -> Result<Self, LoadError> {
        let arguments: Vec<OsString> = arguments.into_iter().collect();
        let matches = parse_arguments(&command, &arguments)?;
        let path = matches.get_one::<PathBuf>("config");
        let file = path
            .map(|path| ConfigFile::load(path, &command))
            .transpose();
        let Some(file) = file.map_err(LoadError::File)? else {
            return Ok(Self {
                command,
                matches,
                file: None,
            });
        };
        let matches = parse_arguments(
            &with_file_defaults(&file, command.clone(), &matches),
            &arguments,
        )?;
        Ok(Self {
            command,
            matches,
            file: Some(file),
        })
    }

    /// Returns the tables of the file, if there is one.
    pub fn tables(&self) -> Option<&T> {
        self.file.as_ref().map(ConfigFile::tables)
    }

    /// The source of the value of a setting.
    pub(crate) fn source(&self, key: Setting<'_>) -> SettingSource {
        match self.matches.value_source(key.name()) {
            Some(ValueSource::CommandLine) => SettingSource::Flag,
            Some(ValueSource::EnvVariable) => SettingSource::EnvVar,
            _ => match &self.file {
                Some(file) if file.get(key.name()).is_some() => SettingSource::File,
                _ => SettingSource::Default,
            },
        }
    }
}

fn parse_arguments(command: &Command, arguments: &[OsString]) -> Result<ArgMatches, LoadError> {
    let parsed = command.clone().try_get_matches_from(arguments);
    parsed.map_err(|mut error| {
        redact_secret(&mut error, command);
        LoadError::Arguments(error)
    })
}

/// The command with the values of the file as defaults, except for settings that have a flag or
/// variable. As defaults, the values go through the parsers of their flags.
fn with_file_defaults<T: FileTables>(
    file: &ConfigFile<T>,
    mut command: Command,
    matches: &ArgMatches,
) -> Command {
    let names: Vec<String> = settings(&command)
        .map(|key| key.name().to_owned())
        .collect();
    for name in names {
        let source = matches.value_source(&name);
        if matches!(
            source,
            Some(ValueSource::CommandLine | ValueSource::EnvVariable)
        ) {
            continue;
        }
        if let Some(value) = file.get(&name) {
            command = command.mut_arg(&name, |arg| {
                arg_for_value(arg, value).default_values(value.entries().to_vec())
            });
        }
    }
    command
}
