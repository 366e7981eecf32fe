//! Bridges that serve as one, and the directory that they share.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Result, ensure};
use bridge_cluster::NatsServer;
use serde_json::Value;
use tokio::time::{Instant, sleep}; // sleep: the pauses between looks at a bridge that starts

use crate::certificates::Certificates;
use crate::connection::Connection;
use crate::page::{Page, PageProtocol};
use crate::request::{Endpoint, Request};
use crate::server::Server;

/// How long bridges may take to know each other.
const START_TIMEOUT: Duration = Duration::from_secs(20);

const START_POLL: Duration = Duration::from_millis(20);

/// The session of the page that makes a bridge the owner of a token.
const OWNING_SESSION: &str = "owner";

const SECRET: &str = "--cluster-secret=the-secret-of-the-laboratory-0123456789";

const METRICS_TOKEN: &str = "the-metrics-of-the-laboratory-0123456789";

/// The bridges, of which the first one serves what is measured.
pub(crate) struct Nodes {
    servers: Vec<Server>,
    _directory: NatsServer,
    _certificates: Option<Certificates>,
}

impl Nodes {
    /// Starts bridges with these arguments, and waits until they know each other. With `is_encrypted`,
    /// they use mutual TLS between them.
    pub(crate) async fn start(
        count: usize,
        arguments: &[&str],
        is_encrypted: bool,
    ) -> Result<Self> {
        let directory = NatsServer::start();
        let certificates = is_encrypted.then(Certificates::create).transpose()?;
        let mut settings = vec![
            format!("--cluster={}", directory.url()),
            format!("--metrics-token={METRICS_TOKEN}"),
        ];
        settings.extend(certificates.iter().flat_map(Certificates::settings));
        let mut all = vec![SECRET, "--cluster-bind=127.0.0.1:0"];
        all.extend(arguments);
        all.extend(settings.iter().map(String::as_str));
        let mut servers = Vec::new();
        for _ in 0..count {
            servers.push(Server::bridge(&all).await?);
        }
        for server in &servers {
            wait_for_peers(server, count - 1).await?;
        }
        Ok(Self {
            servers,
            _directory: directory,
            _certificates: certificates,
        })
    }

    /// Returns the bridge that serves what is measured.
    pub(crate) fn owner(&self) -> &Server {
        &self.servers[0]
    }

    /// Returns a bridge that passes it on.
    pub(crate) fn edge(&self) -> &Server {
        &self.servers[1]
    }

    /// Returns the addresses of all bridges that pass it on.
    pub(crate) fn edge_addresses(&self) -> Vec<SocketAddr> {
        self.servers[1..].iter().map(|it| it.address).collect()
    }

    /// Takes the bridge that serves what is measured away from the others, to end it.
    pub(crate) fn take_owner(&mut self) -> Server {
        self.servers.remove(0)
    }

    /// Connects a page without tools to the owner, which owns the token from then on.
    pub(crate) async fn open_owning_page(&self, token: &str) -> Result<Page> {
        let address = self.owner().address;
        Page::open(address, PageProtocol::Current, token, OWNING_SESSION, &[]).await
    }
}

/// Waits until a bridge knows this number of others and owns its lease.
async fn wait_for_peers(server: &Server, peers: usize) -> Result<()> {
    let known = format!("mcp_web_cluster_nodes{{state=\"serving\"}} {peers}\n");
    let endpoint = Endpoint::new(server.address, METRICS_TOKEN);
    let metrics = Request::new("GET /metrics", &endpoint, &[], &Value::Null);
    let ready = Request::new("GET /readyz", &endpoint, &[], &Value::Null);
    let mut connection = Connection::open(&endpoint).await?;
    let deadline = Instant::now() + START_TIMEOUT;
    loop {
        let is_ready = connection.request(&ready).await?.status == 200;
        let answer = connection.request(&metrics).await?;
        answer.require_status(200)?;
        let text = String::from_utf8_lossy(&answer.message);
        if is_ready && text.contains(&known) {
            return Ok(());
        }
        ensure!(
            Instant::now() < deadline,
            "the bridges do not know each other"
        );
        sleep(START_POLL).await; // sleep: the bridge starts
    }
}
