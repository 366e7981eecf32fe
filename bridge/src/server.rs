//! Starting and stopping a bridge.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::auth::Tokens;
use crate::config::Config;
use crate::definition::Definitions;
use crate::http::{self, App, Edge};
use crate::hub::Hub;
use crate::mcp::{self, McpLeg};
use crate::origin::Policy;

/// Open connections have this long to end after [`Running::shutdown`].
const SHUTDOWN_WITHIN: Duration = Duration::from_secs(5);

/// Why a bridge does not start. The message says what to change.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Another address than a loopback one, and anybody could open a realm.
    #[error(
        "{0} can be reached from other machines, but no tokens are configured: set `tokens` \
         (MCP_WEB_TOKENS) or `token_file` (MCP_WEB_TOKEN_FILE), or bind to 127.0.0.1"
    )]
    Unauthenticated(SocketAddr),
    /// The token file cannot be read.
    #[error("`token_file` cannot be read: {0}")]
    TokenFile(io::Error),
    /// There is a token file without tokens: nobody could connect, or everybody.
    #[error("`token_file` has no tokens: write one a line, or do not set it")]
    EmptyTokenFile,
    /// A configured token is too short, or so long that no header carries it.
    #[error("a configured token has fewer than {0} characters: make it longer")]
    ShortToken(usize),
    /// An entry of `allowed_hosts` or `allowed_origins` is malformed.
    #[error("{0}")]
    Policy(String),
    /// The address is taken, or not one of this machine.
    #[error(
        "cannot listen on {address}: {error}. Is another bridge running? Choose another `bind`"
    )]
    Bind {
        /// The configured address.
        address: SocketAddr,
        /// What the system said.
        error: io::Error,
    },
}

/// Starts a bridge and returns once it listens. `app` is served on the same port, under the same
/// checks of `Host` and `Origin`.
///
/// # Errors
///
/// [`StartError`] when the configuration is unsafe or wrong, or the address is taken.
///
/// # Examples
///
/// ```
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let config = bridge::Config { bind: ([127, 0, 0, 1], 0).into(), ..Default::default() };
/// let bridge = bridge::serve(config, bridge::App::default()).await.unwrap();
/// assert!(bridge.url().starts_with("http://127.0.0.1:"));
/// bridge.shutdown().await;
/// # });
/// ```
pub async fn serve(config: Config, app: App) -> Result<Running, StartError> {
    let listed = config.all_tokens().map_err(StartError::TokenFile)?;
    let shortest = bridge_protocol::limits::MIN_TOKEN_CHARS;
    if listed.iter().any(|token| token.chars().count() < shortest) {
        return Err(StartError::ShortToken(shortest));
    }
    if listed.is_empty() && config.token_file.is_some() {
        return Err(StartError::EmptyTokenFile);
    }
    if listed.is_empty() && !config.bind.ip().is_loopback() {
        return Err(StartError::Unauthenticated(config.bind));
    }
    let policy =
        Policy::new(&config.allowed_hosts, &config.allowed_origins).map_err(StartError::Policy)?;
    let bind_error = |error| StartError::Bind {
        address: config.bind,
        error,
    };
    let listener = TcpListener::bind(config.bind).await.map_err(bind_error)?;
    let address = listener.local_addr().map_err(bind_error)?;

    let definitions = Definitions::new(mcp::check_definition, config.max_definition_bytes);
    let hub = Hub::new(config, definitions);
    let stopping = CancellationToken::new();
    let edge = Edge {
        mcp: McpLeg::new(&hub, stopping.clone()),
        policy: Arc::new(policy),
        tokens: Arc::new(Tokens::new(&listed)),
        sockets: TaskTracker::new(),
        stopping: stopping.clone(),
        home: app.home.clone(),
        hub: Arc::clone(&hub),
    };
    let sockets = edge.sockets.clone();
    let router = http::router(edge, app);
    // Without this each streamed answer waits for the peer's delayed acknowledgement.
    let listener = listener.tap_io(|socket| {
        let _ = socket.set_nodelay(true);
    });
    let server =
        axum::serve(listener, router).with_graceful_shutdown(stopping.clone().cancelled_owned());
    let server = tokio::spawn(async move {
        if let Err(error) = server.await {
            tracing::error!(%error, "the server stopped");
        }
    });
    Ok(Running {
        address,
        hub,
        stopping,
        sockets,
        server,
    })
}

/// A bridge that serves. Dropping it leaves it running until the runtime ends.
#[derive(Debug)]
pub struct Running {
    address: SocketAddr,
    hub: Arc<Hub>,
    stopping: CancellationToken,
    sockets: TaskTracker,
    server: JoinHandle<()>,
}

impl Running {
    /// The address that it listens on, with the real port if 0 was asked for.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Where clients and pages find it.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Ends it gracefully: calls fail with `BridgeStopping`, pages are told to come back (close
    /// code 1012), streams end. Returns after 5 s at the latest.
    pub async fn shutdown(self) {
        self.hub.stop();
        self.stopping.cancel();
        self.sockets.close();
        let abort = self.server.abort_handle();
        let ended = async {
            self.sockets.wait().await;
            let _ = self.server.await;
        };
        if tokio::time::timeout(SHUTDOWN_WITHIN, ended).await.is_err() {
            abort.abort();
        }
    }
}

/// Waits until somebody asks the process to stop: Ctrl-C, or what a service manager sends
/// (SIGTERM). Where neither can be heard it waits forever, and the process can still be killed.
pub(crate) async fn stop_requested() {
    let interrupted = async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let terminated = async {
            match signal(SignalKind::terminate()) {
                Ok(mut terminate) => drop(terminate.recv().await),
                Err(_) => std::future::pending().await,
            }
        };
        tokio::select! {
            () = interrupted => {}
            () = terminated => {}
        }
    }
    #[cfg(not(unix))]
    interrupted.await;
}
