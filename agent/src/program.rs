//! The agent as a program: parses its settings, logs to stderr, serves, prints its address, and
//! stops when it is asked to.

mod arguments;
mod reload;

use std::ffi::OsString;
use std::pin::pin;
use std::process::ExitCode;
use std::time::Duration;

use bridge_edge::connections::Listener;
use bridge_edge::service_manager::start_watchdog;
use bridge_edge::{
    ProcessSignal, ProcessSignals, ServiceState, http_client, notify_service_manager, stdin_closed,
};
use bridge_output::{announce, print, print_error};
use bridge_settings::{LoadError, LoadedSettings};
use futures_util::future::OptionFuture;
use tokio::runtime;
use tokio::time::timeout;

use crate::commands;
use crate::config::{BridgeEntry, BridgeTables, Config};
use crate::logging::log_to_stderr;
use crate::service::{ServerHandle, StartError, bind_on, load_system_prompts, load_tools_file};
pub use arguments::command;
use arguments::{Arguments, load_arguments};
use reload::Reloader;

/// The exit code when a setting is invalid, or the agent cannot start.
const EXIT_INVALID_SETTINGS: u8 = 2;

/// The exit code when the port is in use, `EX_TEMPFAIL` of sysexits(3): a supervisor starts the program
/// again.
const EXIT_RETRY: u8 = 75;

/// How long blocking threads may continue after the agent has ended: a write to a file that hangs,
/// for example, cannot be cancelled.
const BLOCKING_TIMEOUT: Duration = Duration::from_secs(1);

/// Runs `mcp-web agent` with the arguments after it until it is asked to stop. A program calls
/// [`run_hidden_command`](crate::run_hidden_command) first. If the agent cannot start, it prints the reason
/// on stderr, and its exit code is 75 if its port is in use, and otherwise 2.
///
/// SIGHUP, and a change of a file of the settings, load the settings again. SIGTERM lets running queries end
/// first, for at most `drain_timeout`; Ctrl-C and a second SIGTERM end them at once.
///
/// # Panics
///
/// Panics when the process has a global tracing subscriber already.
pub fn main(arguments: Vec<OsString>) -> ExitCode {
    let runtime = runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            print_error(format_args!("no threads can be started: {error}"));
            return ExitCode::FAILURE;
        }
    };
    let exit_code = runtime.block_on(run(arguments));
    runtime.shutdown_timeout(BLOCKING_TIMEOUT);
    exit_code
}

async fn run(given: Vec<OsString>) -> ExitCode {
    if let Some(exit_code) = commands::run(&given).await {
        return exit_code;
    }
    let (arguments, loaded) = parse_arguments(&given);
    let Arguments {
        mut settings,
        log,
        log_format,
        until_stdin_ends,
        check_config,
        ..
    } = arguments;
    let log = log_to_stderr(log, log_format);
    if check_config {
        return commands::check_config(&settings);
    }
    settings.own_program = std::env::current_exe().ok();
    bridge_edge::raise_open_file_limit();
    let entries = settings.bridge_entries().unwrap_or_default();
    let exposed = |it: &&BridgeEntry| http_client::exposes_tokens(it.url.url());
    for bridge in entries.iter().filter(exposed) {
        tracing::warn!(
            "the URL of the bridge `{}` sends the tokens of queries over http:// to another machine, \
             and anyone who can read that network can use them: use https://",
            bridge.name
        );
    }
    // They are received from now on, because a parent process that reads the address may stop the agent at
    // once.
    let signals = ProcessSignals::listen();
    let stdin_closed = OptionFuture::from(until_stdin_ends.then(stdin_closed));
    let config = settings.clone();
    let running = match start(settings) {
        Ok(running) => running,
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
    tracing::info!("{} answers", running.model_label());
    let drain_timeout = config.drain_timeout;
    let reloader = Reloader::start(given, loaded, config, &running);
    announce(&format!("listening on {}", running.url()), &log);
    notify_service_manager(ServiceState::Ready);
    let _watchdog = start_watchdog();
    serve_until_stopped(&running, reloader, drain_timeout, signals, stdin_closed).await;
    running.shutdown().await;
    ExitCode::SUCCESS
}

fn start(settings: Config) -> Result<ServerHandle, StartError> {
    let passed = Listener::from_service_manager().map_err(StartError::PassedSockets)?;
    bind_on(passed, settings)?.serve_configured()
}

/// Completes when the agent must shut down.
async fn serve_until_stopped(
    server: &ServerHandle,
    mut reloader: Reloader,
    drain_timeout: Duration,
    mut signals: ProcessSignals,
    stdin_closed: OptionFuture<impl Future<Output = ()>>,
) {
    let mut stdin_closed = pin!(stdin_closed);
    let drains = loop {
        let is_requested = tokio::select! {
            signal = signals.recv() => match signal {
                ProcessSignal::Interrupt => break false,
                ProcessSignal::Terminate => break true,
                ProcessSignal::Hangup => true,
            },
            Some(()) = &mut stdin_closed => break false,
            () = reloader.file_changed() => false,
        };
        reloader.reload(is_requested, server);
    };
    // A change of the settings does not matter any more.
    drop(reloader);
    notify_service_manager(ServiceState::Stopping);
    if drains {
        tokio::select! {
            _ = timeout(drain_timeout, server.drain()) => {}
            _ = signals.recv_stop() => {}
            Some(()) = &mut stdin_closed => {}
        }
    }
}

fn parse_arguments(given: &[OsString]) -> (Arguments, LoadedSettings<BridgeTables>) {
    let (arguments, loaded) = match load_arguments(given) {
        Ok(parsed) => parsed,
        Err(LoadError::Arguments(error)) => error.exit(),
        Err(LoadError::File(error)) => {
            print_error(error);
            std::process::exit(EXIT_INVALID_SETTINGS.into());
        }
    };
    if arguments.print_config {
        let bridges = loaded.tables().map(BridgeTables::to_toml);
        let text = format!("{}{}", loaded.to_toml(), bridges.unwrap_or_default());
        std::process::exit(print(&text).into());
    }
    if arguments.print_prompt {
        let settings = &arguments.settings;
        let prompts = load_tools_file(settings).and_then(|it| load_system_prompts(settings, &it));
        match prompts {
            Ok(prompts) => {
                let text = format!("{}\n", prompts.for_profile(None));
                std::process::exit(print(&text).into());
            }
            Err(error) => {
                print_error(error);
                std::process::exit(EXIT_INVALID_SETTINGS.into());
            }
        }
    }
    (arguments, loaded)
}
