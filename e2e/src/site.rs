//! A web server that is not the bridge: pages of an app usually come from somewhere else.

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, Query};
use axum::response::{Html, IntoResponse};
use axum::routing::{get, post};
use http::StatusCode;
use http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use tokio::net::TcpListener;
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinHandle;

use crate::{TestBed, TokenIssuer, program_paths, with_deadline};

/// Scripts of the site itself and the SDK from any loopback port, but no WebAssembly.
const NO_WASM_POLICY: &str = "default-src 'self'; script-src 'self' http://127.0.0.1:*; \
                       connect-src http://127.0.0.1:* ws://127.0.0.1:*";

/// All that the SDK needs but its WebSocket.
const NO_SOCKET_POLICY: &str = "default-src 'self'; connect-src http://127.0.0.1:*; \
                         script-src 'self' http://127.0.0.1:* 'wasm-unsafe-eval'";

/// Serves `e2e/pages` on a free port and keeps the beacons that its pages send. A copy of the SDK
/// without its wasm lies under `/sdk/`, all of it under `/whole-sdk/`.
#[derive(Debug)]
pub struct StaticSite {
    url: String,
    beacons: Mutex<mpsc::UnboundedReceiver<String>>,
    server: JoinHandle<()>,
}

impl StaticSite {
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
    pub fn app(&self, world: &TestBed) -> String {
        self.page("app.html", world)
    }

    /// A page of mcp-web 0.1 (`e2e/pages/v1.js`), which makes its own token.
    pub fn v1_page(&self, world: &TestBed) -> String {
        format!("{}/v1.html?bridge={}", self.url, world.url())
    }

    /// The page that clients are driven against (`e2e/pages/clients.js`), connected to `world`.
    pub fn clients_page(&self, world: &TestBed) -> String {
        self.page("clients.html", world)
    }

    /// The same app under a content security policy that forbids WebAssembly.
    pub fn app_without_wasm(&self, world: &TestBed) -> String {
        self.page("no-wasm.html", world)
    }

    /// The same app under a content security policy that forbids its WebSocket.
    pub fn app_without_socket(&self, world: &TestBed) -> String {
        self.page("no-socket.html", world)
    }

    /// A page at `origin` (another name or scheme for this site) with the same app in an iframe, which
    /// is written as `<iframe {attributes} src=…>` and comes from `app_origin`.
    pub fn framed_app(
        &self,
        world: &TestBed,
        origin: &str,
        attributes: &str,
        app_origin: &str,
    ) -> String {
        let app = self.app_at(app_origin, world);
        let query: String = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("attributes", attributes)
            .append_pair("src", &app)
            .finish();
        format!("{origin}/frame.html?{query}")
    }

    /// The same app at another name or scheme for this site, with the SDK from there, too.
    pub fn app_at(&self, origin: &str, world: &TestBed) -> String {
        let app = self.app(world).replacen(&self.url, origin, 1);
        format!("{app}&sdk={origin}/whole-sdk/mcp-web.js")
    }

    /// The host and port at which the site listens.
    pub fn address(&self) -> &str {
        self.url.trim_start_matches("http://")
    }

    /// The same app with the SDK from elsewhere than its bridge.
    pub fn app_with_sdk(&self, world: &TestBed, sdk: &str) -> String {
        format!("{}&sdk={sdk}/mcp-web.js", self.app(world))
    }

    /// The same app with tokens that it fetches anew whenever it needs one.
    pub fn app_with_issuer(&self, world: &TestBed, issuer: &TokenIssuer) -> String {
        format!("{}&tokens={}", self.app(world), issuer.url())
    }

    /// An SDK whose wasm its server does not have.
    pub fn sdk_without_wasm(&self) -> String {
        format!("{}/sdk", self.url)
    }

    /// What the conformance suites ask of a server (`e2e/pages/conformance`), connected to `world`.
    pub fn conformance(&self, world: &TestBed) -> String {
        self.page("conformance.html", world)
    }

    /// The next beacon of a page: the app sends one from `pagehide`, with the time.
    pub async fn beacon(&self) -> String {
        let mut beacons = self.beacons.lock().await;
        with_deadline("a beacon of the page", beacons.recv())
            .await
            .expect("the server runs")
    }

    fn page(&self, page: &str, world: &TestBed) -> String {
        let (site, bridge, token) = (&self.url, world.url(), world.token());
        format!("{site}/{page}?bridge={bridge}&token={token}")
    }
}

impl Drop for StaticSite {
    fn drop(&mut self) {
        self.server.abort();
    }
}

fn routes(beacon: Arc<mpsc::UnboundedSender<String>>) -> Router {
    const PAGE: &str = include_str!("../pages/app.html");
    const SCRIPT: &str = include_str!("../pages/app.js");
    const V1: &str = include_str!("../pages/v1.html");
    const CONFORMANCE: &str = include_str!("../pages/conformance.html");
    const CLIENTS: &str = include_str!("../pages/clients.html");
    let page = || async { typed("text/html; charset=utf-8", PAGE) };
    let no_wasm = async move || ([(CONTENT_SECURITY_POLICY, NO_WASM_POLICY)], page().await);
    let no_socket = async move || ([(CONTENT_SECURITY_POLICY, NO_SOCKET_POLICY)], page().await);
    // A document without an origin of its own gets no modules but those for everybody.
    let script = || async {
        let for_everybody = [(ACCESS_CONTROL_ALLOW_ORIGIN, "*")];
        (
            for_everybody,
            typed("text/javascript; charset=utf-8", SCRIPT),
        )
    };
    let conformance = || async { typed("text/html; charset=utf-8", CONFORMANCE) };
    let keep = async move |time: String| {
        let _ = beacon.send(time);
    };
    Router::new()
        .route("/app.html", get(page))
        .route("/no-wasm.html", get(no_wasm))
        .route("/no-socket.html", get(no_socket))
        .route("/frame.html", get(frame))
        .route("/app.js", get(script))
        .route(
            "/v1.html",
            get(async || typed("text/html; charset=utf-8", V1)),
        )
        .route(
            "/clients.html",
            get(async || typed("text/html; charset=utf-8", CLIENTS)),
        )
        .route("/{file}", get(page_script))
        .route("/conformance.html", get(conformance))
        .route("/conformance/{file}", get(conformance_script))
        .route("/beacon", post(keep))
        .route("/sdk/{file}", get(sdk_script))
        .route("/whole-sdk/{file}", get(sdk_file))
}

async fn frame(Query(frame): Query<HashMap<String, String>>) -> Html<String> {
    let attributes = &frame["attributes"];
    let src = frame["src"].replace('&', "&amp;");
    Html(format!(
        "<!doctype html><title>Frame</title><iframe {attributes} src=\"{src}\"></iframe>"
    ))
}

async fn sdk_file(Path(file): Path<String>) -> impl IntoResponse {
    let kind = if file.ends_with(".wasm") {
        "application/wasm"
    } else {
        "text/javascript; charset=utf-8"
    };
    let for_everybody = (ACCESS_CONTROL_ALLOW_ORIGIN, "*");
    std::fs::read(program_paths::sdk_package().join(file))
        .map(|content| ([(CONTENT_TYPE, kind), for_everybody], content))
        .map_err(|_| StatusCode::NOT_FOUND)
}

async fn sdk_script(Path(file): Path<String>) -> impl IntoResponse {
    script(&program_paths::sdk_package(), &file)
}

async fn page_script(Path(file): Path<String>) -> impl IntoResponse {
    script(&program_paths::workspace().join("e2e/pages"), &file)
}

async fn conformance_script(Path(file): Path<String>) -> impl IntoResponse {
    script(
        &program_paths::workspace().join("e2e/pages/conformance"),
        &file,
    )
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
