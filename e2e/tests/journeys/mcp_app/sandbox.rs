//! Serves the sandbox proxy from a separate origin, with the policy of the view in it.

use std::net::Ipv4Addr;

use axum::Router;
use axum::extract::Query;
use axum::response::{Html, IntoResponse};
use axum::routing::get;
use http::header::CONTENT_SECURITY_POLICY;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

const PROXY: &str = include_str!("../../../host/sandbox.html");

/// The policy for a view that declares nothing (SEP-1865, "Host Behavior").
const DEFAULT_POLICY: &str = "default-src 'none'; script-src 'self' 'unsafe-inline'; \
    style-src 'self' 'unsafe-inline'; img-src 'self' data:; media-src 'self' data:; \
    connect-src 'none'; frame-src 'none'; object-src 'none'; base-uri 'self'";

/// A server with the sandbox proxy. It stops when it is dropped.
pub(super) struct Sandbox {
    url: String,
    server: JoinHandle<()>,
}

impl Sandbox {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let routes = Router::new().route("/", get(proxy));
        let server = tokio::spawn(async move {
            let _ = axum::serve(listener, routes).await;
        });
        Self { url, server }
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// Sets the policy in a header, because the document could change one in a `meta` element.
async fn proxy(Query(query): Query<Vec<(String, String)>>) -> impl IntoResponse {
    let declared = query.iter().find(|(name, _)| name == "csp");
    let policy = match declared {
        Some((_, declared)) => policy(&serde_json::from_str(declared).unwrap()),
        None => DEFAULT_POLICY.to_owned(),
    };
    let document = PROXY.replace("POLICY", &policy);
    ([(CONTENT_SECURITY_POLICY, policy)], Html(document))
}

/// Returns the policy for a view's declaration (SEP-1865, "Content Security Policy Enforcement").
fn policy(csp: &Value) -> String {
    let resources = domains(csp, "resourceDomains");
    let domains_or = |list: &str, default: &str| match domains(csp, list).as_str() {
        "" => default.to_owned(),
        domains => domains.trim_start().to_owned(),
    };
    let connect = domains(csp, "connectDomains");
    let frames = domains_or("frameDomains", "'none'");
    let base = domains_or("baseUriDomains", "'self'");
    format!(
        "default-src 'none'; script-src 'self' 'unsafe-inline'{resources}; \
         style-src 'self' 'unsafe-inline'{resources}; connect-src 'self'{connect}; \
         img-src 'self' data:{resources}; font-src 'self'{resources}; \
         media-src 'self' data:{resources}; frame-src {frames}; object-src 'none'; base-uri {base}"
    )
}

/// Returns the domains, each after a space, without those that contain a delimiter of directives.
fn domains(csp: &Value, list: &str) -> String {
    let domains = csp[list].as_array().into_iter().flatten();
    let domains = domains.filter_map(Value::as_str);
    let domains = domains.filter(|domain| !domain.contains([';', ',', '\'', ' ']));
    domains.map(|domain| format!(" {domain}")).collect()
}
