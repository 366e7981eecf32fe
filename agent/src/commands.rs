//! The commands of the program besides answering queries.

mod config_check;
mod console;
mod line_diff;
mod mcp;
mod plugin;
mod secrets;
mod server_listing;
mod server_summary;

use std::ffi::OsString;
use std::process::ExitCode;

use agent_sources::{READ_ARGUMENT, read_for_agent};
use agent_tools::mcp::GUARD_ARGUMENT;
use agent_tools::mcp::server_guard;
use clap::Command;

pub(crate) use config_check::check_config;

use crate::logging::log_for_agent;

/// Runs the command that the arguments of this process name, if they name one with which an agent
/// starts its own program: to run an MCP server, or to read a database of SQLite.
///
/// A program with an agent calls it before anything else with all arguments after its own name, ends
/// with the exit code if there is one, and sets [`Config::own_program`](crate::Config::own_program) to its own path.
///
/// # Examples
///
/// ```
/// use std::process::ExitCode;
///
/// fn main() -> ExitCode {
///     let arguments: Vec<_> = std::env::args_os().skip(1).collect();
///     if let Some(exit_code) = agent::run_hidden_command(&arguments) {
///         return exit_code;
///     }
///     let config = agent::Config {
///         own_program: std::env::current_exe().ok(),
///         ..agent::Config::default()
///     };
///     // …
/// #   drop(config);
///     ExitCode::SUCCESS
/// }
/// ```
pub fn run_hidden_command(arguments: &[OsString]) -> Option<ExitCode> {
    let (command, arguments) = arguments.split_first()?;
    match command.to_str()? {
        GUARD_ARGUMENT => Some(server_guard::run(arguments.to_vec())),
        READ_ARGUMENT => {
            log_for_agent();
            Some(read_for_agent())
        }
        _ => None,
    }
}

/// Runs the command that the arguments of the program name, if they name one that people use.
pub(crate) async fn run(arguments: &[OsString]) -> Option<ExitCode> {
    let command = arguments.first()?.to_str()?;
    match command {
        "secrets" => Some(secrets::run(arguments.to_vec())),
        "mcp" => Some(mcp::run(arguments.to_vec()).await),
        "plugin" => Some(plugin::run(arguments.to_vec()).await),
        _ => None,
    }
}

/// Returns the command lines of the commands that people use.
pub(crate) fn command_lines() -> [Command; 3] {
    [mcp::command(), plugin::command(), secrets::command()]
}
