//! The steps of every program around a bridge: load settings, log, serve, announce the address, and
//! shut down on a signal.

mod config_check;
mod reload;
mod startup_summary;

use std::ffi::OsString;
use std::future::pending;
use std::path::PathBuf;
use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use bridge_edge::connections::Listener;
use bridge_edge::{
    ProcessSignal, ProcessSignals, ServiceState, notify_service_manager, service_manager,
    stdin_closed,
};
use bridge_output::{LineStyle, LogFilter, announce, log_to_stderr, print, print_error};
use bridge_settings::{LoadError, LoadedSettings, warning_if_open_to_others};
use clap::{Args, Parser};
use futures_util::future::{FutureExt, OptionFuture};
use tokio::sync::Notify;
use tracing::{Level, Metadata};

use crate::admin::{self, AdminArguments};
use crate::agent_queries::{fill_in_credential, warn_of_exposed_credential};
use crate::config::{BridgeFileTables, Config, to_toml};
use crate::http::MountedApp;
use crate::server::{ReleaseAddress, ServerHandle, StartError, serve_on};
use crate::web::current_request_id;
use reload::{ProgramLoad, ReloadCause, Reloader, SettingsSource};

/// The exit code when settings are wrong: a start that is repeated would fail again.
const EXIT_INVALID_SETTINGS: u8 = 2;

/// The exit code when the port or the state folder is in use, `EX_TEMPFAIL` of sysexits(3): a
/// supervisor starts the program again.
pub const EXIT_RETRY: u8 = 75;

/// The heading of a program's own settings in the help.
const PROGRAM: &str = "Program";

/// The settings of a program: those of its bridge and of its log.
#[derive(Debug, Args)]
pub struct ProgramSettings {
    #[command(flatten)]
    bridge: Config,

    /// TOML file with settings, under the names of the flags with _ in place of -, and with
    /// [[clients]] and [[issuers]]. Flags and variables take precedence over it.
    #[arg(long, env = "MCP_WEB_CONFIG", help_heading = PROGRAM, value_name = "PATH")]
    config: Option<PathBuf>,

    /// Print the configuration in effect as TOML, with the source of each setting and without
    /// secrets.
    #[arg(long, help_heading = PROGRAM)]
    print_config: bool,

    /// Check the configuration as a start would, print a summary with warnings of contradictions, and
    /// do not start. With `cluster`, also check NATS and the other bridges, which changes nothing there.
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

    /// The configuration file, if it has secrets.
    #[arg(skip)]
    secrets_file: Option<PathBuf>,

    /// Whether an event must not be logged.
    #[arg(skip)]
    excluded_from_log: Option<fn(&Metadata<'_>) -> bool>,

    /// How long the program runs without a client and a page, if not for ever.
    #[arg(skip)]
    stop_when_idle: Option<Duration>,

    /// Requests the program to stop like SIGTERM.
    #[arg(skip)]
    stop_request: Arc<Notify>,

    /// Releases the address if it is in use.
    #[arg(skip)]
    release_address: Option<ReleaseAddress>,

    /// Where the settings come from.
    #[arg(skip)]
    source: Option<SettingsSource>,
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

    /// Stops the program when neither a client nor a page has been connected for this long.
    pub fn stop_when_idle(&mut self, duration: Duration) {
        self.stop_when_idle = Some(duration);
    }

    /// Returns what requests the program to stop when it is notified: running calls end first.
    pub fn stop_request(&self) -> Arc<Notify> {
        Arc::clone(&self.stop_request)
    }

    /// Calls a function if the address is in use when the program starts.
    pub fn release_address(&mut self, release: ReleaseAddress) {
        self.release_address = Some(release);
    }
}

/// Parses a program's settings from its arguments, its environment and its configuration file, in
/// this order of precedence. The first of `arguments` is the name of the program, unless its command
/// line has `no_binary_name`.
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
/// let arguments = std::env::args_os();
/// let Arguments { settings } =
///     bridge::parse_arguments(arguments, |it: &mut Arguments| &mut it.settings);
/// let listening = |server: &bridge::ServerHandle| format!("listening on {}", server.url());
/// bridge::run(settings, bridge::MountedApp::default(), listening).await
/// # }
/// ```
pub fn parse_arguments<A: Parser + 'static>(
    arguments: impl IntoIterator<Item = OsString>,
    settings: impl Fn(&mut A) -> &mut ProgramSettings + Send + Sync + 'static,
) -> A {
    let given: Vec<_> = arguments.into_iter().collect();
    let (mut arguments, loaded) = match load_arguments(&given, &settings) {
        Ok(parsed) => parsed,
        Err(LoadError::Arguments(error)) => error.exit(),
        Err(LoadError::File(error)) => {
            print_error(error);
            std::process::exit(EXIT_INVALID_SETTINGS.into());
        }
    };
    let program = settings(&mut arguments);
    let mut issuers = program.bridge.identity.issuers.iter();
    let has_secrets =
        loaded.has_secrets_in_file() || issuers.any(|issuer| issuer.jwt_secret.is_some());
    program.secrets_file = program.config.clone().filter(|_| has_secrets);
    if program.print_config {
        std::process::exit(print(&to_toml(&loaded)).into());
    }
    let settings = Arc::new(settings);
    let settings_of = Arc::clone(&settings);
    let load_again = move || {
        let loaded = load_arguments(&given, &*settings_of);
        let (mut arguments, loaded) = loaded.map_err(|error| error.to_string())?;
        let program = settings_of(&mut arguments);
        Ok(ProgramLoad {
            loaded,
            bridge: std::mem::take(&mut program.bridge),
            log: std::mem::take(&mut program.log),
        })
    };
    settings(&mut arguments).source = Some(SettingsSource {
        load: Box::new(load_again),
        loaded,
    });
    arguments
}

fn load_arguments<A: Parser>(
    given: &[OsString],
    settings: &impl Fn(&mut A) -> &mut ProgramSettings,
) -> Result<(A, LoadedSettings<BridgeFileTables>), LoadError> {
    let loaded = LoadedSettings::<BridgeFileTables>::load(A::command(), given.iter().cloned())?;
    let mut arguments = A::from_arg_matches(&loaded.matches).map_err(LoadError::Arguments)?;
    let bridge = &mut settings(&mut arguments).bridge;
    bridge.add_tables(&loaded);
    bridge.agent.own_program = std::env::current_exe().ok();
    Ok((arguments, loaded))
}

/// Serves until the process is requested to stop. Once it listens, it prints the announcement on stdout, and nothing
/// else, for people and for scripts that wait for it.
///
/// - SIGHUP, and a change of a file of the settings, load the settings again.
/// - SIGTERM lets running calls end first, see [`ServerHandle::drain`]. Ctrl-C, a second SIGTERM and the end
///   of stdin, if that counts, end them at once.
/// - The sockets of a service manager are used in place of `bind` (systemd: `LISTEN_FDS`), and it is
///   notified of the state (`NOTIFY_SOCKET`).
///
/// A bridge that cannot start logs the error to stderr. The exit code is 75 if a later start may succeed,
/// because a port or folder is in use, and otherwise 2. With `--check-config` it only checks the
/// configuration, and prints to stdout if it is valid, with warnings of what contradicts itself.
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
        let secrets_file = settings.secrets_file.as_deref();
        let checked = config_check::run(&settings.bridge, secrets_file).await;
        return checked.unwrap_or(ExitCode::from(EXIT_INVALID_SETTINGS));
    }
    let is_excluded = settings.excluded_from_log;
    let style = LineStyle {
        format: settings.bridge.monitoring.log_format,
        request_id: current_request_id,
    };
    let log = log_to_stderr(settings.log, style, move |event| {
        logs_frames(event) || is_excluded.is_some_and(|it| it(event))
    });
    fill_in_credential(&mut settings.bridge);
    warn_of_exposed_credential(&settings.bridge);
    let secrets_file = settings.secrets_file.as_deref();
    if let Some(warning) = secrets_file.and_then(warning_if_open_to_others) {
        tracing::warn!("{warning}");
    }
    bridge_edge::raise_open_file_limit();
    let mut signals = ProcessSignals::listen();
    let stop = stop_requested(settings.until_stdin_ends, settings.stop_request);
    let config = settings.bridge.clone();
    let starting = async {
        let passed = Listener::from_service_manager().map_err(StartError::PassedSockets)?;
        serve_on(passed, settings.release_address, settings.bridge, app).await
    };
    let server = tokio::select! {
        server = starting => server,
        // The program that releases the address may take long.
        _ = signals.recv_stop() => return ExitCode::SUCCESS,
    };
    let server = match server {
        Ok(server) => server,
        Err(error) => {
            // An error of a file shows its lines.
            for line in error.to_string().lines() {
                tracing::error!("{line}");
            }
            return ExitCode::from(if error.is_temporary() {
                EXIT_RETRY
            } else {
                EXIT_INVALID_SETTINGS
            });
        }
    };
    let source = settings.source;
    let reloader = source.map(|source| Reloader::start(source, config, &server));
    let (address, version) = (server.local_addr(), env!("CARGO_PKG_VERSION"));
    tracing::info!(%address, version, "the bridge listens");
    announce(&announcement(&server), &log);
    notify_service_manager(ServiceState::Ready);
    let _watchdog = service_manager::start_watchdog();
    let idle = settings
        .stop_when_idle
        .map(|duration| server.idle(duration));
    let stopped = serve_until_stopped(&server, reloader, signals, stop);
    tokio::select! {
        () = stopped => {}
        Some(()) = OptionFuture::from(idle) => {
            tracing::info!("neither a client nor a page is connected any more");
        }
    }
    tracing::info!("the bridge stops");
    server.shutdown().await;
    tracing::info!("the bridge has stopped");
    ExitCode::SUCCESS
}

/// Completes when the end of stdin, if that counts, or a request stops the program. Returns whether running
/// calls may end first.
fn stop_requested(until_stdin_ends: bool, request: Arc<Notify>) -> impl Future<Output = bool> {
    let stdin_closed = OptionFuture::from(until_stdin_ends.then(stdin_closed));
    async move {
        tokio::select! {
            Some(()) = stdin_closed => false,
            () = request.notified() => true,
        }
    }
}

/// Completes when the bridge must shut down.
async fn serve_until_stopped(
    server: &ServerHandle,
    mut reloader: Option<Reloader>,
    mut signals: ProcessSignals,
    stop_requested: impl Future<Output = bool>,
) {
    let mut stop_requested = pin!(stop_requested.fuse());
    let drains = loop {
        let cause = tokio::select! {
            signal = signals.recv() => match signal {
                ProcessSignal::Interrupt => break false,
                ProcessSignal::Terminate => break true,
                ProcessSignal::Hangup => ReloadCause::Signal,
            },
            drains = &mut stop_requested => break drains,
            cause = file_changed(&mut reloader) => cause,
        };
        let Some(reloader) = &mut reloader else {
            continue;
        };
        // A server with new keys may take long to respond.
        tokio::select! {
            () = reloader.reload(cause) => {}
            signal = signals.recv_stop() => break signal == ProcessSignal::Terminate,
            drains = &mut stop_requested => break drains,
        }
    };
    // A change of the settings does not matter any more.
    drop(reloader);
    notify_service_manager(ServiceState::Stopping);
    if drains {
        tokio::select! {
            () = server.drain() => {}
            _ = signals.recv_stop() => {}
            // The end of stdin does not wait for calls.
            false = &mut stop_requested => {}
        }
    }
}

async fn file_changed(reloader: &mut Option<Reloader>) -> ReloadCause {
    match reloader {
        Some(reloader) => reloader.file_changed().await,
        None => pending().await,
    }
}

/// Runs the command `admin` against the running bridge whose socket the settings or the arguments name.
/// It prints the answer to stdout. The exit code is 1 if the bridge does not do what was requested.
pub(crate) async fn administer(settings: ProgramSettings, arguments: AdminArguments) -> ExitCode {
    let socket = settings.bridge.admin.admin_socket;
    admin::command::run(arguments, socket.as_deref()).await
}

/// The libraries whose lines are off unless the filter names them, because the bridge logs the same itself:
/// rmcp the end of each request and of what it takes for sessions, and a cancelled request as an error; the
/// client of NATS each attempt to connect.
const SILENT_LIBRARIES: [&str; 2] = ["rmcp", "async_nats"];

fn log_filter(text: &str) -> Result<LogFilter, String> {
    let unnamed = SILENT_LIBRARIES.iter().filter(|it| !text.contains(**it));
    let directives = unnamed.map(|library| format!(",{library}=off"));
    bridge_output::log_filter(&(text.to_owned() + &directives.collect::<String>()))
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
    fn lines_of_libraries_are_off_unless_the_filter_names_them() {
        for (filter, off) in [
            ("info", [true, true]),
            ("bridge=debug", [true, true]),
            ("info,rmcp=info", [false, true]),
            ("info,async_nats=debug", [true, false]),
        ] {
            let parsed = log_filter(filter).unwrap().to_string();
            let is_off = |library: &str| parsed.contains(&format!("{library}=off"));
            assert_eq!(SILENT_LIBRARIES.map(is_off), off, "{filter}");
        }
        assert!(log_filter("info,=,").is_err());
    }
}
