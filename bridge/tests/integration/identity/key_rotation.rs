//! Keys that an issuer publishes and rotates.

use serde_json::json;

use super::mock_issuer::*;
use crate::kit::*;

#[tokio::test]
async fn an_unknown_key_id_triggers_one_fetch_per_interval() {
    let (old, new) = (Signer::es256(Some("old")), Signer::rs256(0, Some("new")));
    let issuer = KeyServer::start(KeyResponse::Keys(jwk_set(&[old.jwk()]))).await;
    let bridge = start_bridge_with(issuer.trusting_config()).await;
    let url = bridge.url();
    for _ in 0..3 {
        assert_eq!(get_tools(&url, &old.token("ada")).await.0, 200);
    }
    assert_eq!(issuer.request_count(), 1, "the keys are cached");

    issuer.set_response(KeyResponse::Keys(jwk_set(&[new.jwk()])));
    assert_eq!(get_tools(&url, &new.token("ada")).await.0, 200);
    assert_eq!(issuer.request_count(), 2);
    // A key is invalid as soon as the issuer no longer publishes it.
    assert_eq!(get_tools(&url, &old.token("ada")).await.0, 401);

    let unknown = Signer::es256(Some("unknown"));
    let token = unknown.token("ada");
    let requests = (0..8).map(|_| get_tools(&url, &token));
    for (status, code, _) in futures_util::future::join_all(requests).await {
        assert_eq!((status, code.as_str()), (401, "InvalidAuthentication"));
    }
    assert_eq!(issuer.request_count(), 2, "one fetch in 30 s");
    assert_eq!(get_tools(&url, &new.token("ada")).await.0, 200);
}

#[tokio::test]
async fn known_keys_stay_valid_when_a_fetch_fails() {
    let key = Signer::eddsa(Some("key"));
    let too_large = "x".repeat(2 * 1024 * 1024);
    for failure in [
        KeyResponse::Status(500),
        KeyResponse::Text("nonsense".to_owned()),
        KeyResponse::Text(too_large),
        KeyResponse::Keys(json!({ "keys": [] })),
        KeyResponse::Redirect("https://issuer.test/jwks.json".to_owned()),
    ] {
        let issuer = KeyServer::start(KeyResponse::Keys(jwk_set(&[key.jwk()]))).await;
        let bridge = start_bridge_with(issuer.trusting_config()).await;
        assert_eq!(get_tools(&bridge.url(), &key.token("ada")).await.0, 200);
        issuer.set_response(failure);
        let unknown = Signer::eddsa(Some("unknown")).token("ada");
        assert_eq!(get_tools(&bridge.url(), &unknown).await.0, 401);
        assert_eq!(issuer.request_count(), 2);
        assert_eq!(get_tools(&bridge.url(), &key.token("ada")).await.0, 200);
    }
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
        while get_tools(&bridge.url(), &token).await.0 != 401 {}
    })
    .await;
    assert_eq!(
        get_tools(&bridge.url(), &remaining.token("ada")).await.0,
        200
    );
}

#[tokio::test]
async fn keys_are_fetched_later_when_the_issuer_is_down_at_startup() {
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
    assert_eq!(get_tools(&bridge.url(), &token).await.0, 401);
    let listener = socket.listen(16).unwrap();
    let issuer = KeyServer::on(listener, KeyResponse::Keys(jwk_set(&[key.jwk()])));
    with_deadline("acceptance", async {
        while get_tools(&bridge.url(), &token).await.0 != 200 {}
    })
    .await;
    assert!(issuer.request_count() >= 1);
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
    let mut hs256 = Signer::hs256();
    for kid in [None, Some("published")] {
        hs256.kid = kid;
        assert_eq!(get_tools(&bridge.url(), &hs256.token("ada")).await.0, 401);
    }
    assert_eq!(
        get_tools(&bridge.url(), &encryption.token("ada")).await.0,
        401
    );
    assert_eq!(get_tools(&bridge.url(), &signing.token("ada")).await.0, 200);
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
