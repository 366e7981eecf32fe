//! A bridge behind a proxy that speaks TLS.

use std::path::Path;

use rcgen::{CertificateParams, date_time_ymd};
use serde_json::json;
use tokio::process::Command;

use crate::client::{Client, Era, TOKEN, error_text};
use crate::server::{Server, ServerEvent};
use crate::tls_proxy::{Authority, TlsProxy, certificate_for};

const LOCALHOST: &str = "127.0.0.1";

fn command(url: &str, trusted: &Path) -> Command {
    let mut command = crate::client::command(url);
    command
        .env("SSL_CERT_FILE", trusted)
        .env_remove("SSL_CERT_DIR")
        // As HTTP_PROXY: not meant for this machine.
        .env("HTTPS_PROXY", "http://127.0.0.1:9");
    command
}

async fn ready(url: &str, trusted: &Path, era: Era) -> Client {
    let mut client = Client::start(command(url, trusted), era);
    if era == Era::Session {
        client.initialize("2025-11-25").await;
    }
    client
}

fn trust_file(authority: &Authority) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&file, authority.pem()).unwrap();
    file
}

#[tokio::test]
async fn calls_and_cancels_pass_over_tls() {
    let mut server = Server::start().await;
    let authority = Authority::named("ours");
    let proxy = TlsProxy::start(server.address, &authority, &certificate_for(LOCALHOST)).await;
    let trusted = trust_file(&authority);
    for era in [Era::Session, Era::Stateless] {
        let mut client = ready(&proxy.url(), trusted.path(), era).await;
        assert!(client.tools().await.contains(&"echo".to_owned()));
        let result = client.call("echo", json!({ "text": "hi" })).await;
        assert_eq!(result["content"][0]["text"], "hi");
        server.next_event().await;

        let waiting = client
            .send_request("tools/call", json!({ "name": "wait" }))
            .await;
        server.next_event().await;
        client.cancel(waiting).await;
        let tool = "wait".to_owned();
        assert_eq!(server.next_event().await, ServerEvent::Cancelled { tool });
        assert!(client.close().await.success());
    }
}

async fn refusal(certificate: &CertificateParams, authority: &Authority, trusted: &Path) -> String {
    let mut server = Server::start().await;
    let proxy = TlsProxy::start(server.address, authority, certificate).await;
    let mut texts = Vec::new();
    for era in [Era::Session, Era::Stateless] {
        let mut client = ready(&proxy.url(), trusted, era).await;
        assert!(!client.tools().await.contains(&"echo".to_owned()));
        for _ in 0..2 {
            let result = client.call("echo", json!({ "text": "hi" })).await;
            texts.push(error_text(&result).to_owned());
        }
        assert!(client.is_alive());
        assert!(client.close().await.success());
    }
    assert!(server.has_no_more_events());
    let text = texts.pop().unwrap();
    assert!(texts.iter().all(|other| *other == text), "{texts:?}");
    let about = format!(
        "the certificate of the bridge at {} was not accepted",
        proxy.url()
    );
    assert!(text.starts_with(&about) && !text.contains(TOKEN), "{text}");
    text
}

#[tokio::test]
async fn a_certificate_of_an_unknown_authority_is_refused_with_what_to_do() {
    let trusted = trust_file(&Authority::named("ours"));
    // One that was made anew with its old name as well.
    for name in ["theirs", "ours"] {
        let authority = Authority::named(name);
        let text = refusal(&certificate_for(LOCALHOST), &authority, trusted.path()).await;
        assert!(
            text.contains("not trusted here") && text.contains("SSL_CERT_FILE"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn a_system_without_authorities_says_so() {
    let empty = tempfile::NamedTempFile::new().unwrap();
    let text = refusal(
        &certificate_for(LOCALHOST),
        &Authority::named("ours"),
        empty.path(),
    )
    .await;
    assert!(
        text.contains("trusts no authority") && text.contains("SSL_CERT_FILE"),
        "{text}"
    );
}

#[tokio::test]
async fn a_certificate_for_another_name_or_time_is_refused_with_what_to_do() {
    let authority = Authority::named("ours");
    let trusted = trust_file(&authority);
    let text = refusal(
        &certificate_for("bridge.example.com"),
        &authority,
        trusted.path(),
    )
    .await;
    assert!(text.contains("set MCP_SERVER_URL to the name"), "{text}");

    let mut expired = certificate_for(LOCALHOST);
    expired.not_after = date_time_ymd(2020, 1, 1);
    let text = refusal(&expired, &authority, trusted.path()).await;
    assert!(text.contains("renew"), "{text}");
}

#[tokio::test]
async fn an_authority_that_is_trusted_later_needs_no_restart() {
    let server = Server::start().await;
    let authority = Authority::named("ours");
    let proxy = TlsProxy::start(server.address, &authority, &certificate_for(LOCALHOST)).await;
    let trusted = trust_file(&Authority::named("theirs"));
    let mut client = ready(&proxy.url(), trusted.path(), Era::Session).await;
    let refused = client.call("echo", json!({ "text": "hi" })).await;
    assert!(error_text(&refused).contains("was not accepted"));

    std::fs::write(&trusted, authority.pem()).unwrap();
    client.list_changed().await;
    let result = client.call("echo", json!({ "text": "hi" })).await;
    assert_eq!(result["content"][0]["text"], "hi");
}

#[tokio::test]
async fn https_to_a_bridge_without_tls_says_that_http_may_be_meant() {
    let server = Server::start().await;
    let trusted = trust_file(&Authority::named("ours"));
    let url = server.url().replace("http://", "https://");
    let mut client = ready(&url, trusted.path(), Era::Session).await;
    let result = client.call("echo", json!({ "text": "hi" })).await;
    assert!(
        error_text(&result).contains("http:// may be meant"),
        "{result}"
    );
    assert!(client.is_alive());
}
