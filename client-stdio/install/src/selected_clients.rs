//! The clients of a command: those that are named, or those that are found.

use crate::arguments::Selection;
use crate::client::Client;
use crate::client_table::{CLIENTS, client};
use crate::config_path::is_installed;
use crate::console::Console;
use crate::environment::Environment;
use crate::error::InstallError;

/// Returns the clients of a command. Without a terminal, they must be named, or all must be meant.
pub(crate) fn selected_clients(
    command: &'static str,
    selection: &Selection,
    environment: &Environment,
    console: &dyn Console,
) -> Result<Vec<&'static Client>, InstallError> {
    let named: Vec<_> = selection
        .clients
        .iter()
        .chain(&selection.more_clients)
        .collect();
    if !named.is_empty() {
        let mut clients: Vec<&Client> = Vec::new();
        for name in named {
            let found = client(name)
                .ok_or_else(|| InstallError::UnknownClient(name.clone(), ids(CLIENTS)))?;
            if !clients.iter().any(|client| client.id == found.id) {
                clients.push(found);
            }
        }
        return Ok(clients);
    }
    let found: Vec<_> = CLIENTS
        .iter()
        .filter(|client| is_installed(client, environment))
        .collect();
    if !selection.all && !console.is_terminal() {
        let found = if found.is_empty() {
            "none was found".to_owned()
        } else {
            format!("found are {}", ids(found))
        };
        return Err(InstallError::NoClientNamed(command, found));
    }
    if found.is_empty() {
        Err(InstallError::NoClientFound(command))
    } else {
        Ok(found)
    }
}

fn ids<'a>(clients: impl IntoIterator<Item = &'a Client>) -> String {
    let ids: Vec<_> = clients.into_iter().map(|client| client.id).collect();
    ids.join(", ")
}
