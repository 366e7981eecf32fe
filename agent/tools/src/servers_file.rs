//! The file `mcp-servers.json`: which MCP servers the agent uses, in the format of other MCP clients.
//!
//! An entry is copied from the documentation of a server: below `mcpServers` (Claude Desktop,
//! Cursor) or `servers` (VS Code), it has `command` and `args`, or `url`. Our own settings of a
//! server are in its [`ServerPolicy`].
//!
//! 1. [`ServersFile::load`] parses the JSON, which may have comments and trailing commas.
//! 2. [`ServersFile::servers`] parses the entries. An invalid one does not affect the others.
//! 3. [`ServerDefinition::expand`] replaces variables such as `${TOKEN}` by the values that
//!    [`Variables`] have. A missing one does not affect other servers.
//! 4. [`ServersFile::add`], [`ServersFile::remove`] and [`ServersFile::save`] change the file. The
//!    rest of the text stays unchanged, and later changes of another program are not overwritten.

mod definition;
mod error;
mod expansion;
mod limits;
mod names;
mod policy;
mod template;
#[cfg(test)]
mod tests;
mod transport;
mod variables;

use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use bridge_shared_files::jsonc::{parse, with_member, without_member};
use bridge_shared_files::{FileMode, read_file, replace_file};
use serde_json::{Map, Value};

pub use definition::ServerDefinition;
pub use error::{EditError, SaveError, ServersFileError};
pub(crate) use limits::{MAX_FILE_BYTES, MAX_SERVERS};
pub use policy::ServerPolicy;
pub use transport::ServerTransport;
pub(crate) use variables::{ProcessVariables, Variables};

use names::server_location;

/// The key for servers in the files of Claude Desktop and Cursor, and in new files.
const MCP_SERVERS: &str = "mcpServers";

/// The key for servers in the files of VS Code.
const SERVERS: &str = "servers";

/// A new file.
const EMPTY_FILE: &str = "{\n  \"mcpServers\": {}\n}\n";

/// A file with a list of MCP servers. `Debug` shows the names of the servers only.
pub struct ServersFile {
    path: PathBuf,
    /// The text with the changes that were made.
    text: String,
    /// The parsed text.
    document: Map<String, Value>,
    key: &'static str,
    /// The content of the file on the disk; `None` if it does not exist.
    content: Option<Vec<u8>>,
}

/// A server in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerEntry {
    /// The name of the server. If it is invalid, the definition is an error.
    pub name: String,
    /// The definition of the server, or a message for the operator about its error.
    pub definition: Result<ServerDefinition, String>,
}

impl ServersFile {
    /// Loads the file. A file that does not exist has no servers.
    ///
    /// # Errors
    ///
    /// [`ServersFileError`] when the file cannot be read, when it is not JSON or too large, and
    /// when it does not have servers below one key. An invalid entry is not an error of the file.
    pub fn load(path: &Path) -> Result<Self, ServersFileError> {
        let bytes = match read_file(path, MAX_FILE_BYTES) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::empty(path)),
            Err(error) => return Err(load_error(path, format!("it cannot be read: {error}"))),
        };
        let text = std::str::from_utf8(&bytes);
        let text = text.map_err(|_| load_error(path, "it is not UTF-8: save it as UTF-8"))?;
        Self::parse(path, text)
    }

    /// Parses the text of the file at this path.
    ///
    /// # Errors
    ///
    /// [`ServersFileError`] as for [`ServersFile::load`].
    pub fn parse(path: &Path, text: &str) -> Result<Self, ServersFileError> {
        if text.len() > MAX_FILE_BYTES {
            let problem = format!(
                "it is larger than {MAX_FILE_BYTES} bytes, which is the maximum: remove what is not \
                 needed"
            );
            return Err(load_error(path, problem));
        }
        // Some editors on Windows write a byte order mark at the start.
        let changed_text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let parsed = parse_document(changed_text);
        let (document, key) = parsed.map_err(|problem| load_error(path, problem))?;
        Ok(Self {
            path: path.to_owned(),
            text: changed_text.to_owned(),
            document,
            key,
            content: Some(text.as_bytes().to_vec()),
        })
    }

    fn empty(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            text: EMPTY_FILE.to_owned(),
            document: Map::new(),
            key: MCP_SERVERS,
            content: None,
        }
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether the file was on the disk when it was loaded or saved last.
    pub fn exists(&self) -> bool {
        self.content.is_some()
    }

    /// Returns the servers in the order of the file.
    pub fn servers(&self) -> Vec<ServerEntry> {
        let entries = self.entries().into_iter().flatten();
        let servers = entries.map(|(name, entry)| ServerEntry {
            name: name.clone(),
            definition: ServerDefinition::parse(&self.path, name, entry),
        });
        servers.collect()
    }

    /// Adds a server after the others. [`ServersFile::save`] writes it to the file.
    ///
    /// # Errors
    ///
    /// [`EditError`] when the name or the entry is invalid, when there is a server of this name, and
    /// when there are [`MAX_SERVERS`].
    pub fn add(&mut self, name: &str, entry: Value) -> Result<(), EditError> {
        ServerDefinition::parse(&self.path, name, &entry).map_err(EditError::Invalid)?;
        let entries = self.entries();
        if entries.is_some_and(|entries| entries.contains_key(name)) {
            let location = server_location(&self.path, name);
            return Err(EditError::Exists(location));
        }
        if entries.map_or(0, Map::len) >= MAX_SERVERS {
            return Err(EditError::TooManyServers(self.path.clone()));
        }
        let text = with_member(&self.text, &[self.key, name], &entry);
        self.change(text)
    }

    /// Removes a server, which may be an invalid one. [`ServersFile::save`] removes it from the file.
    ///
    /// # Errors
    ///
    /// [`EditError::Missing`] when no server has this name.
    pub fn remove(&mut self, name: &str) -> Result<(), EditError> {
        if !self.entries().is_some_and(|it| it.contains_key(name)) {
            return Err(EditError::Missing(server_location(&self.path, name)));
        }
        let text = without_member(&self.text, &[self.key, name]);
        self.change(text)
    }

    fn change(&mut self, text: Result<String, String>) -> Result<(), EditError> {
        let changed = text.and_then(|text| Ok((parse_document(&text)?, text)));
        let ((document, key), text) = changed.map_err(EditError::Invalid)?;
        (self.text, self.document, self.key) = (text, document, key);
        Ok(())
    }

    /// Saves the file. Readers see the old content or the new one. A new file is readable for its user
    /// only.
    ///
    /// # Errors
    ///
    /// [`SaveError`] when another program has changed the file since it was loaded, when the file
    /// would be too large, and when it cannot be written.
    pub fn save(&mut self) -> Result<(), SaveError> {
        if self.text.len() > MAX_FILE_BYTES {
            return Err(SaveError::TooLarge(self.path.clone()));
        }
        match replace_file(
            &self.path,
            self.content.as_deref(),
            self.text.as_bytes(),
            MAX_FILE_BYTES,
            FileMode::Keep,
        ) {
            Ok(true) => {
                self.content = Some(self.text.clone().into_bytes());
                Ok(())
            }
            Ok(false) => Err(SaveError::Changed(self.path.clone())),
            Err(error) => Err(SaveError::Unwritable(self.path.clone(), error)),
        }
    }

    fn entries(&self) -> Option<&Map<String, Value>> {
        self.document.get(self.key)?.as_object()
    }
}

impl fmt::Debug for ServersFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.entries().into_iter().flat_map(Map::keys).collect();
        f.debug_struct("ServersFile")
            .field("path", &self.path)
            .field("key", &self.key)
            .field("servers", &names)
            .finish_non_exhaustive()
    }
}

fn load_error(path: &Path, problem: impl Into<String>) -> ServersFileError {
    ServersFileError {
        path: path.to_owned(),
        problem: problem.into(),
    }
}

fn parse_document(text: &str) -> Result<(Map<String, Value>, &'static str), String> {
    match parse(text)? {
        Some(Value::Object(document)) => {
            let key = find_key(&document)?;
            Ok((document, key))
        }
        Some(_) => Err("it is not an object: write {\"mcpServers\": {…}}".to_owned()),
        None => Err("it is empty: write {\"mcpServers\": {}}".to_owned()),
    }
}

/// Returns the key that has the servers. A file without servers may lack it.
fn find_key(document: &Map<String, Value>) -> Result<&'static str, String> {
    let (key, servers) = match (document.get(MCP_SERVERS), document.get(SERVERS)) {
        (Some(servers), None) => (MCP_SERVERS, servers),
        (None, Some(servers)) => (SERVERS, servers),
        (None, None) if !has_entries(document) => return Ok(MCP_SERVERS),
        (None, None) => {
            return Err(
                "it has the entries of servers at the top: move them below `mcpServers`, as \
                 in {\"mcpServers\": {\"name\": {…}}}"
                    .to_owned(),
            );
        }
        (Some(_), Some(_)) => {
            return Err(
                "it has both `mcpServers` and `servers`: move all servers below one of them"
                    .to_owned(),
            );
        }
    };
    match servers.as_object().map(Map::len) {
        None => Err(format!(
            "`{key}` is not an object: write {{\"name\": {{…}}}}, with the names of the servers"
        )),
        Some(count) if count > MAX_SERVERS => Err(format!(
            "it has {count} servers, and the maximum is {MAX_SERVERS}: remove some of them"
        )),
        Some(_) => Ok(key),
    }
}

/// Returns whether a document without a key for servers has the entries of servers itself.
fn has_entries(document: &Map<String, Value>) -> bool {
    let is_entry = |value: &Value| value.get("command").or(value.get("url")).is_some();
    document.values().any(is_entry)
}
