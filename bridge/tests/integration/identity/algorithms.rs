//! Each algorithm, good and forged.

use bridge::ServerHandle;
use serde_json::{Value, json};

use super::mock_issuer::*;
use crate::kit::*;

async fn refused(bridge: &ServerHandle, what: &str, token: &str) {
    let (status, code, challenge) = knocks(&bridge.url(), token).await;
    assert_eq!(
        (status, code.as_str()),
        (401, "InvalidAuthentication"),
        "{what}"
    );
    assert!(
        challenge.contains("error=\"invalid_token\""),
        "{what}: {challenge}"
    );
    assert!(!challenge.contains(token), "{what}: the token is repeated");
}

async fn accepted(bridge: &ServerHandle, what: &str, token: &str) {
    let (status, code, _) = knocks(&bridge.url(), token).await;
    assert_eq!(status, 200, "{what}: {code}");
}

/// With one character of its signature changed.
fn damaged(token: &str) -> String {
    let middle = token.rfind('.').unwrap() + 10;
    let other = if &token[middle..=middle] == "A" {
        "B"
    } else {
        "A"
    };
    format!("{}{other}{}", &token[..middle], &token[middle + 1..])
}

/// The same signature over other claims.
fn promoted(token: &str) -> String {
    let parts: Vec<_> = token.split('.').collect();
    let made = made_of(&json!({}), &claims("root", EVERYTHING, 600.0), parts[2]);
    let claims = made.split('.').nth(1).unwrap();
    format!("{}.{claims}.{}", parts[0], parts[2])
}

async fn good_and_forged(bridge: &ServerHandle, own: &Signer, foreign: &Signer) {
    let algorithm = format!("{:?}", own.algorithm);
    let token = own.token("ada");
    accepted(bridge, &algorithm, &token).await;
    refused(bridge, &format!("{algorithm} damaged"), &damaged(&token)).await;
    refused(bridge, &format!("{algorithm} promoted"), &promoted(&token)).await;
    let unsigned = token.rsplit_once('.').unwrap().0;
    refused(bridge, "unsigned", &format!("{unsigned}.")).await;
    refused(bridge, "two parts", unsigned).await;
    let foreign = foreign.sign_under(&own.header(), &claims("ada", EVERYTHING, 600.0));
    refused(bridge, &format!("{algorithm} of another key"), &foreign).await;
}

#[tokio::test]
async fn every_algorithm_is_verified_with_jwk_set_and_pem_keys() {
    let foreign = [
        Signer::rs256(1, Some("rsa")),
        Signer::es256(Some("ec")),
        Signer::eddsa(Some("ed")),
    ];
    let own = Signer::public_ones();
    let set = set_of(&own.each_ref().map(Signer::jwk));
    let (config, _file) = trusting_file(&set.to_string());
    let bridge = start_bridge_with(config).await;
    for (own, foreign) in own.iter().zip(&foreign) {
        good_and_forged(&bridge, own, foreign).await;
    }
    for (own, foreign) in own.iter().zip(&foreign) {
        let (config, _file) = trusting_file(&own.pem);
        let bridge = start_bridge_with(config).await;
        good_and_forged(&bridge, own, foreign).await;
    }
}

#[tokio::test]
async fn jwt_secret_accepts_only_hs256() {
    let bridge = start_bridge_with(trusting_secret()).await;
    let own = Signer::hs256();
    let token = own.token("ada");
    accepted(&bridge, "HS256", &token).await;
    refused(&bridge, "damaged", &damaged(&token)).await;
    refused(&bridge, "promoted", &promoted(&token)).await;
    for algorithm in [
        jsonwebtoken::Algorithm::HS384,
        jsonwebtoken::Algorithm::HS512,
    ] {
        let header = jsonwebtoken::Header::new(algorithm);
        let token = own.sign_under(&header, &claims("ada", EVERYTHING, 600.0));
        refused(&bridge, "a longer hash", &token).await;
    }
}

/// RFC 8725 section 2.1: the public key as the secret, the header as the judge.
#[tokio::test]
async fn a_public_key_is_never_used_as_an_hmac_secret() {
    let keys = Signer::public_ones();
    for own in &keys {
        let (config, _file) = trusting_file(&set_of(&[own.jwk()]).to_string());
        let bridge = start_bridge_with(config).await;
        let jwk = own.jwk();
        let secrets = [
            own.pem.clone(),
            own.pem.trim_end().to_owned(),
            jwk.to_string(),
            jwk["n"].as_str().or(jwk["x"].as_str()).unwrap().to_owned(),
        ];
        for secret in secrets {
            let key = jsonwebtoken::EncodingKey::from_secret(secret.as_bytes());
            for kid in [own.kid, None] {
                let header = jsonwebtoken::Header {
                    kid: kid.map(str::to_owned),
                    ..jsonwebtoken::Header::default()
                };
                let claims = claims("ada", EVERYTHING, 600.0);
                let token = jsonwebtoken::encode(&header, &claims, &key).unwrap();
                refused(&bridge, "HS256 with the public key", &token).await;
            }
        }
    }
}

#[tokio::test]
async fn unsigned_tokens_and_unknown_critical_headers_are_rejected() {
    let own = Signer::es256(Some("ec"));
    let (config, _file) = trusting_file(&set_of(&[own.jwk()]).to_string());
    let bridge = start_bridge_with(config).await;
    let claims = claims("ada", EVERYTHING, 600.0);
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
            let token = made_of(&header, &claims, signature);
            refused(&bridge, &header.to_string(), &token).await;
        }
    }
    let other = ["RS256", "EdDSA", "PS256", "ES384"];
    for algorithm in other {
        let good = own.sign(&claims);
        let signature = good.rsplit_once('.').unwrap().1;
        let header = json!({ "alg": algorithm, "kid": "ec" });
        refused(&bridge, algorithm, &made_of(&header, &claims, signature)).await;
    }
    let demanding = jsonwebtoken::Header {
        crit: Some(vec!["exp".to_owned()]),
        ..own.header()
    };
    let token = own.sign_under(&demanding, &claims);
    let (status, _, challenge) = knocks(&bridge.url(), &token).await;
    assert!(status == 401 && challenge.contains("crit"), "{challenge}");
    // A key that a token brings along is not looked at.
    let stranger = Signer::es256(None);
    let mut bringing = own.header();
    bringing.jwk = serde_json::from_value(stranger.jwk()).ok();
    let token = stranger.sign_under(&bringing, &claims);
    refused(&bridge, "a key of its own", &token).await;
}

#[tokio::test]
async fn missing_or_wrong_claims_are_named_in_the_challenge() {
    let bridge = start_bridge_with(trusting_secret()).await;
    let own = Signer::hs256();
    for (claim, value, word) in [
        ("iss", json!("https://else.test"), "iss"),
        ("aud", json!("https://else.test"), "aud"),
        ("sub", json!(""), "sub"),
        ("exp", Value::Null, "exp"),
        ("nbf", json!(unix() + 60.0), "nbf"),
    ] {
        let mut claims = claims("ada", EVERYTHING, 600.0);
        claims[claim] = value;
        let (status, code, challenge) = knocks(&bridge.url(), &own.sign(&claims)).await;
        assert_eq!(
            (status, code.as_str()),
            (401, "InvalidAuthentication"),
            "{claim}"
        );
        assert!(challenge.contains(word), "{claim}: {challenge}");
    }
    let expired = own.sign(&claims("ada", EVERYTHING, -1.0));
    let (status, code, challenge) = knocks(&bridge.url(), &expired).await;
    assert_eq!((status, code.as_str()), (401, "TokenExpired"));
    assert!(
        challenge.contains("error_description=\"the token has expired"),
        "{challenge}"
    );
}

#[tokio::test]
async fn opaque_tokens_are_valid_only_when_listed() {
    let mut config = trusting_secret();
    config.tokens = vec!["listed-token-0123456789".to_owned()];
    let listing = start_bridge_with(config).await;
    accepted(&listing, "listed", "listed-token-0123456789").await;
    accepted(&listing, "signed", &Signer::hs256().token("ada")).await;
    refused(&listing, "self-made", TOKEN).await;
    let bridge = start_bridge_with(trusting_secret()).await;
    refused(&bridge, "self-made", TOKEN).await;
    refused(&bridge, "with dots", "not.a.token-0123456789").await;
}
