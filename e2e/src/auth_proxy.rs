//! A reverse proxy that adds a token, for clients that cannot send an `Authorization` header.

use std::net::{Ipv4Addr, SocketAddr};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::serve::ListenerExt;
use http::header::AUTHORIZATION;
use http::uri::PathAndQuery;
use http::{HeaderValue, StatusCode, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::TestBed;

/// Forwards every request with the test bed's token. `Host`, `Origin` and the bodies in both
/// directions are unchanged, and a closed connection closes the one to the bridge. It stops when it
/// is dropped.
#[derive(Debug)]
pub struct AuthProxy {
    url: String,
    server: JoinHandle<()>,
}

impl AuthProxy {
    /// Starts the proxy on a free port.
    pub async fn start(bed: &TestBed) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let bridge = Bridge {
            address: bed.address(),
            token: format!("Bearer {}", bed.token()).parse().unwrap(),
            client: Client::builder(TokioExecutor::new())
                .pool_max_idle_per_host(0)
                .build(connector),
        };
        let routes = Router::new().fallback(forward).with_state(bridge);
        let listener = listener.tap_io(|socket| {
            let _ = socket.set_nodelay(true);
        });
        let server = tokio::spawn(async move {
            let _ = axum::serve(listener, routes).await;
        });
        Self { url, server }
    }

    /// Returns the URL of the bridge's MCP endpoint through the proxy.
    pub fn mcp_url(&self) -> String {
        format!("{}/mcp", self.url)
    }
}

impl Drop for AuthProxy {
    fn drop(&mut self) {
        self.server.abort();
    }
}

#[derive(Clone)]
struct Bridge {
    address: SocketAddr,
    token: HeaderValue,
    client: Client<HttpConnector, Body>,
}

async fn forward(State(bridge): State<Bridge>, mut request: Request) -> Response {
    let path = request
        .uri()
        .path_and_query()
        .map_or("/", PathAndQuery::as_str);
    let uri: Uri = format!("http://{}{path}", bridge.address).parse().unwrap();
    *request.uri_mut() = uri;
    // The client does not change a `Host` header that is present.
    request.headers_mut().insert(AUTHORIZATION, bridge.token);
    match bridge.client.request(request).await {
        Ok(response) => response.map(Body::new),
        Err(error) => (StatusCode::BAD_GATEWAY, error.to_string()).into_response(),
    }
}
