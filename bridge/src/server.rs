//! Starting and stopping a bridge.

mod connections;
mod ready;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::Config;
use crate::definition::Definitions;
use crate::http::{self, App, Edge};
use crate::hub::Hub;
use crate::mcp::{self, McpLeg};
use crate::v1::Leg;

pub(crate) use ready::Ready;
pub use ready::StartError;

/// Open connections have this long to end after [`Running::shutdown`].
const SHUTDOWN_WITHIN: Duration = Duration::from_secs(5);

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
    let ready = Ready::check(&config)?;
    let bind_error = |error| StartError::Bind {
        address: config.bind,
        error,
    };
    let listener = TcpListener::bind(config.bind).await.map_err(bind_error)?;
    let address = listener.local_addr().map_err(bind_error)?;

    ready.tokens.start();
    let definitions = Definitions::new(mcp::check_definition, config.max_definition_bytes);
    let hub = Hub::new(config, definitions);
    if hub.config.agent.run_agent {
        hub.queries.run_agent(address);
    }
    let stopping = CancellationToken::new();
    let tokens = Arc::new(ready.tokens);
    let v1 = hub.config.compat.map(|_| Leg::new(&hub, &tokens));
    let edge = Edge {
        v1: v1.map(Arc::new),
        mcp: McpLeg::new(&hub, stopping.clone()),
        policy: Arc::new(ready.policy),
        tokens,
        resource: ready.resource.map(Arc::new),
        sockets: TaskTracker::new(),
        stopping: stopping.clone(),
        home: app.home.clone(),
        hub: Arc::clone(&hub),
    };
    let sockets = edge.sockets.clone();
    let front = http::front(edge, app);
    let server = tokio::spawn({
        let (hub, stopping) = (Arc::clone(&hub), stopping.clone());
        async move { connections::serve(listener, front, &hub.config, stopping).await }
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
            self.hub.kept.stop().await;
            self.hub.queries.stop().await;
            self.sockets.wait().await;
            let _ = self.server.await;
        };
        if tokio::time::timeout(SHUTDOWN_WITHIN, ended).await.is_err() {
            abort.abort();
        }
    }
}
