//! Tests with a bridge behind a TLS proxy.

use std::path::Path;

use rcgen::{CertificateParams, date_time_ymd};
use serde_json::json;
use tokio::process::Command;

use crate::client::{Client, Era, TOKEN, error_text};
use crate::server::{Server, ServerEvent};
use crate::tls_proxy::{Authority, TlsProxy, certificate_for};

const LOCALHOST: &str = "127.0.0.1";

fn command(url: &str, trust_file: &Path) -> Command {
    let mut command = crate::client::command(url);
    command
        .env("SSL_CERT_FILE", trust_file)
        .env_remove("SSL_CERT_DIR")
        // The binary must not use this proxy for a bridge on this machine.
        .env("HTTPS_PROXY", "http://127.0.0.1:9");
    command
}

async fn ready(url: &str, trust_file: &Path, era: Era) -> Client {
    Client::ready_with(command(url, trust_file), era).await
}

fn trust_file(authority: &Authority) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&file, authority.pem()).unwrap();
    file
}

#[tokio::test]
async fn calls_and_cancellations_work_over_tls() {
    let mut server = Server::start().await;
    let authority = Authority::new("trusted");
    let proxy = TlsProxy::start(server.address, &authority, &certificate_for(LOCALHOST)).await;
    let trust_file = trust_file(&authority);
    for era in Era::BOTH {
        let mut client = ready(&proxy.url(), trust_file.path(), era).await;
        assert!(client.tools().await.contains(&"echo".to_owned()));
        client.echo("hi").await;
        server.next_event().await;

        let call = client.send_call("wait").await;
        server.next_event().await;
        client.cancel(call).await;
        let tool = "wait".to_owned();
        assert_eq!(server.next_event().await, ServerEvent::Cancelled { tool });
        assert!(client.close().await.success());
    }
}

/// Calls tools through a proxy whose certificate must be rejected, and returns the error text.
async fn rejection(
    certificate: &CertificateParams,
    authority: &Authority,
    trust_file: &Path,
) -> String {
    let mut server = Server::start().await;
    let proxy = TlsProxy::start(server.address, authority, certificate).await;
    let mut texts = Vec::new();
    for era in Era::BOTH {
        let mut client = ready(&proxy.url(), trust_file, era).await;
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
    let start = format!(
        "the certificate of the bridge at {} was not accepted",
        proxy.url()
    );
    assert!(text.starts_with(&start) && !text.contains(TOKEN), "{text}");
    text
}

#[tokio::test]
async fn a_certificate_of_an_unknown_authority_is_rejected_with_advice() {
    let trust_file = trust_file(&Authority::new("trusted"));
    // An authority that was created again with the name of the trusted one is also unknown.
    for name in ["unknown", "trusted"] {
        let authority = Authority::new(name);
        let text = rejection(&certificate_for(LOCALHOST), &authority, trust_file.path()).await;
        assert!(
            text.contains("not trusted here") && text.contains("SSL_CERT_FILE"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn a_system_without_authorities_is_reported() {
    let empty_file = tempfile::NamedTempFile::new().unwrap();
    let text = rejection(
        &certificate_for(LOCALHOST),
        &Authority::new("unknown"),
        empty_file.path(),
    )
    .await;
    assert!(
        text.contains("trusts no authority") && text.contains("SSL_CERT_FILE"),
        "{text}"
    );
}

#[tokio::test]
async fn a_certificate_for_another_name_or_time_is_rejected_with_advice() {
    let authority = Authority::new("trusted");
    let trust_file = trust_file(&authority);
    let text = rejection(
        &certificate_for("bridge.example.com"),
        &authority,
        trust_file.path(),
    )
    .await;
    assert!(text.contains("set MCP_SERVER_URL to the name"), "{text}");

    let mut expired = certificate_for(LOCALHOST);
    expired.not_after = date_time_ymd(2020, 1, 1);
    let text = rejection(&expired, &authority, trust_file.path()).await;
    assert!(text.contains("renew"), "{text}");
}

#[tokio::test]
async fn an_authority_that_is_trusted_later_needs_no_restart() {
    let server = Server::start().await;
    let authority = Authority::new("trusted later");
    let proxy = TlsProxy::start(server.address, &authority, &certificate_for(LOCALHOST)).await;
    let trust_file = trust_file(&Authority::new("other"));
    let mut client = ready(&proxy.url(), trust_file.path(), Era::Session).await;
    let result = client.call("echo", json!({ "text": "hi" })).await;
    assert!(error_text(&result).contains("was not accepted"));

    std::fs::write(&trust_file, authority.pem()).unwrap();
    client.list_changed().await;
    client.echo("hi").await;
}

#[tokio::test]
async fn https_to_a_bridge_without_tls_suggests_http() {
    let server = Server::start().await;
    let trust_file = trust_file(&Authority::new("unused"));
    let url = server.url().replace("http://", "https://");
    let mut client = ready(&url, trust_file.path(), Era::Session).await;
    let result = client.call("echo", json!({ "text": "hi" })).await;
    assert!(
        error_text(&result).contains("http:// may be meant"),
        "{result}"
    );
    assert!(client.is_alive());
}
