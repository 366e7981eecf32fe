//! The file of `tools_file`: the sources of tools, and the profiles that grant them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use toml::Spanned;

use super::database::{Database, DatabaseSettings};
use super::filesystem::{Filesystem, FilesystemSettings};
use super::github::{Github, GithubSettings};
use super::profile::{Profile, ProfileEntry};
use super::source::Source;
use super::websearch::{Websearch, WebsearchSettings};
use crate::secrets::SecretStore;

/// The content of the file, checked.
#[derive(Debug, Default)]
pub(crate) struct ToolsFile {
    /// The file with the MCP servers, if there is one.
    pub(crate) servers_file: Option<PathBuf>,
    /// In the order of the file.
    pub(crate) sources: Vec<(String, SourceSettings)>,
    /// In the order of the file.
    pub(crate) profiles: Vec<Profile>,
}

/// The settings of a built-in source.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(crate) enum SourceSettings {
    Database(DatabaseSettings),
    Filesystem(FilesystemSettings),
    Github(GithubSettings),
    Websearch(WebsearchSettings),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tables {
    mcp: Option<McpTable>,
    #[serde(default)]
    sources: BTreeMap<Spanned<String>, SourceSettings>,
    #[serde(default)]
    profiles: BTreeMap<Spanned<String>, ProfileEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct McpTable {
    file: PathBuf,
}

/// Why the file cannot be used, with the line if it is known. It never quotes a value, which may be a
/// secret.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ToolsFileError {
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
    pub(crate) fn load(path: &Path) -> Result<Self, ToolsFileError> {
        let text = std::fs::read_to_string(path).map_err(|error| ToolsFileError {
            path: path.to_owned(),
            line: None,
            problem: format!("the file cannot be read: {error}"),
        })?;
        Self::parse(path, &text)
    }

    /// Parses the text of a file, whose path is for errors. Relative paths in it begin at its folder.
    fn parse(path: &Path, text: &str) -> Result<Self, ToolsFileError> {
        let error = |offset: Option<usize>, problem: String| ToolsFileError {
            path: path.to_owned(),
            line: offset.map(|offset| text[..offset].matches('\n').count() + 1),
            problem,
        };
        let tables: Tables = toml::from_str(text).map_err(|it| {
            let offset = it.span().map(|span| span.start);
            error(offset, it.message().to_owned())
        })?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut sources = Vec::new();
        for (name, settings) in in_file_order(tables.sources) {
            let offset = Some(name.span().start);
            let name = name.into_inner();
            check_name("source", &name).map_err(|problem| error(offset, problem))?;
            if name.starts_with(MCP_PREFIX) {
                let problem = format!(
                    "the source `{name}` cannot have this name: names that begin with \
                     `{MCP_PREFIX}` are those of MCP servers"
                );
                return Err(error(offset, problem));
            }
            sources.push((name, settings.resolved(folder)));
        }
        let mut profiles = Vec::new();
        for (name, entry) in in_file_order(tables.profiles) {
            let offset = Some(name.span().start);
            let name = name.into_inner();
            let profile = check_name("profile", &name).and_then(|()| {
                Profile::new(&name, entry).map_err(|problem| format!("profile `{name}`: {problem}"))
            });
            profiles.push(profile.map_err(|problem| error(offset, problem))?);
        }
        Ok(Self {
            servers_file: tables.mcp.map(|mcp| folder.join(mcp.file)),
            sources,
            profiles,
        })
    }

    #[cfg(test)]
    pub(crate) fn from_text(text: &str) -> Self {
        Self::parse(Path::new("/etc/agent/tools.toml"), text).unwrap()
    }

    /// Returns warnings about what the operator may not have meant.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut warnings: Vec<_> = self.profiles.iter().flat_map(Profile::warnings).collect();
        let has_sources = !self.sources.is_empty() || self.servers_file.is_some();
        if self.profiles.is_empty() && has_sources {
            warnings
                .push("`tools_file` has sources and no profile: no query can use them".to_owned());
        }
        warnings
    }
}

impl SourceSettings {
    /// Creates the source. What it needs is checked, and nothing is started.
    pub(crate) fn open(
        &self,
        name: &str,
        secrets: Option<&Arc<SecretStore>>,
    ) -> Result<Arc<dyn Source>, String> {
        Ok(match self {
            Self::Database(settings) => Arc::new(Database::open(name, settings, secrets)?),
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

fn in_file_order<T>(tables: BTreeMap<Spanned<String>, T>) -> Vec<(Spanned<String>, T)> {
    let mut tables: Vec<_> = tables.into_iter().collect();
    tables.sort_by_key(|(name, _)| name.span().start);
    tables
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
        let sources: Vec<_> = file.sources.iter().map(|(name, _)| name.as_str()).collect();
        let profiles: Vec<_> = file.profiles.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(
            (sources, profiles),
            (vec!["zebra", "ant"], vec!["staff", "all"])
        );
        assert_eq!(file.warnings(), Vec::<String>::new());
        let SourceSettings::Filesystem(zebra) = &file.sources[0].1 else {
            panic!("{:?}", file.sources);
        };
        assert_eq!(zebra.roots["notes"], Path::new("/etc/agent/notes"));
    }

    #[test]
    fn errors_name_the_line_and_quote_no_value() {
        for (text, expected) in [
            (
                "[sources.a]\nroots = {}",
                "/etc/agent/tools.toml:1: missing field `type`",
            ),
            (
                "\n[sources.a]\ntype = 'disk'",
                "tools.toml:3: unknown variant `disk`",
            ),
            (
                "[profiles.p]\ngrants = ['read']",
                "tools.toml:2: unknown field `grants`",
            ),
            (
                "[profiles.p]\ngrant = ['reed']",
                "tools.toml:2: unknown variant `reed`",
            ),
            (
                "[profiles.p]\nrate = { read = '9' }",
                "tools.toml:2: `9` is no rate",
            ),
            (
                "[profiles.p]\n\nallow = ['[']",
                "tools.toml:1: profile `p`: `[` in `allow`",
            ),
            ("[source.a]\ntype = 'filesystem'", "unknown field `source`"),
            ("[profiles.'a b']", "`a b` cannot be the name of a profile"),
            (
                "[sources.mcp-x]\ntype = 'filesystem'\nroots = { a = 'b' }",
                "are those of MCP servers",
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
