//! A web server for the files of a folder, such as what a bundler has built.

use std::net::Ipv4Addr;
use std::path::PathBuf;

use axum::Router;
use axum::extract::Path;
use axum::response::IntoResponse;
use axum::routing::get;
use http::StatusCode;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// Serves a folder on a free port: of each file the copy that is compressed with brotli, which has the
/// extension `.br`, if there is one.
#[derive(Debug)]
pub struct FolderSite {
    port: u16,
    server: JoinHandle<()>,
}

impl FolderSite {
    /// Starts the server.
    pub async fn start(folder: PathBuf) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let file = async move |Path(path): Path<String>| read(folder.join(path)).await;
        let routes = Router::new().route("/{*path}", get(file));
        let server = tokio::spawn(async move {
            let _ = axum::serve(listener, routes).await;
        });
        Self { port, server }
    }

    /// Returns the URL of the page `index.html`.
    pub fn url(&self) -> String {
        self.url_of("127.0.0.1", "index.html")
    }

    /// Returns the URL of a file on a host that is this machine.
    pub(crate) fn url_of(&self, host: &str, path: &str) -> String {
        format!("http://{host}:{}/{path}", self.port)
    }
}

impl Drop for FolderSite {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn read(path: PathBuf) -> impl IntoResponse {
    let media_type = match path.extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("wasm") => "application/wasm",
        _ => "application/octet-stream",
    };
    let mut compressed = path.clone().into_os_string();
    compressed.push(".br");
    let (encoding, content) = match tokio::fs::read(compressed).await {
        Ok(content) => ("br", content),
        Err(_) => {
            let content = tokio::fs::read(path).await;
            ("identity", content.map_err(|_| StatusCode::NOT_FOUND)?)
        }
    };
    let headers = [(CONTENT_TYPE, media_type), (CONTENT_ENCODING, encoding)];
    Ok::<_, StatusCode>((headers, content))
}
