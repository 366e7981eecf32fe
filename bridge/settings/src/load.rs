//! Loading of the settings. A flag takes precedence over its environment variable, that over the
//! file, and that over the default.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{ArgMatches, Command};

use crate::error::SettingsFileError;
use crate::file::{ConfigFile, FileTables};
use crate::setting::{Setting, redact_secret, settings, with_default};

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

/// The error in one line, for a program that is running.
impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::Arguments(error) => {
                let text = error.to_string();
                f.write_str(text.lines().next().unwrap_or_default())
            }
            LoadError::File(error) => error.fmt(f),
        }
    }
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
        let with_defaults = with_file_defaults(&file, command.clone(), &matches);
        let matches = parse_arguments(&with_defaults, &arguments)?;
        Ok(Self {
            command,
            matches,
            file: Some(file),
        })
    }

    /// Returns the names of the settings whose values differ from those of an earlier load of the same
    /// program. Tables are not compared.
    pub fn changed_settings(&self, former: &Self) -> Vec<String> {
        let values = |loaded: &Self, name: &str| {
            let values = loaded.matches.get_raw(name)?;
            Some(values.map(ToOwned::to_owned).collect::<Vec<OsString>>())
        };
        let names = settings(&self.command).map(Setting::name);
        let changed = names.filter(|name| values(self, name) != values(former, name));
        changed.map(str::to_owned).collect()
    }

    /// Returns the path of the configuration file, if there is one.
    pub fn file_path(&self) -> Option<PathBuf> {
        self.file.as_ref().map(|file| file.path.clone())
    }

    /// Returns the tables of the file, if there is one.
    pub fn tables(&self) -> Option<&T> {
        self.file.as_ref().map(ConfigFile::tables)
    }

    /// Whether the file sets a secret, apart from its tables.
    pub fn has_secrets_in_file(&self) -> bool {
        let is_in_file = |name| {
            self.file
                .as_ref()
                .is_some_and(|file| file.get(name).is_some())
        };
        settings(&self.command).any(|key| key.is_secret() && is_in_file(key.name()))
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
            command = with_default(command, &name, value);
        }
    }
    command
}
