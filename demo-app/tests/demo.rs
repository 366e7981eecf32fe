//! Tests of the demo over HTTP, with a real server on a free port.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;

use agent::{ModelSettings, Provider};
use bridge::{Config, Network, ServerHandle};
use demo_app::{AgentHost, AgentSettings};
use reqwest::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HOST, IF_NONE_MATCH, VARY,
};
use reqwest::{Client, Response, StatusCode};

const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

async fn demo() -> ServerHandle {
    let model = ModelSettings {
        provider: Some(Provider::Commands),
        ..ModelSettings::default()
    };
    let agent = agent::Config {
        model,
        ..agent::Config::default()
    };
    let mut config = Config {
        network: Network {
            bind: ([127, 0, 0, 1], 0).into(),
            ..Network::default()
        },
        ..Config::default()
    };
    let agent_host = AgentHost::bind(AgentSettings(agent), &mut config);
    let agent_host = agent_host.await.unwrap();
    let app = demo_app::app(agent_host.info());
    let demo = bridge::serve(config, app).await.unwrap();
    // The agent ends with the test's runtime.
    agent_host.serve(&demo).unwrap().unwrap();
    demo
}

fn http() -> Client {
    // In a build of the whole workspace, reqwest has TLS and needs a provider. A second
    // installation in this process fails without an effect.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::new()
}

async fn get(demo: &ServerHandle, path: &str, accept: &str) -> Response {
    let url = format!("{}{path}", demo.url());
    let request = http().get(url).header(ACCEPT, accept);
    request.send().await.unwrap()
}

fn header(response: &Response, name: reqwest::header::HeaderName) -> String {
    let value = response.headers().get(&name);
    value.map_or_else(String::new, |value| value.to_str().unwrap().to_owned())
}

#[tokio::test]
async fn browsers_get_the_page_with_a_strict_policy() {
    let demo = demo().await;
    let page = get(&demo, "/", BROWSER).await;
    assert_eq!(page.status(), StatusCode::OK);
    assert_eq!(header(&page, CONTENT_TYPE), "text/html; charset=utf-8");
    assert!(header(&page, VARY).contains("accept"));
    let policy = header(&page, CONTENT_SECURITY_POLICY);
    assert!(
        policy.contains("script-src 'self' 'wasm-unsafe-eval';"),
        "{policy}"
    );
    assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
    assert!(!policy.contains("unsafe-inline"), "{policy}");
    assert!(page.text().await.unwrap().contains("data-column=\"todo\""));
    demo.shutdown().await;
}

#[tokio::test]
async fn other_clients_get_the_mcp_server_at_the_same_address() {
    let demo = demo().await;
    let info = get(&demo, "/", "application/json").await;
    assert_eq!(header(&info, CONTENT_TYPE), "application/json");
    assert!(info.text().await.unwrap().contains("\"name\""));
    let initialize = http().post(demo.url()).body("{}").send().await.unwrap();
    assert_eq!(initialize.status(), StatusCode::UNAUTHORIZED);
    demo.shutdown().await;
}

#[tokio::test]
async fn files_have_the_content_types_that_browsers_require() {
    let demo = demo().await;
    for (path, content_type) in [
        ("/demo/main.js", "text/javascript; charset=utf-8"),
        ("/demo/base.css", "text/css; charset=utf-8"),
        ("/demo/icon.svg", "image/svg+xml"),
    ] {
        let file = get(&demo, path, "*/*").await;
        assert_eq!(file.status(), StatusCode::OK, "{path}");
        assert_eq!(header(&file, CONTENT_TYPE), content_type, "{path}");
        assert_eq!(header(&file, CACHE_CONTROL), "no-cache", "{path}");
    }
    let missing = get(&demo, "/demo/nothing.js", "*/*").await;
    assert_eq!(missing.status(), StatusCode::NOT_FOUND);
    demo.shutdown().await;
}

#[tokio::test]
async fn the_page_gets_the_agent_info() {
    let demo = demo().await;
    let info = get(&demo, "/demo/agent", "*/*").await;
    assert_eq!(header(&info, CACHE_CONTROL), "no-store");
    let info = info.text().await.unwrap();
    let expected = r#"{"label":"commands (no language model)","languageModel":false}"#;
    assert_eq!(info, expected);
    demo.shutdown().await;
}

#[tokio::test]
async fn the_bridge_keeps_its_external_agent() {
    let mut config = Config::default();
    config.agent.agent_url = vec!["agent.example:3003".parse().unwrap()];
    let agent = AgentSettings(agent::Config::default());
    let agent_host = AgentHost::bind(agent, &mut config).await.unwrap();
    let info = format!("{:?}", agent_host.info());
    assert!(info.contains("http://agent.example:3003/query"), "{info}");
    assert_eq!(
        config.agent.agent_url[0].as_str(),
        "http://agent.example:3003/query"
    );
    assert!(config.agent.agent_token.is_none());
}

#[tokio::test]
async fn the_document_of_the_mcp_app_is_sandboxed() {
    let demo = demo().await;
    let document = get(&demo, "/demo/overview.html", "*/*").await;
    assert_eq!(header(&document, CONTENT_TYPE), "text/html; charset=utf-8");
    let policy = header(&document, CONTENT_SECURITY_POLICY);
    assert!(policy.contains("default-src 'none'"), "{policy}");
    assert!(policy.ends_with("sandbox"), "{policy}");
    assert!(document.text().await.unwrap().contains("ui/initialize"));
    demo.shutdown().await;
}

#[tokio::test]
async fn a_file_that_has_not_changed_is_not_sent_again() {
    let demo = demo().await;
    for (path, accept) in [("/", BROWSER), ("/demo/main.js", "*/*")] {
        let etag = header(&get(&demo, path, accept).await, ETAG);
        let again = http()
            .get(format!("{}{path}", demo.url()))
            .header(ACCEPT, accept)
            .header(IF_NONE_MATCH, format!("\"other\", W/{etag}"));
        let again = again.send().await.unwrap();
        assert_eq!(again.status(), StatusCode::NOT_MODIFIED, "{path}");
        assert_eq!(again.bytes().await.unwrap().len(), 0, "{path}");
    }
    demo.shutdown().await;
}

#[tokio::test]
async fn the_page_is_not_served_under_a_foreign_host() {
    let demo = demo().await;
    let request = http().get(demo.url()).header(ACCEPT, BROWSER);
    let response = request
        .header(HOST, "rebound.example")
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), StatusCode::FORBIDDEN);
    demo.shutdown().await;
}

/// The page's state, tools and log do not depend on a browser, so Node runs their tests.
#[test]
fn the_scripts_of_the_page_pass_their_own_tests() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/page");
    let files = tests.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let output = Command::new(node())
        .arg("--test")
        .args(files)
        .output()
        .unwrap();
    let report = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{report}");
    assert!(!report.contains("tests 0"), "{report}");
}

fn node() -> PathBuf {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let node = std::env::var_os("MCP_WEB_NODE").map(PathBuf::from);
    let node = node.unwrap_or_else(|| workspace.join("target/tools/node22/bin/node"));
    assert!(
        node.is_file(),
        "{} is missing: run `cargo xtask test`",
        node.display()
    );
    node
}
