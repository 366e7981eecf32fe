//! Keys that an issuer publishes, and changes.

use serde_json::json;

use super::mock_issuer::*;
use crate::kit::*;

#[tokio::test]
async fn an_unknown_key_id_triggers_one_fetch_per_interval() {
    let (old, new) = (Signer::es256(Some("old")), Signer::rs256(0, Some("new")));
    let issuer = KeyServer::start(Answer::Keys(set_of(&[old.jwk()]))).await;
    let bridge = start_bridge_with(issuer.trusted()).await;
    let url = bridge.url();
    for _ in 0..3 {
        assert_eq!(knocks(&url, &old.token("ada")).await.0, 200);
    }
    assert_eq!(issuer.asked(), 1, "the keys are kept");

    issuer.answers(Answer::Keys(set_of(&[new.jwk()])));
    assert_eq!(knocks(&url, &new.token("ada")).await.0, 200);
    assert_eq!(issuer.asked(), 2);
    // What is published no more is no key any more.
    assert_eq!(knocks(&url, &old.token("ada")).await.0, 401);

    let unknown = Signer::es256(Some("unknown"));
    let stranger = unknown.token("ada");
    let knocking = (0..8).map(|_| knocks(&url, &stranger));
    for (status, code, _) in futures_util::future::join_all(knocking).await {
        assert_eq!((status, code.as_str()), (401, "InvalidAuthentication"));
    }
    assert_eq!(issuer.asked(), 2, "once in 30 s");
    assert_eq!(knocks(&url, &new.token("ada")).await.0, 200);
}

#[tokio::test]
async fn known_keys_stay_valid_when_a_fetch_fails() {
    let key = Signer::eddsa(Some("key"));
    let huge = "x".repeat(2 * 1024 * 1024);
    for failure in [
        Answer::Status(500),
        Answer::Text("nonsense".to_owned()),
        Answer::Text(huge),
        Answer::Keys(json!({ "keys": [] })),
        Answer::Redirect("https://issuer.test/jwks.json".to_owned()),
    ] {
        let issuer = KeyServer::start(Answer::Keys(set_of(&[key.jwk()]))).await;
        let bridge = start_bridge_with(issuer.trusted()).await;
        assert_eq!(knocks(&bridge.url(), &key.token("ada")).await.0, 200);
        issuer.answers(failure);
        let unknown = Signer::eddsa(Some("unknown")).token("ada");
        assert_eq!(knocks(&bridge.url(), &unknown).await.0, 401);
        assert_eq!(issuer.asked(), 2);
        assert_eq!(knocks(&bridge.url(), &key.token("ada")).await.0, 200);
    }
}

#[tokio::test]
async fn withdrawn_keys_expire_with_the_next_refresh() {
    let (kept, withdrawn) = (
        Signer::eddsa(Some("kept")),
        Signer::eddsa(Some("withdrawn")),
    );
    let both = set_of(&[kept.jwk(), withdrawn.jwk()]);
    let issuer = KeyServer::start(Answer::Keys(both)).await;
    let mut config = issuer.trusted();
    config.identity.jwks_refresh = std::time::Duration::from_millis(20);
    let bridge = start_bridge_with(config).await;
    assert_eq!(knocks(&bridge.url(), &withdrawn.token("ada")).await.0, 200);
    issuer.answers(Answer::Keys(set_of(&[kept.jwk()])));
    let token = withdrawn.token("ada");
    with_deadline("refusal", async {
        while knocks(&bridge.url(), &token).await.0 != 401 {}
    })
    .await;
    assert_eq!(knocks(&bridge.url(), &kept.token("ada")).await.0, 200);
}

#[tokio::test]
async fn keys_are_fetched_later_when_the_issuer_is_down_at_startup() {
    let key = Signer::es256(Some("key"));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let config = trusting(bridge::Identity {
        jwks_url: Some(format!("http://{address}/jwks.json")),
        ..bridge::Identity::default()
    });
    let bridge = start_bridge_with(config).await;
    let token = key.token("ada");
    assert_eq!(knocks(&bridge.url(), &token).await.0, 401);
    let listener = tokio::net::TcpListener::bind(address).await.unwrap();
    let issuer = KeyServer::on(listener, Answer::Keys(set_of(&[key.jwk()])));
    with_deadline("acceptance", async {
        while knocks(&bridge.url(), &token).await.0 != 200 {}
    })
    .await;
    assert!(issuer.asked() >= 1);
}

#[tokio::test]
async fn published_symmetric_and_encryption_keys_are_ignored() {
    use base64::Engine;
    let secret = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(SECRET);
    let (signs, encrypts) = (Signer::es256(Some("signs")), Signer::rs256(0, Some("enc")));
    let mut for_encryption = encrypts.jwk();
    for_encryption["use"] = json!("enc");
    let keys = [
        json!({ "kty": "oct", "k": secret, "alg": "HS256", "kid": "published" }),
        json!({ "kty": "future", "kid": "future" }),
        for_encryption,
        signs.jwk(),
    ];
    let issuer = KeyServer::start(Answer::Keys(set_of(&keys))).await;
    let bridge = start_bridge_with(issuer.trusted()).await;
    let mut hs256 = Signer::hs256();
    for kid in [None, Some("published")] {
        hs256.kid = kid;
        assert_eq!(knocks(&bridge.url(), &hs256.token("ada")).await.0, 401);
    }
    assert_eq!(knocks(&bridge.url(), &encrypts.token("ada")).await.0, 401);
    assert_eq!(knocks(&bridge.url(), &signs.token("ada")).await.0, 200);
}

#[tokio::test]
async fn a_token_without_key_id_needs_exactly_one_matching_key() {
    let (one, two) = (Signer::es256(Some("one")), Signer::es256(Some("two")));
    let only = Signer::eddsa(Some("only"));
    let set = set_of(&[one.jwk(), two.jwk(), only.jwk()]);
    let (config, _file) = trusting_file(&set.to_string());
    let bridge = start_bridge_with(config).await;
    let nameless = |signer: &Signer| {
        let header = jsonwebtoken::Header::new(signer.algorithm);
        signer.sign_under(&header, &claims("ada", EVERYTHING, 600.0))
    };
    assert_eq!(knocks(&bridge.url(), &nameless(&only)).await.0, 200);
    let (status, _, challenge) = knocks(&bridge.url(), &nameless(&one)).await;
    assert!(status == 401 && challenge.contains("kid"), "{challenge}");
    assert_eq!(knocks(&bridge.url(), &two.token("ada")).await.0, 200);
}
