//! A bridge whose identity settings are wrong does not start, and says what to set.

use bridge::{App, Config, Identity};
use serde_json::json;

use super::mock_issuer::*;
use crate::kit::*;

async fn refusal(config: Config) -> String {
    match bridge::serve(config, App::default()).await {
        Ok(_) => panic!("it started"),
        Err(error) => error.to_string(),
    }
}

fn changed(change: impl FnOnce(&mut Identity)) -> Config {
    let mut config = trusting_secret();
    change(&mut config.identity);
    config
}

#[tokio::test]
async fn missing_or_invalid_identity_settings_are_named() {
    let cases = [
        (changed(|own| own.jwt_issuer = None), "MCP_WEB_JWT_ISSUER"),
        (
            changed(|own| own.jwt_audience.clear()),
            "MCP_WEB_JWT_AUDIENCE",
        ),
        (changed(|own| own.jwt_secret = None), "MCP_WEB_JWT_SECRET"),
        (
            changed(|own| own.jwt_default_scopes = vec!["tools".to_owned()]),
            "page, tools:read, tools:call, query",
        ),
        (
            changed(|own| own.jwks_url = Some("http://issuer.test/jwks".to_owned())),
            "`jwks_url` is not encrypted",
        ),
        (
            changed(|own| own.authorization_servers = vec!["issuer.test".to_owned()]),
            "authorization_servers",
        ),
        (
            changed(|own| own.public_url = Some("https://bridge.test/mcp".to_owned())),
            "public_url",
        ),
    ];
    for (config, word) in cases {
        let error = refusal(config).await;
        assert!(error.contains(word), "{word}: {error}");
        assert!(!error.contains(SECRET), "{error}");
    }
}

#[tokio::test]
async fn an_invalid_key_file_is_reported_with_path_and_key() {
    let good = Signer::es256(Some("good")).jwk();
    let mut private = good.clone();
    private["d"] = json!("AAAA");
    private["kid"] = json!("private");
    let curve = json!({ "kty": "EC", "crv": "P-521", "kid": "curve" });
    let cases = [
        (
            set_of(&[good.clone(), private]).to_string(),
            "key 2 (kid \"private\")",
        ),
        (set_of(&[curve]).to_string(), "key 1 (kid \"curve\")"),
        (set_of(&[]).to_string(), "no keys"),
        (good.to_string(), "no JWK Set"),
        (String::new(), "no JWK Set"),
        ("-----BEGIN CERTIFICATE-----".to_owned(), "PEM"),
        (
            include_str!("test-keys/rsa-1.pem")
                .split_once('\n')
                .unwrap()
                .1
                .to_owned(),
            "private key",
        ),
    ];
    for (text, word) in cases {
        let (config, path) = trusting_file(&text);
        let error = refusal(config).await;
        assert!(
            error.contains(word) && error.contains("`jwt_keys`"),
            "{word}: {error}"
        );
        assert!(error.contains(path.to_str().unwrap()), "{error}");
    }
    let (mut config, path) = trusting_file("");
    config.identity.jwt_keys = Some(path.with_extension("missing"));
    let error = refusal(config).await;
    assert!(
        error.contains(".missing") && error.contains("cannot be read"),
        "{error}"
    );
}

#[tokio::test]
async fn signed_tokens_allow_a_non_loopback_bind_address() {
    let mut config = trusting_secret();
    config.bind = ([0, 0, 0, 0], 0).into();
    let running = start_bridge_with(config).await;
    assert!(!running.local_addr().ip().is_loopback());
    running.shutdown().await;
}
