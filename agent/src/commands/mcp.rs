//! `mcp-web agent mcp`: the file of MCP servers, their tools, and what is wrong with them.

mod arguments;
mod call;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use agent_secrets::SecretStore;
use agent_tools::mcp::{Listed, ProcessSlots, Upstream, create_server};
use agent_tools::text::shorten_name;
use agent_tools::{
    AgentFailure, PinDifference, Pins, ServerEntry, ServerTool, ServersFile, ToolSource,
};
use bridge_protocol::invisible::visible_line;
use clap::{CommandFactory, Parser};
use futures_util::future::join_all;

use super::console::{CommandError, Console, EXIT_FAILED};
use super::server_listing::{count, describe_difference, describe_tools};
use super::server_summary::summarize;
use crate::config::SecretSettings;
use arguments::{Addition, Arguments, Command};

/// Returns the command line of the command.
pub(super) fn command() -> clap::Command {
    Arguments::command()
}

/// Runs the command. `arguments` begins with `mcp`.
pub(super) async fn run(arguments: Vec<OsString>) -> ExitCode {
    let Arguments {
        file,
        secrets,
        command,
    } = Arguments::parse_from(arguments);
    let is_new = matches!(command, Command::Add(_));
    let result = match Files::load(file, is_new, &secrets) {
        Ok(files) => files.run(&mut Console::stdio(), command).await,
        Err(error) => Err(error.into()),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(EXIT_FAILED),
        Err(error) => error.exit(),
    }
}

/// The tools of a server; `None` if it is disabled.
type ListResult = Result<Option<Listed>, String>;

/// The treatment of tools that differ from the pinned ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SyncMode {
    /// They are only shown, also those of servers without pins.
    Check,
    /// They are pinned if a person confirms it.
    Ask,
    /// They are pinned.
    Accept,
}

/// The file of the servers, and that of their pins.
struct Files {
    servers: ServersFile,
    pins: Pins,
    secrets: Option<Arc<SecretStore>>,
}

impl Files {
    /// Loads the files. Only that of a first server may be missing.
    fn load(path: PathBuf, is_new: bool, secrets: &SecretSettings) -> Result<Self, String> {
        if !is_new && matches!(path.try_exists(), Ok(false)) {
            let path = path.display();
            return Err(format!(
                "{path} does not exist: write the path of the file with the servers after `--file`, \
                 or add a first server with `mcp-web agent mcp add`"
            ));
        }
        Ok(Self {
            servers: ServersFile::load(&path).map_err(|error| error.to_string())?,
            pins: Pins::load(Pins::path_for(&path))?,
            secrets: secrets.open_if_set()?,
        })
    }

    /// Returns whether nothing is wrong.
    async fn run(mut self, console: &mut Console, command: Command) -> Result<bool, CommandError> {
        match command {
            Command::Add(addition) => self.add(console, &addition).await,
            Command::List => self.list(console),
            Command::Remove { name } => self.remove(console, &name),
            Command::Tools { names } => self.show_tools(console, &names).await,
            Command::Sync { names, check, yes } => {
                let mode = match (check, yes) {
                    (true, _) => SyncMode::Check,
                    (_, true) => SyncMode::Accept,
                    _ => SyncMode::Ask,
                };
                self.sync(console, &names, mode).await
            }
            Command::Call {
                name,
                tool,
                arguments,
            } => self.call(console, &name, &tool, &arguments).await,
            Command::Doctor { names } => self.diagnose(console, &names).await,
        }
    }

    async fn add(
        &mut self,
        console: &mut Console,
        addition: &Addition,
    ) -> Result<bool, CommandError> {
        let name = &addition.name;
        self.add_entry(addition)?;
        let path = self.servers.path().display().to_string();
        console.print(format!("`{name}` was added to {path}"))?;
        let listed = self.list_all(std::slice::from_ref(name)).await?.pop();
        match listed {
            Some((_, Ok(Some(listed)))) => {
                print_unusable(console, &listed)?;
                if !self.sync_server(console, name, listed.tools, SyncMode::Ask)? {
                    return Ok(false);
                }
                console.print(format!(
                    "next: allow `mcp-{name}-*` in a profile of tools.toml, and restart the agent"
                ))?;
                Ok(true)
            }
            Some((_, Err(error))) => Err(CommandError::Failed(format!(
                "`{name}` does not work yet: {}\nIts entry stays in {path}. Correct it there if \
                 it is wrong, and try again with `mcp-web agent mcp sync {name}`",
                indented(&error)
            ))),
            _ => Ok(true),
        }
    }

    /// Adds the entry to the file.
    fn add_entry(&mut self, addition: &Addition) -> Result<(), String> {
        let name = &addition.name;
        let entry = addition.entry()?;
        let exists = self.servers.servers().iter().any(|it| it.name == *name);
        if exists && !addition.force {
            let path = self.servers.path().display();
            return Err(format!(
                "{path} has a server `{name}` already: choose another name, or replace it with \
                 `--force` before the name"
            ));
        }
        if exists {
            self.servers.remove(name).map_err(|it| it.to_string())?;
        }
        self.servers.add(name, entry).map_err(|it| it.to_string())?;
        self.servers.save().map_err(|error| error.to_string())
    }

    fn list(&self, console: &mut Console) -> Result<bool, CommandError> {
        let servers = self.servers.servers();
        if servers.is_empty() {
            console.print(format!("{} has no servers", self.servers.path().display()))?;
        }
        for server in &servers {
            let pinned = self.pins.tools(&server.name).map(|tools| tools.len());
            console.print(summarize(server, pinned))?;
        }
        Ok(servers.iter().all(|server| server.definition.is_ok()))
    }

    /// Removes the pins before the server: a server without pins is warned of, and pins without a server
    /// would be those of the next one of this name.
    fn remove(&mut self, console: &mut Console, name: &str) -> Result<bool, CommandError> {
        self.servers.remove(name).map_err(|it| it.to_string())?;
        if self.pins.tools(name).is_some() {
            self.pins.remove(name);
            self.pins.save()?;
        }
        self.servers.save().map_err(|error| error.to_string())?;
        console.print(format!("`{name}` was removed"))?;
        Ok(true)
    }

    async fn show_tools(
        &self,
        console: &mut Console,
        names: &[String],
    ) -> Result<bool, CommandError> {
        let mut is_fine = true;
        for (name, listed) in self.list_all(names).await? {
            match listed {
                Ok(Some(listed)) => {
                    let tools = &listed.tools;
                    console.print(format!("{name}: {}", count(tools.len(), "tool")))?;
                    print_if_any(console, &describe_tools(&name, tools))?;
                    print_unusable(console, &listed)?;
                }
                other => is_fine &= print_absence(console, &name, other.err())?,
            }
        }
        Ok(is_fine)
    }

    async fn sync(
        &mut self,
        console: &mut Console,
        names: &[String],
        mode: SyncMode,
    ) -> Result<bool, CommandError> {
        let mut is_fine = true;
        for (name, listed) in self.list_all(names).await? {
            is_fine &= match listed {
                Ok(Some(listed)) => self.sync_server(console, &name, listed.tools, mode)?,
                other => print_absence(console, &name, other.err())?,
            };
        }
        Ok(is_fine)
    }

    /// Shows how the tools of a server differ from the pinned ones, and pins them if they may be. Returns
    /// whether they are pinned then.
    fn sync_server(
        &mut self,
        console: &mut Console,
        name: &str,
        tools: Vec<ServerTool>,
        mode: SyncMode,
    ) -> Result<bool, CommandError> {
        let number = count(tools.len(), "tool");
        let Some(pinned) = self.pins.tools(name) else {
            console.print(format!("{name}: {number}, not pinned before"))?;
            print_if_any(console, &describe_tools(name, &tools))?;
            if mode == SyncMode::Check {
                return Ok(false);
            }
            return self.pin(console, name, tools);
        };
        let difference = PinDifference::new(&pinned, &tools);
        if difference.is_empty() {
            console.print(format!("{name}: {number}, as pinned"))?;
            return Ok(true);
        }
        console.print(format!("{name}: {number}, not as pinned"))?;
        console.print(describe_difference(name, &difference, &tools))?;
        let is_accepted = match mode {
            SyncMode::Check => return Ok(false),
            SyncMode::Accept => Some(true),
            SyncMode::Ask => console.ask(&format!("Pin the tools of `{name}` as they are now?"))?,
        };
        match is_accepted {
            Some(true) => self.pin(console, name, tools),
            Some(false) => {
                console.print(format!("{name}: nothing was pinned"))?;
                Ok(false)
            }
            None => {
                console.print(format!(
                    "{name}: nothing was pinned, as there is no terminal to ask on: pin what you \
                     have looked at with `mcp-web agent mcp sync {name} --yes`"
                ))?;
                Ok(false)
            }
        }
    }

    fn pin(
        &mut self,
        console: &mut Console,
        name: &str,
        tools: Vec<ServerTool>,
    ) -> Result<bool, CommandError> {
        let number = count(tools.len(), "tool");
        self.pins.set(name, tools);
        self.pins.save()?;
        console.print(format!("{name}: now pinned: {number}"))?;
        Ok(true)
    }

    /// Returns the servers with these names, or all.
    fn select(&self, names: &[String]) -> Result<Vec<ServerEntry>, String> {
        let mut servers = self.servers.servers();
        if let Some(unknown) = names
            .iter()
            .find(|name| !servers.iter().any(|it| it.name == **name))
        {
            let path = self.servers.path().display();
            return Err(format!("{path} has no server `{unknown}`"));
        }
        servers.retain(|server| names.is_empty() || names.contains(&server.name));
        Ok(servers)
    }

    /// Starts servers side by side, and returns what each lists, in the order of the file.
    async fn list_all(&self, names: &[String]) -> Result<Vec<(String, ListResult)>, String> {
        let servers = self.select(names)?.into_iter();
        let listing = servers.map(async |server| {
            let name = visible_line(&server.name).into_owned();
            (name, self.list_tools(server).await)
        });
        Ok(join_all(listing).await)
    }

    /// Starts a server, and lists its tools.
    async fn list_tools(&self, server: ServerEntry) -> ListResult {
        let Some(upstream) = self.create(server)? else {
            return Ok(None);
        };
        let tools = upstream.list_tools().await.map_err(failure_text);
        upstream.stop().await;
        tools.map(Some)
    }

    /// Creates a server, which ends also if the command is killed.
    fn create(&self, server: ServerEntry) -> Result<Option<Upstream>, String> {
        let slots = Arc::<ProcessSlots>::default();
        let guard = std::env::current_exe().ok();
        let secrets = self.secrets.as_ref();
        create_server(server, &self.pins, &slots, guard.as_deref(), secrets)
    }

    async fn diagnose(
        &self,
        console: &mut Console,
        names: &[String],
    ) -> Result<bool, CommandError> {
        let mut is_fine = true;
        for (name, listed) in self.list_all(names).await? {
            match listed {
                Ok(Some(listed)) => {
                    let tools = &listed.tools;
                    let bytes: usize = tools.iter().map(ServerTool::bytes).sum();
                    let number = count(tools.len(), "tool");
                    console.print(format!(
                        "{name}: works: {number}, {bytes} bytes of definitions"
                    ))?;
                    print_unusable(console, &listed)?;
                    is_fine &= listed.unusable.is_empty();
                    is_fine &= self.diagnose_tools(console, &name, tools)?;
                }
                other => is_fine &= print_absence(console, &name, other.err())?,
            }
        }
        Ok(is_fine)
    }

    fn diagnose_tools(
        &self,
        console: &mut Console,
        name: &str,
        tools: &[ServerTool],
    ) -> Result<bool, CommandError> {
        let mut is_fine = true;
        for tool in tools {
            if let Err(error) = tool.to_source_tool(None) {
                is_fine = false;
                console.print(format!(
                    "  {}: its schema cannot be used: {}",
                    visible_line(&tool.name),
                    indented(&error)
                ))?;
            }
        }
        let Some(pinned) = self.pins.tools(name) else {
            console.print(format!(
                "  its tools are not pinned: look at them with `mcp-web agent mcp sync {name}`"
            ))?;
            return Ok(is_fine);
        };
        let difference = PinDifference::new(&pinned, tools);
        if !difference.is_empty() {
            console.print(describe_difference(name, &difference, tools))?;
            console.print(format!(
                "  these are off until `mcp-web agent mcp sync {name}`"
            ))?;
            return Ok(false);
        }
        Ok(is_fine)
    }
}

/// Prints why a server has not listed its tools: an error, or that it is disabled. Returns whether
/// nothing is wrong.
fn print_absence(
    console: &mut Console,
    name: &str,
    error: Option<String>,
) -> Result<bool, CommandError> {
    match error {
        None => console.print(format!("{name}: disabled")).map(|()| true),
        Some(error) => {
            let error = indented(&error);
            console
                .print(format!("{name}: FAILED: {error}"))
                .map(|()| false)
        }
    }
}

/// Prints the tools that are off because they are not as MCP demands.
fn print_unusable(console: &mut Console, listed: &Listed) -> Result<(), CommandError> {
    for tool in &listed.unusable {
        let name = shorten_name(&tool.name);
        let name = visible_line(&name);
        console.print(format!("  {name}: is off: {}", tool.problem))?;
    }
    Ok(())
}

fn print_if_any(console: &mut Console, text: &str) -> Result<(), CommandError> {
    if text.is_empty() {
        return Ok(());
    }
    console.print(text)
}

/// Indents the lines after the first one, so that none can be taken for one of ours.
fn indented(text: &str) -> String {
    text.trim_end().replace('\n', "\n    ")
}

/// Returns what an operator reads of a failure.
fn failure_text(failure: AgentFailure) -> String {
    let remedy = failure.remedy.map(|remedy| format!("; {remedy}"));
    failure.message + &remedy.unwrap_or_default()
}
