//! `mcp-web install`: adds entries, and updates those that are there.

use std::path::{Path, PathBuf};

use bridge_settings::file_permissions::has_mode_bits;
use serde_json::Value;

use crate::arguments::{InstallArguments, InstallScope, Selection};
use crate::client::{Client, FileFormat};
use crate::client_entry::{ClientEntry, EntryTransport, InstalledServer, PLACEHOLDER};
use crate::client_file::{ClientFile, NewState};
use crate::config_path::config_path;
use crate::config_text::{ConfigText, render_entry};
use crate::console::Console;
use crate::difference::entry_difference;
use crate::environment::Environment;
use crate::error::{EntryError, InstallError};
use crate::member_edit::edits;
use crate::page_token::page_token;
use crate::print_entries::print_entries;
use crate::program_path::ProgramPath;
use crate::selected_clients::selected_clients;

/// The bits of a Unix mode with which others can read a file.
const READ_BY_OTHERS: u32 = 0o044;

/// The maximum length of the name of a server: clients add it to the names of tools, which have a
/// maximum of 64.
const MAX_NAME_CHARS: usize = 40;

/// Adds or updates the entries of the selected clients. Returns whether all of them have one now.
///
/// # Errors
///
/// [`InstallError`] when an argument or the token is invalid, or when it is not clear which clients
/// are meant, and when the output cannot be written.
pub fn install(
    arguments: &InstallArguments,
    environment: &Environment,
    console: &mut dyn Console,
) -> Result<bool, InstallError> {
    let program = ProgramPath::find(environment);
    let mut entry = client_entry(arguments, &program)?;
    let selection = &arguments.selection;
    if arguments.print {
        entry.token = page_token(arguments, environment, console)?;
        return print_entries(&entry, selection, environment, console);
    }
    let clients = selected_clients("install", selection, environment, console)?;
    entry.token = page_token(arguments, environment, console)?;
    let installation = Installation {
        entry,
        environment,
        scope: selection.scope,
        needs_token: !selection.dry_run,
    };
    let plans: Vec<_> = clients
        .iter()
        .map(|client| installation.plan(client))
        .collect();
    let plans: Vec<_> = clients.into_iter().zip(plans).collect();
    for (client, plan) in &plans {
        print(console, &installation.describe(client, plan))?;
    }
    let is_fine = plans.iter().all(|(_, plan)| plan.is_ok());
    let changes: Vec<_> = plans
        .iter()
        .filter_map(|(client, plan)| match plan {
            Ok(Plan::Change { path, .. }) => Some((*client, path.as_path())),
            _ => None,
        })
        .collect();
    if changes.is_empty() || selection.dry_run {
        return Ok(is_fine);
    }
    if !is_confirmed(console, selection, changes.len())? {
        return Ok(false);
    }
    program.copy_if_needed()?;
    let mut failures = 0;
    for (client, path) in &changes {
        let line = match installation.change(client, path) {
            Ok(note) => format!("{}: done{note}. Next: {}.", client.name, client.afterwards),
            Err(error) => {
                failures += 1;
                format!("{}: {error}", client.name)
            }
        };
        print(console, &line)?;
    }
    if failures < changes.len() {
        print(
            console,
            "Then open the page, and ask your client what it sees there.",
        )?;
    }
    Ok(is_fine && failures == 0)
}

/// The entry, and where it is installed.
struct Installation<'a> {
    entry: ClientEntry,
    environment: &'a Environment,
    scope: InstallScope,
    /// Whether a new entry without a token is an error.
    needs_token: bool,
}

/// The change of one client.
enum Plan {
    UpToDate(PathBuf),
    Change {
        path: PathBuf,
        difference: Vec<String>,
    },
    /// The person adds this block to the file.
    ByHand {
        path: PathBuf,
        block: String,
    },
}

/// The change of the content of one file.
struct EntryChange {
    old: Option<Value>,
    new: Value,
    state: NewState,
}

impl Installation<'_> {
    fn plan(&self, client: &Client) -> Result<Plan, EntryError> {
        let path =
            config_path(client, self.environment, self.scope).ok_or(EntryError::NoProjectFile)?;
        if client.format == FileFormat::Yaml {
            let members = self.entry.members(client).ok_or(EntryError::NoHttp)?;
            let entry = self.entry.with_placeholder().value(members);
            let block = render_entry(client.format, [client.key, &self.entry.name], &entry);
            return Ok(Plan::ByHand { path, block });
        }
        let content = ClientFile::new(&path).load()?;
        let change = self.entry_change(client, &path, content.as_deref())?;
        if change.state == NewState::Unchanged {
            return Ok(Plan::UpToDate(path));
        }
        let (old, new) = (change.old.as_ref(), Some(&change.new));
        let token = self.entry.token.as_ref();
        let difference = entry_difference(client, &self.entry.name, old, new, token);
        Ok(Plan::Change { path, difference })
    }

    /// Computes the change of a file with this content.
    fn entry_change(
        &self,
        client: &Client,
        path: &Path,
        content: Option<&[u8]>,
    ) -> Result<EntryChange, EntryError> {
        let invalid = |problem| EntryError::Invalid(path.to_owned(), problem);
        let members = self.entry.members(client).ok_or(EntryError::NoHttp)?;
        let mut text = ConfigText::parse(client.format, content).map_err(invalid)?;
        let servers = text.servers(client.key).map_err(invalid)?;
        let is_ours =
            |server: &InstalledServer| server.is_ours(&self.entry.program, &self.entry.url);
        let has_only_ours = text.document().len() == 1
            && servers.is_some_and(|servers| {
                let mut entries = servers.values();
                !servers.is_empty()
                    && entries.all(|entry| is_ours(&InstalledServer::read(client, entry)))
            });
        let name = &self.entry.name;
        let old = servers.and_then(|servers| servers.get(name)).cloned();
        let mut entry = self.entry.clone();
        if let Some(old) = &old {
            let server = InstalledServer::read(client, old);
            if !is_ours(&server) {
                return Err(EntryError::NameTaken(path.to_owned(), name.clone()));
            }
            entry.token = entry.token.or(server.token);
        }
        if entry.token.is_none() && self.needs_token {
            return Err(EntryError::NoToken(path.to_owned()));
        }
        let edits = edits(client, old.as_ref(), &entry, members);
        let state = if edits.is_empty() {
            NewState::Unchanged
        } else {
            let applied = text.apply(&edits);
            applied.map_err(|problem| EntryError::Unchangeable {
                path: path.to_owned(),
                client: client.id,
                problem,
            })?;
            NewState::Private {
                content: text.content(),
                backs_up: !has_only_ours,
            }
        };
        let new = text.document()[client.key][name].clone();
        Ok(EntryChange { old, new, state })
    }

    /// Changes a file, and returns a note about its permissions.
    fn change(&self, client: &Client, path: &Path) -> Result<&'static str, EntryError> {
        let was_readable = has_mode_bits(path, READ_BY_OTHERS);
        let file = ClientFile::new(path);
        file.change(|content| Ok(self.entry_change(client, path, content)?.state))?;
        Ok(if was_readable && !has_mode_bits(path, READ_BY_OTHERS) {
            " (only you can read the file now, since it has a token)"
        } else {
            ""
        })
    }

    fn describe(&self, client: &Client, plan: &Result<Plan, EntryError>) -> String {
        let name = client.name;
        let display = |path: &Path| self.environment.display(path);
        match plan {
            Ok(Plan::UpToDate(path)) => format!("{name}: up to date ({})", display(path)),
            Ok(Plan::Change { path, difference }) => {
                let mut lines = vec![format!("{name}: {}", display(path))];
                lines.extend(difference.iter().map(|line| format!("  {line}")));
                if self.scope == InstallScope::Project {
                    lines.push(
                        "  The file will have the token: keep it out of version control."
                            .to_owned(),
                    );
                }
                lines.join("\n")
            }
            Ok(Plan::ByHand { path, block }) => {
                let path = display(path);
                format!(
                    "{name}: add this to {path} by hand, with the token for {PLACEHOLDER}:\n{block}"
                )
            }
            Err(error) => format!("{name}: {error}"),
        }
    }
}

fn client_entry(
    arguments: &InstallArguments,
    program: &ProgramPath,
) -> Result<ClientEntry, InstallError> {
    let path = program
        .path()
        .to_str()
        .ok_or_else(|| InstallError::NoProgram(std::io::Error::other("its path is not Unicode")))?;
    Ok(ClientEntry {
        name: checked_name(&arguments.name)?,
        program: path.to_owned(),
        url: checked_url(&arguments.selection.url)?,
        token: None,
        transport: if arguments.http {
            EntryTransport::Http
        } else {
            EntryTransport::Stdio
        },
    })
}

/// Gemini CLI separates the names of servers and tools by `_`, so that it is not allowed.
fn checked_name(name: &str) -> Result<String, InstallError> {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    let is_valid = (1..=MAX_NAME_CHARS).contains(&name.len()) && name.bytes().all(is_allowed);
    is_valid.then(|| name.to_owned()).ok_or(InstallError::Name)
}

/// Returns the address of the endpoint of a bridge. Without a path, it is `/mcp`.
pub(crate) fn checked_url(text: &str) -> Result<String, InstallError> {
    let text = text.trim();
    let rest = text
        .strip_prefix("http://")
        .or(text.strip_prefix("https://"));
    let rest = rest.ok_or(InstallError::Url)?;
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let is_visible = text.bytes().all(|byte| byte.is_ascii_graphic());
    if host.is_empty() || text.contains(['@', '?', '#']) || !is_visible {
        return Err(InstallError::Url);
    }
    Ok(match path {
        "" => format!("{}/mcp", text.trim_end_matches('/')),
        _ => text.to_owned(),
    })
}

/// Asks the person for the change, unless it was agreed to in advance or no terminal is there.
pub(crate) fn is_confirmed(
    console: &mut dyn Console,
    selection: &Selection,
    files: usize,
) -> Result<bool, InstallError> {
    if !console.is_terminal() || selection.yes {
        return Ok(true);
    }
    let ending = if files == 1 { "" } else { "s" };
    let question = format!("Change {files} file{ending}?");
    console.confirm(&question).map_err(InstallError::Input)
}

pub(crate) fn print(console: &mut dyn Console, text: &str) -> Result<(), InstallError> {
    console.print(text).map_err(InstallError::Output)
}
