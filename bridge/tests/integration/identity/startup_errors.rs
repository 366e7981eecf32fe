//! A bridge with invalid identity settings does not start, and names the setting to change.

use bridge::{Config, Identity};
use serde_json::json;

use super::mock_issuer::*;
use crate::kit::*;

/// The configuration with a secret, with one change.
fn config_with(change: impl FnOnce(&mut Identity)) -> Config {
    let mut config = config_with_secret();
    change(&mut config.identity);
    config
}

#[tokio::test]
async fn missing_or_invalid_identity_settings_are_named() {
    let cases = [
        (
            config_with(|identity| identity.jwt_issuer = None),
            "MCP_WEB_JWT_ISSUER",
        ),
        (
            config_with(|identity| identity.jwt_audience.clear()),
            "MCP_WEB_JWT_AUDIENCE",
        ),
        (
            config_with(|identity| identity.jwt_secret = None),
            "MCP_WEB_JWT_SECRET",
        ),
        (
            config_with(|identity| identity.jwt_default_scopes = vec!["tools".to_owned()]),
            "page, tools:read, tools:call, query",
        ),
        (
            config_with(|identity| identity.jwks_url = Some("http://issuer.test/jwks".to_owned())),
            "`jwks_url` is not encrypted",
        ),
        (
            config_with(|identity| identity.authorization_servers = vec!["issuer.test".to_owned()]),
            "authorization_servers",
        ),
        (
            config_with(|identity| {
                identity.public_url = Some("https://bridge.test/mcp".to_owned())
            }),
            "`public_url` is \"https://bridge.test/mcp\": its path begins with `/mcp`",
        ),
    ];
    for (config, expected) in cases {
        let error = start_error(config).await.to_string();
        assert!(error.contains(expected), "{expected}: {error}");
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
            jwk_set(&[good.clone(), private]).to_string(),
            "key 2 (kid \"private\")",
        ),
        (jwk_set(&[curve]).to_string(), "key 1 (kid \"curve\")"),
        (jwk_set(&[]).to_string(), "no keys"),
        (good.to_string(), "not a JWK Set"),
        (String::new(), "not a JWK Set"),
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
    for (text, expected) in cases {
        let (config, path) = config_with_key_file(&text);
        let error = start_error(config).await.to_string();
        assert!(
            error.contains(expected) && error.contains("`jwt_keys`"),
            "{expected}: {error}"
        );
        assert!(error.contains(path.to_str().unwrap()), "{error}");
    }
    let (mut config, path) = config_with_key_file("");
    config.identity.jwt_keys = Some(path.with_extension("missing"));
    let error = start_error(config).await.to_string();
    assert!(
        error.contains(".missing") && error.contains("cannot be read"),
        "{error}"
    );
}

#[tokio::test]
async fn signed_tokens_allow_a_non_loopback_bind_address() {
    let mut config = config_with_secret();
    config.network.bind = ([0, 0, 0, 0], 0).into();
    let bridge = start_bridge_with(config).await;
    assert!(!bridge.local_addr().ip().is_loopback());
    bridge.shutdown().await;
}
