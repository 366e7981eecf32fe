//! A web server that is not the bridge: pages of an app usually come from somewhere else.

use std::net::Ipv4Addr;
use std::sync::Arc;

use axum::Router;
use axum::extract::Path;
use axum::response::{Html, IntoResponse};
use axum::routing::{get, post};
use http::StatusCode;
use http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use tokio::net::TcpListener;
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinHandle;

use crate::{World, tools, within};

/// Scripts of the site itself and the SDK from any loopback port, but no WebAssembly.
const NO_WASM: &str = "default-src 'self'; script-src 'self' http://127.0.0.1:*; \
                       connect-src http://127.0.0.1:* ws://127.0.0.1:*";

/// Serves `e2e/pages` on a free port and keeps the beacons that its pages send. A copy of the SDK
/// without its wasm lies under `/sdk/`.
#[derive(Debug)]
pub struct Site {
    url: String,
    beacons: Mutex<mpsc::UnboundedReceiver<String>>,
    server: JoinHandle<()>,
}

impl Site {
    /// Starts the server.
    pub async fn start() -> Self {
        Self::serve(Router::new()).await
    }

    /// Starts the server with `html` as its index page.
    pub async fn with_index(html: String) -> Self {
        let index = async move || Html(html);
        Self::serve(Router::new().route("/", get(index))).await
    }

    async fn serve(more: Router) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (beacon, beacons) = mpsc::unbounded_channel();
        let routes = routes(Arc::new(beacon)).merge(more);
        let server = tokio::spawn(async move {
            let _ = axum::serve(listener, routes).await;
        });
        Self {
            url,
            beacons: Mutex::new(beacons),
            server,
        }
    }

    /// Base URL without a slash at the end.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The app of the journeys (`e2e/pages/app.js`), connected to `world`.
    pub fn app(&self, world: &World) -> String {
        self.page("app.html", world)
    }

    /// The same app under a content security policy that forbids WebAssembly.
    pub fn app_without_wasm(&self, world: &World) -> String {
        self.page("no-wasm.html", world)
    }

    /// The same app with the SDK from elsewhere than its bridge.
    pub fn app_with_sdk(&self, world: &World, sdk: &str) -> String {
        format!("{}&sdk={sdk}/mcp-web.js", self.app(world))
    }

    /// An SDK whose wasm its server does not have.
    pub fn sdk_without_wasm(&self) -> String {
        format!("{}/sdk", self.url)
    }

    /// What the conformance suites ask of a server (`e2e/pages/conformance`), connected to `world`.
    pub fn conformance(&self, world: &World) -> String {
        self.page("conformance.html", world)
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
    const CONFORMANCE: &str = include_str!("../pages/conformance.html");
    let page = || async { typed("text/html; charset=utf-8", PAGE) };
    let no_wasm = async move || ([(CONTENT_SECURITY_POLICY, NO_WASM)], page().await);
    let script = || async { typed("text/javascript; charset=utf-8", SCRIPT) };
    let conformance = || async { typed("text/html; charset=utf-8", CONFORMANCE) };
    let keep = async move |time: String| {
        let _ = beacon.send(time);
    };
    Router::new()
        .route("/app.html", get(page))
        .route("/no-wasm.html", get(no_wasm))
        .route("/app.js", get(script))
        .route("/conformance.html", get(conformance))
        .route("/conformance/{file}", get(script_for_conformance))
        .route("/beacon", post(keep))
        .route("/sdk/{file}", get(script_of_the_sdk))
}

async fn script_of_the_sdk(Path(file): Path<String>) -> impl IntoResponse {
    script(&tools::sdk_package(), &file)
}

async fn script_for_conformance(Path(file): Path<String>) -> impl IntoResponse {
    script(&tools::workspace().join("e2e/pages/conformance"), &file)
}

fn script(folder: &std::path::Path, file: &str) -> impl IntoResponse + use<> {
    let script = file.ends_with(".js").then(|| folder.join(file));
    let text = script.and_then(|path| std::fs::read_to_string(path).ok());
    text.map(|text| ([(CONTENT_TYPE, "text/javascript; charset=utf-8")], text))
        .ok_or(StatusCode::NOT_FOUND)
}

fn typed(kind: &'static str, text: &'static str) -> impl IntoResponse {
    ([(CONTENT_TYPE, kind)], text)
}
