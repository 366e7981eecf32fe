//! The entries that clients have, for a diagnosis.

use std::path::PathBuf;

use crate::arguments::InstallScope;
use crate::client::{Client, FileFormat};
use crate::client_entry::InstalledServer;
use crate::client_file::ClientFile;
use crate::client_table::CLIENTS;
use crate::config_path::config_path;
use crate::config_text::ConfigText;
use crate::environment::Environment;

/// The state of the configuration file of one client.
#[derive(Debug)]
pub struct ClientStatus {
    /// The client.
    pub client: &'static Client,
    /// The path of its file, which exists.
    pub path: PathBuf,
    /// Our entries by their names, or why the file is not understood.
    pub entries: Result<Vec<(String, InstalledServer)>, String>,
}

/// Returns the state of each file that exists. Our entries start this program, or have the address of
/// the bridge. No file is changed.
pub fn client_statuses(
    environment: &Environment,
    scope: InstallScope,
    url: &str,
) -> Vec<ClientStatus> {
    let clients = CLIENTS
        .iter()
        .filter(|client| client.format != FileFormat::Yaml);
    let statuses = clients.filter_map(|client| {
        let path = config_path(client, environment, scope)?;
        let entries = match ClientFile::new(&path).load() {
            Ok(None) => return None,
            Ok(Some(content)) => entries(client, &content, url),
            Err(error) => Err(error.to_string()),
        };
        Some(ClientStatus {
            client,
            path,
            entries,
        })
    });
    statuses.collect()
}

fn entries(
    client: &Client,
    content: &[u8],
    url: &str,
) -> Result<Vec<(String, InstalledServer)>, String> {
    let text = ConfigText::parse(client.format, Some(content))?;
    let servers = text.servers(client.key)?.into_iter().flatten();
    let servers = servers.map(|(name, entry)| (name.clone(), InstalledServer::read(client, entry)));
    Ok(servers
        .filter(|(_, server)| server.starts_our_program() || server.is_bridge(url))
        .collect())
}
