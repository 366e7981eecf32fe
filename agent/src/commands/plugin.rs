//! `mcp-web agent plugin`: sources of the agent as MCP servers for other programs.

mod arguments;
mod source_flags;

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;

use agent_secrets::SecretStore;
use agent_sources::ToolsFile;
use agent_tools::ServedSource;
use agent_tools::closed_stdin::closed_stdin;
use agent_tools::mcp::serve_plugin;
use bridge_edge::shutdown_signal;
use bridge_output::LogFormat;
use clap::{CommandFactory, Parser};
use tokio::io::{stdin, stdout};

use super::console::CommandError;
use crate::logging::log_to_stderr;
use arguments::{Arguments, Command, ServeArguments, ServedType};

/// Returns the command line of the command.
pub(super) fn command() -> clap::Command {
    Arguments::command()
}

/// Runs the command. `arguments` begins with `plugin`.
pub(super) async fn run(arguments: Vec<OsString>) -> ExitCode {
    let Arguments {
        command: Command::Serve(arguments),
    } = Arguments::parse_from(arguments);
    match serve(arguments).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => CommandError::Failed(error).exit(),
    }
}

async fn serve(arguments: ServeArguments) -> Result<(), String> {
    let ServeArguments {
        secrets,
        log,
        served,
    } = arguments;
    let _flush_guard = log_to_stderr(log, LogFormat::Text);
    let stopping = shutdown_signal();
    let secrets = secrets.open_if_set()?;
    let source = open(served, secrets)?;
    serve_plugin(source, stdin(), stdout(), closed_stdin(), stopping).await
}

fn open(served: ServedType, secrets: Option<Arc<SecretStore>>) -> Result<ServedSource, String> {
    let (name, settings) = match served {
        ServedType::BuiltIn(flags) => {
            let name = flags.type_name()?;
            let settings = flags.settings().map_err(|error| unusable(&name, &error))?;
            (name, settings)
        }
        ServedType::Source { name, tools_file } => {
            let file = ToolsFile::load(&tools_file).map_err(|error| error.to_string())?;
            let names: Vec<_> = file.sources.iter().map(|it| it.name.clone()).collect();
            let found = file.sources.into_iter().find(|it| it.name == name);
            let found = found.map(|it| (it.name, it.settings));
            found.ok_or_else(|| {
                let path = tools_file.display();
                match names.as_slice() {
                    [] => format!("{path} has no sources"),
                    names => {
                        let names = names.join("`, `");
                        format!("{path} has no source `{name}`; it has `{names}`")
                    }
                }
            })?
        }
    };
    let own_program = std::env::current_exe().ok();
    let source = settings
        .open(&name, secrets.as_ref(), own_program.as_deref())
        .map_err(|error| unusable(&name, &error))?;
    Ok(ServedSource::new(source, secrets))
}

fn unusable(name: &str, error: &str) -> String {
    format!("the source `{name}` cannot be used: {error}")
}
