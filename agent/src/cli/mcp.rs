//! `mcp-web-agent mcp`: the file of MCP servers, their tools, and what is wrong with them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Parser, Subcommand};
use futures_util::future::join_all;
use serde_json::{Map, Value, json};

use super::server_listing::{describe_difference, describe_tools};
use crate::config::SecretSettings;
use crate::mcp::{ProcessSlots, Upstream, create_server};
use crate::secrets::SecretStore;
use crate::tools::{
    CallContext, PinDifference, Pins, ServerEntry, ServersFile, Source, ToolDefinition,
};

/// The exit code when a command fails.
const EXIT_FAILED: u8 = 1;

/// The context in which commands call tools: there is no user.
const COMMAND_USER: &str = "command line";

/// Adds, looks at and tries the MCP servers whose tools an agent has.
#[derive(Debug, Parser)]
#[command(name = "mcp", bin_name = "mcp-web-agent mcp", after_long_help = EXAMPLES)]
struct Arguments {
    /// The file with the servers: `file` of the table `[mcp]` in the agent's `tools_file`. Its pins are
    /// beside it, in a file that ends with `.pins.json`.
    #[arg(
        long,
        env = "MCP_WEB_AGENT_SERVERS_FILE",
        value_name = "PATH",
        default_value = "mcp-servers.json",
        global = true
    )]
    file: PathBuf,

    #[command(flatten)]
    secrets: SecretSettings,

    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  mcp-web-agent mcp add time -- uvx mcp-server-time
  mcp-web-agent mcp add issues https://mcp.example.com/mcp --header 'Authorization: Bearer ${TOKEN}'
  mcp-web-agent mcp sync
  mcp-web-agent mcp call time get_current_time '{\"timezone\": \"Europe/Berlin\"}'";

#[derive(Debug, Subcommand)]
enum Command {
    /// Add a server to the file, and pin its tools.
    Add {
        /// The name: the agent's tools of the server begin with `mcp-NAME-`.
        name: String,
        /// URL of a server over Streamable HTTP, instead of a command.
        #[arg(conflicts_with = "command")]
        url: Option<String>,
        /// Variable of the server's environment; `${VAR}` is replaced when the agent starts.
        #[arg(long, value_name = "NAME=VALUE", value_parser = parse_variable)]
        env: Vec<(String, String)>,
        /// Header of requests to a URL; `${VAR}` is replaced when the agent starts.
        #[arg(long, value_name = "NAME: VALUE", value_parser = parse_header)]
        header: Vec<(String, String)>,
        /// Folder in which the server runs.
        #[arg(long, value_name = "PATH")]
        cwd: Option<String>,
        /// The command of a server over stdio, after `--`.
        #[arg(last = true)]
        command: Vec<String>,
    },
    /// List the servers of the file.
    List,
    /// Remove a server from the file, with its pins.
    Remove {
        /// The name of the server.
        name: String,
    },
    /// Show how the tools of servers differ from the pinned ones, and pin them as they are now.
    Sync {
        /// The servers; without names, all.
        names: Vec<String>,
        /// Only show the differences, and fail if there are any.
        #[arg(long)]
        check: bool,
    },
    /// Call a tool of a server, without any profile.
    Call {
        /// The name of the server.
        name: String,
        /// The name of the tool, as the server has it.
        tool: String,
        /// The arguments, as a JSON object.
        #[arg(default_value = "{}")]
        arguments: String,
    },
    /// Start each server, and show what is wrong with it.
    Doctor {
        /// The servers; without names, all.
        names: Vec<String>,
    },
}

fn parse_variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

fn parse_header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or("write 'NAME: VALUE'")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

/// Runs the command. `arguments` begins with `mcp`.
pub(super) async fn run(arguments: Vec<OsString>) -> ExitCode {
    let Arguments {
        file,
        secrets,
        command,
    } = Arguments::parse_from(arguments);
    let result = match Files::load(file, &secrets) {
        Ok(files) => files.run(command).await,
        Err(error) => Err(error),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(EXIT_FAILED),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(EXIT_FAILED)
        }
    }
}

/// The tools of a server; `None` if it is disabled.
type Listed = Result<Option<Vec<ToolDefinition>>, String>;

/// The file of the servers, and that of their pins.
struct Files {
    servers: ServersFile,
    pins: Pins,
    secrets: Option<Arc<SecretStore>>,
}

impl Files {
    fn load(path: PathBuf, secrets: &SecretSettings) -> Result<Self, String> {
        Ok(Self {
            servers: ServersFile::load(&path).map_err(|error| error.to_string())?,
            pins: Pins::load(Pins::path_for(&path))?,
            secrets: secrets.open_if_set()?,
        })
    }

    /// Returns whether nothing is wrong.
    async fn run(mut self, command: Command) -> Result<bool, String> {
        match command {
            Command::Add {
                name,
                url,
                env,
                header,
                cwd,
                command,
            } => {
                let entry = entry(url, command, env, header, cwd)?;
                self.servers
                    .add(&name, entry)
                    .map_err(|it| it.to_string())?;
                self.servers.save().map_err(|error| error.to_string())?;
                println!("`{name}` was added to {}", self.servers.path().display());
                self.sync(&[name], false).await
            }
            Command::List => Ok(self.list()),
            Command::Remove { name } => {
                self.servers.remove(&name).map_err(|it| it.to_string())?;
                self.servers.save().map_err(|error| error.to_string())?;
                if self.pins.tools(&name).is_some() {
                    self.pins.remove(&name);
                    self.pins.save()?;
                }
                println!("`{name}` was removed");
                Ok(true)
            }
            Command::Sync { names, check } => self.sync(&names, check).await,
            Command::Call {
                name,
                tool,
                arguments,
            } => self.call(&name, &tool, &arguments).await,
            Command::Doctor { names } => self.doctor(&names).await,
        }
    }

    fn list(&self) -> bool {
        let servers = self.servers.servers();
        if servers.is_empty() {
            println!("{} has no servers", self.servers.path().display());
        }
        for server in &servers {
            let state = match &server.definition {
                Err(error) => format!("off: {error}"),
                Ok(definition) if definition.policy.is_disabled => "disabled".to_owned(),
                Ok(definition) => {
                    let pinned = self.pins.tools(&server.name);
                    let pinned = pinned.map_or("not pinned".to_owned(), |tools| {
                        format!("{} tools pinned", tools.len())
                    });
                    format!("{:?}, {pinned}", definition.transport)
                }
            };
            println!("{}: {state}", server.name);
        }
        servers.iter().all(|server| server.definition.is_ok())
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

    async fn sync(mut self, names: &[String], is_check: bool) -> Result<bool, String> {
        let mut is_fine = true;
        for (name, listed) in self.list_all(names).await? {
            match listed {
                Ok(None) => println!("{name}: disabled"),
                Err(error) => {
                    println!("{name}: {error}");
                    is_fine = false;
                }
                Ok(Some(tools)) => {
                    let has_changed = self.show_difference(&name, &tools);
                    is_fine &= !is_check || !has_changed;
                    self.pins.set(&name, tools);
                }
            }
        }
        if !is_check {
            self.pins.save()?;
        }
        Ok(is_fine)
    }

    /// Prints how the tools differ from the pinned ones. Returns whether they do.
    fn show_difference(&self, name: &str, tools: &[ToolDefinition]) -> bool {
        let Some(pinned) = self.pins.tools(name) else {
            println!("{name}: {} tools, which were not pinned", tools.len());
            print!("{}", describe_tools(tools));
            return true;
        };
        let difference = PinDifference::new(&pinned, tools);
        if difference.is_empty() {
            println!("{name}: {} tools, as they are pinned", tools.len());
            return false;
        }
        println!(
            "{name}: {} tools, which differ from the pinned ones",
            tools.len()
        );
        print!("{}", describe_difference(&difference, tools));
        true
    }

    /// Starts servers side by side, and returns what each lists, in the order of the file.
    async fn list_all(&self, names: &[String]) -> Result<Vec<(String, Listed)>, String> {
        let servers = self.select(names)?.into_iter();
        let listing =
            servers.map(async |server| (server.name.clone(), self.list_tools(server).await));
        Ok(join_all(listing).await)
    }

    /// Starts a server, and lists its tools.
    async fn list_tools(&self, server: ServerEntry) -> Listed {
        let Some(upstream) = self.create(server)? else {
            return Ok(None);
        };
        let tools = upstream.list_tools().await;
        let tools = tools.map_err(|failure| {
            let written = failure.remedy.map(|text| format!("; {text}"));
            failure.message + &written.unwrap_or_default()
        });
        upstream.stop().await;
        tools.map(Some)
    }

    fn create(&self, server: ServerEntry) -> Result<Option<Upstream>, String> {
        let slots = Arc::<ProcessSlots>::default();
        create_server(server, &self.pins, &slots, None, self.secrets.as_ref())
    }

    async fn call(&self, name: &str, tool: &str, arguments: &str) -> Result<bool, String> {
        let arguments: Map<String, Value> = serde_json::from_str(arguments)
            .map_err(|error| format!("the arguments are no JSON object: {error}"))?;
        let servers = self.select(&[name.to_owned()])?;
        let server = servers
            .into_iter()
            .next()
            .ok_or("there is no such server")?;
        let upstream = self.create(server)?;
        let upstream = upstream.ok_or_else(|| format!("`{name}` is disabled"))?;
        let started = upstream.start().await;
        let context = CallContext {
            user: COMMAND_USER.to_owned(),
        };
        let result = match started {
            Ok(()) => {
                let output = upstream.call(tool, arguments, &context).await;
                println!("{}", output.text);
                Ok(!output.is_error())
            }
            Err(failure) => Err(failure.message),
        };
        upstream.stop().await;
        result
    }

    async fn doctor(&self, names: &[String]) -> Result<bool, String> {
        let mut is_fine = true;
        for (name, listed) in self.list_all(names).await? {
            match listed {
                Ok(None) => println!("{name}: disabled"),
                Err(error) => {
                    is_fine = false;
                    println!("{name}: FAILED: {error}");
                }
                Ok(Some(tools)) => {
                    let bytes: usize = tools.iter().map(ToolDefinition::bytes).sum();
                    println!(
                        "{name}: works: {} tools, {bytes} bytes of definitions",
                        tools.len()
                    );
                    is_fine &= self.diagnose_pins(&name, &tools);
                }
            }
        }
        Ok(is_fine)
    }

    fn diagnose_pins(&self, name: &str, tools: &[ToolDefinition]) -> bool {
        let unusable = tools.iter().filter_map(|tool| {
            let error = tool.to_source_tool(None).err()?;
            Some(format!(
                "  {}: its schema cannot be used: {error}\n",
                tool.name
            ))
        });
        let unusable: String = unusable.collect();
        print!("{unusable}");
        match self.pins.tools(name) {
            None => println!("  its tools are not pinned: look at them with `mcp sync {name}`"),
            Some(pinned) => {
                let difference = PinDifference::new(&pinned, tools);
                if !difference.is_empty() {
                    print!("{}", describe_difference(&difference, tools));
                    println!("  these are off until `mcp sync {name}`");
                    return false;
                }
            }
        }
        unusable.is_empty()
    }
}

/// Returns the entry of a new server.
fn entry(
    url: Option<String>,
    command: Vec<String>,
    env: Vec<(String, String)>,
    headers: Vec<(String, String)>,
    cwd: Option<String>,
) -> Result<Value, String> {
    let mut entry = match (url, command.split_first()) {
        (Some(url), None) => json!({ "type": "http", "url": url }),
        (None, Some((command, arguments))) => json!({ "command": command, "args": arguments }),
        _ => return Err("give a URL, or a command after `--`".to_owned()),
    };
    let is_http = entry.get("url").is_some();
    if is_http && (!env.is_empty() || cwd.is_some()) || !is_http && !headers.is_empty() {
        return Err("`--env` and `--cwd` belong to a command, `--header` to a URL".to_owned());
    }
    let fields = [("env", env), ("headers", headers)];
    for (key, values) in fields.into_iter().filter(|(_, values)| !values.is_empty()) {
        entry[key] = json!(values.into_iter().collect::<BTreeMap<_, _>>());
    }
    if let Some(cwd) = cwd {
        entry["cwd"] = cwd.into();
    }
    Ok(entry)
}
