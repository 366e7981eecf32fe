//! What every program around a bridge does: read settings, log, serve, announce, stop when asked.

mod startup_summary;

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser};
use tracing::{Level, Metadata};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::agent_queries::fill_in_credential;
use crate::config::{Config, LoadError, LoadedSettings};
use crate::http::App;
use crate::server::{CheckedConfig, ServerHandle, serve};

/// The exit code when settings are wrong.
const EXIT_INVALID_SETTINGS: i32 = 2;

/// What the help shows a program's own settings under.
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
}

impl ProgramSettings {
    /// The settings of the bridge, for a program that adds to them.
    pub fn bridge_mut(&mut self) -> &mut Config {
        &mut self.bridge
    }
}

/// Reads a program's settings from its arguments, its environment and its configuration file: the
/// first that says something wins. Ends the process where that is all there is to do: with `--help`, `--version` and
/// `--print-config` after printing them, and with the exit code 2 when a setting is wrong, which
/// stderr says.
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
/// let Arguments { settings } = bridge::arguments(|it: &mut Arguments| &mut it.settings);
/// let listening = |running: &bridge::Running| format!("listening on {}", running.url());
/// bridge::run(settings, bridge::App::default(), listening).await
/// # }
/// ```
pub fn arguments<A: Parser>(settings: impl FnOnce(&mut A) -> &mut ProgramSettings) -> A {
    let reading = match LoadedSettings::load(A::command(), std::env::args_os()) {
        Ok(reading) => reading,
        Err(LoadError::Arguments(error)) => error.exit(),
        Err(LoadError::File(error)) => {
            eprintln!("error: {error}");
            std::process::exit(EXIT_INVALID_SETTINGS);
        }
    };
    let mut arguments = match A::from_arg_matches(&reading.matches) {
        Ok(arguments) => arguments,
        Err(error) => error.exit(),
    };
    let settings = settings(&mut arguments);
    settings.bridge.profiles = reading.profiles();
    if settings.print_config {
        write_stdout(&reading.to_toml());
        std::process::exit(0);
    }
    arguments
}

/// Serves until somebody asks the process to stop. Once it listens it prints the announcement as
/// the one line on stdout, for people and for scripts that wait for it. A bridge that cannot start
/// says why on stderr, and the exit code is 2. With `--check-config` it only says whether the
/// configuration is good: on stdout if so.
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
    log_to_stderr(settings.log);
    fill_in_credential(&mut settings.bridge);
    retain_freed_memory();
    let shutdown = bridge_service::shutdown_signal();
    match serve(settings.bridge, app).await {
        Ok(running) => {
            println!("{}", announcement(&running));
            shutdown.await;
            running.shutdown().await;
            ExitCode::SUCCESS
        }
        Err(error) => {
            tracing::error!("{error}");
            ExitCode::from(2)
        }
    }
}

/// The largest block that is served from memory which the program holds.
const RETAINED_BLOCK_BYTES: usize = 4 * 1024 * 1024;

/// glibc gives what is freed back to the kernel at once, and a result of 1 MB has the kernel make
/// hundreds of pages again, until it has seen so large a block freed (mallopt(3), `M_MMAP_THRESHOLD`).
/// Larger ones still go back at once.
fn retain_freed_memory() {
    // It is not written to, and takes no memory.
    drop(std::hint::black_box(Vec::<u8>::with_capacity(
        RETAINED_BLOCK_BYTES,
    )));
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

/// Whoever reads may have read enough: that is no error.
fn write_stdout(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush());
}

/// rmcp tells of the end of each request, and tells a cancelled one as an error. Who wants that names
/// it in the filter.
const RMCP_OFF_DIRECTIVE: &str = "rmcp::service=off";

/// Strictly: what is wrong in a filter is not passed over.
fn log_filter(text: &str) -> Result<EnvFilter, String> {
    let filter = match text.contains("rmcp") {
        true => text.to_owned(),
        false => format!("{text},{RMCP_OFF_DIRECTIVE}"),
    };
    EnvFilter::try_new(filter).map_err(|error| {
        format!("allowed are error, warn, info, debug, trace, or a tracing filter: {error}")
    })
}

/// Frames of pages are never logged: the first one carries the token.
fn log_to_stderr(filter: EnvFilter) {
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        // Colours are for people: in a file or a journal they hide what is searched for.
        .with_ansi(std::io::stderr().is_terminal())
        .finish()
        .with(filter_fn(|event| !logs_frames(event)))
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
        for (asked, hears) in [
            ("info", false),
            ("bridge=debug", false),
            ("info,rmcp=info", true),
        ] {
            let filter = log_filter(asked).unwrap().to_string();
            assert_eq!(!filter.contains(RMCP_OFF_DIRECTIVE), hears, "{filter}");
        }
        assert!(log_filter("info,=,").is_err());
    }
}
