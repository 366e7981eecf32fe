//! A fresh token on the open socket.

use bridge::ServerHandle;
use bridge_protocol::{BridgeToPage, ErrorCode, PageToBridge, Renew, RenewalFailed, Renewed};
use serde_json::json;

use super::mock_issuer::*;
use crate::kit::*;

async fn renew(page: &mut Page, token: &str) -> Result<Renewed, RenewalFailed> {
    let auth_token = token.to_owned();
    page.send(PageToBridge::Renew(Renew { auth_token })).await;
    page.recv_matching(|message| match message {
        BridgeToPage::Renewed(renewed) => Some(Ok(renewed)),
        BridgeToPage::RenewalFailed(failed) => Some(Err(failed)),
        _ => None,
    })
    .await
}

fn token_for(sub: &str, scope: &str, seconds: f64) -> String {
    Signer::hs256().sign(&claims(sub, scope, seconds))
}

async fn connect(bridge: &ServerHandle, token: &str) -> (Page, Option<u64>) {
    let mut page = Page::open(bridge, "s", None).await;
    page.authenticate("s", token).await;
    let BridgeToPage::Authenticated(welcome) = page.recv().await else {
        panic!("not let in")
    };
    (page, welcome.token_expires_in_ms)
}

#[tokio::test]
async fn renewal_keeps_the_connection_and_calls_past_the_old_expiry() {
    let bridge = start_bridge_with(trusting_secret()).await;
    let short = token_for("ada", EVERYTHING, 2.0);
    let (mut page, left) = connect(&bridge, &short).await;
    assert!(
        left.is_some_and(|left| left > 0 && left <= 2000),
        "{left:?}"
    );
    page.register(&[echo_tool()]).await;

    let long = token_for("ada", EVERYTHING, 600.0);
    let client = McpClient::connect(&bridge, &long).await;
    let answering = async {
        let call = page.recv_call().await;
        let renewed = renew(&mut page, &long).await.unwrap();
        let left = renewed.token_expires_in_ms.unwrap();
        assert!((590_000..=600_000).contains(&left), "{left}");
        with_deadline("end of the old token", async {
            while knocks(&bridge.url(), &short).await.0 == 200 {}
        })
        .await;
        page.respond(&call, json!({ "n": 7 })).await;
    };
    let (answer, ()) = tokio::join!(client.call("echo", json!({})), answering);
    assert_eq!(answer["result"]["structuredContent"], json!({ "n": 7 }));
    // The same socket goes on.
    let (answer, ()) = tokio::join!(client.call("echo", json!({ "n": 1 })), page.echo_call());
    assert_eq!(answer["result"]["structuredContent"], json!({ "n": 1 }));
}

#[tokio::test]
async fn a_rejected_renewal_leaves_the_connection_open() {
    let bridge = start_bridge_with(trusting_secret()).await;
    let (mut page, _) = connect(&bridge, &token_for("ada", EVERYTHING, 600.0)).await;
    page.register(&[echo_tool()]).await;
    for (token, code) in [
        (
            token_for("eve", EVERYTHING, 600.0),
            ErrorCode::InvalidAuthentication,
        ),
        (token_for("ada", EVERYTHING, -1.0), ErrorCode::TokenExpired),
        (
            token_for("ada", "tools:read", 600.0),
            ErrorCode::InsufficientScope,
        ),
        (
            Signer::eddsa(None).token("ada"),
            ErrorCode::InvalidAuthentication,
        ),
        ("nonsense".to_owned(), ErrorCode::InvalidAuthentication),
        (String::new(), ErrorCode::MissingAuthentication),
    ] {
        let failed = renew(&mut page, &token).await.unwrap_err();
        assert_eq!(failed.code, code, "{}", failed.error);
        assert!(token.is_empty() || !failed.error.contains(&token));
    }
    let client = McpClient::connect(&bridge, &token_for("ada", EVERYTHING, 600.0)).await;
    let (answer, ()) = tokio::join!(client.call("echo", json!({ "n": 1 })), page.echo_call());
    assert_eq!(answer["result"]["structuredContent"], json!({ "n": 1 }));
}

#[tokio::test]
async fn an_opaque_token_renews_only_with_itself_and_never_expires() {
    let bridge = start_bridge().await;
    let (mut page, left) = connect(&bridge, TOKEN).await;
    assert_eq!(left, None);
    let renewed = renew(&mut page, TOKEN).await.unwrap();
    assert_eq!(renewed.token_expires_in_ms, None);
    let other = renew(&mut page, "token-of-somebody-else-0123456789").await;
    assert_eq!(other.unwrap_err().code, ErrorCode::InvalidAuthentication);
}

/// Checking waits for the issuer's keys: the page is heard meanwhile, and one token is enough.
#[tokio::test]
async fn messages_are_processed_while_a_renewal_is_verified() {
    let key = Signer::es256(Some("key"));
    let issuer = KeyServer::start(Answer::Keys(set_of(&[key.jwk()]))).await;
    let bridge = start_bridge_with(issuer.trusted()).await;
    let good = key.token("ada");
    let (mut page, _) = connect(&bridge, &good).await;
    page.register(&[echo_tool()]).await;
    issuer.answers(Answer::Never);
    let unknown = Signer::es256(Some("unknown")).token("ada");
    for _ in 0..4 {
        let auth_token = unknown.clone();
        page.send(PageToBridge::Renew(Renew { auth_token })).await;
    }
    let client = McpClient::connect(&bridge, &good).await;
    let (answer, failures) = tokio::join!(client.call("echo", json!({ "n": 1 })), async {
        let mut failures = Vec::new();
        loop {
            match page.recv().await {
                BridgeToPage::RenewalFailed(failed) => failures.push(failed.code),
                BridgeToPage::ToolCall(call) => {
                    page.respond(&call, json!({ "n": 1 })).await;
                    return failures;
                }
                _ => {}
            }
        }
    });
    assert_eq!(answer["result"]["structuredContent"], json!({ "n": 1 }));
    // One is being checked and one waits; or two wait, if the first was not looked at yet.
    assert!(failures.len() >= 2, "{failures:?}");
    assert!(
        failures
            .iter()
            .all(|code| *code == ErrorCode::ProtocolViolation)
    );
}
