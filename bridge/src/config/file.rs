//! A configuration file: TOML with the settings under the names of their flags, and a table for
//! each client profile.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Command;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::clients::parse_profiles;
use super::error::{FileError, LocatedError};
use super::profiles::ClientProfile;
use super::settings;
use crate::config::settings::{Setting, SettingValue};
use crate::config::toml_values::{invalid_value_message, setting_value, unknown_key_message};

/// The key of the client profiles.
const CLIENTS_KEY: &str = "clients";

/// The settings and client profiles of a configuration file.
#[derive(Debug)]
pub(crate) struct ConfigFile {
    pub(super) path: PathBuf,
    settings: BTreeMap<String, SettingValue>,
    pub(super) clients: Vec<ClientProfile>,
}

impl ConfigFile {
    /// Loads the file for a program with these flags.
    pub(crate) fn load(path: &Path, command: &Command) -> Result<Self, FileError> {
        let text = std::fs::read_to_string(path).map_err(|error| FileError {
            path: path.to_owned(),
            line: None,
            problem: format!("the configuration file cannot be read: {error}"),
        })?;
        Self::parse(path, &text, command)
    }

    fn parse(path: &Path, text: &str, command: &Command) -> Result<Self, FileError> {
        let file_error = |error: LocatedError| FileError {
            path: path.to_owned(),
            line: Some(line_number(text, error.offset)),
            problem: error.problem,
        };
        let mut file = ConfigFile {
            path: path.to_owned(),
            settings: BTreeMap::new(),
            clients: Vec::new(),
        };
        for (key, value) in parse_entries(text).map_err(file_error)? {
            file.insert_entry(&key, &value, command)
                .map_err(file_error)?;
        }
        Ok(file)
    }

    fn insert_entry(
        &mut self,
        key: &Spanned<std::borrow::Cow<'_, str>>,
        value: &Spanned<DeValue<'_>>,
        command: &Command,
    ) -> Result<(), LocatedError> {
        let name: &str = key.get_ref();
        if name == CLIENTS_KEY {
            self.clients = parse_profiles(value)?;
            return Ok(());
        }
        let Some(setting) = settings::settings(command).find(|setting| setting.name() == name)
        else {
            let known = settings::settings(command)
                .map(Setting::name)
                .chain([CLIENTS_KEY]);
            return Err(LocatedError {
                offset: key.span().start,
                problem: unknown_key_message(name, known, value.get_ref()),
            });
        };
        let parsed = setting_value(setting, value)?;
        setting.validate(&parsed).map_err(|allowed| LocatedError {
            offset: value.span().start,
            problem: invalid_value_message(setting, value.get_ref(), &allowed),
        })?;
        self.settings.insert(name.to_owned(), parsed);
        Ok(())
    }

    /// The value of a setting in the file.
    pub(super) fn get(&self, name: &str) -> Option<&SettingValue> {
        self.settings.get(name)
    }
}

type TableEntries<'a> = Vec<(Spanned<std::borrow::Cow<'a, str>>, Spanned<DeValue<'a>>)>;

/// The keys of the file with their values, in the order of the file.
fn parse_entries(text: &str) -> Result<TableEntries<'_>, LocatedError> {
    let table = DeTable::parse(text).map_err(|error| LocatedError {
        offset: error.span().map_or(0, |span| span.start),
        // Only the message: the full error quotes the line, which may contain a secret.
        problem: format!("this is not TOML: {}", error.message()),
    })?;
    let mut entries: Vec<_> = table.into_inner().into_iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    Ok(entries)
}

fn line_number(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().iter().take(offset);
    before.filter(|byte| **byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::config::Config;

    fn parse(text: &str) -> Result<ConfigFile, FileError> {
        ConfigFile::parse(Path::new("bridge.toml"), text, &Config::command())
    }

    #[test]
    fn values_may_be_strings_or_toml_types() {
        let file = parse(
            "bind = \"127.0.0.1:0\"\nallow_token_in_url = false\nmax_calls = 1_000\n\
             max_sessions = 0x10\nmax_clients = \"7\"\ncall_timeout = \"3m\"\n\
             allowed_hosts = \"a,b\"\njwt_audience = [\"c,d\", \"e\"]\nallowed_origins = []",
        )
        .unwrap();
        let text = |name| match file.get(name) {
            Some(SettingValue::Text(text)) => text.as_str(),
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!(text("bind"), "127.0.0.1:0");
        assert_eq!(text("allow_token_in_url"), "false");
        assert_eq!(text("max_calls"), "1000");
        assert_eq!(text("max_sessions"), "16");
        assert_eq!(text("max_clients"), "7");
        assert_eq!(text("call_timeout"), "3m");
        assert_eq!(text("allowed_hosts"), "a,b");
        let entries = |name| file.get(name).unwrap().entries().to_vec();
        assert_eq!(entries("jwt_audience"), ["c,d", "e"]);
        assert!(entries("allowed_origins").is_empty());
        assert_eq!(file.get("name"), None);
    }

    #[test]
    fn client_profiles_are_parsed_from_tables() {
        let file = parse(
            "[[clients]]\nname = \"a*\"\nmax_result_bytes = 5\npatience = \"50s\"\n\
             [[clients]]\nname = \"b\"\nmax_image_edge = 6",
        )
        .unwrap();
        let [first, second] = file.clients.as_slice() else {
            panic!("{:?}", file.clients);
        };
        assert_eq!((first.name.as_str(), second.name.as_str()), ("a*", "b"));
        assert_eq!(first.profile.max_result_bytes, Some(5));
        assert_eq!(first.profile.max_image_edge, None);
        let patience = std::time::Duration::from_secs(50);
        assert_eq!(first.profile.patience, Some(patience));
        assert_eq!(second.profile.max_image_edge, Some(6));
    }

    /// Invalid files, with the line of the error and two parts of its message.
    const INVALID_FILES: &[(&str, usize, [&str; 2])] = &[
        ("\nmax_sesions = 3", 2, ["`max_sesions`", "`max_sessions`"]),
        ("max-sessions = 3", 1, ["`max-sessions`", "`max_sessions`"]),
        ("[[client]]\nname = \"a\"", 1, ["`client`", "`clients`"]),
        ("a = 1", 1, ["`a` is not a setting", "nearest"]),
        (
            "[tabs]\nmax_sessions = 1",
            1,
            ["`tabs`", "above all tables"],
        ),
        (
            "max_sessions = 0",
            1,
            ["`max_sessions` cannot be 0", "from 1 up"],
        ),
        (
            "max_sessions = -1",
            1,
            ["`max_sessions` cannot be -1", "from 1 up"],
        ),
        (
            "max_sessions = 2.5",
            1,
            ["`max_sessions`", "type float: allowed are whole"],
        ),
        (
            "max_sessions = true",
            1,
            ["`max_sessions`", "type boolean: allowed are whole"],
        ),
        (
            "call_timeout = 5",
            1,
            ["`call_timeout`", "type integer: allowed are times"],
        ),
        (
            "call_timeout = \"soon\"",
            1,
            ["`call_timeout` cannot be \"soon\"", "250ms"],
        ),
        ("name = 5", 1, ["`name`", "type integer: allowed is a text"]),
        (
            "allow_token_in_url = \"yes\"",
            1,
            ["`allow_token_in_url`", "true and false"],
        ),
        (
            "bind = \"localhost\"",
            1,
            ["`bind`", "allowed is ADDR:PORT"],
        ),
        (
            "jwt_audience = [\n\"a\",\n1]",
            3,
            ["`jwt_audience`", "list of texts"],
        ),
        (
            "ambiguous_calls = \"any\"",
            1,
            ["`ambiguous_calls`", "ask, focused, last_active"],
        ),
        (
            "max_result_bytes = 9999999999",
            1,
            ["`max_result_bytes`", "allowed are 1 to"],
        ),
        (
            "name = \"a\"\nname = \"b\"",
            2,
            ["not TOML", "duplicate key"],
        ),
        ("clients = 1", 1, ["`clients`", "[[clients]]"]),
        ("[clients]\nname = \"a\"", 1, ["`clients`", "[[clients]]"]),
        (
            "[[clients]]\npatience = \"5s\"",
            1,
            ["client has no `name`", "add"],
        ),
        ("[[clients]]\nname = \"\"", 2, ["`name`", "clientInfo"]),
        (
            "[[clients]]\nname = \"a\"\npatience = 5",
            3,
            ["`patience`", "times in quotes"],
        ),
        (
            "[[clients]]\nmax_image_edge = 0",
            2,
            ["`max_image_edge` cannot be", "from 1 up"],
        ),
        (
            "[[clients]]\nmax_image_edges = 1",
            2,
            ["`max_image_edges`", "`max_image_edge`"],
        ),
    ];

    #[test]
    fn an_error_names_the_file_the_line_the_key_and_what_is_allowed() {
        for (text, line, parts) in INVALID_FILES {
            let error = parse(text).unwrap_err().to_string();
            let prefix = format!("bridge.toml:{line}: ");
            assert!(error.starts_with(&prefix), "{text:?}: {error}");
            for part in parts {
                assert!(error.contains(part), "{text:?}: {error}");
            }
        }
    }

    #[test]
    fn errors_do_not_contain_secrets() {
        let texts = [
            "state_key = \"hush-hush\"",
            "jwt_secret = \"hush-hush\"",
            "state_key = \"hush-hush",
            "state_key = hush-hush",
            "tokens = [\"hush-hush\", 5]",
            "tokens = { a = \"hush-hush\" }",
        ];
        for text in texts {
            let error = parse(text).unwrap_err().to_string();
            assert!(!error.contains("hush"), "{text:?}: {error}");
        }
    }
}
