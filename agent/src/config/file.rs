//! Loads a configuration file: TOML with the settings under the names of their flags. A flag takes
//! precedence over its variable, the variable over the file, and the file over the default.

use std::borrow::Cow;
use std::error::Error;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use clap::error::{ContextKind, ContextValue};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The argument that names the file.
const CONFIG_ARGUMENT: &str = "config";

/// The arguments that are not settings.
const NON_SETTINGS: [&str; 4] = [CONFIG_ARGUMENT, "print_config", "help", "version"];

/// Why the settings cannot be loaded.
#[derive(Debug)]
pub(crate) enum LoadError {
    /// A flag or a variable is invalid, or help was requested.
    Arguments(clap::Error),
    /// The configuration file is invalid.
    File(FileError),
}

/// Why a configuration file is invalid. It never contains a secret.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FileError {
    path: PathBuf,
    line: Option<usize>,
    problem: String,
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.problem)
    }
}

/// An invalid entry of a configuration file, with its offset in the text.
struct InvalidEntry {
    offset: usize,
    problem: String,
}

/// Parses the arguments and the environment, and loads the file that one of them names. The
/// settings of the file act as defaults.
pub(crate) fn load(
    command: &Command,
    arguments: impl IntoIterator<Item = OsString>,
) -> Result<ArgMatches, LoadError> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let matches = parse_arguments(command, &arguments)?;
    let Some(path) = matches.get_one::<PathBuf>(CONFIG_ARGUMENT) else {
        return Ok(matches);
    };
    let settings = load_settings(path, command).map_err(LoadError::File)?;
    let mut command = command.clone();
    for (name, values) in settings {
        use ValueSource::{CommandLine, EnvVariable};
        if !matches!(matches.value_source(&name), Some(CommandLine | EnvVariable)) {
            command = command.mut_arg(&name, |arg| {
                arg.value_delimiter(None).default_values(values)
            });
        }
    }
    parse_arguments(&command, &arguments)
}

/// The settings, in the order of the help.
pub(super) fn settings_in(command: &Command) -> impl Iterator<Item = &Arg> {
    let arguments = command.get_arguments();
    arguments.filter(|arg| !NON_SETTINGS.contains(&arg.get_id().as_str()))
}

fn parse_arguments(command: &Command, arguments: &[OsString]) -> Result<ArgMatches, LoadError> {
    let parsed = command.clone().try_get_matches_from(arguments);
    parsed.map_err(|mut error| {
        hide_secret(&mut error, command);
        LoadError::Arguments(error)
    })
}

type Settings = Vec<(String, Vec<String>)>;

fn load_settings(path: &Path, command: &Command) -> Result<Settings, FileError> {
    let text = std::fs::read_to_string(path).map_err(|error| FileError {
        path: path.to_owned(),
        line: None,
        problem: format!("the configuration file cannot be read: {error}"),
    })?;
    parse_settings(&text, command).map_err(|InvalidEntry { offset, problem }| {
        let line_breaks = text.bytes().take(offset).filter(|byte| *byte == b'\n');
        FileError {
            path: path.to_owned(),
            line: Some(line_breaks.count() + 1),
            problem,
        }
    })
}

/// Parses the settings of a file into the values that their flags would have.
fn parse_settings(text: &str, command: &Command) -> Result<Settings, InvalidEntry> {
    let table = DeTable::parse(text).map_err(|error| InvalidEntry {
        offset: error.span().map_or(0, |span| span.start),
        // The whole error would show the line, which may contain a secret.
        problem: format!("this is not TOML: {}", error.message()),
    })?;
    let mut entries: Vec<_> = table.into_inner().into_iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    let entries = entries.iter();
    entries
        .map(|(key, value)| parse_setting(key, value, command))
        .collect()
}

fn parse_setting(
    key: &Spanned<Cow<'_, str>>,
    value: &Spanned<DeValue<'_>>,
    command: &Command,
) -> Result<(String, Vec<String>), InvalidEntry> {
    let name = key.get_ref().as_ref();
    let Some(arg) = settings_in(command).find(|arg| arg.get_id() == name) else {
        let names = settings_in(command).map(|arg| arg.get_id().as_str());
        return Err(InvalidEntry {
            offset: key.span().start,
            problem: unknown_setting(name, names),
        });
    };
    let invalid = |allowed: &str| InvalidEntry {
        offset: value.span().start,
        problem: match value.get_ref() {
            DeValue::String(text) if !arg.is_hide_env_values_set() => {
                format!("`{name}` cannot be {text:?}: {allowed}")
            }
            _ => format!("`{name}` has a wrong value: {allowed}"),
        },
    };
    let values = flag_values(arg, value.get_ref()).ok_or_else(|| invalid(&expected_value(arg)))?;
    check_values(arg, &values).map_err(|allowed| invalid(&allowed))?;
    Ok((name.to_owned(), values))
}

/// Converts a TOML value to the values of its flag; `None` if it has an unsuitable type. Durations
/// and addresses are strings, and a list may be a string with commas.
fn flag_values(arg: &Arg, value: &DeValue<'_>) -> Option<Vec<String>> {
    let one = |text: String| Some(vec![text]);
    if is_switch(arg) {
        return value.as_bool().and_then(|on| one(on.to_string()));
    }
    let is_list = matches!(arg.get_action(), ArgAction::Append);
    match value {
        DeValue::String(text) if is_list => Some(text.split(',').map(str::to_owned).collect()),
        DeValue::String(text) => one(text.clone().into_owned()),
        DeValue::Integer(number) => {
            let digits = i128::from_str_radix(number.as_str(), number.radix());
            one(digits.ok()?.to_string())
        }
        DeValue::Array(entries) if is_list => {
            let texts = entries.iter().map(|entry| entry.get_ref().as_str());
            texts.map(|text| text.map(str::to_owned)).collect()
        }
        _ => None,
    }
}

/// Whether the flag has no value. In a file it is true or false.
pub(super) fn is_switch(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::SetTrue)
}

/// Checks that the flag accepts these values. The error says what is allowed.
fn check_values(arg: &Arg, values: &[String]) -> Result<(), String> {
    if is_switch(arg) {
        return Ok(());
    }
    let standalone = arg.clone().env(None::<&'static str>).value_delimiter(None);
    let standalone = standalone.required(false).exclusive(false);
    let command = Command::new(CONFIG_ARGUMENT)
        .no_binary_name(true)
        .arg(standalone);
    let flag = arg.get_long().unwrap_or_default();
    let arguments = values.iter().map(|value| format!("--{flag}={value}"));
    let Err(error) = command.try_get_matches_from(arguments) else {
        return Ok(());
    };
    if let Some(ContextValue::Strings(allowed)) = error.get(ContextKind::ValidValue)
        && !allowed.is_empty()
    {
        return Err(format!("allowed are {}", allowed.join(", ")));
    }
    Err(match error.source().map(ToString::to_string) {
        Some(reason) if reason.starts_with("allowed") => reason,
        _ => expected_value(arg),
    })
}

fn expected_value(arg: &Arg) -> String {
    if is_switch(arg) {
        return "allowed are true and false".to_owned();
    }
    let name = arg.get_value_names().and_then(<[_]>::first);
    format!("allowed is {}", name.map_or("a value", |it| it))
}

/// The message for an unknown key, with the most similar one.
fn unknown_setting<'a>(name: &str, settings: impl Iterator<Item = &'a str>) -> String {
    let as_key = name.trim_start_matches('-').replace('-', "_");
    let as_key = as_key.to_lowercase();
    let similarity = |key: &str| strsim::jaro_winkler(&as_key, key);
    let nearest = settings.max_by(|a, b| similarity(a).total_cmp(&similarity(b)));
    let nearest = nearest.unwrap_or_default();
    format!("`{name}` is not a setting: the nearest one is `{nearest}`")
}

/// Removes an invalid secret from an error of the command line.
fn hide_secret(error: &mut clap::Error, command: &Command) {
    let Some(ContextValue::String(usage)) = error.get(ContextKind::InvalidArg) else {
        return;
    };
    let flag = usage.split(' ').next().unwrap_or_default();
    let flag = flag.trim_start_matches('-');
    let is_secret = command
        .get_arguments()
        .any(|arg| arg.get_long() == Some(flag) && arg.is_hide_env_values_set());
    if is_secret {
        let hidden = ContextValue::String("(not shown)".to_owned());
        error.insert(ContextKind::InvalidValue, hidden);
    }
}
