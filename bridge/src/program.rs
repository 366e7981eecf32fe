//! What every program around a bridge does: read settings, log, serve, announce, stop when asked.

mod stop;

use std::process::ExitCode;

use clap::Args;
use tracing::{Level, Metadata};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::Config;
use crate::http::App;
use crate::server::{Running, serve};

/// The settings of a program: those of its bridge, and what it logs.
#[derive(Debug, Args)]
pub struct ProgramSettings {
    #[command(flatten)]
    config: Config,

    /// What to log, to stderr: error, warn, info, debug, or a tracing filter.
    #[arg(
        long,
        env = "MCP_WEB_LOG",
        value_name = "FILTER",
        default_value = "info"
    )]
    log: EnvFilter,
}

/// Serves until somebody asks the process to stop. Once it listens it prints the announcement as
/// the one line on stdout, for people and for scripts that wait for it. A bridge that cannot start
/// says why on stderr, and the exit code is 2.
///
/// # Panics
///
/// When the process has a global tracing subscriber already.
pub async fn run(
    settings: ProgramSettings,
    app: App,
    announcement: impl FnOnce(&Running) -> String,
) -> ExitCode {
    log_to_stderr(settings.log);
    let stop_requested = stop::requested();
    match serve(settings.config, app).await {
        Ok(running) => {
            println!("{}", announcement(&running));
            stop_requested.await;
            running.shutdown().await;
            ExitCode::SUCCESS
        }
        Err(error) => {
            tracing::error!("{error}");
            ExitCode::from(2)
        }
    }
}

/// Frames of pages are never logged: the first one carries the token.
fn log_to_stderr(filter: EnvFilter) {
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .finish()
        .with(filter_fn(|event| !shows_frames(event)))
        .init();
}

/// The WebSocket library traces whole frames.
fn shows_frames(event: &Metadata<'_>) -> bool {
    *event.level() == Level::TRACE && event.target().starts_with("tungstenite")
}
