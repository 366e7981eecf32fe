//! A setting as the command line describes it: its name, its kind and its parser.

use std::any::TypeId;
use std::error::Error;
use std::time::Duration;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, Command};

/// The arguments that are not settings.
const NON_SETTING_FLAGS: [&str; 6] = [
    "config",
    "print_config",
    "print_prompt",
    "check_config",
    "help",
    "version",
];

/// A setting, as the command line knows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting<'a>(&'a Arg);

/// How a setting is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingKind {
    /// True or false.
    Switch,
    /// A whole number.
    Number,
    /// A number that may have decimals.
    Decimal,
    /// A duration in quotes.
    Time,
    /// A text in quotes.
    Text,
    /// A list of texts.
    List,
}

impl SettingKind {
    /// The allowed values of this kind, for error messages.
    pub(crate) fn allowed_values(self) -> &'static str {
        match self {
            SettingKind::Switch => "allowed are true and false",
            SettingKind::Number => "allowed are whole numbers",
            SettingKind::Decimal => "allowed are numbers",
            SettingKind::Time => "allowed are times in quotes, such as \"250ms\", \"5s\", \"2m\"",
            SettingKind::Text => "allowed is a text in quotes",
            SettingKind::List => "allowed is a list of texts, such as [\"a\", \"b\"]",
        }
    }
}

/// The value of a setting in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingValue {
    /// The text as for the flag; the entries of a list are separated by commas.
    Text(String),
    /// The entries of a list, which may contain commas.
    List(Vec<String>),
}

impl SettingValue {
    /// The values that the flag is given.
    pub fn entries(&self) -> &[String] {
        match self {
            SettingValue::Text(text) => std::slice::from_ref(text),
            SettingValue::List(entries) => entries,
        }
    }
}

/// All settings, in the order of the help.
pub(crate) fn settings(command: &Command) -> impl Iterator<Item = Setting<'_>> {
    let settings = command.get_arguments().map(Setting);
    settings.filter(|key| !NON_SETTING_FLAGS.contains(&key.name()))
}

impl<'a> Setting<'a> {
    pub(crate) fn name(self) -> &'a str {
        self.0.get_id().as_str()
    }

    pub(crate) fn flag(self) -> String {
        format!("--{}", self.0.get_long().unwrap_or_default())
    }

    pub(crate) fn env_var(self) -> String {
        let name = self.0.get_env().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// The heading under which the help shows the setting.
    pub(crate) fn heading(self) -> Option<&'a str> {
        self.0.get_help_heading()
    }

    /// Whether the value is a secret: the help hides the values of the same settings.
    pub(crate) fn is_secret(self) -> bool {
        self.0.is_hide_env_values_set()
    }

    /// The kind of the setting, derived from its flag.
    pub(crate) fn kind(self) -> SettingKind {
        let value = self.0.get_value_parser().type_id();
        if matches!(self.0.get_action(), ArgAction::Append) {
            SettingKind::List
        } else if value == TypeId::of::<bool>() {
            SettingKind::Switch
        } else if value == TypeId::of::<usize>()
            || value == TypeId::of::<u32>()
            || value == TypeId::of::<u64>()
        {
            SettingKind::Number
        } else if value == TypeId::of::<f64>() {
            SettingKind::Decimal
        } else if value == TypeId::of::<Duration>() {
            SettingKind::Time
        } else {
            SettingKind::Text
        }
    }

    /// Checks that the flag accepts the value of a file. The error describes the allowed values.
    pub(crate) fn validate(self, given: &SettingValue) -> Result<(), String> {
        if self.kind() == SettingKind::Switch {
            return Ok(());
        }
        let command = Command::new("file")
            .no_binary_name(true)
            .arg(arg_for_value(self.standalone_arg(), given));
        let flag = self.flag();
        let arguments = given.entries().iter().map(|text| format!("{flag}={text}"));
        match command.try_get_matches_from(arguments) {
            Ok(_) => Ok(()),
            Err(error) => Err(self.allowed_from_error(&error)),
        }
    }

    /// Returns the flag without its references to other flags and to the environment.
    fn standalone_arg(self) -> Arg {
        Arg::new(self.0.get_id().clone())
            .long(self.0.get_long().unwrap_or_default().to_owned())
            .action(self.0.get_action().clone())
            .value_parser(self.0.get_value_parser().clone())
            .value_delimiter(self.0.get_value_delimiter())
    }

    /// The allowed values according to the error for an invalid value, without that value.
    fn allowed_from_error(self, error: &clap::Error) -> String {
        if let Some(ContextValue::Strings(values)) = error.get(ContextKind::ValidValue)
            && !values.is_empty()
        {
            return format!("allowed are {}", values.join(", "));
        }
        match error.source().map(ToString::to_string) {
            Some(message) if message.starts_with("allowed") => message,
            Some(message) => format!("{message}; {}", self.allowed_form()),
            None => self.allowed_form(),
        }
    }

    fn allowed_form(self) -> String {
        let names = self.0.get_value_names().unwrap_or_default();
        match names.first() {
            Some(name) => format!("allowed is {name}"),
            None => self.kind().allowed_values().to_owned(),
        }
    }
}

/// An argument that splits at commas only if the file has a text for the list.
fn arg_for_value(arg: Arg, given: &SettingValue) -> Arg {
    match given {
        SettingValue::Text(_) => arg,
        SettingValue::List(_) => arg.value_delimiter(None),
    }
}

/// The command with the value of a file as a default. It goes through the parser of its flag.
pub(crate) fn with_default(command: Command, name: &str, given: &SettingValue) -> Command {
    command.mut_arg(name, |arg| {
        arg_for_value(arg, given).default_values(given.entries().to_vec())
    })
}

/// Removes an invalid secret from an error of the command line.
pub(crate) fn redact_secret(error: &mut clap::Error, command: &Command) {
    let is_invalid_value = matches!(
        error.kind(),
        ErrorKind::ValueValidation | ErrorKind::InvalidValue
    );
    let Some(ContextValue::String(usage)) = error.get(ContextKind::InvalidArg) else {
        return;
    };
    let invalid = usage.split(' ').next().unwrap_or_default();
    let is_secret = settings(command).any(|key| key.is_secret() && key.flag() == invalid);
    if is_invalid_value && is_secret {
        let hidden = ContextValue::String("(not shown)".to_owned());
        error.insert(ContextKind::InvalidValue, hidden);
    }
}
