//! `mcp-web install --print`: links for the clients that have them, and blocks for the others.

use crate::arguments::Selection;
use crate::client_entry::{ClientEntry, PLACEHOLDER};
use crate::client_table::CLIENTS;
use crate::config_path::config_path;
use crate::config_text::render_entry;
use crate::console::Console;
use crate::environment::Environment;
use crate::error::InstallError;
use crate::links::{cursor_link, vscode_link};
use crate::selected_clients::selected_clients;

/// Prints what a person can open or paste. Returns whether every client has something.
pub(crate) fn print_entries(
    entry: &ClientEntry,
    selection: &Selection,
    environment: &Environment,
    console: &mut dyn Console,
) -> Result<bool, InstallError> {
    let is_named = !selection.clients.is_empty() || !selection.more_clients.is_empty();
    let clients = if is_named || selection.all {
        selected_clients("install", selection, environment, console)?
    } else {
        CLIENTS.iter().collect()
    };
    let has_token = entry.token.is_some();
    let entry = if has_token {
        entry.clone()
    } else {
        entry.with_placeholder()
    };
    let mut is_complete = true;
    for client in clients {
        let path = config_path(client, environment, selection.scope);
        let (Some(path), Some(members)) = (path, entry.members(client)) else {
            is_complete &= !is_named;
            continue;
        };
        let value = entry.value(members);
        let link = match client.id {
            "cursor" => Some(cursor_link(&entry.name, &value)),
            "vscode" => Some(vscode_link(&entry, members)),
            _ => None,
        };
        let text = match link {
            Some(link) => format!("{}: open\n{link}\n", client.name),
            None => {
                let path = environment.display(&path);
                let block = render_entry(client.format, [client.key, &entry.name], &value);
                format!("{}: add to {path}\n{block}", client.name)
            }
        };
        console.print(&text).map_err(InstallError::Output)?;
    }
    if !has_token {
        let note =
            format!("Replace {PLACEHOLDER} by AUTH_TOKEN from the page's configuration panel.");
        console.print(&note).map_err(InstallError::Output)?;
    }
    Ok(is_complete)
}
