//! A web server for the files of a folder, such as what a bundler has built.

use std::net::Ipv4Addr;
use std::path::PathBuf;

use axum::Router;
use axum::extract::Path;
use axum::response::IntoResponse;
use axum::routing::get;
use http::StatusCode;
use http::header::CONTENT_TYPE;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// Serves a folder on a free port.
#[derive(Debug)]
pub struct FolderSite {
    url: String,
    server: JoinHandle<()>,
}

impl FolderSite {
    /// Starts the server.
    pub async fn start(folder: PathBuf) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let file = async move |Path(path): Path<String>| read(folder.join(path)).await;
        let routes = Router::new().route("/{*path}", get(file));
        let server = tokio::spawn(async move {
            let _ = axum::serve(listener, routes).await;
        });
        Self { url, server }
    }

    /// Returns the URL of the page `index.html`.
    pub fn url(&self) -> String {
        format!("{}/index.html", self.url)
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
        Some("js") => "text/javascript; charset=utf-8",
        Some("wasm") => "application/wasm",
        _ => "application/octet-stream",
    };
    let content = tokio::fs::read(path).await;
    content
        .map(|content| ([(CONTENT_TYPE, media_type)], content))
        .map_err(|_| StatusCode::NOT_FOUND)
}
