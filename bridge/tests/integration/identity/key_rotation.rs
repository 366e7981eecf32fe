//! Keys that an issuer publishes and rotates.

use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use super::mock_issuer::*;
use crate::kit::*;

#[tokio::test]
async fn tokens_with_a_new_key_wait_for_one_fetch_although_a_stranger_makes_keys_up() {
    let (old, new) = (Signer::es256(Some("old")), Signer::rs256(0, Some("new")));
    let issuer = KeyServer::start(KeyResponse::Keys(jwk_set(&[old.jwk()]))).await;
    let bridge = start_bridge_with(issuer.trusting_config()).await;
    let url = bridge.url();
    for _ in 0..3 {
        assert_eq!(get_tools(&url, &old.token("ada")).await.0, 200);
    }
    assert_eq!(issuer.request_count(), 1, "the keys are cached");

    issuer.set_response(KeyResponse::Keys(jwk_set(&[new.jwk()])));
    let unknown: Vec<_> = (0..40)
        .map(|number| format!("made-up-{number}"))
        .map(|kid| {
            let header = jsonwebtoken::Header {
                kid: Some(kid),
                ..old.header()
            };
            old.sign_with_header(&header, &claims("eve", ALL_SCOPES, 600.0))
        })
        .collect();
    let strangers = futures_util::future::join_all(unknown.iter().map(|it| get_tools(&url, it)));
    let user = async {
        let token = new.token("ada");
        get_tools(&url, &token).await
    };
    let (strangers, user) = tokio::join!(strangers, user);
    assert_eq!(user.0, 200, "{user:?}");
    for (status, code, _) in strangers {
        let refused = (status, code.as_str()) == (401, "InvalidAuthentication");
        // The last of 30 invalid tokens in a minute are refused in another way.
        assert!(refused || status == 429, "{status} {code}");
    }
    // A request that took 5 s to arrive causes one more.
    let fetches = issuer.request_count();
    assert!((2..=3).contains(&fetches), "{fetches}");
    // A key is invalid as soon as the issuer no longer publishes it.
    let (status, _, _) = get_tools(&url, &old.token("ada")).await;
    assert!([401, 429].contains(&status), "{status}");
    assert!(issuer.request_count() <= fetches + 1);
    assert_eq!(get_tools(&url, &new.token("ada")).await.0, 200);
}

#[tokio::test]
async fn while_fetches_fail_known_keys_are_used_and_others_are_refused_for_now() {
    let key = &Signer::eddsa(Some("key"));
    let too_large = "x".repeat(2 * 1024 * 1024);
    let failures = [
        KeyResponse::Status(500),
        KeyResponse::Text("nonsense".to_owned()),
        KeyResponse::Text(too_large),
        KeyResponse::Keys(json!({ "keys": [] })),
        KeyResponse::Redirect("https://issuer.test/jwks.json".to_owned()),
    ];
    let checks = failures.map(|failure| async move {
        let issuer = KeyServer::start(KeyResponse::Keys(jwk_set(&[key.jwk()]))).await;
        let bridge = start_bridge_with(issuer.trusting_config()).await;
        assert_eq!(get_tools(&bridge.url(), &key.token("ada")).await.0, 200);
        issuer.set_response(failure);
        let unknown = Signer::eddsa(Some("unknown")).token("ada");
        for _ in 0..2 {
            let refused = get_tools(&bridge.url(), &unknown).await;
            let expected = (503, "AuthenticationUnavailable".to_owned(), String::new());
            assert_eq!(refused, expected, "without a challenge");
        }
        assert!(issuer.request_count() >= 2);
        assert_eq!(get_tools(&bridge.url(), &key.token("ada")).await.0, 200);
        let ready = http_client().get(format!("{}/readyz", bridge.url()));
        assert_eq!(ready.send().await.unwrap().status(), 200);
    });
    futures_util::future::join_all(checks).await;
}

#[tokio::test]
async fn withdrawn_keys_expire_with_the_next_refresh() {
    let (remaining, withdrawn) = (
        Signer::eddsa(Some("kept")),
        Signer::eddsa(Some("withdrawn")),
    );
    let both = jwk_set(&[remaining.jwk(), withdrawn.jwk()]);
    let issuer = KeyServer::start(KeyResponse::Keys(both)).await;
    let mut config = issuer.trusting_config();
    config.identity.jwks_refresh = std::time::Duration::from_millis(20);
    let bridge = start_bridge_with(config).await;
    assert_eq!(
        get_tools(&bridge.url(), &withdrawn.token("ada")).await.0,
        200
    );
    issuer.set_response(KeyResponse::Keys(jwk_set(&[remaining.jwk()])));
    let token = withdrawn.token("ada");
    with_deadline("rejection", async {
        while get_tools(&bridge.url(), &token).await.0 != 401 {
            poll_pause().await;
        }
    })
    .await;
    assert_eq!(
        get_tools(&bridge.url(), &remaining.token("ada")).await.0,
        200
    );
}

/// The SDK reconnects after the same close code.
#[tokio::test]
async fn a_page_comes_back_when_the_keys_of_a_new_bridge_appear() {
    let key = Signer::es256(Some("key"));
    // A bound socket that does not listen refuses connections, and no other socket gets its port.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let address = socket.local_addr().unwrap();
    let config = trusting_config(bridge::Identity {
        jwks_url: Some(format!("http://{address}/jwks.json")),
        ..bridge::Identity::default()
    });
    let bridge = start_bridge_with(config).await;
    let token = key.token("ada");
    let readiness = || async {
        let ready = http_client().get(format!("{}/readyz", bridge.url()));
        let ready = with_deadline("response", ready.send()).await.unwrap();
        (ready.status().as_u16(), ready.text().await.unwrap())
    };
    let (status, reason) = readiness().await;
    assert!(status == 503 && reason.contains("jwks_url"), "{reason}");
    let request = http_client().get(format!("{}/tools", bridge.url()));
    let refused = with_deadline("response", request.bearer_auth(&token).send())
        .await
        .unwrap();
    assert_eq!(refused.status(), 503);
    assert_eq!(refused.headers()["retry-after"], "5");
    assert_eq!(refused.headers().get("www-authenticate"), None);
    let mut page = Page::open(&bridge, "s", None).await;
    page.authenticate("s", &token).await;
    let (code, reason) = page.recv_close().await;
    assert_eq!(code, 1013, "{reason}");
    assert!(
        reason.starts_with("AuthenticationUnavailable, retry in 5 s: ")
            && reason.ends_with("retry with the same token"),
        "{reason}"
    );

    let listener = socket.listen(16).unwrap();
    let issuer = KeyServer::on(listener, KeyResponse::Keys(jwk_set(&[key.jwk()])));
    let mut page = with_deadline("acceptance", async {
        loop {
            let mut page = Page::open(&bridge, "s", None).await;
            page.authenticate("s", &token).await;
            match page.recv_frame().await {
                Some(Message::Text(_)) => return page,
                _ => drop(page),
            }
        }
    })
    .await;
    page.register(&[echo_tool()]).await;
    assert!(issuer.request_count() >= 1);
    assert_eq!(readiness().await, (200, "ready".to_owned()));
    let client = McpClient::connect(&bridge, &token).await;
    client.assert_echo(&mut page).await;
}

#[tokio::test]
async fn a_bridge_with_listed_tokens_is_ready_without_the_keys_of_signed_ones() {
    let issuer = KeyServer::start(KeyResponse::Status(500)).await;
    let mut config = issuer.trusting_config();
    config.tokens.tokens = vec![TOKEN.to_owned()];
    let bridge = start_bridge_with(config).await;
    let ready = http_client().get(format!("{}/readyz", bridge.url()));
    assert_eq!(ready.send().await.unwrap().status(), 200);
    let unknown = Signer::eddsa(Some("unknown")).token("ada");
    assert_eq!(get_tools(&bridge.url(), &unknown).await.0, 503);
    assert_eq!(get_tools(&bridge.url(), TOKEN).await.0, 200);
}

#[tokio::test]
async fn published_symmetric_and_encryption_keys_are_ignored() {
    use base64::Engine;
    let secret = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(SECRET);
    let (signing, encryption) = (Signer::es256(Some("signs")), Signer::rs256(0, Some("enc")));
    let mut encryption_jwk = encryption.jwk();
    encryption_jwk["use"] = json!("enc");
    let keys = [
        json!({ "kty": "oct", "k": secret, "alg": "HS256", "kid": "published" }),
        json!({ "kty": "future", "kid": "future" }),
        encryption_jwk,
        signing.jwk(),
    ];
    let issuer = KeyServer::start(KeyResponse::Keys(jwk_set(&keys))).await;
    let bridge = start_bridge_with(issuer.trusting_config()).await;
    let named = |kid| {
        let mut hs256 = Signer::hs256();
        hs256.kid = kid;
        hs256.token("ada")
    };
    let tokens = [
        (named(None), 401),
        (named(Some("published")), 401),
        (encryption.token("ada"), 401),
        (signing.token("ada"), 200),
    ];
    let url = bridge.url();
    let answers = tokens.iter().map(|(token, _)| get_tools(&url, token));
    let answers = futures_util::future::join_all(answers).await;
    for ((_, expected), (status, ..)) in tokens.iter().zip(answers) {
        assert_eq!(status, *expected);
    }
}

#[tokio::test]
async fn a_token_without_key_id_needs_exactly_one_matching_key() {
    let (one, two) = (Signer::es256(Some("one")), Signer::es256(Some("two")));
    let only = Signer::eddsa(Some("only"));
    let set = jwk_set(&[one.jwk(), two.jwk(), only.jwk()]);
    let (config, _file) = config_with_key_file(&set.to_string());
    let bridge = start_bridge_with(config).await;
    let without_key_id = |signer: &Signer| {
        let header = jsonwebtoken::Header::new(signer.algorithm);
        signer.sign_with_header(&header, &claims("ada", ALL_SCOPES, 600.0))
    };
    assert_eq!(
        get_tools(&bridge.url(), &without_key_id(&only)).await.0,
        200
    );
    let (status, _, challenge) = get_tools(&bridge.url(), &without_key_id(&one)).await;
    assert!(status == 401 && challenge.contains("kid"), "{challenge}");
    assert_eq!(get_tools(&bridge.url(), &two.token("ada")).await.0, 200);
}
