//! Where settings come from: a flag wins over its variable, that over the file, that over the
//! default.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{ArgMatches, Command};

use super::file::{File, FileError};
use super::keys::{self, Key};
use super::profiles::Profiles;

/// The settings of a program, with where each came from.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(super) command: Command,
    pub(crate) matches: ArgMatches,
    pub(super) file: Option<File>,
}

/// Why settings cannot be read.
#[derive(Debug)]
pub(crate) enum ReadingError {
    /// A flag or a variable is wrong, or help was asked for.
    Arguments(clap::Error),
    File(FileError),
}

/// Where the value of a setting came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Flag,
    Variable,
    File,
    Default,
}

impl Reading {
    /// Reads the arguments, the environment, and the file that one of them names.
    pub(crate) fn of(
        command: Command,
        arguments: impl IntoIterator<Item = OsString>,
    ) -> Result<Self, ReadingError> {
        let arguments: Vec<OsString> = arguments.into_iter().collect();
        let said = parse(&command, &arguments)?;
        let path = said.get_one::<PathBuf>("config");
        let file = path.map(|path| File::read(path, &command)).transpose();
        let Some(file) = file.map_err(ReadingError::File)? else {
            let (matches, file) = (said, None);
            return Ok(Self {
                command,
                matches,
                file,
            });
        };
        let matches = parse(&with_defaults_of(&file, command.clone(), &said), &arguments)?;
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

    pub(super) fn source(&self, key: Key<'_>) -> Source {
        match self.matches.value_source(key.name()) {
            Some(ValueSource::CommandLine) => Source::Flag,
            Some(ValueSource::EnvVariable) => Source::Variable,
            _ => match &self.file {
                Some(file) if file.get(key.name()).is_some() => Source::File,
                _ => Source::Default,
            },
        }
    }
}

fn parse(command: &Command, arguments: &[OsString]) -> Result<ArgMatches, ReadingError> {
    let parsed = command.clone().try_get_matches_from(arguments);
    parsed.map_err(|mut error| {
        keys::hide_secret(&mut error, command);
        ReadingError::Arguments(error)
    })
}

/// The program with what the file says as the defaults of what nothing else says: so each value
/// goes through the parser of its flag.
fn with_defaults_of(file: &File, mut command: Command, said: &ArgMatches) -> Command {
    let names: Vec<String> = keys::all(&command)
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
                keys::takes(arg, given).default_values(given.entries().to_vec())
            });
        }
    }
    command
}
