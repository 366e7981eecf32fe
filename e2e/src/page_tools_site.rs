//! The pages of `e2e/page-tools`, with page tools: component libraries, public apps, and pages that are
//! bad in one way.

use std::net::Ipv4Addr;
use std::path::PathBuf;

use axum::Router;
use axum::extract::Path;
use axum::response::{Html, IntoResponse};
use axum::routing::{get, post};
use http::StatusCode;
use http::header::CONTENT_TYPE;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use url::form_urlencoded;

use crate::{TestBed, program_paths};

/// Serves the pages on a free port. The page tools of each connect to the bridge of a test bed.
///
/// Beside page tools, each page offers `app_state` (the app's state under a key), `visibility` and
/// `evaluate`, so that a test can look at a tab without the debugging protocol.
#[derive(Debug)]
pub struct PageToolsSite {
    url: String,
    server: JoinHandle<()>,
}

impl PageToolsSite {
    /// Starts the server. `options` is the JavaScript of the options of `enablePageTools`.
    pub async fn start(bed: &TestBed, options: &str) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let folder = program_paths::page_tools_pages();
        let module = enable_module(bed, options);
        let script = async move || ([(CONTENT_TYPE, "text/javascript")], module.clone());
        let file = async move |Path(path): Path<String>| read(folder.join(path)).await;
        let routes = Router::new()
            .route("/enable-page-tools.js", get(script))
            .route("/pets/{id}", get(pet))
            .route("/never", get(async || std::future::pending::<()>().await))
            .route("/posted", post(posted))
            .route("/{*path}", get(file));
        let server = tokio::spawn(async move {
            let _ = axum::serve(listener, routes).await;
        });
        Self { url, server }
    }

    /// Returns the URL of a page.
    pub fn page(&self, path: &str) -> String {
        format!("{}/{path}", self.url)
    }
}

impl Drop for PageToolsSite {
    fn drop(&mut self) {
        self.server.abort();
    }
}

fn enable_module(bed: &TestBed, options: &str) -> String {
    let (bridge, token) = (bed.url(), bed.token());
    format!(
        "import {{ McpWeb }} from '{bridge}/sdk/mcp-web.js';
import {{ enablePageTools }} from '{bridge}/sdk/mcp-web-page.js';
const params = new URLSearchParams(location.search);
if (window === window.top) {{
  const mcpWeb = window.mcpWeb = new McpWeb({{ name: 'pages', authToken: '{token}', bridgeUrl: '{bridge}' }});
  window.enablePageTools = enablePageTools;
  window.pageTools = enablePageTools(mcpWeb, {{ {options} }});
  mcpWeb.addTool({{ name: 'app_state', inputSchema: {{ type: 'object', properties: {{ key: {{ type: 'string' }} }} }},
    handler: ({{ key }}) => ({{ value: window.appState?.[key] ?? null }}) }});
  mcpWeb.addTool({{ name: 'visibility', handler: () => ({{ hidden: document.hidden, hasFocus: document.hasFocus() }}) }});
  mcpWeb.addTool({{ name: 'evaluate', inputSchema: {{ type: 'object', properties: {{ code: {{ type: 'string' }} }} }},
    handler: async ({{ code }}) => ({{ value: (await new (async () => {{}}).constructor(code)()) ?? null }}) }});
  window.pageTools.ready.then(() => {{ window.pageToolsReady = true; }});
}}
"
    )
}

async fn pet(Path(id): Path<String>) -> impl IntoResponse {
    let (status, body) = if id == "7" {
        (
            StatusCode::OK,
            json!({ "id": 7, "name": "Rex", "status": "available" }),
        )
    } else {
        let error = format!("there is no pet {id}");
        (StatusCode::NOT_FOUND, json!({ "error": error }))
    };
    (status, axum::Json(body))
}

async fn posted(body: String) -> impl IntoResponse {
    let mut fields = form_urlencoded::parse(body.as_bytes());
    let name = fields.find(|(field, _)| field == "name");
    let name = name
        .map(|(_, value)| value.into_owned())
        .unwrap_or_default();
    let name = name.replace('&', "&#38;").replace('<', "&#60;");
    Html(format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Posted</title></head><body>
<main><h1>Order received</h1><p>Thank you, {name}</p></main>
<script type=\"module\" src=\"/enable-page-tools.js\"></script></body></html>"
    ))
}

async fn read(path: PathBuf) -> impl IntoResponse {
    let media_type = match path.extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("json") => "application/json",
        Some("png") => "image/png",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    };
    let content = tokio::fs::read(path).await;
    let content = content.map_err(|_| StatusCode::NOT_FOUND)?;
    Ok::<_, StatusCode>(([(CONTENT_TYPE, media_type)], content))
}
