//! The settings of a source as flags.
//!
//! A flag has the name of the setting, in the singular if it can be repeated. The flags become the same
//! values that `[sources.NAME]` has, and are checked by the same code. Other users of a machine can read
//! arguments: no flag is a secret, and a variable is named by a flag that ends with `-variable`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use agent_sources::SourceSettings;
use clap::{Args, Subcommand};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use url::Url;

/// The end of the names of flags that name a variable with a secret.
const VARIABLE_SUFFIX: &str = "_variable";

/// A built-in source with its settings.
#[derive(Debug, Subcommand, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum SourceFlags {
    /// Serve files below folders: read_file, list_directory, write_file
    #[command(after_long_help = FILESYSTEM_EXAMPLE)]
    Filesystem(FilesystemFlags),
    /// Serve tables of a SQL database, which are only read: list_tables, describe_table, query
    #[command(after_long_help = DATABASE_EXAMPLE)]
    Database(DatabaseFlags),
    /// Serve a search engine of the web: web_search
    #[command(after_long_help = WEBSEARCH_EXAMPLE)]
    Websearch(WebsearchFlags),
    /// Serve repositories on GitHub: search_code, get_file, list_pull_requests, create_issue
    #[command(after_long_help = GITHUB_EXAMPLE)]
    Github(GithubFlags),
}

#[derive(Debug, Args, Serialize)]
pub(super) struct FilesystemFlags {
    /// Folder whose files are served. Paths begin with its name: NAME, or that of the folder. May be
    /// repeated.
    #[arg(long = "root", value_name = "[NAME=]PATH", required = true, value_parser = parse_root)]
    #[serde(serialize_with = "as_map")]
    roots: Vec<(String, PathBuf)>,
    /// Have no tool that writes.
    #[arg(long)]
    read_only: bool,
}

#[derive(Debug, Args, Serialize)]
pub(super) struct DatabaseFlags {
    /// Where the database is, such as sqlite:/srv/shop.db or postgres://role@host/database.
    #[arg(long, value_name = "URL")]
    url: String,
    /// Table or view that can be read; '*' means all. May be repeated.
    #[arg(long = "table", value_name = "NAME", required = true)]
    tables: Vec<String>,
    /// File with the password, for PostgreSQL.
    #[arg(long, value_name = "PATH")]
    password_file: Option<PathBuf>,
    /// Name of a stored secret with the password.
    #[arg(long, value_name = "NAME")]
    password_secret: Option<String>,
    /// Name of a variable of the environment with the password.
    #[arg(long, value_name = "NAME")]
    password_variable: Option<String>,
    /// The most rows of an answer; by default 200.
    #[arg(long, value_name = "N")]
    max_rows: Option<usize>,
    /// How long a call may take; by default 5s.
    #[arg(long, value_name = "TIME")]
    timeout: Option<String>,
}

#[derive(Debug, Args, Serialize)]
pub(super) struct WebsearchFlags {
    /// The engine: searxng, brave or tavily; by default searxng.
    #[arg(long, value_name = "NAME")]
    engine: Option<String>,
    /// Where the API of the engine is, if it is not where the engine usually has it; that of SearXNG is
    /// http://127.0.0.1:8888.
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// File with the key of the API, for Brave and Tavily.
    #[arg(long, value_name = "PATH")]
    api_key_file: Option<PathBuf>,
    /// Name of a stored secret with the key.
    #[arg(long, value_name = "NAME")]
    api_key_secret: Option<String>,
    /// Name of a variable of the environment with the key.
    #[arg(long, value_name = "NAME")]
    api_key_variable: Option<String>,
}

#[derive(Debug, Args, Serialize)]
pub(super) struct GithubFlags {
    /// Repository that can be used, such as owner/name or 'owner/*'; by default all that the token can
    /// see. May be repeated.
    #[arg(long = "repository", value_name = "OWNER/NAME")]
    repositories: Option<Vec<String>>,
    /// The API of a GitHub Enterprise, such as https://github.example.com/api/v3.
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// File with the token. Without a token, requests are anonymous.
    #[arg(long, value_name = "PATH")]
    token_file: Option<PathBuf>,
    /// Name of a stored secret with the token.
    #[arg(long, value_name = "NAME")]
    token_secret: Option<String>,
    /// Name of a variable of the environment with the token.
    #[arg(long, value_name = "NAME")]
    token_variable: Option<String>,
}

const FILESYSTEM_EXAMPLE: &str = "\
Example, in the file of a client:
  { \"mcpServers\": { \"notes\": { \"command\": \"mcp-web\",
    \"args\": [\"agent\", \"plugin\", \"serve\", \"filesystem\", \"--root\", \"notes=/srv/notes\", \"--read-only\"] } } }";

const DATABASE_EXAMPLE: &str = "\
Example, in the file of a client:
  { \"mcpServers\": { \"shop\": { \"command\": \"mcp-web\",
    \"args\": [\"agent\", \"plugin\", \"serve\", \"database\", \"--url\", \"sqlite:/srv/shop.db\",
             \"--table\", \"orders\", \"--table\", \"customers\"] } } }";

const WEBSEARCH_EXAMPLE: &str = "\
Example, in the file of a client:
  { \"mcpServers\": { \"web\": { \"command\": \"mcp-web\",
    \"args\": [\"agent\", \"plugin\", \"serve\", \"websearch\", \"--engine\", \"tavily\",
             \"--api-key-variable\", \"TAVILY_API_KEY\"],
    \"env\": { \"TAVILY_API_KEY\": \"…\" } } } }";

const GITHUB_EXAMPLE: &str = "\
Example, in the file of a client:
  { \"mcpServers\": { \"code\": { \"command\": \"mcp-web\",
    \"args\": [\"agent\", \"plugin\", \"serve\", \"github\", \"--repository\", \"owner/*\",
             \"--token-file\", \"/run/secrets/github\"] } } }";

impl SourceFlags {
    /// Returns the type, as `type` of a source.
    pub(super) fn type_name(&self) -> Result<String, String> {
        let fields = self.fields()?;
        let name = fields.get("type").and_then(Value::as_str);
        Ok(name.unwrap_or_default().to_owned())
    }

    /// Returns the settings. Relative paths begin at the current folder.
    pub(super) fn settings(&self) -> Result<SourceSettings, String> {
        let mut fields = self.fields()?;
        fields.get("url").map_or(Ok(()), check_url)?;
        if let Self::Filesystem(flags) = self {
            check_names(&flags.roots)?;
        }
        let variables: Vec<_> = fields
            .iter()
            .filter_map(|(name, value)| {
                let setting = name.strip_suffix(VARIABLE_SUFFIX)?;
                Some((setting.to_owned(), value.as_str()?.to_owned()))
            })
            .collect();
        for (setting, variable) in variables {
            let name = setting.clone() + VARIABLE_SUFFIX;
            let secret = std::env::var(&variable).map_err(|_| {
                let flag = name.replace('_', "-");
                format!("the variable `{variable}`, which `--{flag}` names, is not set")
            })?;
            fields.remove(&name);
            fields.insert(setting, secret.into());
        }
        SourceSettings::deserialize(Value::Object(fields)).map_err(|error| error.to_string())
    }

    /// Returns the flags that are there.
    fn fields(&self) -> Result<Map<String, Value>, String> {
        match serde_json::to_value(self).map_err(|error| error.to_string())? {
            Value::Object(mut fields) => {
                fields.retain(|_, value| !value.is_null());
                Ok(fields)
            }
            _ => Ok(Map::new()),
        }
    }
}

/// Refuses two roots with one name, of which only one could be reached.
fn check_names(roots: &[(String, PathBuf)]) -> Result<(), String> {
    let has_name_of_earlier = |index: usize| roots[..index].iter().any(|it| it.0 == roots[index].0);
    match (0..roots.len()).find(|index| has_name_of_earlier(*index)) {
        Some(index) => {
            let name = &roots[index].0;
            Err(format!(
                "two roots have the name `{name}`: write `--root NAME=PATH`"
            ))
        }
        None => Ok(()),
    }
}

fn as_map<S: serde::Serializer>(
    roots: &[(String, PathBuf)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let map: BTreeMap<_, _> = roots.iter().map(|(name, path)| (name, path)).collect();
    map.serialize(serializer)
}

/// Parses a root. A `=` after a separator of paths belongs to the path.
fn parse_root(text: &str) -> Result<(String, PathBuf), String> {
    if let Some((name, path)) = text.split_once('=')
        && !name.contains(['/', '\\'])
    {
        return match (name, path) {
            ("", _) | (_, "") => Err("write NAME=PATH, or PATH".to_owned()),
            (name, path) => Ok((name.to_owned(), path.into())),
        };
    }
    // `.` and `..` are not names.
    let path = PathBuf::from(text);
    let whole = std::path::absolute(&path).ok();
    let name = match path.file_name() {
        Some(name) => Some(name.to_owned()),
        None => whole
            .and_then(|it| it.canonicalize().ok())
            .and_then(|it| Some(it.file_name()?.to_owned())),
    };
    let name = name.ok_or("the folder has no name: write NAME=PATH")?;
    let name = name.into_string();
    let name = name.map_err(|_| "the name of the folder is not UTF-8: write NAME=PATH")?;
    Ok((name, path))
}

/// Refuses a URL with a password.
fn check_url(url: &Value) -> Result<(), String> {
    let url = url.as_str().and_then(|text| Url::parse(text).ok());
    if url.is_some_and(|url| url.password().is_some()) {
        return Err(
            "`--url` has a password, and other users of this machine can read arguments: write it \
             into a file or a stored secret"
                .to_owned(),
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::Parser;
    use serde_json::json;

    use super::super::arguments::{Arguments, Command, ServedType};
    use super::*;

    fn parse(words: &[&str]) -> Result<SourceFlags, String> {
        let words = [&["plugin", "serve"], words].concat();
        let arguments = Arguments::try_parse_from(words).map_err(|error| error.to_string())?;
        let Command::Serve(arguments) = arguments.command;
        match arguments.served {
            ServedType::BuiltIn(flags) => Ok(flags),
            other => panic!("{other:?}"),
        }
    }

    fn fields(words: &[&str]) -> Value {
        Value::Object(parse(words).unwrap().fields().unwrap())
    }

    /// A call with every flag of each type.
    const ALL_FLAGS: [&[&str]; 4] = [
        &["filesystem", "--root", "a=/b", "--read-only"],
        &[
            "database",
            "--url",
            "u",
            "--table",
            "t",
            "--password-file",
            "f",
            "--password-secret",
            "s",
            "--password-variable",
            "V",
            "--max-rows",
            "7",
            "--timeout",
            "1s",
        ],
        &[
            "websearch",
            "--engine",
            "e",
            "--url",
            "u",
            "--api-key-file",
            "f",
            "--api-key-secret",
            "s",
            "--api-key-variable",
            "V",
        ],
        &[
            "github",
            "--repository",
            "a/b",
            "--url",
            "u",
            "--token-file",
            "f",
            "--token-secret",
            "s",
            "--token-variable",
            "V",
        ],
    ];

    /// A setting that has no flag yet is missing here, and one that is a secret has the flag of a
    /// variable.
    #[test]
    fn every_setting_of_a_source_has_a_flag() {
        for words in ALL_FLAGS {
            let flags = fields(words);
            let kind = &flags["type"];
            let mut unknown = json!({ "type": kind, "no-such-setting": 1 });
            let error = SourceSettings::deserialize(unknown.take()).unwrap_err();
            let error = error.to_string();
            let (_, names) = error.split_once("expected one of ").unwrap_or_else(|| {
                let (_, names) = error.split_once("expected ").unwrap();
                ("", names)
            });
            let settings: BTreeSet<_> = names.split('`').skip(1).step_by(2).collect();
            let flags = flags.as_object().unwrap().keys();
            let flags = flags.map(|name| name.strip_suffix(VARIABLE_SUFFIX).unwrap_or(name));
            let flags: BTreeSet<_> = flags.filter(|name| *name != "type").collect();
            assert_eq!(flags, settings, "{kind}");
        }
    }

    #[test]
    fn flags_are_the_settings_of_a_source() {
        let flags = fields(&[
            "filesystem",
            "--root",
            "a=/x/b",
            "--root",
            "/c=d/e",
            "--root",
            "f",
        ]);
        let roots = json!({ "a": "/x/b", "e": "/c=d/e", "f": "f" });
        assert_eq!(
            flags,
            json!({ "type": "filesystem", "roots": roots, "read_only": false })
        );
        let words = [
            "database",
            "--url",
            "sqlite:s.db",
            "--table",
            "a",
            "--table",
            "b",
        ];
        let expected = json!({ "type": "database", "url": "sqlite:s.db", "tables": ["a", "b"] });
        assert_eq!(fields(&words), expected);
        assert_eq!(fields(&["github"]), json!({ "type": "github" }));
        assert!(parse(&words).unwrap().settings().is_ok());
    }

    #[test]
    fn the_current_folder_has_the_name_that_it_has_elsewhere() {
        let (name, path) = parse_root(".").unwrap();
        let current = std::env::current_dir().unwrap();
        assert_eq!(Some(name.as_ref()), current.file_name());
        assert_eq!(path, PathBuf::from("."));
        assert!(parse_root("/").unwrap_err().contains("NAME=PATH"));
        assert!(parse_root("=/x").is_err() && parse_root("x=").is_err());
    }

    #[test]
    fn wrong_flags_are_refused_with_a_reason_and_no_password_is_shown() {
        for (words, expected) in [
            (
                &["filesystem", "--root", "a=/b", "--root", "/c/a"][..],
                "two roots have the name `a`",
            ),
            (
                &[
                    "database",
                    "--url",
                    "postgres://u:hunter2@h/d",
                    "--table",
                    "a",
                ],
                "can read arguments",
            ),
            (
                &[
                    "database",
                    "--url",
                    "sqlite:a",
                    "--table",
                    "a",
                    "--max-rows",
                    "0",
                ],
                "`max_rows` must be",
            ),
            (&["websearch", "--engine", "x"], "expected one of `searxng`"),
            (
                &["github", "--token-variable", "NO_SUCH_VARIABLE"],
                "`NO_SUCH_VARIABLE`, which `--token-variable` names, is not set",
            ),
            (&["github", "--token", "hunter2"], "unexpected argument"),
        ] {
            let error = parse(words).and_then(|flags| flags.settings());
            let error = error.unwrap_err();
            assert!(error.contains(expected), "{error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}
