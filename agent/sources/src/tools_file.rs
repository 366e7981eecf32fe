//! The file of `tools_file`: the sources of tools, and the profiles that grant them.

mod tables;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_secrets::SecretStore;
use agent_tools::{CLIENT_SOURCE, PAGE_SOURCE, ProfileEntry, ToolProfile, ToolSource};
use serde::Deserialize;

use crate::database::{Database, DatabaseSettings};
use crate::filesystem::{Filesystem, FilesystemSettings};
use crate::github::{Github, GithubSettings};
use crate::websearch::{Websearch, WebsearchSettings};
use tables::{NamedTable, TableError, children, parse_document, parse_settings, remove};

/// The content of the file, checked.
#[derive(Debug, Default)]
pub struct ToolsFile {
    /// The file with the MCP servers, if there is one.
    pub servers_file: Option<PathBuf>,
    /// In the order of the file.
    pub sources: Vec<SourceEntry>,
    /// In the order of the file.
    pub profiles: Vec<ToolProfile>,
}

/// A built-in source of the file.
#[derive(Clone, Debug)]
pub struct SourceEntry {
    /// The name in `[sources.NAME]`.
    pub name: String,
    /// The other keys of its table.
    pub settings: SourceSettings,
    /// The path of the file and the line of the source, with which errors begin.
    pub location: String,
}

/// The settings of a built-in source.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum SourceSettings {
    /// Tables of SQLite or PostgreSQL.
    Database(DatabaseSettings),
    /// Files below folders.
    Filesystem(FilesystemSettings),
    /// Repositories on GitHub.
    Github(GithubSettings),
    /// A search engine.
    Websearch(WebsearchSettings),
}

/// The type of a built-in source: the key `type` of its table.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum SourceType {
    Database,
    Filesystem,
    Github,
    Websearch,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct McpTable {
    file: PathBuf,
}

/// Why the file cannot be used, with the line if it is known. It never quotes a value, which may be a
/// secret.
#[derive(Debug, PartialEq, Eq)]
pub struct ToolsFileError {
    path: PathBuf,
    line: Option<usize>,
    problem: String,
}

impl fmt::Display for ToolsFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.problem)
    }
}

/// The maximum length of the name of a source or a profile, in bytes.
const MAX_NAME_BYTES: usize = 32;

/// The beginning of the names of the sources that are MCP servers.
const MCP_PREFIX: &str = "mcp-";

impl ToolsFile {
    /// Loads the file.
    pub fn load(path: &Path) -> Result<Self, ToolsFileError> {
        let text = std::fs::read_to_string(path).map_err(|error| ToolsFileError {
            path: path.to_owned(),
            line: None,
            problem: format!("the file cannot be read: {error}"),
        })?;
        Self::parse(path, &text)
    }

    /// Parses the text of a file, whose path is for errors. Relative paths in it begin at its folder.
    fn parse(path: &Path, text: &str) -> Result<Self, ToolsFileError> {
        let line = |offset: usize| text[..offset].matches('\n').count() + 1;
        let file_error = |error: TableError| ToolsFileError {
            path: path.to_owned(),
            line: error.offset.map(line),
            problem: error.problem,
        };
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut file = Self::default();
        for table in parse_document(text).map_err(file_error)? {
            match table.name.as_str() {
                "mcp" => {
                    let mcp = parse_settings::<McpTable>(table.value);
                    let mcp = mcp.map_err(|error| file_error(error.of("the table `mcp`")))?;
                    file.servers_file = Some(folder.join(mcp.file));
                }
                "sources" => {
                    for source in children(table).map_err(file_error)? {
                        let location = format!("{}:{}", path.display(), line(source.span.start));
                        let (name, settings) = parse_source(source).map_err(file_error)?;
                        file.sources.push(SourceEntry {
                            name,
                            settings: settings.resolved(folder),
                            location,
                        });
                    }
                }
                "profiles" => {
                    for profile in children(table).map_err(file_error)? {
                        file.profiles
                            .push(parse_profile(profile).map_err(file_error)?);
                    }
                }
                name => {
                    let problem = format!(
                        "unknown field `{name}`: the tables are `mcp`, `sources` and `profiles`"
                    );
                    return Err(file_error(TableError::new(table.span, problem)));
                }
            }
        }
        Ok(file)
    }

    /// Returns warnings about settings that the operator may not have intended.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings: Vec<_> = self
            .profiles
            .iter()
            .flat_map(ToolProfile::warnings)
            .collect();
        let has_sources = !self.sources.is_empty() || self.servers_file.is_some();
        if self.profiles.is_empty() && has_sources {
            warnings
                .push("`tools_file` has sources and no profile: no query can use them".to_owned());
        }
        warnings
    }
}

impl SourceSettings {
    /// Creates the source. What it needs is checked, and nothing is started. `own_program` has the hidden
    /// commands of the agent.
    pub fn open(
        &self,
        name: &str,
        secrets: Option<&Arc<SecretStore>>,
        own_program: Option<&Path>,
    ) -> Result<Arc<dyn ToolSource>, String> {
        Ok(match self {
            Self::Database(settings) => {
                Arc::new(Database::open(name, settings, secrets, own_program)?)
            }
            Self::Filesystem(settings) => Arc::new(Filesystem::open(name, settings)?),
            Self::Github(settings) => Arc::new(Github::open(name, settings, secrets)?),
            Self::Websearch(settings) => Arc::new(Websearch::open(name, settings, secrets)?),
        })
    }

    /// Makes relative paths begin at the folder of the file.
    fn resolved(self, folder: &Path) -> Self {
        match self {
            Self::Database(settings) => Self::Database(settings.resolved(folder)),
            Self::Filesystem(settings) => Self::Filesystem(settings.resolved(folder)),
            Self::Github(settings) => Self::Github(settings.resolved(folder)),
            Self::Websearch(settings) => Self::Websearch(settings.resolved(folder)),
        }
    }
}

fn parse_source(source: NamedTable<'_>) -> Result<(String, SourceSettings), TableError> {
    let NamedTable {
        name,
        span,
        mut value,
    } = source;
    let error = |problem: String| TableError::new(span.clone(), problem);
    check_name("source", &name).map_err(error)?;
    let owner = format!("the source `{name}`");
    if let Some(reason) = reservation(&name) {
        return Err(error(format!("{owner} cannot have this name: {reason}")));
    }
    let Some(source_type) = remove(&mut value, "type") else {
        return Err(error(format!(
            "{owner}: missing field `type`: write \"database\", \"filesystem\", \"github\" or \
             \"websearch\""
        )));
    };
    let settings = parse_settings(source_type)
        .map_err(|error| error.of("`type`"))
        .and_then(|source_type| {
            Ok(match source_type {
                SourceType::Database => SourceSettings::Database(parse_settings(value)?),
                SourceType::Filesystem => SourceSettings::Filesystem(parse_settings(value)?),
                SourceType::Github => SourceSettings::Github(parse_settings(value)?),
                SourceType::Websearch => SourceSettings::Websearch(parse_settings(value)?),
            })
        });
    Ok((name, settings.map_err(|error| error.of(&owner))?))
}

fn parse_profile(profile: NamedTable<'_>) -> Result<ToolProfile, TableError> {
    let NamedTable { name, span, value } = profile;
    let error = |problem| TableError::new(span.clone(), problem);
    check_name("profile", &name).map_err(error)?;
    let owner = format!("the profile `{name}`");
    let entry = parse_settings::<ProfileEntry>(value).map_err(|error| error.of(&owner))?;
    ToolProfile::new(&name, entry).map_err(|problem| error(problem).of(&owner))
}

/// Returns why no source may have this name, in any case: readers of the audit file and of metrics
/// would take its calls for those of another.
fn reservation(source: &str) -> Option<String> {
    let name = source.to_ascii_lowercase();
    for (reserved, owners) in [(PAGE_SOURCE, "pages"), (CLIENT_SOURCE, "clients")] {
        if name == reserved {
            return Some(format!(
                "`{reserved}` is the source of the tools of {owners}"
            ));
        }
    }
    name.starts_with(MCP_PREFIX)
        .then(|| format!("names that begin with `{MCP_PREFIX}` are those of MCP servers"))
}

fn check_name(what: &str, name: &str) -> Result<(), String> {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    let is_valid = name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name.len() <= MAX_NAME_BYTES
        && name.bytes().all(is_allowed);
    if is_valid {
        return Ok(());
    }
    Err(format!(
        "`{name}` cannot be the name of a {what}: use letters, digits, `-` and `_`, at most \
         {MAX_NAME_BYTES}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<ToolsFile, String> {
        ToolsFile::parse(Path::new("/etc/agent/tools.toml"), text).map_err(|it| it.to_string())
    }

    #[test]
    fn sources_and_profiles_keep_the_order_of_the_file() {
        let file = parse(
            "[sources.zebra]\ntype = 'filesystem'\nroots = { notes = 'notes' }\n\n\
             [profiles.staff]\nroles = ['staff']\nallow = ['zebra-*']\ngrant = ['read']\n\n\
             [sources.ant]\ntype = 'filesystem'\nroots = { a = '/srv/a' }\n\n\
             [profiles.all]\nallow = ['ant-*']\ngrant = ['read']\n",
        )
        .unwrap();
        let sources: Vec<_> = file.sources.iter().map(|it| it.name.as_str()).collect();
        let profiles: Vec<_> = file.profiles.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(
            (sources, profiles),
            (vec!["zebra", "ant"], vec!["staff", "all"])
        );
        assert_eq!(file.warnings(), Vec::<String>::new());
        let SourceSettings::Filesystem(zebra) = &file.sources[0].settings else {
            panic!("{:?}", file.sources);
        };
        assert_eq!(zebra.roots["notes"], Path::new("/etc/agent/notes"));
    }

    #[test]
    fn errors_name_the_line_and_quote_no_value() {
        for (text, expected) in [
            (
                "[sources.a]\nroots = {}",
                "/etc/agent/tools.toml:1: the source `a`: missing field `type`: write",
            ),
            (
                "\n[sources.a]\ntype = 'disk'",
                "tools.toml:3: the source `a`: `type`: unknown variant `disk`, expected one of",
            ),
            (
                "[sources.a]\ntype = 'filesystem'\n",
                "tools.toml:1: the source `a`: missing field `roots`",
            ),
            (
                "[sources.a]\ntype = 'filesystem'\nroots = { a = 'b' }\nreadonly = true",
                "tools.toml:4: the source `a`: unknown field `readonly`, expected `roots` or",
            ),
            (
                "[sources.a]\nroots = { a = 'b' }\nread_only = 'secret'\ntype = 'filesystem'",
                "tools.toml:3: the source `a`: `read_only`: it must be true or false",
            ),
            (
                "[sources.a]\ntype = 'filesystem'\n[sources.a.roots]\nb = 'c'\nd = 7",
                "tools.toml:5: the source `a`: `roots`: it must be ",
            ),
            (
                "[sources.a]\ntype = 'filesystem'\nroots = 'secret, expected secret'",
                "tools.toml:3: the source `a`: `roots`: it must be a table, such as",
            ),
            (
                "[sources.a]\ntype = 'database'\nurl = 'postgres:secret'\ntables = ['*']",
                "tools.toml:3: the source `a`: `url` is not a URL of a database",
            ),
            (
                "[sources.a]\ntype = 'database'\nurl = 'sqlite:a'\ntables = ['*']\nmax_rows = 7000",
                "tools.toml:5: the source `a`: `max_rows` must be 1 to 1000",
            ),
            (
                "[sources.a]\ntype = 'websearch'\nengine = 'gogle'",
                "tools.toml:3: the source `a`: `engine`: unknown variant `gogle`, expected one of",
            ),
            (
                "[sources.a]\ntype = 'github'\ntoken = ['secret']",
                "tools.toml:3: the source `a`: `token`: it must be a string in quotes",
            ),
            (
                "[sources]\na = 'secret'",
                "tools.toml:2: the source `a`: missing field `type`",
            ),
            (
                "sources = 'secret'",
                "tools.toml:1: `sources` must be a table: write [sources.NAME]",
            ),
            (
                "[mcp]\npath = 'a'",
                "tools.toml:2: the table `mcp`: unknown field `path`",
            ),
            (
                "\n[mcp]\nfile = 7",
                "tools.toml:3: the table `mcp`: `file`: it must be ",
            ),
            (
                "[profiles.p]\ngrants = ['read']",
                "tools.toml:2: the profile `p`: unknown field `grants`",
            ),
            (
                "[profiles.p]\ngrant = ['reed']",
                "tools.toml:2: the profile `p`: `grant`: unknown variant `reed`",
            ),
            (
                "[profiles.p]\nallow = 'secret-*'",
                "tools.toml:2: the profile `p`: `allow`: it must be a list, such as",
            ),
            (
                "[profiles.p]\nrate = { read = '9' }",
                "tools.toml:2: the profile `p`: `rate`: `9` is not a rate",
            ),
            (
                "[profiles.p]\n\nallow = ['[']",
                "tools.toml:1: the profile `p`: `[` in `allow`",
            ),
            ("[source.a]\ntype = 'filesystem'", "unknown field `source`"),
            ("[profiles.'a b']", "`a b` cannot be the name of a profile"),
            (
                "[sources.mcp-x]\ntype = 'filesystem'\nroots = { a = 'b' }",
                "are those of MCP servers",
            ),
            (
                "[sources.MCP-x]\ntype = 'filesystem'\nroots = { a = 'b' }",
                "the source `MCP-x` cannot have this name",
            ),
            (
                "\n[sources.page]\ntype = 'filesystem'\nroots = { a = 'b' }",
                "tools.toml:2: the source `page` cannot have this name: `page` is the source of",
            ),
            (
                "[sources.Client]\ntype = 'filesystem'\nroots = { a = 'b' }",
                "the source `Client` cannot have this name",
            ),
            (
                "[sources.' page']\ntype = 'filesystem'\nroots = { a = 'b' }",
                "` page` cannot be the name of a source",
            ),
            ("[profiles.p]\nsystem = 'secret", "tools.toml:2: "),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(expected), "{error}");
            assert!(!error.contains("secret"), "{error}");
        }
        let error = ToolsFile::load(Path::new("/no/such/file")).unwrap_err();
        assert!(error.to_string().contains("cannot be read"), "{error}");
    }
}
