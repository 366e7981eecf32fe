//! The bridges whose queries the agent answers: one by the settings `bridge_url` and `token`, or several
//! by the tables `[[bridges]]` of the configuration file.

use std::fmt::Write;
use std::path::PathBuf;

use bridge_settings::values::parse_count;
use bridge_settings::{
    FileTables, LocatedError, Secret, SettingKind, flag_text, parse_credential, unknown_key_message,
};
use toml::de::{DeTable, DeValue};
use toml::{Spanned, Value};

use super::bridge_url::BridgeUrl;
use crate::credential::CredentialSource;

/// The name of the only bridge of an agent without `[[bridges]]`. Its users have no prefix.
pub(crate) const DEFAULT_BRIDGE_NAME: &str = "default";

/// Maximum length of the name of a bridge. It is part of the names of users.
const MAX_NAME_BYTES: usize = 32;

const KEYS: [&str; 6] = [
    "name",
    "url",
    "credential",
    "credential_file",
    "allowed_origins",
    "max_queries",
];

/// A bridge whose queries the agent answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BridgeEntry {
    /// The name in logs, and before the names of its users. The bridge `default` has the conversations
    /// of an agent with one bridge.
    pub name: String,
    /// The URL of the bridge. The tools of its queries are called there only.
    pub url: BridgeUrl,
    /// The credential that the bridge must send, and by which it is recognized.
    pub credential: Option<Secret>,
    /// File with such credentials, instead of `credential`.
    pub credential_file: Option<PathBuf>,
    /// Origins of pages of this bridge that may send queries to the agent directly.
    pub allowed_origins: Vec<String>,
    /// Maximum number of its queries that are answered at the same time.
    pub max_queries: Option<usize>,
}

impl BridgeEntry {
    /// Returns the place of the credentials.
    pub(crate) fn credentials(&self, settings: CredentialSettings) -> CredentialSource {
        match (&self.credential, &self.credential_file) {
            (Some(secret), _) => CredentialSource::Setting(settings.secret, secret.clone()),
            (None, Some(path)) => CredentialSource::File(settings.file, path.clone()),
            (None, None) => CredentialSource::Shared,
        }
    }
}

/// The names of the two settings that a credential can have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CredentialSettings {
    pub(super) secret: &'static str,
    pub(super) file: &'static str,
}

/// The bridges of a configuration file.
#[derive(Debug, Default)]
pub(crate) struct BridgeTables(Vec<BridgeEntry>);

impl BridgeTables {
    pub(crate) fn entries(&self) -> &[BridgeEntry] {
        &self.0
    }

    /// Formats the bridges as TOML. Credentials are replaced by a comment.
    pub(crate) fn to_toml(&self) -> String {
        let mut text = String::new();
        for bridge in &self.0 {
            let quoted = |text: &str| Value::String(text.to_owned());
            let (name, url) = (quoted(&bridge.name), quoted(&bridge.url.to_string()));
            let _ = write!(text, "\n[[bridges]]\nname = {name}\nurl = {url}\n");
            if bridge.credential.is_some() {
                text.push_str("# credential is set and not shown\n");
            }
            if let Some(path) = &bridge.credential_file {
                let path = quoted(&path.to_string_lossy());
                let _ = writeln!(text, "credential_file = {path}");
            }
            if !bridge.allowed_origins.is_empty() {
                let origins = bridge.allowed_origins.iter().map(|it| quoted(it));
                let origins = Value::Array(origins.collect());
                let _ = writeln!(text, "allowed_origins = {origins}");
            }
            if let Some(max_queries) = bridge.max_queries {
                let _ = writeln!(text, "max_queries = {max_queries}");
            }
        }
        text
    }
}

impl FileTables for BridgeTables {
    const KEY: Option<&'static str> = Some("bridges");

    fn parse(value: &Spanned<DeValue<'_>>) -> Result<Self, LocatedError> {
        let no_tables = |value: &Spanned<DeValue<'_>>| {
            let problem = "`bridges` must be tables: begin each with a line [[bridges]]";
            error_at(value, problem.to_owned())
        };
        let tables = value.get_ref().as_array().ok_or_else(|| no_tables(value))?;
        let bridges = tables.iter().map(|table| {
            let fields = table.get_ref().as_table();
            parse_bridge(table, fields.ok_or_else(|| no_tables(table))?)
        });
        bridges.collect::<Result<_, _>>().map(Self)
    }
}

fn parse_bridge(
    table: &Spanned<DeValue<'_>>,
    fields: &DeTable<'_>,
) -> Result<BridgeEntry, LocatedError> {
    let (mut name, mut url) = (None, None);
    let (mut credential, mut credential_file) = (None, None);
    let (mut allowed_origins, mut max_queries) = (Vec::new(), None);
    for (key, value) in fields {
        match key.get_ref().as_ref() {
            "name" => name = Some(parse_text("name", value, parse_name)?),
            "url" => url = Some(parse_text("url", value, str::parse::<BridgeUrl>)?),
            "credential" => {
                let text = flag_text("credential", SettingKind::Text, value)?;
                let secret = parse_credential(&text);
                // The message does not contain the value.
                let in_field = |allowed| error_at(value, format!("`credential`: {allowed}"));
                credential = Some(secret.map_err(in_field)?);
            }
            "credential_file" => {
                let path = flag_text("credential_file", SettingKind::Text, value)?;
                credential_file = Some(PathBuf::from(path));
            }
            "allowed_origins" => allowed_origins = parse_origins(value)?,
            "max_queries" => {
                let text = flag_text("max_queries", SettingKind::Number, value)?;
                max_queries = Some(parse_field("max_queries", &text, value, parse_count)?);
            }
            other => {
                let keys = KEYS.into_iter();
                let problem = unknown_key_message(other, keys, value.get_ref(), BridgeTables::KEY);
                return Err(LocatedError {
                    offset: key.span().start,
                    problem: format!("in [[bridges]]: {problem}"),
                });
            }
        }
    }
    let missing = |key| error_at(table, format!("a bridge has no `{key}`: add it"));
    if credential.is_some() == credential_file.is_some() {
        let problem = "a bridge needs either `credential` or `credential_file`, by which the agent \
                       recognizes it";
        return Err(error_at(table, problem.to_owned()));
    }
    Ok(BridgeEntry {
        name: name.ok_or_else(|| missing("name"))?,
        url: url.ok_or_else(|| missing("url"))?,
        credential,
        credential_file,
        allowed_origins,
        max_queries,
    })
}

fn parse_origins(value: &Spanned<DeValue<'_>>) -> Result<Vec<String>, LocatedError> {
    let name = "allowed_origins";
    match value.get_ref() {
        DeValue::Array(entries) => {
            let entries = entries.iter();
            let texts = entries.map(|entry| flag_text(name, SettingKind::List, entry));
            texts.collect()
        }
        _ => {
            let text = flag_text(name, SettingKind::List, value)?;
            Ok(text.split(',').map(str::to_owned).collect())
        }
    }
}

fn parse_text<T>(
    name: &str,
    value: &Spanned<DeValue<'_>>,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<T, LocatedError> {
    let text = flag_text(name, SettingKind::Text, value)?;
    parse_field(name, &text, value, parse)
}

fn parse_field<T>(
    name: &str,
    text: &str,
    value: &Spanned<DeValue<'_>>,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<T, LocatedError> {
    // A URL may contain a password by mistake, so that no value is shown.
    parse(text).map_err(|allowed| error_at(value, format!("`{name}` cannot be used: {allowed}")))
}

/// Parses the name of a bridge. It has no colon, which separates it from the name of a user.
fn parse_name(text: &str) -> Result<String, String> {
    let is_allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    match text.len() {
        1..=MAX_NAME_BYTES if text.bytes().all(is_allowed) => Ok(text.to_owned()),
        _ => Err(format!(
            "allowed are 1 to {MAX_NAME_BYTES} lower-case letters, digits and `-`"
        )),
    }
}

fn error_at(value: &Spanned<DeValue<'_>>, problem: String) -> LocatedError {
    LocatedError {
        offset: value.span().start,
        problem,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use bridge_settings::{ConfigFile, SettingsFileError};
    use clap::{Args, Command};

    use super::*;
    use crate::config::Config;

    fn parse(text: &str) -> Result<Vec<BridgeEntry>, SettingsFileError> {
        let command = Config::augment_args(Command::new("agent"));
        let file: ConfigFile<BridgeTables> =
            ConfigFile::parse(Path::new("agent.toml"), text, &command)?;
        Ok(file.tables().entries().to_vec())
    }

    fn config(text: &str) -> Config {
        Config {
            bridges: parse(text).unwrap(),
            ..Config::default()
        }
    }

    const TWO: &str = "\
[[bridges]]
name = 'shop'
url = 'https://shop.example'
credential = 'hush-hush-of-the-shop'
allowed_origins = ['https://shop.example']
max_queries = 7

[[bridges]]
name = 'default'
url = '127.0.0.1:3001'
credential_file = '/run/credential'
";

    #[test]
    fn bridges_are_tables_and_are_printed_without_their_credentials() {
        let bridges = parse(TWO).unwrap();
        let [shop, default] = bridges.as_slice() else {
            panic!("{bridges:?}");
        };
        assert_eq!(
            (shop.name.as_str(), default.name.as_str()),
            ("shop", "default")
        );
        assert_eq!(
            shop.credential.as_ref().unwrap().expose(),
            "hush-hush-of-the-shop"
        );
        assert_eq!(shop.max_queries, Some(7));
        assert_eq!(default.url.to_string(), "http://127.0.0.1:3001/");
        assert_eq!(
            default.credential_file.as_deref(),
            Some(Path::new("/run/credential"))
        );
        let printed = BridgeTables(bridges).to_toml();
        assert!(!printed.contains("hush"), "{printed}");
        let again = printed.replace("# credential is set and not shown", "credential = 'c'");
        assert_eq!(BridgeTables(parse(&again).unwrap()).to_toml(), printed);
    }

    #[test]
    fn mistakes_name_the_line_and_no_credential() {
        let with = |line: &str| format!("[[bridges]]\nname = 'a'\nurl = 'a.example'\n{line}\n");
        for (text, line, part) in [
            ("bridges = 1".to_owned(), 1, "[[bridges]]"),
            (with(""), 1, "`credential_file`"),
            (with("credential = 'hush hush'"), 4, "`credential`"),
            (with("credential = 5"), 4, "`credential`"),
            (
                with("credential = 'hush'\ncredential_file = 'f'"),
                1,
                "either",
            ),
            (with("credentials = 'hush'"), 4, "`credential`"),
            (with("max_queries = 0"), 4, "`max_queries`"),
            (with("allowed_origins = 5"), 4, "`allowed_origins`"),
            ("[[bridges]]\nname = 'A:b'".to_owned(), 2, "lower-case"),
            ("[[bridges]]\nname = ''".to_owned(), 2, "lower-case"),
            (
                "[[bridges]]\nurl = 'http://me:hush@a'".to_owned(),
                2,
                "`url`",
            ),
            (
                "[[bridges]]\nurl = 'a'\ncredential = 'hush'".to_owned(),
                1,
                "no `name`",
            ),
        ] {
            let error = parse(&text).unwrap_err().to_string();
            let place = format!("agent.toml:{line}: ");
            assert!(
                error.starts_with(&place) && error.contains(part) && !error.contains("hush"),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn the_settings_of_one_bridge_do_not_stand_beside_tables() {
        assert_eq!(config(TWO).bridge_entries().unwrap().len(), 2);
        let only = Config::default().bridge_entries().unwrap();
        assert_eq!((only.len(), &*only[0].name), (1, DEFAULT_BRIDGE_NAME));
        let token = Some(Secret::from_trusted("hush-hush-hush-hush".to_owned()));
        let cases = [
            (
                "`token`",
                Config {
                    token,
                    ..config(TWO)
                },
            ),
            (
                "`token_file`",
                Config {
                    token_file: Some("f".into()),
                    ..config(TWO)
                },
            ),
            (
                "`bridge_url`",
                Config {
                    bridge_url: "b.example".parse().unwrap(),
                    ..config(TWO)
                },
            ),
            (
                "`allowed_origins`",
                Config {
                    allowed_origins: vec!["loopback".to_owned()],
                    ..config(TWO)
                },
            ),
            ("the name `shop`", config(&TWO.replace("default", "shop"))),
        ];
        for (part, config) in cases {
            let error = config.bridge_entries().unwrap_err();
            assert!(error.contains(part) && !error.contains("hush"), "{error}");
        }
    }
}
