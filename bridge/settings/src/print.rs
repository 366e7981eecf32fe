//! Printing of the effective configuration, as a file with the same settings.

use std::fmt::Write;

use bridge_protocol::invisible::visible_line;
use clap::Command;
use toml::Value;

use crate::file::FileTables;
use crate::load::{LoadedSettings, SettingSource};
use crate::setting::{Setting, SettingKind, SettingValue, settings};

impl<T: FileTables> LoadedSettings<T> {
    /// The settings as TOML. Secrets are replaced by a comment.
    pub fn to_toml(&self) -> String {
        let program = self.command.get_name();
        let mut text = format!("# The configuration of {program} in effect.");
        if let Some(variable) = config_env_var(&self.command) {
            let _ = write!(text, " As a file: --config PATH, or {variable}.");
        }
        text.push('\n');
        let mut heading = None;
        for key in settings(&self.command) {
            if key.heading() != heading {
                heading = key.heading();
                let _ = write!(text, "\n# {}\n\n", heading.unwrap_or("Program"));
            }
            text.push_str(&self.setting_line(key));
            text.push('\n');
        }
        text
    }

    fn setting_line(&self, key: Setting<'_>) -> String {
        let name = key.name();
        let source = match self.source(key) {
            SettingSource::Flag => format!("from {}", key.flag()),
            SettingSource::EnvVar => format!("from {}", key.env_var()),
            SettingSource::File => format!("from {}", self.file_name()),
            SettingSource::Default => String::new(),
        };
        match self.displayed_value(key) {
            DisplayedValue::Value(value) if source.is_empty() => format!("{name} = {value}"),
            DisplayedValue::Value(value) => format!("{name} = {value} # {source}"),
            DisplayedValue::NotSet => format!("# {name} is not set"),
            DisplayedValue::Redacted => format!("# {name} is set and not shown, {source}"),
            DisplayedValue::NotUtf8 => format!("# {name} is not UTF-8 and not shown, {source}"),
        }
    }

    fn displayed_value(&self, key: Setting<'_>) -> DisplayedValue {
        let name = key.name();
        if key.kind() == SettingKind::Switch {
            return DisplayedValue::Value(Value::Boolean(self.matches.get_flag(name)));
        }
        let Some(values) = self.matches.get_raw(name) else {
            // A file can set a list to no entries.
            return match self.source(key) {
                SettingSource::File if !key.is_secret() => {
                    DisplayedValue::Value(Value::Array(Vec::new()))
                }
                _ => DisplayedValue::NotSet,
            };
        };
        if key.is_secret() {
            return DisplayedValue::Redacted;
        }
        let texts: Option<Vec<&str>> = values.map(|text| text.to_str()).collect();
        match texts {
            None => DisplayedValue::NotUtf8,
            Some(texts) => displayed_texts(key, &texts),
        }
    }

    /// The path of the file for a comment, which is one line.
    fn file_name(&self) -> String {
        let path = self
            .file
            .as_ref()
            .map(|file| file.path.display().to_string());
        visible_line(&path.unwrap_or_default()).into_owned()
    }
}

/// Returns the variable that names the file.
fn config_env_var(command: &Command) -> Option<String> {
    let argument = command
        .get_arguments()
        .find(|arg| arg.get_id() == "config")?;
    Some(argument.get_env()?.to_string_lossy().into_owned())
}

/// The line of a setting in a table of a file.
pub(crate) fn table_line(key: Setting<'_>, given: &SettingValue) -> String {
    let name = key.name();
    let texts: Vec<&str> = match (key.kind(), given) {
        (SettingKind::List, SettingValue::Text(text)) => text.split(',').collect(),
        _ => given.entries().iter().map(String::as_str).collect(),
    };
    match displayed_texts(key, &texts) {
        DisplayedValue::Value(value) => format!("{name} = {value}"),
        _ => format!("# {name} is set and not shown"),
    }
}

/// The printed value of a setting with these texts.
fn displayed_texts(key: Setting<'_>, texts: &[&str]) -> DisplayedValue {
    if key.is_secret() || texts.iter().any(|text| may_have_credentials(text)) {
        return DisplayedValue::Redacted;
    }
    DisplayedValue::Value(toml_value(key.kind(), texts))
}

/// The printed value of a setting.
enum DisplayedValue {
    Value(Value),
    NotSet,
    Redacted,
    NotUtf8,
}

/// Whether a text may be a URL with a password or with a key in its query.
pub fn may_have_credentials(text: &str) -> bool {
    text.contains("://") && text.contains(['@', '?'])
}

fn toml_value(kind: SettingKind, texts: &[&str]) -> Value {
    let text = |text: &str| Value::String(text.to_owned());
    match (kind, texts) {
        (SettingKind::List, texts) => Value::Array(texts.iter().copied().map(text).collect()),
        // A number that is too large for TOML is printed in quotes.
        (SettingKind::Number, [number]) => {
            number.parse().map_or_else(|_| text(number), Value::Integer)
        }
        (SettingKind::Decimal, [number]) => {
            number.parse().map_or_else(|_| text(number), Value::Float)
        }
        (_, texts) => text(texts.first().copied().unwrap_or_default()),
    }
}
