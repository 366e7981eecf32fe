//! A web server that is not the bridge: pages of an app usually come from somewhere else.

use std::net::Ipv4Addr;
use std::sync::Arc;

use axum::Router;
use axum::response::IntoResponse;
use axum::routing::{get, post};
use http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use tokio::net::TcpListener;
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinHandle;

use crate::{World, within};

/// Scripts of the site itself and the SDK from any loopback port, but no WebAssembly.
const NO_WASM: &str = "default-src 'self'; script-src 'self' http://127.0.0.1:*; \
                       connect-src http://127.0.0.1:* ws://127.0.0.1:*";

/// Serves `e2e/pages` on a free port and keeps the beacons that its pages send.
#[derive(Debug)]
pub struct Site {
    url: String,
    beacons: Mutex<mpsc::UnboundedReceiver<String>>,
    server: JoinHandle<()>,
}

impl Site {
    /// Starts the server.
    pub async fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (beacon, beacons) = mpsc::unbounded_channel();
        let routes = routes(Arc::new(beacon));
        let server = tokio::spawn(async move {
            let _ = axum::serve(listener, routes).await;
        });
        Self {
            url,
            beacons: Mutex::new(beacons),
            server,
        }
    }

    /// The app of the journeys (`e2e/pages/app.js`), connected to `world`.
    pub fn app(&self, world: &World) -> String {
        self.page("app.html", world)
    }

    /// The same app under a content security policy that forbids WebAssembly.
    pub fn app_without_wasm(&self, world: &World) -> String {
        self.page("no-wasm.html", world)
    }

    /// The next beacon of a page: the app sends one from `pagehide`, with the time.
    pub async fn beacon(&self) -> String {
        let mut beacons = self.beacons.lock().await;
        within("a beacon of the page", beacons.recv())
            .await
            .expect("the server runs")
    }

    fn page(&self, page: &str, world: &World) -> String {
        let (site, bridge, token) = (&self.url, world.url(), world.token());
        format!("{site}/{page}?bridge={bridge}&token={token}")
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.server.abort();
    }
}

fn routes(beacon: Arc<mpsc::UnboundedSender<String>>) -> Router {
    const PAGE: &str = include_str!("../pages/app.html");
    const SCRIPT: &str = include_str!("../pages/app.js");
    let page = || async { typed("text/html; charset=utf-8", PAGE) };
    let no_wasm = async move || ([(CONTENT_SECURITY_POLICY, NO_WASM)], page().await);
    let script = || async { typed("text/javascript; charset=utf-8", SCRIPT) };
    let keep = async move |time: String| {
        let _ = beacon.send(time);
    };
    Router::new()
        .route("/app.html", get(page))
        .route("/no-wasm.html", get(no_wasm))
        .route("/app.js", get(script))
        .route("/beacon", post(keep))
}

fn typed(kind: &'static str, text: &'static str) -> impl IntoResponse {
    ([(CONTENT_TYPE, kind)], text)
}
