//! The bridge that `mcp-web stdio` starts for all clients of the user, as a hidden command of this program.
//!
//! 1. `starter` runs in the clients: it asks who has the port, and starts a bridge under a lock.
//! 2. The bridge detaches itself from the client. It listens on the loopback address only, and ends when it
//!    has been without clients and pages for some time.
//! 3. Before each handshake, a client asks the program at the port for the `proof` that it has the secret in
//!    the user's `folder`, for a random text. A program that has no such route is taken for the bridge of a
//!    person if it describes itself as one: who imitates that is not recognized.

mod folder;
mod proof;
mod starter;

use std::convert::Infallible;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use axum::Router;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::routing::get;
use bridge::{MountedApp, ProgramSettings, ServerHandle};
use bridge_settings::values::parse_duration;
use clap::Parser;
use tokio::task::spawn_blocking;

use folder::StartedBridgeFolder;
use proof::{ROUTE, proof};

pub(crate) use starter::{BridgeStarter, Holder};

/// The name of the command.
pub(crate) const COMMAND: &str = "started-bridge";

/// How often the size of the log is checked.
const LOG_CHECK_INTERVAL: Duration = Duration::from_secs(10);

/// The bridge that `mcp-web stdio` starts.
#[derive(Parser)]
#[command(name = "mcp-web started-bridge", no_binary_name = true)]
struct StartedBridgeArguments {
    #[command(flatten)]
    settings: ProgramSettings,

    /// The folder with the secret and the log.
    #[arg(long)]
    folder: PathBuf,

    /// How long it runs without clients and pages.
    #[arg(long, value_parser = parse_duration)]
    stop_when_idle: Duration,
}

/// Runs the command with the arguments after its name.
#[tokio::main]
pub(crate) async fn run(arguments: Vec<OsString>) -> ExitCode {
    // The end of the client or of its terminal is not that of the bridge. Without a session of processes, it
    // only shares their signals.
    #[cfg(unix)]
    let _ = rustix::process::setsid();
    let StartedBridgeArguments {
        mut settings,
        folder,
        stop_when_idle,
    } = bridge::parse_arguments(arguments, |it: &mut StartedBridgeArguments| {
        &mut it.settings
    });
    settings.stop_when_idle(stop_when_idle);
    let folder = StartedBridgeFolder::new(folder);
    let app = MountedApp {
        routes: proof_route(folder.clone()),
        home: None,
    };
    let listening = |server: &ServerHandle| format!("listening on {}", server.url());
    tokio::select! {
        code = bridge::run(settings, app, listening) => code,
        never = limit_log(folder) => match never {},
    }
}

/// The route at which the bridge proves that it has the secret.
fn proof_route(folder: StartedBridgeFolder) -> Router {
    let respond = move |Path(challenge): Path<String>| async move {
        // The secret is read each time: a person may have removed the file.
        let secret = spawn_blocking(move || folder.load_or_create_secret()).await;
        match secret {
            Ok(Ok(secret)) => Ok(proof(&secret, &challenge)),
            _ => Err(StatusCode::SERVICE_UNAVAILABLE),
        }
    };
    Router::new().route(&format!("/{ROUTE}/{{challenge}}"), get(respond))
}

/// Keeps the log small, to which stderr appends.
async fn limit_log(folder: StartedBridgeFolder) -> Infallible {
    let mut checks = tokio::time::interval(LOG_CHECK_INTERVAL);
    loop {
        checks.tick().await;
        let folder = folder.clone();
        let _ = spawn_blocking(move || folder.limit_log()).await;
    }
}
