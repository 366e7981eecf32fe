//! A web server other than the bridge, because the pages of an app are usually served by another
//! origin.

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

use crate::{BridgeEndpoint, TestBed, TokenIssuer, program_paths, with_deadline};

/// Allows scripts of the site and the SDK from any loopback port, but no WebAssembly.
const NO_WASM_POLICY: &str = "default-src 'self'; script-src 'self' http://127.0.0.1:*; \
                       connect-src http://127.0.0.1:* ws://127.0.0.1:*";

/// Allows everything that the SDK needs except its WebSocket.
const NO_SOCKET_POLICY: &str = "default-src 'self'; connect-src http://127.0.0.1:*; \
                         script-src 'self' http://127.0.0.1:* 'wasm-unsafe-eval'";

/// Serves `e2e/pages` on a free port and stores the beacons that its pages send. `/sdk/` has a copy
/// of the SDK without its wasm, `/whole-sdk/` a complete one.
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

    async fn serve(extra_routes: Router) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (beacon, beacons) = mpsc::unbounded_channel();
        let routes = routes(Arc::new(beacon)).merge(extra_routes);
        let server = tokio::spawn(async move {
            let _ = axum::serve(listener, routes).await;
        });
        Self {
            url,
            beacons: Mutex::new(beacons),
            server,
        }
    }

    /// Returns the base URL, without a slash at the end.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the URL of the app of the journeys (`e2e/pages/app.js`), connected to `bed`.
    pub fn app(&self, bed: &impl BridgeEndpoint) -> String {
        self.page("app.html", bed)
    }

    /// Returns the URL of a page of mcp-web 0.1 (`e2e/pages/v1.js`), which generates its own token.
    pub fn v1_page(&self, bed: &TestBed) -> String {
        format!("{}/v1.html?bridge={}", self.url, bed.url())
    }

    /// Returns the URL of the page for real clients (`e2e/pages/clients.js`), connected to `bed`.
    pub fn clients_page(&self, bed: &TestBed) -> String {
        self.page("clients.html", bed)
    }

    /// Returns the URL of the page with tools and forms of the browser (`e2e/pages/webmcp.js`),
    /// connected to `bed`, with more parameters.
    pub fn webmcp_page(&self, bed: &TestBed, parameters: &str) -> String {
        format!("{}&{parameters}", self.page("webmcp.html", bed))
    }

    /// Returns the URL of that page with a permissions policy that forbids the browser's API.
    pub fn webmcp_page_without_permission(&self, bed: &TestBed) -> String {
        format!("{}&forbidden", self.page("webmcp-forbidden.html", bed))
    }

    /// Returns the URL of the app with a content security policy that forbids WebAssembly.
    pub fn app_without_wasm(&self, bed: &TestBed) -> String {
        self.page("no-wasm.html", bed)
    }

    /// Returns the URL of the app with a content security policy that forbids its WebSocket.
    pub fn app_without_socket(&self, bed: &TestBed) -> String {
        self.page("no-socket.html", bed)
    }

    /// Returns the URL of a page at `origin` (another name or scheme of this site) with the app in
    /// an iframe, which is written as `<iframe {attributes} src=…>` and is loaded from
    /// `app_origin`.
    pub fn framed_app(
        &self,
        bed: &TestBed,
        origin: &str,
        attributes: &str,
        app_origin: &str,
    ) -> String {
        let app = self.app_at(app_origin, bed);
        let query: String = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("attributes", attributes)
            .append_pair("src", &app)
            .finish();
        format!("{origin}/frame.html?{query}")
    }

    /// Returns the URL of the app at another name or scheme of this site, with the SDK from the
    /// same origin.
    pub fn app_at(&self, origin: &str, bed: &TestBed) -> String {
        let app = self.app(bed).replacen(&self.url, origin, 1);
        format!("{app}&sdk={origin}/whole-sdk/mcp-web.js")
    }

    /// Returns the host and port of the site.
    pub fn address(&self) -> &str {
        self.url.trim_start_matches("http://")
    }

    /// Returns the URL of the app with the SDK from another server than its bridge.
    pub fn app_with_sdk(&self, bed: &TestBed, sdk: &str) -> String {
        format!("{}&sdk={sdk}/mcp-web.js", self.app(bed))
    }

    /// Returns the URL of the app with tokens that it fetches from `issuer` whenever it needs one.
    pub fn app_with_issuer(&self, bed: &TestBed, issuer: &TokenIssuer) -> String {
        format!("{}&tokens={}", self.app(bed), issuer.url())
    }

    /// Returns the URL of an SDK whose wasm is missing on the server.
    pub fn sdk_without_wasm(&self) -> String {
        format!("{}/sdk", self.url)
    }

    /// Returns the URL of the page that hands calls over (`e2e/pages/hand-over.js`), connected to
    /// `bed`, with this title.
    pub fn hand_over_page(&self, bed: &TestBed, title: &str) -> String {
        format!("{}&title={title}", self.page("hand-over.html", bed))
    }

    /// Returns the URL of the page that the conformance suites require of a server
    /// (`e2e/pages/conformance`), connected to `bed`.
    pub fn conformance(&self, bed: &TestBed) -> String {
        self.page("conformance.html", bed)
    }

    /// Waits for the next beacon of a page: the app sends one from `pagehide`, with the time.
    pub async fn beacon(&self) -> String {
        let mut beacons = self.beacons.lock().await;
        with_deadline("a beacon of the page", beacons.recv())
            .await
            .expect("the server runs")
    }

    fn page(&self, page: &str, bed: &impl BridgeEndpoint) -> String {
        let (site, bridge, token) = (&self.url, bed.url(), bed.token());
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
    const WEBMCP: &str = include_str!("../pages/webmcp.html");
    const HAND_OVER: &str = include_str!("../pages/hand-over.html");
    const RESERVED: &str = "<!doctype html><title>Reserved</title>\
        <script>navigator.sendBeacon('/beacon', `reserved${location.search}`)</script>";
    let page = || async { with_content_type("text/html; charset=utf-8", PAGE) };
    let no_wasm = async move || ([(CONTENT_SECURITY_POLICY, NO_WASM_POLICY)], page().await);
    let webmcp = || async { with_content_type("text/html; charset=utf-8", WEBMCP) };
    let webmcp_forbidden = async move || ([("permissions-policy", "tools=()")], webmcp().await);
    let hand_over = || async { with_content_type("text/html; charset=utf-8", HAND_OVER) };
    let no_socket = async move || ([(CONTENT_SECURITY_POLICY, NO_SOCKET_POLICY)], page().await);
    // A document with an opaque origin loads a module only if every origin may.
    let script = || async {
        let any_origin = [(ACCESS_CONTROL_ALLOW_ORIGIN, "*")];
        (
            any_origin,
            with_content_type("text/javascript; charset=utf-8", SCRIPT),
        )
    };
    let conformance = || async { with_content_type("text/html; charset=utf-8", CONFORMANCE) };
    let store = async move |time: String| {
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
            get(async || with_content_type("text/html; charset=utf-8", V1)),
        )
        .route(
            "/clients.html",
            get(async || with_content_type("text/html; charset=utf-8", CLIENTS)),
        )
        // A form may be posted to it.
        .route("/hand-over.html", get(hand_over).post(hand_over))
        .route("/webmcp.html", get(webmcp))
        .route("/webmcp-forbidden.html", get(webmcp_forbidden))
        .route("/reserved.html", get(async || Html(RESERVED)))
        .route("/polyfills/{package}", get(polyfill))
        .route("/{file}", get(page_script))
        .route("/conformance.html", get(conformance))
        .route("/conformance/{file}", get(conformance_script))
        .route("/beacon", post(store))
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
    let content_type = if file.ends_with(".wasm") {
        "application/wasm"
    } else {
        "text/javascript; charset=utf-8"
    };
    let any_origin = (ACCESS_CONTROL_ALLOW_ORIGIN, "*");
    std::fs::read(program_paths::sdk_package().join(file))
        .map(|content| ([(CONTENT_TYPE, content_type), any_origin], content))
        .map_err(|_| StatusCode::NOT_FOUND)
}

async fn sdk_script(Path(file): Path<String>) -> impl IntoResponse {
    script(&program_paths::sdk_package(), &file)
}

async fn page_script(Path(file): Path<String>) -> impl IntoResponse {
    script(&program_paths::workspace().join("e2e/pages"), &file)
}

/// A polyfill of the browser's API for tools, of one of the pinned packages.
async fn polyfill(Path(package): Path<String>) -> impl IntoResponse {
    let folder = program_paths::node_modules().join(package).join("dist");
    script(&folder, "index.iife.js")
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

fn with_content_type(content_type: &'static str, text: &'static str) -> impl IntoResponse {
    ([(CONTENT_TYPE, content_type)], text)
}
