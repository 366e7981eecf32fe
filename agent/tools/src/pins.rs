//! The file with the definitions of the tools of MCP servers that the operator has reviewed. A tool
//! whose definition has changed since then is not used.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use bridge_shared_files::{FileMode, read_file, replace_file};
use serde::{Deserialize, Serialize};

use crate::server_tool::ServerTool;

/// The maximum size of the file, in bytes: more than the definitions of all servers that a file may
/// have.
pub(crate) const MAX_PINS_BYTES: usize = 64 * 1024 * 1024;

/// The pinned definitions.
#[derive(Clone, Debug)]
pub struct Pins {
    path: PathBuf,
    servers: BTreeMap<String, Vec<PinnedTool>>,
    /// The content of the file on the disk; `None` if it does not exist.
    content: Option<Vec<u8>>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct PinnedTool {
    hash: String,
    #[serde(flatten)]
    definition: ServerTool,
}

/// The content of the file.
#[derive(Default, Serialize, Deserialize)]
struct Document {
    servers: BTreeMap<String, Vec<PinnedTool>>,
}

/// How the tools of a server differ from those that are pinned.
#[derive(Debug, Default, PartialEq)]
pub struct PinDifference {
    /// The names of tools that are not pinned.
    pub added: Vec<String>,
    /// The names of pinned tools that the server does not have.
    pub removed: Vec<String>,
    /// The pinned definition, and the one that the server has now.
    pub changed: Vec<(ServerTool, ServerTool)>,
}

impl PinDifference {
    /// Compares the pinned tools with those that the server lists.
    pub fn new(pinned: &[ServerTool], listed: &[ServerTool]) -> Self {
        let find =
            |list: &[ServerTool], name: &str| list.iter().find(|it| it.name == name).cloned();
        let mut difference = Self::default();
        for tool in listed {
            match find(pinned, &tool.name) {
                None => difference.added.push(tool.name.clone()),
                Some(before) if before != *tool => difference.changed.push((before, tool.clone())),
                Some(_) => {}
            }
        }
        let is_gone = |tool: &&ServerTool| find(listed, &tool.name).is_none();
        difference.removed = pinned
            .iter()
            .filter(is_gone)
            .map(|it| it.name.clone())
            .collect();
        difference
    }

    /// Returns whether the tools are those that are pinned.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }
}

impl Pins {
    /// Returns the path of the pins of a file of servers: `mcp-servers.json` has its pins in
    /// `mcp-servers.pins.json`.
    pub fn path_for(servers_file: &Path) -> PathBuf {
        servers_file.with_extension("pins.json")
    }

    /// Loads the file. A missing one has no pins.
    pub fn load(path: PathBuf) -> Result<Self, String> {
        let text = match read_file(&path, MAX_PINS_BYTES) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Ok(Self {
                    path,
                    servers: BTreeMap::new(),
                    content: None,
                });
            }
            Err(error) => return Err(format!("{} cannot be read: {error}", path.display())),
        };
        let document: Document = serde_json::from_slice(&text).map_err(|error| {
            let path = path.display();
            format!("{path} is not what `mcp-web agent mcp sync` writes: {error}")
        })?;
        let mut servers = document.servers;
        // A definition that was edited by hand is not the one that was reviewed.
        for (name, tools) in &mut servers {
            let before = tools.len();
            tools.retain(|tool| tool.hash == tool.definition.hash());
            if tools.len() < before {
                tracing::warn!(
                    server = name,
                    "pins whose hash is wrong are ignored: sync again"
                );
            }
        }
        Ok(Self {
            path,
            servers,
            content: Some(text),
        })
    }

    /// Returns the tools of a server, if it has pins.
    pub fn tools(&self, server: &str) -> Option<Vec<ServerTool>> {
        let tools = self.servers.get(server)?.iter();
        Some(tools.map(|tool| tool.definition.clone()).collect())
    }

    /// Replaces the pins of a server.
    pub fn set(&mut self, server: &str, tools: Vec<ServerTool>) {
        let tools = tools.into_iter().map(|definition| PinnedTool {
            hash: definition.hash(),
            definition,
        });
        self.servers.insert(server.to_owned(), tools.collect());
    }

    /// Removes the pins of a server.
    pub fn remove(&mut self, server: &str) {
        self.servers.remove(server);
    }

    /// Replaces the file.
    pub fn save(&mut self) -> Result<(), String> {
        let document = Document {
            servers: self.servers.clone(),
        };
        let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
        text.push('\n');
        let path = self.path.display();
        if text.len() > MAX_PINS_BYTES {
            return Err(format!(
                "{path} would be larger than {MAX_PINS_BYTES} bytes, which is the maximum: remove a \
                 server with many tools"
            ));
        }
        match replace_file(
            &self.path,
            self.content.as_deref(),
            text.as_bytes(),
            MAX_PINS_BYTES,
            FileMode::Keep,
        ) {
            Ok(true) => {
                self.content = Some(text.into_bytes());
                Ok(())
            }
            Ok(false) => Err(format!("{path} was changed by another program: try again")),
            Err(error) => Err(format!("{path} cannot be written: {error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::server_tool as tool;

    #[test]
    fn pins_are_kept_in_a_file_and_edited_ones_are_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let path = Pins::path_for(&folder.path().join("mcp-servers.json"));
        assert!(path.ends_with("mcp-servers.pins.json"));
        let mut pins = Pins::load(path.clone()).unwrap();
        assert_eq!(pins.tools("time"), None);
        pins.set(
            "time",
            vec![tool("now", "Tells the time"), tool("zone", "z")],
        );
        pins.save().unwrap();
        let loaded = Pins::load(path.clone()).unwrap();
        assert_eq!(loaded.tools("time").unwrap().len(), 2);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace("Tells the time", "Sends all mail")).unwrap();
        let edited = Pins::load(path.clone()).unwrap().tools("time").unwrap();
        assert_eq!(edited, [tool("zone", "z")]);
        std::fs::write(&path, "[]").unwrap();
        assert!(Pins::load(path).unwrap_err().contains("mcp sync"));
        pins.remove("time");
        assert_eq!(pins.tools("time"), None);
    }

    #[test]
    fn pins_may_have_more_bytes_than_the_file_of_servers_and_have_their_own_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mcp-servers.pins.json");
        let mut pins = Pins::load(path.clone()).unwrap();
        let long = "a".repeat(2 * 1024 * 1024);
        pins.set("time", vec![tool("now", &long)]);
        pins.save().unwrap();
        pins.remove("time");
        pins.save().unwrap();
        assert_eq!(Pins::load(path.clone()).unwrap().tools("time"), None);
        let file = std::fs::File::create(&path).unwrap();
        file.set_len(MAX_PINS_BYTES as u64 + 1).unwrap();
        let error = Pins::load(path).unwrap_err();
        assert!(error.contains("larger than 67108864 bytes"), "{error}");
    }

    #[test]
    fn a_difference_names_what_was_added_removed_and_changed() {
        let pinned = [tool("a", "1"), tool("b", "2"), tool("c", "3")];
        let listed = [tool("b", "2"), tool("c", "other"), tool("d", "4")];
        let difference = PinDifference::new(&pinned, &listed);
        assert_eq!(difference.added, ["d"]);
        assert_eq!(difference.removed, ["a"]);
        assert_eq!(difference.changed, [(tool("c", "3"), tool("c", "other"))]);
        assert!(PinDifference::new(&pinned, &pinned).is_empty());
    }
}
