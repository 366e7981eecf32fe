//! A reverse proxy that adds a token, for clients that cannot send a header of ours.

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

/// Passes every request on with the world's token, `Host` and `Origin` included, and bodies of
/// both directions as they come. A client that hangs up hangs up on the bridge. Ends on drop.
#[derive(Debug)]
pub struct AuthProxy {
    url: String,
    server: JoinHandle<()>,
}

impl AuthProxy {
    /// Starts listening at a free port.
    pub async fn start(world: &TestBed) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let bridge = Bridge {
            address: world.address(),
            token: format!("Bearer {}", world.token()).parse().unwrap(),
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

    /// The bridge's MCP endpoint.
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
    // The client leaves a `Host` that is there as it is.
    request.headers_mut().insert(AUTHORIZATION, bridge.token);
    match bridge.client.request(request).await {
        Ok(response) => response.map(Body::new),
        Err(error) => (StatusCode::BAD_GATEWAY, error.to_string()).into_response(),
    }
}
