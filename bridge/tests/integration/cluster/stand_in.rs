//! A node of a cluster that is a program of the test.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use bridge_cluster::{NodeId, PeerHeader, ReservedPort};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::kit::*;
use crate::kit::*;

/// The route of the pings of bridges, which a node of a test answers.
pub(super) const PING_PATH: &str = "/_cluster/ping";

/// A node whose responses the test chooses.
pub(super) struct StandIn {
    pub(super) view: Arc<DirectoryView>,
    pub(super) address: SocketAddr,
    received: Arc<AtomicUsize>,
    server: JoinHandle<()>,
}

impl StandIn {
    /// Announces a node that responds like this, and waits until the bridge knows it.
    pub(super) async fn start<F>(
        bridges: &Bridges,
        respond: impl Fn(Arc<DirectoryView>, Request) -> F + Clone + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Response> + Send + 'static,
    {
        let view = DirectoryView::connect(&bridges.nats, NodeId::from_bytes([9; 16])).await;
        let view = Arc::new(view);
        let received = Arc::new(AtomicUsize::new(0));
        let (counted, of_handler) = (Arc::clone(&received), Arc::clone(&view));
        let router = axum::Router::new().fallback(move |request: Request| {
            let is_ping = request.uri().path() == PING_PATH;
            if !is_ping {
                counted.fetch_add(1, Ordering::Relaxed);
            }
            let question = request.headers().get("mcp-web-peer");
            let question = question.map_or("", |it| it.to_str().unwrap());
            let proof = PeerHeader::sign_answer(question, &of_handler.keys);
            let response = (!is_ping).then(|| respond(Arc::clone(&of_handler), request));
            async move {
                let mut response = match response {
                    Some(response) => response.await,
                    None => [("mcp-web-reaches", "1")].into_response(),
                };
                let proof = proof.parse().unwrap();
                let headers = response.headers_mut();
                headers.entry(PeerHeader::ANSWER_HEADER).or_insert(proof);
                response
            }
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        announce(bridges, &view, address).await;
        Self {
            view,
            address,
            received,
            server,
        }
    }

    /// Makes the node the owner of the realm of [`TOKEN`], which has no record.
    pub(super) async fn claim(&self) {
        self.view
            .claim_for(TOKEN, self.view.own, &self.address.to_string())
            .await;
    }

    pub(super) fn received(&self) -> usize {
        self.received.load(Ordering::Relaxed)
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// Announces a node with the settings of the others at this address.
pub(super) async fn announce(bridges: &Bridges, view: &DirectoryView, address: SocketAddr) {
    let like = view.node_of(&bridges.nodes[0]).await;
    view.announce(&address.to_string(), &like).await;
    let others = bridges.nodes.len() as f64;
    for bridge in &bridges.nodes {
        wait_for_metrics(bridge, "the node of the test", |metrics| {
            metrics["mcp_web_cluster_nodes{state=\"serving\"}"] == others
        })
        .await;
    }
}

/// Announces an owner of the realm of [`TOKEN`] at a port on which nothing listens.
pub(super) async fn announce_unreachable_owner(bridges: &Bridges) -> (DirectoryView, ReservedPort) {
    let (view, port) = (bridges.directory().await, ReservedPort::reserve());
    let address = port.address();
    announce(bridges, &view, address).await;
    view.claim_for(TOKEN, view.own, &address.to_string()).await;
    (view, port)
}
