//! Printing of the effective configuration, as a file with the same settings.

use std::fmt::Write;

use toml::Value;

use super::profiles::{ClientProfile, Profiles};
use super::settings;
use crate::config::load::{LoadedSettings, SettingSource};
use crate::config::settings::{Setting, SettingKind};

impl LoadedSettings {
    /// The settings as TOML. Secrets are replaced by a comment.
    pub(crate) fn to_toml(&self) -> String {
        let mut text = format!(
            "# The configuration of {} in effect. As a file: --config PATH, or MCP_WEB_CONFIG.\n",
            self.command.get_name()
        );
        let mut heading = None;
        for key in settings::settings(&self.command) {
            if key.heading() != heading {
                heading = key.heading();
                let _ = write!(text, "\n# {}\n\n", heading.unwrap_or("Program"));
            }
            text.push_str(&self.setting_line(key));
            text.push('\n');
        }
        text.push_str(&profiles_toml(&self.profiles()));
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
            DisplayedValue::NotUtf8 => format!("# {name} is no UTF-8 and not shown, {source}"),
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
            Some(texts) if texts.iter().any(|text| may_have_credentials(text)) => {
                DisplayedValue::Redacted
            }
            Some(texts) => DisplayedValue::Value(toml_value(key.kind(), &texts)),
        }
    }

    /// The path of the file for a comment, with line breaks escaped.
    fn file_name(&self) -> String {
        let path = self
            .file
            .as_ref()
            .map(|file| file.path.display().to_string());
        path.unwrap_or_default().escape_debug().to_string()
    }
}

/// The printed value of a setting.
enum DisplayedValue {
    Value(Value),
    NotSet,
    Redacted,
    NotUtf8,
}

/// Whether a text may be a URL with a password or with a key in its query.
pub(crate) fn may_have_credentials(text: &str) -> bool {
    text.contains("://") && text.contains(['@', '?'])
}

fn toml_value(kind: SettingKind, texts: &[&str]) -> Value {
    let text = |text: &str| Value::String(text.to_owned());
    match (kind, texts) {
        (SettingKind::List, texts) => Value::Array(texts.iter().copied().map(text).collect()),
        // A number that is too large for TOML stays in quotes.
        (SettingKind::Number, [number]) => {
            number.parse().map_or_else(|_| text(number), Value::Integer)
        }
        (_, texts) => text(texts.first().copied().unwrap_or_default()),
    }
}

/// The client profiles of the operator, and as comments the built-in ones that follow them.
fn profiles_toml(profiles: &Profiles) -> String {
    let mut text = String::from("\n# Clients: the first that fits counts\n");
    for client in profiles.configured() {
        let _ = write!(text, "\n{}", profile_table(client));
    }
    for client in Profiles::built_in() {
        let commented: String = profile_table(&client)
            .lines()
            .map(|line| format!("# {line}\n"))
            .collect();
        let _ = write!(text, "\n# built in:\n{commented}");
    }
    text
}

fn profile_table(client: &ClientProfile) -> String {
    let ClientProfile { name, profile } = client;
    let mut text = format!("[[clients]]\nname = {}\n", Value::String(name.clone()));
    if let Some(bytes) = profile.max_result_bytes {
        let _ = writeln!(text, "max_result_bytes = {bytes}");
    }
    if let Some(chars) = profile.max_text_chars {
        let _ = writeln!(text, "max_text_chars = {chars}");
    }
    if let Some(pixels) = profile.max_image_edge {
        let _ = writeln!(text, "max_image_edge = {pixels}");
    }
    if let Some(patience) = profile.patience {
        let _ = writeln!(
            text,
            "patience = \"{}\"",
            humantime::format_duration(patience)
        );
    }
    text
}
