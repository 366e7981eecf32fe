//! What every program around a bridge does: load settings, log, serve, announce the address, and shut
//! down on a signal.

mod startup_summary;

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use bridge_service::settings::{LoadError, LoadedSettings};
use clap::{Args, Parser};
use tracing::{Level, Metadata};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::agent_queries::{fill_in_credential, warn_of_exposed_credential};
use crate::config::{ClientTables, Config, profiles, to_toml};
use crate::http::App;
use crate::server::{CheckedConfig, ServerHandle, serve};

/// The exit code when settings are wrong.
const EXIT_INVALID_SETTINGS: i32 = 2;

/// The heading of a program's own settings in the help.
const PROGRAM: &str = "Program";

/// The settings of a program: those of its bridge, and what it logs.
#[derive(Debug, Args)]
pub struct ProgramSettings {
    #[command(flatten)]
    bridge: Config,

    /// TOML file with settings, under the names of the flags with _ in place of -, and with
    /// [[clients]]. Flags and variables win over it.
    #[arg(long, env = "MCP_WEB_CONFIG", help_heading = PROGRAM, value_name = "PATH")]
    config: Option<PathBuf>,

    /// Print the configuration in effect as TOML, with where it comes from and without secrets.
    #[arg(long, help_heading = PROGRAM)]
    print_config: bool,

    /// Check the configuration as a start would, say what it amounts to, and do not start.
    #[arg(long, conflicts_with = "print_config", help_heading = PROGRAM)]
    check_config: bool,

    /// Stop when the standard input is closed: for a program that starts a bridge of its own, which
    /// must not outlive it.
    #[arg(long, env = "MCP_WEB_UNTIL_STDIN_ENDS", help_heading = PROGRAM)]
    until_stdin_ends: bool,

    /// What to log, to stderr: error, warn, info, debug, or a tracing filter.
    #[arg(
        long,
        env = "MCP_WEB_LOG",
        help_heading = PROGRAM,
        value_name = "FILTER",
        default_value = "info",
        value_parser = log_filter
    )]
    log: EnvFilter,

    /// Whether an event must not be logged.
    #[arg(skip)]
    excluded_from_log: Option<fn(&Metadata<'_>) -> bool>,
}

impl ProgramSettings {
    /// The settings of the bridge, for a program that adds to them.
    pub fn bridge_mut(&mut self) -> &mut Config {
        &mut self.bridge
    }

    /// Excludes events from the log, whatever its filter says: those of the libraries of a program
    /// that log content.
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
/// bridge::run(settings, bridge::App::default(), listening).await
/// # }
/// ```
pub fn parse_arguments<A: Parser>(settings: impl FnOnce(&mut A) -> &mut ProgramSettings) -> A {
    let loaded = match LoadedSettings::<ClientTables>::load(A::command(), std::env::args_os()) {
        Ok(loaded) => loaded,
        Err(LoadError::Arguments(error)) => error.exit(),
        Err(LoadError::File(error)) => {
            eprintln!("error: {error}");
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
        write_stdout(&to_toml(&loaded));
        std::process::exit(0);
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
    app: App,
    announcement: impl FnOnce(&ServerHandle) -> String,
) -> ExitCode {
    if settings.check_config {
        return check_config(&settings.bridge);
    }
    log_to_stderr(settings.log, settings.excluded_from_log);
    fill_in_credential(&mut settings.bridge);
    warn_of_exposed_credential(&settings.bridge);
    bridge_service::raise_open_file_limit();
    let signal = bridge_service::shutdown_signal();
    let shutdown = async move {
        if settings.until_stdin_ends {
            tokio::select! {
                () = signal => {}
                () = bridge_service::stdin_closed() => {}
            }
        } else {
            signal.await;
        }
    };
    match serve(settings.bridge, app).await {
        Ok(server) => {
            println!("{}", announcement(&server));
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
            write_stdout(&format!(
                "configuration is good\n{}",
                startup_summary::describe(config)
            ));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// Writes to stdout, whose reader may have closed it: that is not an error.
fn write_stdout(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush());
}

/// rmcp logs the end of each request, and logs a cancelled one as an error. A filter that names rmcp
/// turns that on.
const RMCP_OFF_DIRECTIVE: &str = "rmcp::service=off";

/// Parses a filter strictly: an invalid directive is an error.
fn log_filter(text: &str) -> Result<EnvFilter, String> {
    let filter = if text.contains("rmcp") {
        text.to_owned()
    } else {
        format!("{text},{RMCP_OFF_DIRECTIVE}")
    };
    EnvFilter::try_new(filter).map_err(|error| {
        format!("allowed are error, warn, info, debug, trace, or a tracing filter: {error}")
    })
}

/// Frames of pages are never logged: the first one carries the token.
fn log_to_stderr(filter: EnvFilter, is_excluded: Option<fn(&Metadata<'_>) -> bool>) {
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        // Colour codes in a file or a journal would hinder searching.
        .with_ansi(std::io::stderr().is_terminal())
        .finish()
        .with(filter_fn(move |event| {
            !logs_frames(event) && !is_excluded.is_some_and(|it| it(event))
        }))
        .init();
}

/// The WebSocket library traces whole frames.
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
