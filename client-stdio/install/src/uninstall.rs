//! `mcp-web uninstall`: removes the entries that start this program.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::arguments::{DEFAULT_NAME, UninstallArguments};
use crate::client::{Client, FileFormat};
use crate::client_entry::InstalledServer;
use crate::client_file::{ClientFile, NewState};
use crate::config_path::config_path;
use crate::config_text::ConfigText;
use crate::console::Console;
use crate::difference::entry_difference;
use crate::environment::Environment;
use crate::error::{EntryError, InstallError};
use crate::install::{checked_url, is_confirmed, print};
use crate::member_edit::MemberEdit;
use crate::program_path::{ProgramPath, copy_path};
use crate::selected_clients::selected_clients;

/// Removes the entries of the selected clients that start this program, or are the bridge. Returns
/// whether none is left.
///
/// # Errors
///
/// [`InstallError`] when an argument is invalid, or when it is not clear which clients are meant. No
/// file was changed.
pub fn uninstall(
    arguments: &UninstallArguments,
    environment: &Environment,
    console: &mut dyn Console,
) -> Result<bool, InstallError> {
    let selection = &arguments.selection;
    let clients = selected_clients("uninstall", selection, environment, console)?;
    let removal = Removal {
        name: arguments.name.as_deref(),
        program: ProgramPath::find(environment)
            .path()
            .to_string_lossy()
            .into_owned(),
        url: checked_url(&selection.url)?,
    };
    let mut is_fine = true;
    let mut changes = Vec::new();
    for client in clients {
        let path = config_path(client, environment, selection.scope);
        let path = path.ok_or(EntryError::NoProjectFile);
        let line = match path.and_then(|path| Ok((removal.entries(client, &path)?, path))) {
            Err(error) => {
                is_fine = false;
                format!("{}: {error}", client.name)
            }
            Ok((_, path)) if removal.is_by_hand(client, &path) => {
                is_fine = false;
                let path = environment.display(&path);
                format!(
                    "{}: remove the entry below `{}` in {path} by hand",
                    client.name, client.key
                )
            }
            Ok((entries, _)) if entries.is_empty() => format!("{}: no entry", client.name),
            Ok((entries, path)) => {
                let text = describe(client, &environment.display(&path), &entries);
                changes.push((client, path));
                text
            }
        };
        print(console, &line)?;
    }
    if changes.is_empty() || selection.dry_run {
        return Ok(is_fine);
    }
    if !is_confirmed(console, selection, changes.len())? {
        return Ok(false);
    }
    is_fine &= removal.remove_all(&changes, console)?;
    let copy = copy_path(environment);
    if copy.exists() {
        let copy = environment.display(&copy);
        print(
            console,
            &format!("{copy} is the program that entries named: delete it if no client uses it."),
        )?;
    }
    Ok(is_fine)
}

/// The entries that are removed.
struct Removal<'a> {
    /// Only the entry of this name.
    name: Option<&'a str>,
    program: String,
    url: String,
}

impl Removal<'_> {
    /// Returns our entries in a file.
    fn entries(&self, client: &Client, path: &Path) -> Result<Map<String, Value>, EntryError> {
        if client.format == FileFormat::Yaml {
            return Ok(Map::new());
        }
        let content = ClientFile::new(path).load()?;
        self.entries_of(client, path, &parse(client, path, content.as_deref())?)
    }

    fn entries_of(
        &self,
        client: &Client,
        path: &Path,
        text: &ConfigText,
    ) -> Result<Map<String, Value>, EntryError> {
        let servers = text.servers(client.key);
        let servers = servers.map_err(|problem| EntryError::Invalid(path.to_owned(), problem))?;
        let mut entries = Map::new();
        for (name, entry) in servers.into_iter().flatten() {
            if self.name.is_some_and(|only| only != name) {
                continue;
            }
            let server = InstalledServer::read(client, entry);
            let has_our_name = name == self.name.unwrap_or(DEFAULT_NAME);
            if server.starts_our_program()
                || server.starts(&self.program)
                || (has_our_name && server.is_bridge(&self.url))
            {
                entries.insert(name.clone(), entry.clone());
            } else if self.name.is_some() {
                return Err(EntryError::NotOurs(path.to_owned(), name.clone()));
            }
        }
        Ok(entries)
    }

    /// Whether a file that this program does not parse names our server.
    fn is_by_hand(&self, client: &Client, path: &Path) -> bool {
        let name = self.name.unwrap_or(DEFAULT_NAME);
        let content = ClientFile::new(path).load().ok().flatten();
        let text = String::from_utf8(content.unwrap_or_default()).unwrap_or_default();
        client.format == FileFormat::Yaml && text.contains(name)
    }

    fn remove_all(
        &self,
        changes: &[(&Client, PathBuf)],
        console: &mut dyn Console,
    ) -> Result<bool, InstallError> {
        let mut is_fine = true;
        for (client, path) in changes {
            let file = ClientFile::new(path);
            let line = match file.change(|content| self.new_state(client, path, content)) {
                Ok(NewState::Restored(_)) => {
                    format!("{}: its content is as before the installation", client.name)
                }
                Ok(NewState::Removed) => {
                    format!("{}: the file had nothing else, and is removed", client.name)
                }
                Ok(_) => format!("{}: removed. Next: {}.", client.name, client.afterwards),
                Err(error) => {
                    is_fine = false;
                    format!("{}: {error}", client.name)
                }
            };
            print(console, &line)?;
        }
        Ok(is_fine)
    }

    /// Computes the state of a file without our entries.
    fn new_state(
        &self,
        client: &Client,
        path: &Path,
        content: Option<&[u8]>,
    ) -> Result<NewState, EntryError> {
        let mut text = parse(client, path, content)?;
        let entries = self.entries_of(client, path, &text)?;
        if entries.is_empty() {
            return Ok(NewState::Unchanged);
        }
        let mut edits: Vec<_> = entries
            .keys()
            .map(|name| MemberEdit::Remove(vec![client.key.to_owned(), name.clone()]))
            .collect();
        let backup = ClientFile::new(path).load_backup()?;
        let before = backup
            .as_deref()
            .and_then(|content| ConfigText::parse(client.format, Some(content)).ok());
        let had_servers = before
            .as_ref()
            .is_some_and(|it| it.document().contains_key(client.key));
        let servers = text.document().get(client.key).and_then(Value::as_object);
        let is_last = servers.is_some_and(|servers| servers.len() == entries.len());
        if is_last && !had_servers && client.format == FileFormat::Jsonc {
            edits.push(MemberEdit::Remove(vec![client.key.to_owned()]));
        }
        let applied = text.apply(&edits);
        applied.map_err(|problem| EntryError::Unchangeable {
            path: path.to_owned(),
            client: client.id,
            problem,
        })?;
        Ok(match (before, backup) {
            (Some(before), Some(backup)) if before.is_like(&text) => NewState::Restored(backup),
            // The installation has created it.
            (None, None) if text.is_blank() && !path.is_symlink() => NewState::Removed,
            _ => NewState::Content(text.content()),
        })
    }
}

fn parse(client: &Client, path: &Path, content: Option<&[u8]>) -> Result<ConfigText, EntryError> {
    let text = ConfigText::parse(client.format, content);
    text.map_err(|problem| EntryError::Invalid(path.to_owned(), problem))
}

fn describe(client: &Client, path: &str, entries: &Map<String, Value>) -> String {
    let mut lines = vec![format!("{}: {path}", client.name)];
    for (name, entry) in entries {
        let difference = entry_difference(client, name, Some(entry), None, None);
        lines.extend(difference.iter().map(|line| format!("  {line}")));
    }
    lines.join("\n")
}
