//! Valid and forged tokens of each algorithm.

use bridge::ServerHandle;
use serde_json::{Value, json};

use super::mock_issuer::*;
use crate::kit::*;

/// Checks that the bridge rejects this token with a challenge that does not repeat it.
async fn assert_rejected(bridge: &ServerHandle, case: &str, token: &str) {
    let (status, code, challenge) = get_tools(&bridge.url(), token).await;
    assert_eq!(
        (status, code.as_str()),
        (401, "InvalidAuthentication"),
        "{case}"
    );
    assert!(
        challenge.contains("error=\"invalid_token\""),
        "{case}: {challenge}"
    );
    assert!(
        !challenge.contains(token),
        "{case}: the challenge repeats the token"
    );
}

async fn assert_accepted(bridge: &ServerHandle, case: &str, token: &str) {
    let (status, code, _) = get_tools(&bridge.url(), token).await;
    assert_eq!(status, 200, "{case}: {code}");
}

/// The token with one character of its signature changed.
fn with_damaged_signature(token: &str) -> String {
    let middle = token.rfind('.').unwrap() + 10;
    let other = if &token[middle..=middle] == "A" {
        "B"
    } else {
        "A"
    };
    format!("{}{other}{}", &token[..middle], &token[middle + 1..])
}

/// The token with other claims under the same signature.
fn with_other_claims(token: &str) -> String {
    let parts: Vec<_> = token.split('.').collect();
    let forged = join_token(&json!({}), &claims("root", ALL_SCOPES, 600.0), parts[2]);
    let claims = forged.split('.').nth(1).unwrap();
    format!("{}.{claims}.{}", parts[0], parts[2])
}

/// Checks that a token of this signer is valid and that forgeries of it are not.
async fn check_valid_and_forged(bridge: &ServerHandle, signer: &Signer, foreign: &Signer) {
    let algorithm = format!("{:?}", signer.algorithm);
    let token = signer.token("ada");
    assert_accepted(bridge, &algorithm, &token).await;
    assert_rejected(
        bridge,
        &format!("{algorithm} damaged"),
        &with_damaged_signature(&token),
    )
    .await;
    assert_rejected(
        bridge,
        &format!("{algorithm} other claims"),
        &with_other_claims(&token),
    )
    .await;
    let unsigned = token.rsplit_once('.').unwrap().0;
    assert_rejected(bridge, "unsigned", &format!("{unsigned}.")).await;
    assert_rejected(bridge, "two parts", unsigned).await;
    let foreign = foreign.sign_with_header(&signer.header(), &claims("ada", ALL_SCOPES, 600.0));
    assert_rejected(bridge, &format!("{algorithm} of another key"), &foreign).await;
}

#[tokio::test]
async fn every_algorithm_is_verified_with_jwk_set_and_pem_keys() {
    let foreign = [
        Signer::rs256(1, Some("rsa")),
        Signer::es256(Some("ec")),
        Signer::eddsa(Some("ed")),
    ];
    let signer = Signer::all_asymmetric();
    let set = jwk_set(&signer.each_ref().map(Signer::jwk));
    let (config, _file) = config_with_key_file(&set.to_string());
    let bridge = start_bridge_with(config).await;
    for (signer, foreign) in signer.iter().zip(&foreign) {
        check_valid_and_forged(&bridge, signer, foreign).await;
    }
    for (signer, foreign) in signer.iter().zip(&foreign) {
        let (config, _file) = config_with_key_file(&signer.pem);
        let bridge = start_bridge_with(config).await;
        check_valid_and_forged(&bridge, signer, foreign).await;
    }
}

#[tokio::test]
async fn jwt_secret_accepts_only_hs256() {
    let bridge = start_bridge_with(config_with_secret()).await;
    let signer = Signer::hs256();
    let token = signer.token("ada");
    assert_accepted(&bridge, "HS256", &token).await;
    assert_rejected(&bridge, "damaged", &with_damaged_signature(&token)).await;
    assert_rejected(&bridge, "other claims", &with_other_claims(&token)).await;
    for algorithm in [
        jsonwebtoken::Algorithm::HS384,
        jsonwebtoken::Algorithm::HS512,
    ] {
        let header = jsonwebtoken::Header::new(algorithm);
        let token = signer.sign_with_header(&header, &claims("ada", ALL_SCOPES, 600.0));
        assert_rejected(&bridge, "a longer hash", &token).await;
    }
}

/// The attack of RFC 8725 section 2.1: the header contains HS256, and the secret is the public key.
#[tokio::test]
async fn a_public_key_is_never_used_as_an_hmac_secret() {
    let keys = Signer::all_asymmetric();
    for signer in &keys {
        let (config, _file) = config_with_key_file(&jwk_set(&[signer.jwk()]).to_string());
        let bridge = start_bridge_with(config).await;
        let jwk = signer.jwk();
        let secrets = [
            signer.pem.clone(),
            signer.pem.trim_end().to_owned(),
            jwk.to_string(),
            jwk["n"].as_str().or(jwk["x"].as_str()).unwrap().to_owned(),
        ];
        for secret in secrets {
            let key = jsonwebtoken::EncodingKey::from_secret(secret.as_bytes());
            for kid in [signer.kid, None] {
                let header = jsonwebtoken::Header {
                    kid: kid.map(str::to_owned),
                    ..jsonwebtoken::Header::default()
                };
                let claims = claims("ada", ALL_SCOPES, 600.0);
                let token = jsonwebtoken::encode(&header, &claims, &key).unwrap();
                assert_rejected(&bridge, "HS256 with the public key", &token).await;
            }
        }
    }
}

#[tokio::test]
async fn unsigned_tokens_and_unknown_critical_headers_are_rejected() {
    let signer = Signer::es256(Some("ec"));
    let (config, _file) = config_with_key_file(&jwk_set(&[signer.jwk()]).to_string());
    let bridge = start_bridge_with(config).await;
    let claims = claims("ada", ALL_SCOPES, 600.0);
    for header in [
        json!({ "alg": "none" }),
        json!({ "alg": "None", "kid": "ec" }),
        json!({ "alg": "" }),
        json!({ "kid": "ec" }),
        json!({ "alg": ["ES256"] }),
        json!([]),
        Value::Null,
    ] {
        for signature in ["", "AAAA"] {
            let token = join_token(&header, &claims, signature);
            assert_rejected(&bridge, &header.to_string(), &token).await;
        }
    }
    let algorithms = ["RS256", "EdDSA", "PS256", "ES384"];
    for algorithm in algorithms {
        let valid = signer.sign(&claims);
        let signature = valid.rsplit_once('.').unwrap().1;
        let header = json!({ "alg": algorithm, "kid": "ec" });
        assert_rejected(&bridge, algorithm, &join_token(&header, &claims, signature)).await;
    }
    let critical = jsonwebtoken::Header {
        crit: Some(vec!["exp".to_owned()]),
        ..signer.header()
    };
    let token = signer.sign_with_header(&critical, &claims);
    let (status, _, challenge) = get_tools(&bridge.url(), &token).await;
    assert!(status == 401 && challenge.contains("crit"), "{challenge}");
    // A key in the header of a token is ignored.
    let other_signer = Signer::es256(None);
    let mut header = signer.header();
    header.jwk = serde_json::from_value(other_signer.jwk()).ok();
    let token = other_signer.sign_with_header(&header, &claims);
    assert_rejected(&bridge, "a key in the header", &token).await;
}

#[tokio::test]
async fn missing_or_wrong_claims_are_named_in_the_challenge() {
    let bridge = start_bridge_with(config_with_secret()).await;
    let signer = Signer::hs256();
    for (claim, value, expected) in [
        ("iss", json!("https://else.test"), "iss"),
        ("aud", json!("https://else.test"), "aud"),
        ("sub", json!(""), "sub"),
        ("exp", Value::Null, "exp"),
        ("nbf", json!(unix() + 60.0), "nbf"),
    ] {
        let mut claims = claims("ada", ALL_SCOPES, 600.0);
        claims[claim] = value;
        let (status, code, challenge) = get_tools(&bridge.url(), &signer.sign(&claims)).await;
        assert_eq!(
            (status, code.as_str()),
            (401, "InvalidAuthentication"),
            "{claim}"
        );
        assert!(challenge.contains(expected), "{claim}: {challenge}");
    }
    let expired = signer.sign(&claims("ada", ALL_SCOPES, -1.0));
    let (status, code, challenge) = get_tools(&bridge.url(), &expired).await;
    assert_eq!((status, code.as_str()), (401, "TokenExpired"));
    assert!(
        challenge.contains("error_description=\"the token has expired"),
        "{challenge}"
    );
}

#[tokio::test]
async fn opaque_tokens_are_valid_only_when_listed() {
    let mut config = config_with_secret();
    config.tokens.tokens = vec!["listed-token-0123456789".to_owned()];
    let listing = start_bridge_with(config).await;
    assert_accepted(&listing, "listed", "listed-token-0123456789").await;
    assert_accepted(&listing, "signed", &Signer::hs256().token("ada")).await;
    assert_rejected(&listing, "self-made", TOKEN).await;
    let bridge = start_bridge_with(config_with_secret()).await;
    assert_rejected(&bridge, "self-made", TOKEN).await;
    assert_rejected(&bridge, "with dots", "not.a.token-0123456789").await;
}
