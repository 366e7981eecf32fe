//! Creates the sources of the MCP servers in a file.

use std::path::Path;
use std::sync::Arc;

use super::upstream::{ProcessSlots, Upstream, UpstreamSettings};
use crate::secrets::SecretStore;
use crate::tools::{Pins, ProcessVariables, ServerEntry, ServersFile, Source};

/// Creates the servers of a file, none of which is started. Those that cannot be used are logged.
pub(crate) fn load_servers(
    path: &Path,
    guard: Option<&Path>,
    secrets: Option<&Arc<SecretStore>>,
) -> Result<Vec<Arc<dyn Source>>, String> {
    let file = ServersFile::load(path).map_err(|error| error.to_string())?;
    let pins = Pins::load(Pins::path_for(path))?;
    let slots = Arc::<ProcessSlots>::default();
    let mut sources: Vec<Arc<dyn Source>> = Vec::new();
    for entry in file.servers() {
        let server = entry.name.clone();
        match create_server(entry, &pins, &slots, guard, secrets) {
            Ok(Some(source)) => {
                if pins.tools(&server).is_none() {
                    tracing::warn!(
                        server,
                        "the tools of this server are not pinned: look at them with \
                         `mcp-web-agent mcp sync`"
                    );
                }
                sources.push(Arc::new(source));
            }
            Ok(None) => tracing::info!(server, "this MCP server is disabled"),
            Err(error) => tracing::error!(server, error, "this MCP server is off"),
        }
    }
    Ok(sources)
}

/// Creates a server, unless it is disabled.
pub(crate) fn create_server(
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
