//! Creates the sources of the MCP servers in a file.

use std::path::Path;
use std::sync::Arc;

use agent_secrets::SecretStore;

use super::upstream::{ProcessSlots, Upstream, UpstreamSettings, source_name};
use crate::servers_file::ProcessVariables;
use crate::text::shorten_name;
use crate::{Pins, ServerEntry, ServersFile, ToolSource, UnusedSource};

/// The servers of a file.
#[derive(Debug, Default)]
pub struct LoadedServers {
    /// Those that can be used.
    pub sources: Vec<Arc<dyn ToolSource>>,
    /// Those that are disabled or cannot be used.
    pub unused: Vec<UnusedSource>,
}

/// Creates the servers of a file, none of which is started. Those that cannot be used are logged.
pub fn load_servers(
    path: &Path,
    guard: Option<&Path>,
    secrets: Option<&Arc<SecretStore>>,
) -> Result<LoadedServers, String> {
    let file = ServersFile::load(path).map_err(|error| error.to_string())?;
    if !file.exists() {
        let path = path.display();
        return Err(format!(
            "`file` of the table `mcp`: {path} does not exist. Add a first server with \
             `mcp-web agent mcp --file {path} add NAME COMMAND`, or remove the table from `tools_file`"
        ));
    }
    let pins = Pins::load(Pins::path_for(path))?;
    let slots = Arc::<ProcessSlots>::default();
    let mut servers = LoadedServers::default();
    for entry in file.servers() {
        let server = entry.name.clone();
        let unused = |problem| UnusedSource {
            name: source_name(&shorten_name(&server)),
            problem,
        };
        match create_server(entry, &pins, &slots, guard, secrets) {
            Ok(Some(source)) => {
                if pins.tools(&server).is_none() {
                    tracing::warn!(
                        server,
                        "the tools of this server are not pinned: look at them with \
                         `mcp-web agent mcp sync`"
                    );
                }
                servers.sources.push(Arc::new(source));
            }
            Ok(None) => {
                tracing::info!(server, "this MCP server is disabled");
                servers.unused.push(unused(None));
            }
            Err(error) => {
                tracing::error!(server, error, "this MCP server is off");
                servers.unused.push(unused(Some(error)));
            }
        }
    }
    Ok(servers)
}

/// Creates a server, unless it is disabled.
pub fn create_server(
    entry: ServerEntry,
    pins: &Pins,
    slots: &Arc<ProcessSlots>,
    guard: Option<&Path>,
    secrets: Option<&Arc<SecretStore>>,
) -> Result<Option<Upstream>, String> {
    let definition = entry.definition?;
    if definition.policy.is_disabled {
        return Ok(None);
    }
    let settings = UpstreamSettings {
        pinned: pins.tools(&entry.name),
        name: entry.name,
        definition,
        slots: Arc::clone(slots),
        guard: guard.map(Path::to_owned),
        variables: Arc::new(ProcessVariables),
        secrets: secrets.cloned(),
    };
    Upstream::new(settings).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_file_is_an_error_with_the_command_that_creates_it() {
        let error = load_servers(Path::new("/no/such/servers.json"), None, None).unwrap_err();
        assert!(
            error.contains("/no/such/servers.json does not exist. Add a first server with")
                && error
                    .contains("`mcp-web agent mcp --file /no/such/servers.json add NAME COMMAND`"),
            "{error}"
        );
    }

    #[tokio::test]
    async fn servers_that_are_not_used_are_known_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mcp-servers.json");
        let text = r#"{"mcpServers": {
            "time": {"command": "time"}, // its comment
            "old": {"type": "sse", "url": "http://a/sse"},
            "later": {"command": "a", "x-policy": {"disabled": true}},
        }}"#;
        std::fs::write(&path, text).unwrap();
        let servers = load_servers(&path, None, None).unwrap();
        let names: Vec<_> = servers
            .sources
            .iter()
            .map(|it| it.meta().name.as_str())
            .collect();
        assert_eq!(names, ["mcp-time"]);
        let unused: Vec<_> = servers.unused.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(unused, ["mcp-old", "mcp-later"]);
        let problems: Vec<_> = servers
            .unused
            .iter()
            .map(|it| it.problem.is_some())
            .collect();
        assert_eq!(problems, [true, false]);
    }
}
