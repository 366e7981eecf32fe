//! The configuration in effect, written as a file that gives the same.

use std::fmt::Write;

use toml::Value;

use super::keys::{self, Key, Kind};
use super::profiles::{ClientProfile, Profiles};
use super::reading::{Reading, Source};

impl Reading {
    /// The settings as TOML. Secrets are left out, and said to be.
    pub(crate) fn to_toml(&self) -> String {
        let mut text = format!(
            "# The configuration of {} in effect. As a file: --config PATH, or MCP_WEB_CONFIG.\n",
            self.command.get_name()
        );
        let mut heading = None;
        for key in keys::all(&self.command) {
            if key.heading() != heading {
                heading = key.heading();
                let _ = write!(text, "\n# {}\n\n", heading.unwrap_or("Program"));
            }
            text.push_str(&self.line(key));
            text.push('\n');
        }
        text.push_str(&clients(&self.profiles()));
        text
    }

    fn line(&self, key: Key<'_>) -> String {
        let name = key.name();
        let from = match self.source(key) {
            Source::Flag => format!("from {}", key.flag()),
            Source::Variable => format!("from {}", key.variable()),
            Source::File => format!("from {}", self.file_name()),
            Source::Default => String::new(),
        };
        match self.shown(key) {
            Shown::Value(value) if from.is_empty() => format!("{name} = {value}"),
            Shown::Value(value) => format!("{name} = {value} # {from}"),
            Shown::NotSet => format!("# {name} is not set"),
            Shown::Secret => format!("# {name} is set and not shown, {from}"),
            Shown::NoText => format!("# {name} is no UTF-8 and not shown, {from}"),
        }
    }

    fn shown(&self, key: Key<'_>) -> Shown {
        let name = key.name();
        if key.kind() == Kind::Switch {
            return Shown::Value(Value::Boolean(self.matches.get_flag(name)));
        }
        let Some(given) = self.matches.get_raw(name) else {
            // A list can be set to nothing.
            return match self.source(key) {
                Source::File if !key.is_secret() => Shown::Value(Value::Array(Vec::new())),
                _ => Shown::NotSet,
            };
        };
        if key.is_secret() {
            return Shown::Secret;
        }
        let texts: Option<Vec<&str>> = given.map(|text| text.to_str()).collect();
        match texts {
            None => Shown::NoText,
            Some(texts) if texts.iter().any(|text| may_have_credentials(text)) => Shown::Secret,
            Some(texts) => Shown::Value(value(key.kind(), &texts)),
        }
    }

    /// In a comment a line must not end.
    fn file_name(&self) -> String {
        let path = self
            .file
            .as_ref()
            .map(|file| file.path.display().to_string());
        path.unwrap_or_default().escape_debug().to_string()
    }
}

/// What a file can show of a setting.
enum Shown {
    Value(Value),
    NotSet,
    Secret,
    NoText,
}

/// A URL can have a password, or a key in its query.
pub(crate) fn may_have_credentials(text: &str) -> bool {
    text.contains("://") && text.contains(['@', '?'])
}

fn value(kind: Kind, texts: &[&str]) -> Value {
    let text = |text: &str| Value::String(text.to_owned());
    match (kind, texts) {
        (Kind::List, texts) => Value::Array(texts.iter().copied().map(text).collect()),
        // A number that TOML has none for stays in quotes.
        (Kind::Number, [number]) => number.parse().map_or_else(|_| text(number), Value::Integer),
        (_, texts) => text(texts.first().copied().unwrap_or_default()),
    }
}

/// The operator's client profiles, and as comments those that come after them.
fn clients(profiles: &Profiles) -> String {
    let mut text = String::from("\n# Clients: the first that fits counts\n");
    for client in profiles.configured() {
        let _ = write!(text, "\n{}", table(client));
    }
    for client in Profiles::built_in() {
        let commented: String = table(&client)
            .lines()
            .map(|line| format!("# {line}\n"))
            .collect();
        let _ = write!(text, "\n# built in:\n{commented}");
    }
    text
}

fn table(client: &ClientProfile) -> String {
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
