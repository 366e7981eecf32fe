//! The steps of every program around a bridge: load settings, log, serve, announce the address, and
//! shut down on a signal.

mod startup_summary;

use std::path::PathBuf;
use std::process::ExitCode;

use bridge_output::{LogFilter, announce, log_to_stderr, print, print_error};
use bridge_settings::{LoadError, LoadedSettings};
use clap::{Args, Parser};
use tracing::{Level, Metadata};

use crate::agent_queries::{fill_in_credential, warn_of_exposed_credential};
use crate::config::{ClientTables, Config, profiles, to_toml};
use crate::http::MountedApp;
use crate::server::{CheckedConfig, ServerHandle, serve};

/// The exit code when settings are wrong.
const EXIT_INVALID_SETTINGS: i32 = 2;

/// The heading of a program's own settings in the help.
const PROGRAM: &str = "Program";

/// The settings of a program: those of its bridge and of its log.
#[derive(Debug, Args)]
pub struct ProgramSettings {
    #[command(flatten)]
    bridge: Config,

    /// TOML file with settings, under the names of the flags with _ in place of -, and with
    /// [[clients]]. Flags and variables take precedence over it.
    #[arg(long, env = "MCP_WEB_CONFIG", help_heading = PROGRAM, value_name = "PATH")]
    config: Option<PathBuf>,

    /// Print the configuration in effect as TOML, with the source of each setting and without
    /// secrets.
    #[arg(long, help_heading = PROGRAM)]
    print_config: bool,

    /// Check the configuration as a start would, print a summary, and do not start.
    #[arg(long, conflicts_with = "print_config", help_heading = PROGRAM)]
    check_config: bool,

    /// Stop when the standard input is closed: for a program that starts a bridge, which must not
    /// outlive the program.
    #[arg(long, env = "MCP_WEB_UNTIL_STDIN_ENDS", help_heading = PROGRAM)]
    until_stdin_ends: bool,

    /// Log level on stderr: error, warn, info, debug, or a tracing filter.
    #[arg(
        long,
        env = "MCP_WEB_LOG",
        help_heading = PROGRAM,
        value_name = "FILTER",
        default_value = "info",
        value_parser = log_filter
    )]
    log: LogFilter,

    /// Whether an event must not be logged.
    #[arg(skip)]
    excluded_from_log: Option<fn(&Metadata<'_>) -> bool>,
}

impl ProgramSettings {
    /// The settings of the bridge, for a program that adds to them.
    pub fn bridge_mut(&mut self) -> &mut Config {
        &mut self.bridge
    }

    /// Excludes events from the log, even if its filter allows them: those of the libraries of a
    /// program that log content.
    pub fn exclude_from_log(&mut self, is_excluded: fn(&Metadata<'_>) -> bool) {
        self.excluded_from_log = Some(is_excluded);
    }
}

/// Parses a program's settings from its arguments, its environment and its configuration file, in
/// this order of precedence.
///
/// Ends the process with `--help`, `--version` and `--print-config` after printing, and with the exit
/// code 2 and an error on stderr when a setting is wrong.
///
/// # Examples
///
/// ```no_run
/// #[derive(clap::Parser)]
/// struct Arguments {
///     #[command(flatten)]
///     settings: bridge::ProgramSettings,
/// }
///
/// # async fn start() -> std::process::ExitCode {
/// let Arguments { settings } = bridge::parse_arguments(|it: &mut Arguments| &mut it.settings);
/// let listening = |server: &bridge::ServerHandle| format!("listening on {}", server.url());
/// bridge::run(settings, bridge::MountedApp::default(), listening).await
/// # }
/// ```
pub fn parse_arguments<A: Parser>(settings: impl FnOnce(&mut A) -> &mut ProgramSettings) -> A {
    let loaded = match LoadedSettings::<ClientTables>::load(A::command(), std::env::args_os()) {
        Ok(loaded) => loaded,
        Err(LoadError::Arguments(error)) => error.exit(),
        Err(LoadError::File(error)) => {
            print_error(error);
            std::process::exit(EXIT_INVALID_SETTINGS);
        }
    };
    let mut arguments = match A::from_arg_matches(&loaded.matches) {
        Ok(arguments) => arguments,
        Err(error) => error.exit(),
    };
    let settings = settings(&mut arguments);
    settings.bridge.profiles = profiles(&loaded);
    if settings.print_config {
        std::process::exit(print(&to_toml(&loaded)).into());
    }
    arguments
}

/// Serves until the process receives a shutdown signal. Once it listens, it prints the announcement as
/// the only line on stdout, for people and for scripts that wait for it. A bridge that cannot start
/// logs the error to stderr, and the exit code is 2. With `--check-config` it only checks the
/// configuration, and prints to stdout if it is valid.
///
/// # Panics
///
/// When the process has a global tracing subscriber already.
pub async fn run(
    mut settings: ProgramSettings,
    app: MountedApp,
    announcement: impl FnOnce(&ServerHandle) -> String,
) -> ExitCode {
    if settings.check_config {
        return check_config(&settings.bridge);
    }
    let is_excluded = settings.excluded_from_log;
    let log = log_to_stderr(settings.log, move |event| {
        logs_frames(event) || is_excluded.is_some_and(|it| it(event))
    });
    fill_in_credential(&mut settings.bridge);
    warn_of_exposed_credential(&settings.bridge);
    bridge_edge::raise_open_file_limit();
    let signal = bridge_edge::shutdown_signal();
    let shutdown = async move {
        if settings.until_stdin_ends {
            tokio::select! {
                () = signal => {}
                () = bridge_edge::stdin_closed() => {}
            }
        } else {
            signal.await;
        }
    };
    match serve(settings.bridge, app).await {
        Ok(server) => {
            announce(&announcement(&server), &log);
            shutdown.await;
            server.shutdown().await;
            ExitCode::SUCCESS
        }
        Err(error) => {
            tracing::error!("{error}");
            ExitCode::from(2)
        }
    }
}

fn check_config(config: &Config) -> ExitCode {
    match CheckedConfig::new(config) {
        Ok(_) => {
            let summary = startup_summary::describe(config);
            ExitCode::from(print(&format!("configuration is good\n{summary}")))
        }
        Err(error) => {
            print_error(error);
            ExitCode::from(2)
        }
    }
}

/// rmcp logs the end of each request, and logs a cancelled one as an error. A filter that names rmcp
/// turns that on.
const RMCP_OFF_DIRECTIVE: &str = "rmcp::service=off";

fn log_filter(text: &str) -> Result<LogFilter, String> {
    if text.contains("rmcp") {
        bridge_output::log_filter(text)
    } else {
        bridge_output::log_filter(&format!("{text},{RMCP_OFF_DIRECTIVE}"))
    }
}

/// The WebSocket library traces whole frames. They are never logged: the first one of a page carries
/// the token.
fn logs_frames(event: &Metadata<'_>) -> bool {
    *event.level() == Level::TRACE && event.target().starts_with("tungstenite")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rmcp_logs_are_off_unless_the_filter_names_rmcp() {
        for (filter, logged) in [
            ("info", false),
            ("bridge=debug", false),
            ("info,rmcp=info", true),
        ] {
            let filter = log_filter(filter).unwrap().to_string();
            assert_eq!(!filter.contains(RMCP_OFF_DIRECTIVE), logged, "{filter}");
        }
        assert!(log_filter("info,=,").is_err());
    }
}
