//! Where settings come from: a flag wins over its variable, that over the file, that over the
//! default.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{ArgMatches, Command};

use super::error::FileError;
use super::file::ConfigFile;
use super::profiles::Profiles;
use super::settings;
use crate::config::settings::Setting;

/// The settings of a program, with where each came from.
#[derive(Debug)]
pub(crate) struct LoadedSettings {
    pub(super) command: Command,
    pub(crate) matches: ArgMatches,
    pub(super) file: Option<ConfigFile>,
}

/// Why settings cannot be read.
#[derive(Debug)]
pub(crate) enum LoadError {
    /// A flag or a variable is wrong, or help was asked for.
    Arguments(clap::Error),
    File(FileError),
}

/// Where the value of a setting came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SettingSource {
    Flag,
    EnvVar,
    File,
    Default,
}

impl LoadedSettings {
    /// Reads the arguments, the environment, and the file that one of them names.
    pub(crate) fn load(
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
            let (matches, file) = (matches, None);
            return Ok(Self {
                command,
                matches,
                file,
            });
        };
        let matches = parse_arguments(
            &with_file_defaults(&file, command.clone(), &matches),
            &arguments,
        )?;
        let file = Some(file);
        Ok(Self {
            command,
            matches,
            file,
        })
    }

    /// What each AI client can take.
    pub(crate) fn profiles(&self) -> Profiles {
        let file = self.file.as_ref();
        Profiles::new(file.map_or_else(Vec::new, |file| file.clients.clone()))
    }

    pub(super) fn source(&self, key: Setting<'_>) -> SettingSource {
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
        settings::redact_secret(&mut error, command);
        LoadError::Arguments(error)
    })
}

/// The program with what the file says as the defaults of what nothing else says: so each value
/// goes through the parser of its flag.
fn with_file_defaults(file: &ConfigFile, mut command: Command, said: &ArgMatches) -> Command {
    let names: Vec<String> = settings::settings(&command)
        .map(|key| key.name().to_owned())
        .collect();
    for name in names {
        let said = said.value_source(&name);
        if matches!(
            said,
            Some(ValueSource::CommandLine | ValueSource::EnvVariable)
        ) {
            continue;
        }
        if let Some(given) = file.get(&name) {
            command = command.mut_arg(&name, |arg| {
                settings::arg_for_value(arg, given).default_values(given.entries().to_vec())
            });
        }
    }
    command
}
