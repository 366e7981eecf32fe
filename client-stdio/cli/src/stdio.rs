//! The command `stdio`: the client of `client-stdio`, which starts a bridge when none runs.

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use bridge_output::print_error;
use bridge_settings::values::parse_duration;
use clap::{Args, Command, FromArgMatches};
use client_stdio::{Config, LocalBridge, serve_stdio};

use crate::started_bridge::BridgeStarter;

const NAME: &str = "mcp-web stdio";

/// The addresses of this machine at which a bridge may be started.
const HOSTS: [&str; 2] = ["127.0.0.1", "localhost"];

/// The path of the MCP endpoint.
const ENDPOINT: &str = "/mcp";

/// The flags of the bridge that this command may start.
#[derive(Args)]
struct StartFlags {
    /// Start a bridge when none runs: auto at the default address, local at any port of 127.0.0.1, or
    /// never. One bridge serves all clients of the user
    #[arg(
        long,
        env = "MCP_WEB_START_BRIDGE",
        value_name = "WHEN",
        default_value = "auto",
        value_parser = parse_condition
    )]
    start_bridge: StartCondition,
    /// How long a bridge that was started runs without clients and pages
    #[arg(
        long,
        env = "MCP_WEB_BRIDGE_IDLE_TIMEOUT",
        value_name = "TIME",
        default_value = "10m",
        value_parser = parse_idle_timeout
    )]
    bridge_idle_timeout: Duration,
}

/// When a bridge is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StartCondition {
    /// None runs at the default address.
    Auto,
    /// None runs at an address of this machine.
    Local,
    /// Not at all.
    Never,
}

/// An empty value is one that is not set: configuration files of AI clients have empty fields.
fn parse_condition(text: &str) -> Result<StartCondition, String> {
    match text.trim() {
        "" | "auto" => Ok(StartCondition::Auto),
        "local" => Ok(StartCondition::Local),
        "never" => Ok(StartCondition::Never),
        _ => Err("allowed are auto, local and never".to_owned()),
    }
}

fn parse_idle_timeout(text: &str) -> Result<Duration, String> {
    match text.trim() {
        "" => Ok(Duration::from_secs(600)),
        text => parse_duration(text),
    }
}

/// Returns the command line.
pub(crate) fn command() -> Command {
    StartFlags::augment_args(client_stdio::command(NAME))
}

/// Runs the command with the arguments after its name.
pub(crate) fn main(arguments: Vec<OsString>) -> ExitCode {
    let matches = command().get_matches_from(arguments);
    let flags = StartFlags::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    match Config::from_matches(&matches) {
        Ok(config) => serve_stdio(with_local_bridge(config, &flags)),
        Err(error) => {
            print_error(error);
            ExitCode::from(2)
        }
    }
}

/// Adds the bridge that may be started, if the address is one for it.
fn with_local_bridge(mut config: Config, flags: &StartFlags) -> Config {
    let url = &config.url;
    let is_local = url.scheme() == "http"
        && url.host_str().is_some_and(|host| HOSTS.contains(&host))
        && url.path() == ENDPOINT;
    let default_port = bridge::Config::default().network.bind.port();
    let port = url.port_or_known_default().filter(|port| {
        is_local
            && match flags.start_bridge {
                StartCondition::Auto => *port == default_port,
                StartCondition::Local => true,
                StartCondition::Never => false,
            }
    });
    config.local_bridge = port.map(|port| {
        let starter = BridgeStarter::new(config.url.clone(), port, flags.bridge_idle_timeout);
        Arc::new(starter) as Arc<dyn LocalBridge>
    });
    config
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a bridge may be started with these arguments.
    fn may_start(arguments: &[&str]) -> bool {
        let matches = command().get_matches_from(arguments);
        let flags = StartFlags::from_arg_matches(&matches).unwrap();
        let config = Config::from_matches(&matches).unwrap();
        with_local_bridge(config, &flags).local_bridge.is_some()
    }

    #[test]
    fn a_bridge_is_started_at_the_default_address_only_unless_a_flag_says_so() {
        for (url, expected) in [
            ("http://127.0.0.1:3001/mcp", [true, true, false]),
            ("http://localhost:3001", [true, true, false]),
            ("http://127.0.0.1:3002/mcp", [false, true, false]),
            ("http://127.0.0.1:3001/other", [false, false, false]),
            ("http://[::1]:3001/mcp", [false, false, false]),
            ("http://127.0.0.2:3001/mcp", [false, false, false]),
            ("https://127.0.0.1:3001/mcp", [false, false, false]),
            (
                "http://localhost.example.com:3001/mcp",
                [false, false, false],
            ),
        ] {
            let found = ["", "local", "never"]
                .map(|condition| may_start(&["--url", url, "--start-bridge", condition]));
            assert_eq!(found, expected, "{url}");
        }
    }
}
