//! The keys of a configuration file: what flags can set, under the same names and with the same
//! parsers.

use std::any::TypeId;
use std::error::Error;
use std::time::Duration;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, Command};

/// What says how to read the settings, and is none.
const ABOUT_SETTINGS: [&str; 5] = ["config", "print_config", "check_config", "help", "version"];

/// A setting, as the command line knows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key<'a>(&'a Arg);

/// How a setting is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Switch,
    Number,
    Time,
    Text,
    List,
}

impl Kind {
    pub(super) fn allowed(self) -> &'static str {
        match self {
            Kind::Switch => "allowed are true and false",
            Kind::Number => "allowed are whole numbers",
            Kind::Time => "allowed are times in quotes, such as \"250ms\", \"5s\", \"2m\"",
            Kind::Text => "allowed is a text in quotes",
            Kind::List => "allowed is a list of texts, such as [\"a\", \"b\"]",
        }
    }
}

/// What a file has for a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Given {
    /// Written as for the flag; of a list, the entries with commas between.
    Text(String),
    /// The entries of a list, which may have commas in them.
    Entries(Vec<String>),
}

impl Given {
    pub(super) fn entries(&self) -> &[String] {
        match self {
            Given::Text(text) => std::slice::from_ref(text),
            Given::Entries(entries) => entries,
        }
    }
}

/// All keys, in the order of the help.
pub(super) fn all(command: &Command) -> impl Iterator<Item = Key<'_>> {
    let settings = command.get_arguments().map(Key);
    settings.filter(|key| !ABOUT_SETTINGS.contains(&key.name()))
}

impl<'a> Key<'a> {
    pub(super) fn name(self) -> &'a str {
        self.0.get_id().as_str()
    }

    pub(super) fn flag(self) -> String {
        format!("--{}", self.0.get_long().unwrap_or_default())
    }

    pub(super) fn variable(self) -> String {
        let name = self.0.get_env().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// What a help shows it under.
    pub(super) fn heading(self) -> Option<&'a str> {
        self.0.get_help_heading()
    }

    /// Whether its value is for nobody to see. The help hides those already.
    pub(super) fn is_secret(self) -> bool {
        self.0.is_hide_env_values_set()
    }

    pub(super) fn kind(self) -> Kind {
        let value = self.0.get_value_parser().type_id();
        if matches!(self.0.get_action(), ArgAction::Append) {
            Kind::List
        } else if value == TypeId::of::<bool>() {
            Kind::Switch
        } else if value == TypeId::of::<usize>() {
            Kind::Number
        } else if value == TypeId::of::<Duration>() {
            Kind::Time
        } else {
            Kind::Text
        }
    }

    /// Whether the flag would take what a file gives; if not, what is allowed.
    pub(super) fn check(self, given: &Given) -> Result<(), String> {
        if self.kind() == Kind::Switch {
            return Ok(());
        }
        let alone = Command::new("file")
            .no_binary_name(true)
            .arg(takes(self.0.clone(), given).env(None::<&'static str>));
        let flag = self.flag();
        let arguments = given.entries().iter().map(|text| format!("{flag}={text}"));
        match alone.try_get_matches_from(arguments) {
            Ok(_) => Ok(()),
            Err(error) => Err(self.allowed(&error)),
        }
    }

    /// What a wrong value's error says is allowed, without the value.
    fn allowed(self, error: &clap::Error) -> String {
        if let Some(ContextValue::Strings(values)) = error.get(ContextKind::ValidValue)
            && !values.is_empty()
        {
            return format!("allowed are {}", values.join(", "));
        }
        match error.source().map(ToString::to_string) {
            Some(said) if said.starts_with("allowed") => said,
            Some(said) => format!("{said}; {}", self.form()),
            None => self.form(),
        }
    }

    fn form(self) -> String {
        let names = self.0.get_value_names().unwrap_or_default();
        match names.first() {
            Some(name) => format!("allowed is {name}"),
            None => self.kind().allowed().to_owned(),
        }
    }
}

/// An argument that splits what is given only where the file has a text for the list.
pub(super) fn takes(arg: Arg, given: &Given) -> Arg {
    match given {
        Given::Text(_) => arg,
        Given::Entries(_) => arg.value_delimiter(None),
    }
}

/// Takes a wrong secret out of an error of the command line.
pub(super) fn hide_secret(error: &mut clap::Error, command: &Command) {
    let wrong_value = matches!(
        error.kind(),
        ErrorKind::ValueValidation | ErrorKind::InvalidValue
    );
    let Some(ContextValue::String(usage)) = error.get(ContextKind::InvalidArg) else {
        return;
    };
    let wrong = usage.split(' ').next().unwrap_or_default();
    let secret = all(command).any(|key| key.is_secret() && key.flag() == wrong);
    if wrong_value && secret {
        let hidden = ContextValue::String("(not shown)".to_owned());
        error.insert(ContextKind::InvalidValue, hidden);
    }
}
