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

pub(crate) use config_check::check_config;

use crate::mcp::GUARD_ARGUMENT;
use crate::server_guard;

/// Runs the command that the arguments of the program name, if they name one.
pub(crate) async fn run(arguments: Vec<OsString>) -> Option<ExitCode> {
    let command = arguments.get(1)?.to_str()?;
    match command {
        GUARD_ARGUMENT => Some(server_guard::run(arguments[2..].to_vec())),
        "secrets" => Some(secrets::run(arguments[1..].to_vec())),
        "mcp" => Some(mcp::run(arguments[1..].to_vec()).await),
        "plugin" => Some(plugin::run(arguments[1..].to_vec()).await),
        _ => None,
    }
}
