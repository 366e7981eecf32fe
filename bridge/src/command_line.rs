//! The command lines `mcp-web bridge` and `mcp-web admin`.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use crate::admin::AdminArguments;
use crate::http::MountedApp;
use crate::program::{self, ProgramSettings, administer, parse_arguments};
use crate::server::{ReleaseAddress, ServerHandle};

/// MCP server whose tools live in web pages.
///
/// Pages connect to ws://ADDR/ws with the SDK at /sdk/mcp-web.js, AI clients to http://ADDR/mcp
/// with the page's token as bearer. Plain HTTP: POST /tool-call, GET /sessions, /tools, /healthz,
/// /readyz.
#[derive(Parser)]
#[command(
    name = "mcp-web bridge",
    bin_name = "mcp-web bridge",
    version,
    no_binary_name = true
)]
struct BridgeArguments {
    #[command(flatten)]
    settings: ProgramSettings,
}

/// Administer the running bridge that has `admin_socket` set: list users, pages, clients and calls,
/// end them, and deny access. Not on Windows.
///
/// The other settings of `mcp-web bridge` are accepted as well, and change nothing here.
#[derive(Parser)]
#[command(
    name = "mcp-web admin",
    bin_name = "mcp-web admin",
    version,
    no_binary_name = true,
    mut_args = hide_unused_setting
)]
struct AdminCommandLine {
    // First, because the settings have headings, which arguments after them would get as well.
    #[command(flatten)]
    admin: AdminArguments,

    #[command(flatten)]
    settings: ProgramSettings,
}

/// Runs `mcp-web bridge` with the arguments after it, and returns its exit code. `release` is called when
/// its address is in use.
pub fn main(arguments: Vec<OsString>, release: ReleaseAddress) -> ExitCode {
    run(arguments, release)
}

#[tokio::main]
async fn run(arguments: Vec<OsString>, release: ReleaseAddress) -> ExitCode {
    let BridgeArguments { mut settings } =
        parse_arguments(arguments, |it: &mut BridgeArguments| &mut it.settings);
    settings.release_address(release);
    let listening = |server: &ServerHandle| format!("listening on {}", server.url());
    program::run(settings, MountedApp::default(), listening).await
}

/// Runs `mcp-web admin` with the arguments after it, and returns its exit code.
#[tokio::main(flavor = "current_thread")]
pub async fn admin_main(arguments: Vec<OsString>) -> ExitCode {
    let AdminCommandLine { settings, admin } =
        parse_arguments(arguments, |it: &mut AdminCommandLine| &mut it.settings);
    administer(settings, admin).await
}

/// Returns the command line of `mcp-web bridge`.
pub fn command() -> clap::Command {
    BridgeArguments::command()
}

/// Returns the command line of `mcp-web admin`.
pub fn admin_command() -> clap::Command {
    AdminCommandLine::command()
}

/// Hides a setting from the help unless it says where the bridge is.
fn hide_unused_setting(arg: clap::Arg) -> clap::Arg {
    let is_setting = arg.get_help_heading().is_some();
    let is_used = ["admin_socket", "config"].contains(&arg.get_id().as_str());
    if is_setting && !is_used {
        return arg.hide(true);
    }
    arg
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_of_admin_shows_only_the_settings_that_find_the_bridge() {
        let help = admin_command().render_long_help().to_string();
        for flag in ["--admin-socket", "--config", "--socket", "--json"] {
            let entry = format!("\n      {flag}");
            assert!(help.contains(&entry), "{flag} is missing in:\n{help}");
        }
        assert!(!help.contains("--bind"), "{help}");
        assert!(help.contains("Usage: mcp-web admin"), "{help}");
    }

    #[test]
    fn admin_accepts_the_settings_of_a_bridge() {
        let words = ["--bind", "127.0.0.1:1", "--admin-socket", "a", "users"];
        assert!(AdminCommandLine::try_parse_from(words).is_ok());
        command().debug_assert();
        admin_command().debug_assert();
    }
}
