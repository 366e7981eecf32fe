//! The bridge that `mcp-web stdio` starts for all clients of the user, as a hidden command of this program.
//!
//! 1. `starter` runs in the clients: it asks who has the port, and starts a bridge under a lock.
//! 2. The bridge detaches itself from the client. It listens on the loopback address only, and ends when it
//!    has been without clients and pages for some time.
//! 3. Before each handshake, a client asks the program at the port for the `proof` that it has the secret in
//!    the user's `folder`, for a random text. A program that has no such route is taken for the bridge of a
//!    person if it describes itself as one: who imitates that is not recognized.
//! 4. A bridge that a person starts at the same address takes its place: `release` requests it to end, with a
//!    proof of the secret.

mod folder;
mod proof;
mod release;
mod starter;

use std::convert::Infallible;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::routing::get;
use bridge::{MountedApp, ProgramSettings, ServerHandle};
use bridge_settings::Secret;
use bridge_settings::values::parse_duration;
use clap::Parser;
use tokio::sync::Notify;
use tokio::task::spawn_blocking;

use folder::StartedBridgeFolder;
use proof::{ROUTE, end_request, proof};

pub(crate) use release::release_address;
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
        routes: routes(folder.clone(), settings.stop_request()),
        home: None,
    };
    let listening = |server: &ServerHandle| format!("listening on {}", server.url());
    tokio::select! {
        code = bridge::run(settings, app, listening) => code,
        never = limit_log(folder) => match never {},
    }
}

/// The route at which the bridge proves that it has the secret, and at which a program that has it requests the
/// bridge to end.
fn routes(folder: StartedBridgeFolder, stop_request: Arc<Notify>) -> Router {
    let folder_of_proof = folder.clone();
    let prove = async move |Path(challenge): Path<String>| {
        let secret = load_secret(folder_of_proof).await?;
        Ok::<_, StatusCode>(proof(&secret, &challenge))
    };
    let end = async move |Path(challenge): Path<String>, request: String| {
        let secret = load_secret(folder).await?;
        if request != end_request(&secret, &challenge) {
            return Err(StatusCode::FORBIDDEN);
        }
        tracing::info!("a bridge that the user starts takes the place of this one");
        stop_request.notify_one();
        Ok(())
    };
    Router::new().route(&format!("/{ROUTE}/{{challenge}}"), get(prove).post(end))
}

/// Loads the secret. It is read each time: a person may have removed the file.
async fn load_secret(folder: StartedBridgeFolder) -> Result<Secret, StatusCode> {
    let loaded = spawn_blocking(move || folder.load_or_create_secret()).await;
    let secret = loaded.ok().and_then(Result::ok);
    secret.ok_or(StatusCode::SERVICE_UNAVAILABLE)
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
