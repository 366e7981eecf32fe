//! Tokens and secrets appear neither in the log nor in responses.

use bridge::Audit;
use bridge_output::CapturedLog;
use bridge_protocol::{PageToBridge, Renew};
use serde_json::json;

use super::mock_issuer::*;
use crate::kit::*;

#[tokio::test]
async fn tokens_are_never_logged_or_echoed() {
    let (log, _guard) = CapturedLog::start();
    let key = Signer::es256(Some("key"));
    let issuer = KeyServer::start(KeyResponse::Keys(jwk_set(&[key.jwk()]))).await;
    let mut config = issuer.trusting_config();
    config.identity.jwt_secret = Some(SECRET.parse().unwrap());
    config.tokens.tokens = vec!["listed-token-0123456789".to_owned()];
    assert!(!format!("{config:?}").contains(SECRET));
    config.monitoring.audit = Audit::CallsWithArguments;
    let bridge = start_bridge_with(config).await;

    let valid = key.token("ada");
    let tokens = [
        valid.clone(),
        Signer::hs256().token("ada"),
        "listed-token-0123456789".to_owned(),
        "unlisted-token-0123456789".to_owned(),
        Signer::es256(Some("unknown")).token("ada"),
        key.sign(&claims("ada", ALL_SCOPES, -5.0)),
        key.sign(&claims("ada", "", 600.0)),
        join_token(&json!({ "alg": "none" }), &claims("ada", "", 600.0), ""),
    ];
    for token in &tokens {
        for method in ["tools/list", "tools/call"] {
            let request = http_client()
                .post(format!("{}/mcp", bridge.url()))
                .bearer_auth(token)
                .json(&rpc_request(1, method, json!({ "name": "echo" })));
            let response = with_deadline("response", request.send()).await.unwrap();
            let challenge = format!("{:?}", response.headers());
            let text = response.text().await.unwrap();
            assert!(
                !text.contains(token) && !challenge.contains(token),
                "{text}"
            );
        }
        let mut page = Page::open(&bridge, "s", None).await;
        page.authenticate("s", token).await;
        let response = format!("{:?}", page.recv().await);
        assert!(!response.contains(token), "{response}");
    }
    let mut page = Page::connect(&bridge, "s", &valid).await;
    let call = http_client().post(format!("{}/tool-call", bridge.url()));
    let call = call
        .bearer_auth(&valid)
        .json(&json!({ "toolName": "none" }));
    with_deadline("response", call.send()).await.unwrap();
    // A token of another user ends the session.
    let (others, own): (Vec<_>, Vec<_>) = tokens.iter().partition(|it| it.starts_with("listed"));
    for token in own {
        let _ = page.renew(token).await;
    }
    issuer.set_response(KeyResponse::Status(500));
    let auth_token = others[0].clone();
    page.send(PageToBridge::Renew(Renew { auth_token })).await;
    let (_, reason) = page.recv_close().await;
    assert!(!reason.contains(others[0]), "{reason}");
    bridge.shutdown().await;

    let logged = log.text();
    assert!(logged.contains("page connected"), "the log was captured");
    assert!(logged.contains(" audit: call realm="), "{logged}");
    assert!(logged.contains(" subject=\"ada\""), "{logged}");
    for secret in tokens.iter().map(String::as_str).chain([SECRET]) {
        let line = logged.lines().find(|line| line.contains(secret));
        assert_eq!(line, None);
        // The signature alone must not appear either.
        let signature = secret.rsplit('.').next().unwrap();
        if signature.len() > 20 {
            assert!(!logged.contains(signature));
        }
    }
}
