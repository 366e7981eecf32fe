//! The client profiles of a configuration file, parsed and printed: a table `[[clients]]` for each.

use std::fmt::Write;

use bridge_settings::values::{parse_count, parse_duration};
use bridge_settings::{FileTables, LocatedError, SettingKind, flag_text, unknown_key_message};
use toml::de::{DeTable, DeValue};
use toml::{Spanned, Value};

use super::client_profiles::{ClientProfile, Profile, Profiles};
use super::result_text_limit::MIN_TEXT_CHARS;

const PROFILE_KEYS: [&str; 7] = [
    "name",
    "max_result_bytes",
    "max_text_chars",
    "max_image_edge",
    "max_media_bytes",
    "patience",
    "root_unions",
];

/// The client profiles of a file.
#[derive(Debug, Default)]
pub(crate) struct ClientTables(Vec<ClientProfile>);

impl FileTables for ClientTables {
    const KEY: Option<&'static str> = Some("clients");

    fn parse(value: &Spanned<DeValue<'_>>) -> Result<Self, LocatedError> {
        parse_profiles(value).map(Self)
    }
}

fn parse_profiles(value: &Spanned<DeValue<'_>>) -> Result<Vec<ClientProfile>, LocatedError> {
    let no_tables = |value: &Spanned<DeValue<'_>>| {
        error_at(
            value,
            "`clients` must be tables: begin each with a line [[clients]]".to_owned(),
        )
    };
    let tables = value.get_ref().as_array().ok_or_else(|| no_tables(value))?;
    let clients = tables.iter().map(|table| {
        let fields = table.get_ref().as_table();
        parse_profile(table, fields.ok_or_else(|| no_tables(table))?)
    });
    clients.collect()
}

fn parse_profile(
    table: &Spanned<DeValue<'_>>,
    fields: &DeTable<'_>,
) -> Result<ClientProfile, LocatedError> {
    let mut name = None;
    let mut profile = Profile::default();
    for (key, value) in fields {
        match key.get_ref().as_ref() {
            "name" => {
                name = Some(parse_field(
                    "name",
                    SettingKind::Text,
                    value,
                    parse_client_name,
                )?)
            }
            "max_result_bytes" => {
                let bytes =
                    parse_field("max_result_bytes", SettingKind::Number, value, parse_count)?;
                profile.max_result_bytes = Some(bytes);
            }
            "max_text_chars" => {
                let chars = parse_field(
                    "max_text_chars",
                    SettingKind::Number,
                    value,
                    parse_text_chars,
                )?;
                profile.max_text_chars = Some(chars);
            }
            "max_image_edge" => {
                let pixels = parse_field(
                    "max_image_edge",
                    SettingKind::Number,
                    value,
                    parse_image_edge,
                )?;
                profile.max_image_edge = Some(pixels);
            }
            "max_media_bytes" => {
                let bytes =
                    parse_field("max_media_bytes", SettingKind::Number, value, parse_count)?;
                profile.max_media_bytes = Some(bytes);
            }
            "root_unions" => {
                let is_true = |text: &str| Ok(text == "true");
                profile.root_unions =
                    parse_field("root_unions", SettingKind::Switch, value, is_true)?;
            }
            "patience" => {
                profile.patience = Some(parse_field(
                    "patience",
                    SettingKind::Time,
                    value,
                    parse_duration,
                )?);
            }
            other => {
                let problem = unknown_key_message(
                    other,
                    PROFILE_KEYS.into_iter(),
                    value.get_ref(),
                    ClientTables::KEY,
                );
                return Err(LocatedError {
                    offset: key.span().start,
                    problem: format!("in [[clients]]: {problem}"),
                });
            }
        }
    }
    let name = name.ok_or_else(|| error_at(table, "a client has no `name`: add one".to_owned()))?;
    Ok(ClientProfile { name, profile })
}

fn parse_field<T>(
    name: &str,
    kind: SettingKind,
    value: &Spanned<DeValue<'_>>,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<T, LocatedError> {
    let text = flag_text(name, kind, value)?;
    parse(&text)
        .map_err(|allowed| error_at(value, format!("`{name}` cannot be {text:?}: {allowed}")))
}

fn error_at(value: &Spanned<DeValue<'_>>, problem: String) -> LocatedError {
    LocatedError {
        offset: value.span().start,
        problem,
    }
}

fn parse_client_name(text: &str) -> Result<String, String> {
    match text {
        "" => {
            Err("allowed is the name in a client's clientInfo, or its beginning and *".to_owned())
        }
        name => Ok(name.to_owned()),
    }
}

fn parse_text_chars(text: &str) -> Result<usize, String> {
    match parse_count(text)? {
        chars if chars >= MIN_TEXT_CHARS => Ok(chars),
        _ => Err(format!(
            "allowed are whole numbers from {MIN_TEXT_CHARS} up"
        )),
    }
}

fn parse_image_edge(text: &str) -> Result<u32, String> {
    let pixels = parse_count(text)?;
    u32::try_from(pixels).map_err(|_| format!("allowed are 1 to {}", u32::MAX))
}

impl ClientTables {
    /// Returns the limits of each AI client.
    pub(crate) fn profiles(&self) -> Profiles {
        Profiles::new(self.0.clone())
    }
}

/// The client profiles of the operator, and as comments the built-in ones that follow them.
pub(super) fn profiles_toml(profiles: &Profiles) -> String {
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
    if let Some(bytes) = profile.max_media_bytes {
        let _ = writeln!(text, "max_media_bytes = {bytes}");
    }
    if let Some(patience) = profile.patience {
        let _ = writeln!(
            text,
            "patience = \"{}\"",
            humantime::format_duration(patience)
        );
    }
    if profile.root_unions {
        let _ = writeln!(text, "root_unions = true");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use bridge_settings::{ConfigFile, SettingValue, SettingsFileError};
    use clap::CommandFactory;

    use super::*;
    use crate::config::Config;

    fn parse(text: &str) -> Result<ConfigFile<ClientTables>, SettingsFileError> {
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
             [[clients]]\nname = \"b\"\nmax_image_edge = 6\nmax_media_bytes = 7\nroot_unions = true",
        )
        .unwrap();
        let [first, second] = file.tables().0.as_slice() else {
            panic!("{:?}", file.tables());
        };
        assert_eq!((first.name.as_str(), second.name.as_str()), ("a*", "b"));
        assert_eq!(first.profile.max_result_bytes, Some(5));
        assert_eq!(first.profile.max_image_edge, None);
        let patience = std::time::Duration::from_secs(50);
        assert_eq!(first.profile.patience, Some(patience));
        assert_eq!(second.profile.max_image_edge, Some(6));
        assert_eq!(second.profile.max_media_bytes, Some(7));
        assert!(second.profile.root_unions && !first.profile.root_unions);
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
            "[[clients]]\nname = \"a\"\nroot_unions = \"no\"",
            3,
            ["`root_unions`", "true and false"],
        ),
        (
            "[[clients]]\nmax_media_bytes = 0",
            2,
            ["`max_media_bytes` cannot be", "from 1 up"],
        ),
        (
            "[[clients]]\nmax_image_edges = 1",
            2,
            ["`max_image_edges`", "`max_image_edge`"],
        ),
    ];

    #[test]
    fn an_error_names_the_file_the_line_the_key_and_the_allowed_values() {
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
