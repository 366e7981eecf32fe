//! Renewal of the token of a page on its open connection.

use bridge::ServerHandle;
use bridge_protocol::{BridgeToPage, ErrorCode, PageToBridge, Renew};
use serde_json::json;

use super::mock_issuer::*;
use crate::kit::*;

fn token_for(sub: &str, scope: &str, seconds: f64) -> String {
    Signer::hs256().sign(&claims(sub, scope, seconds))
}

/// Connects a page, and returns it with the remaining lifetime of its token.
async fn connect(bridge: &ServerHandle, token: &str) -> (Page, Option<u64>) {
    let mut page = Page::open(bridge, "s", None).await;
    page.authenticate("s", token).await;
    let authenticated = page.recv_authenticated().await;
    (page, authenticated.token_expires_in_ms)
}

/// Sends the token of another user, and reads up to the end of the connection.
async fn change_user(page: &mut Page, token: &str) {
    let auth_token = token.to_owned();
    page.send(PageToBridge::Renew(Renew { auth_token })).await;
    let closed = page.recv_matching(|message| match message {
        BridgeToPage::SessionClosed(closed) => Some(closed.code),
        _ => None,
    });
    assert_eq!(closed.await, ErrorCode::TokenExpired);
    assert_eq!(page.recv_close().await.0, 4003);
}

#[tokio::test]
async fn renewal_keeps_the_connection_and_calls_past_the_old_expiry() {
    let bridge = start_bridge_with(config_with_secret()).await;
    let old_token = token_for("ada", ALL_SCOPES, 2.0);
    let (mut page, expires_in) = connect(&bridge, &old_token).await;
    assert!(
        expires_in.is_some_and(|expires_in| expires_in > 0 && expires_in <= 2000),
        "{expires_in:?}"
    );
    page.register(&[echo_tool()]).await;

    let new_token = token_for("ada", ALL_SCOPES, 600.0);
    let client = McpClient::connect(&bridge, &new_token).await;
    let handler = async {
        let call = page.recv_call().await;
        let renewed = page.renew(&new_token).await.unwrap();
        let expires_in = renewed.token_expires_in_ms.unwrap();
        assert!((590_000..=600_000).contains(&expires_in), "{expires_in}");
        with_deadline("end of the old token", async {
            while get_tools(&bridge.url(), &old_token).await.0 == 200 {
                poll_pause().await;
            }
        })
        .await;
        page.respond(&call, json!({ "n": 7 })).await;
    };
    let (answer, ()) = tokio::join!(client.call("echo", json!({})), handler);
    assert_eq!(answer["result"]["structuredContent"], json!({ "n": 7 }));
    // The connection is still in use.
    client.assert_echo(&mut page).await;
}

#[tokio::test]
async fn a_rejected_renewal_leaves_the_connection_open() {
    let bridge = start_bridge_with(config_with_secret()).await;
    let (mut page, _) = connect(&bridge, &token_for("ada", ALL_SCOPES, 600.0)).await;
    page.register(&[echo_tool()]).await;
    for (token, code) in [
        (token_for("ada", ALL_SCOPES, -1.0), ErrorCode::TokenExpired),
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
        let failed = page.renew(&token).await.unwrap_err();
        assert_eq!(failed.code, code, "{}", failed.error);
        assert!(token.is_empty() || !failed.error.contains(&token));
    }
    let client = McpClient::connect(&bridge, &token_for("ada", ALL_SCOPES, 600.0)).await;
    client.assert_echo(&mut page).await;
}

#[tokio::test]
async fn an_opaque_token_renews_only_with_itself_and_never_expires() {
    let bridge = start_bridge().await;
    let (mut page, expires_in) = connect(&bridge, TOKEN).await;
    assert_eq!(expires_in, None);
    let renewed = page.renew(TOKEN).await.unwrap();
    assert_eq!(renewed.token_expires_in_ms, None);
    change_user(&mut page, OTHER_TOKEN).await;
}

/// The session has no grace period, and the call that was running fails.
#[tokio::test]
async fn a_token_of_another_user_ends_the_session() {
    let bridge = start_bridge_with(config_with_secret()).await;
    let ada = token_for("ada", ALL_SCOPES, 600.0);
    let client = McpClient::connect(&bridge, &ada).await;
    let _other_tab = Page::connect(&bridge, "other", &ada).await;
    // Also a token with which that user may not connect a page.
    for scope in [ALL_SCOPES, "tools:read"] {
        let (mut page, _) = connect(&bridge, &ada).await;
        page.register(&[echo_tool()]).await;
        let change = async {
            page.recv_call().await;
            change_user(&mut page, &token_for("eve", scope, 600.0)).await;
        };
        let (answer, ()) = tokio::join!(client.call("echo", json!({})), change);
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(
            text.contains("another user has taken the page over"),
            "{answer}"
        );
        let sessions = get_json_as(&bridge, &ada, "/sessions").await;
        assert_eq!(sessions["sessions"].as_array().unwrap().len(), 1);
        assert_eq!(sessions["sessions"][0]["session_id"], "other");
    }
}

/// The verification of a token waits for the keys of the issuer. Meanwhile the bridge processes the
/// messages of the page, and rejects further renewals.
#[tokio::test]
async fn messages_are_processed_while_a_renewal_is_verified() {
    let key = Signer::es256(Some("key"));
    let issuer = KeyServer::start(KeyResponse::Keys(jwk_set(&[key.jwk()]))).await;
    let bridge = start_bridge_with(issuer.trusting_config()).await;
    let valid = key.token("ada");
    let (mut page, _) = connect(&bridge, &valid).await;
    page.register(&[echo_tool()]).await;
    issuer.set_response(KeyResponse::Never);
    let unknown = Signer::es256(Some("unknown")).token("ada");
    for _ in 0..4 {
        let auth_token = unknown.clone();
        page.send(PageToBridge::Renew(Renew { auth_token })).await;
    }
    let client = McpClient::connect(&bridge, &valid).await;
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
    // At most one renewal is being verified and one waits, so at least two of the four fail.
    assert!(failures.len() >= 2, "{failures:?}");
    assert!(
        failures
            .iter()
            .all(|code| *code == ErrorCode::ProtocolViolation)
    );
}
