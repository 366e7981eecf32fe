//! Many refused tokens from one address.

use bridge::{Compat, ServerHandle};
use bridge_output::CapturedLog;
use bridge_protocol::BridgeToPage;
use serde_json::json;

use crate::kit::*;

/// The default of `max_refused_tokens`.
const MAX_REFUSED_TOKENS: usize = 30;

async fn start_listed_bridge(compat: Option<Compat>) -> ServerHandle {
    let mut config = test_config();
    config.tokens.tokens = vec![TOKEN.to_owned()];
    config.compatibility.compat = compat;
    start_bridge_with(config).await
}

async fn list_tools(bridge: &ServerHandle, token: &str) -> reqwest::Response {
    let request = http_client()
        .get(format!("{}/tools", bridge.url()))
        .bearer_auth(token);
    with_deadline("response", request.send()).await.unwrap()
}

#[tokio::test]
async fn refused_tokens_over_the_limit_are_429_and_valid_tokens_are_served() {
    let (log, _guard) = CapturedLog::start();
    let bridge = start_listed_bridge(None).await;
    for number in 0..MAX_REFUSED_TOKENS {
        let refused = list_tools(&bridge, &format!("guessed-token-{number:04}")).await;
        assert_eq!(refused.status(), 401, "{number}");
    }
    let refused = list_tools(&bridge, "guessed-token-last").await;
    assert_eq!(refused.status(), 429);
    let retry_after = refused.headers()["retry-after"].to_str().unwrap();
    let seconds: u64 = retry_after.parse().unwrap();
    assert!((1..=60).contains(&seconds), "{seconds}");
    let body: serde_json::Value = refused.json().await.unwrap();
    assert_eq!(body["error"], "InvalidAuthentication");
    // A missing token is not a guess.
    let missing = http_client().get(format!("{}/tools", bridge.url()));
    assert_eq!(missing.send().await.unwrap().status(), 401);
    assert_eq!(list_tools(&bridge, TOKEN).await.status(), 200);
    Page::connect(&bridge, "s", TOKEN).await;

    let logged = log.text();
    let lines: Vec<_> = logged
        .lines()
        .filter(|line| line.contains("refused kind=\"invalid_token\""))
        .collect();
    assert!((1..10).contains(&lines.len()), "{lines:?}");
    assert!(
        logged.contains("refused kind=\"max_refused_tokens\""),
        "{logged}"
    );
    for part in ["127.0.0.1", "/tools", "not on this bridge's list"] {
        assert!(lines[0].contains(part), "{lines:?}");
    }
    assert!(!logged.contains("guessed-token"), "{logged}");
}

#[tokio::test]
async fn tokens_refused_by_plain_http_are_counted_for_their_address() {
    let bridge = start_listed_bridge(None).await;
    for _ in 0..MAX_REFUSED_TOKENS {
        let request = http_client().post(format!("{}/tool-call", bridge.url()));
        let request = request.bearer_auth("guessed-token-0123").json(&json!({}));
        assert_eq!(request.send().await.unwrap().status(), 401);
    }
    let refused = list_tools(&bridge, "guessed-token-0123").await;
    assert_eq!(refused.status(), 429);
}

#[tokio::test]
async fn tokens_refused_by_the_page_socket_and_by_compat_are_counted() {
    for compat in [None, Some(Compat::McpWeb)] {
        let bridge = start_listed_bridge(compat).await;
        for _ in 0..MAX_REFUSED_TOKENS {
            if compat.is_some() {
                let request = http_client()
                    .post(bridge.url())
                    .bearer_auth("guessed-token-0123")
                    .json(&rpc_request(1, "tools/list", json!({})));
                request.send().await.unwrap();
            } else {
                let mut page = Page::open(&bridge, "s", None).await;
                page.authenticate("s", "guessed-token-0123").await;
                let failed = page.recv().await;
                assert!(matches!(failed, BridgeToPage::AuthenticationFailed(_)));
            }
        }
        let refused = list_tools(&bridge, "guessed-token-0123").await;
        assert_eq!(refused.status(), 429, "{compat:?}");
    }
}
