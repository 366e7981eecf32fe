//! Prints the configuration in effect as a configuration file.

use std::fmt::Write;

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};
use toml::Value;

use super::file::{is_switch, settings_in};

/// Formats the settings as TOML. Comments mark the settings that come from a flag or a variable,
/// and stand for secrets and for settings without a value.
pub(crate) fn to_toml(command: &Command, matches: &ArgMatches) -> String {
    let mut text = String::from("# The configuration of mcp-web-agent in effect.\n");
    let mut heading = None;
    for arg in settings_in(command) {
        if arg.get_help_heading() != heading {
            heading = arg.get_help_heading();
            let _ = write!(text, "\n# {}\n\n", heading.unwrap_or_default());
        }
        let name = arg.get_id().as_str();
        let from = match matches.value_source(name) {
            Some(ValueSource::CommandLine) => " # from its flag",
            Some(ValueSource::EnvVariable) => " # from its variable",
            _ => "",
        };
        let _ = match printed_value(arg, matches) {
            PrintedValue::NotSet => writeln!(text, "# {name} is not set"),
            PrintedValue::Secret => writeln!(text, "# {name} is set and not shown{from}"),
            PrintedValue::Value(value) => writeln!(text, "{name} = {value}{from}"),
        };
    }
    text
}

enum PrintedValue {
    NotSet,
    Secret,
    Value(Value),
}

fn printed_value(arg: &Arg, matches: &ArgMatches) -> PrintedValue {
    let name = arg.get_id().as_str();
    if is_switch(arg) {
        return PrintedValue::Value(Value::Boolean(matches.get_flag(name)));
    }
    let Some(values) = matches.get_raw(name) else {
        return PrintedValue::NotSet;
    };
    if arg.is_hide_env_values_set() {
        return PrintedValue::Secret;
    }
    let mut texts = values.map(|text| text.to_string_lossy().into_owned());
    if matches!(arg.get_action(), ArgAction::Append) {
        return PrintedValue::Value(Value::Array(texts.map(Value::String).collect()));
    }
    let text = texts.next().unwrap_or_default();
    // Numbers are printed without quotes for readability: a file may have either.
    PrintedValue::Value(text.parse().map_or(Value::String(text), Value::Integer))
}
