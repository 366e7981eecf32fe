//! JWK Sets (RFC 7517, RFC 7518 section 6, RFC 8037).

use std::sync::Arc;

use jsonwebtoken::jwk::{Jwk, KeyOperations, PublicKeyUse};
use serde::Deserialize;
use serde_json::Value;

use crate::algorithm::Algorithm;
use crate::verification_key::VerificationKey;

/// The keys of a JWK Set.
#[derive(Debug, Default)]
pub struct JwkSet {
    pub keys: Vec<Arc<VerificationKey>>,
    /// The errors of the keys that are not valid.
    pub errors: Vec<String>,
}

/// Parses a JWK Set. Keys for encryption are ignored.
pub fn parse_jwk_set(text: &str) -> Result<JwkSet, String> {
    #[derive(Deserialize)]
    struct Set {
        keys: Vec<Value>,
    }
    // The error of serde could contain part of a secret.
    let set: Set = serde_json::from_str(text)
        .map_err(|_| "it is not a JWK Set: that is {\"keys\": [ … ]} in JSON".to_owned())?;
    let mut jwk_set = JwkSet::default();
    for (index, value) in set.keys.iter().enumerate() {
        let kid = value.get("kid").and_then(Value::as_str);
        let name = match kid {
            Some(kid) => format!("key {} (kid {kid:?})", index + 1),
            None => format!("key {}", index + 1),
        };
        match parse_jwk(value) {
            Ok(Some(key)) if jwk_set.contains(&key) => {
                let duplicate = "another key has the same `kid`";
                jwk_set.errors.push(format!("{name}: {duplicate}"));
            }
            Ok(Some(key)) => jwk_set.keys.push(Arc::new(key)),
            Ok(None) => {}
            Err(why) => jwk_set.errors.push(format!("{name}: {why}")),
        }
    }
    Ok(jwk_set)
}

impl JwkSet {
    fn contains(&self, key: &VerificationKey) -> bool {
        let same =
            |own: &Arc<VerificationKey>| own.kid == key.kid && own.algorithm == key.algorithm;
        key.kid.is_some() && self.keys.iter().any(same)
    }
}

/// Parses a JWK. Returns `None` for a key that is not for signatures.
fn parse_jwk(value: &Value) -> Result<Option<VerificationKey>, String> {
    let not_a_jwk = "it is not a JWK: `kty` is missing, or a field has the wrong type";
    let jwk = Jwk::deserialize(value).map_err(|_| not_a_jwk.to_owned())?;
    let key_use = jwk.common.public_key_use.as_ref();
    let operations = jwk.common.key_operations.as_ref();
    let is_for_signatures = key_use.is_none_or(|own| *own == PublicKeyUse::Signature)
        && operations.is_none_or(|own| own.contains(&KeyOperations::Verify));
    if !is_for_signatures {
        return Ok(None);
    }
    // The library ignores the private part of a key.
    if value.get("d").is_some_and(|private| !private.is_null()) {
        return Err("it is a private key: the bridge needs the public part only".to_owned());
    }
    let algorithm = Algorithm::from_jwk(&jwk).ok_or(UNUSED_KIND)?;
    check_alg(value, algorithm)?;
    VerificationKey::from_jwk(&jwk, algorithm).map(Some)
}

const UNUSED_KIND: &str = "it is of a kind that is not used here, or a field is missing or has the \
                           wrong type: allowed are \
                           RSA with `n` and `e`, EC on P-256 with `x` and `y`, OKP on Ed25519 with \
                           `x`, and oct with `k`";

/// Checks that `alg`, if the key has it, is the algorithm that a key of this kind is used for.
fn check_alg(value: &Value, algorithm: Algorithm) -> Result<(), String> {
    match value.get("alg").and_then(Value::as_str) {
        None => Ok(()),
        Some(alg) if alg == algorithm.as_str() => Ok(()),
        // RFC 9864 has another name for EdDSA on this curve.
        Some("Ed25519") if algorithm == Algorithm::EdDsa => Ok(()),
        Some(alg) => Err(format!(
            "its `alg` is {alg:?}: a key of this kind is used for {} here",
            algorithm.as_str()
        )),
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use serde_json::json;

    use super::*;

    #[test]
    fn errors_name_the_invalid_key_and_the_reason() {
        let point = URL_SAFE_NO_PAD.encode([1; 32]);
        let secret = URL_SAFE_NO_PAD.encode([7; 32]);
        let set = json!({ "keys": [
            { "kty": "oct", "k": secret, "kid": "good", "d": null },
            { "kty": "oct", "k": secret, "kid": "good" },
            { "kty": "RSA", "use": "enc", "n": "", "e": "" },
            { "kty": "OKP", "crv": "Ed25519", "x": "AAAA", "kid": "short" },
            { "kty": "OKP", "crv": "Ed25519", "x": point, "d": point },
            { "kty": "EC", "crv": "P-384" },
            { "kty": "RSA", "alg": "HS256", "n": point, "e": "AQAB" },
            { "kty": "oct", "alg": "HS512", "k": secret },
            { "kty": "EC", "crv": "P-256", "x": point },
            { "kty": "OKP", "crv": "Ed25519", "x": "=" },
            7,
        ] });
        let read = parse_jwk_set(&set.to_string()).unwrap();
        assert_eq!(read.keys.len(), 1);
        let expected = [
            ("key 2 (kid \"good\"): ", "same `kid`"),
            ("key 4 (kid \"short\"): ", "32 bytes"),
            ("key 5: ", "private key"),
            ("key 6: ", "EC on P-256"),
            ("key 7: ", "\"HS256\": a key of this kind is used for RS256"),
            ("key 8: ", "\"HS512\": a key of this kind is used for HS256"),
            ("key 9: ", "EC on P-256 with `x` and `y`"),
            ("key 10: ", "`x` is not base64url"),
            ("key 11: ", "not a JWK"),
        ];
        assert_eq!(read.errors.len(), expected.len());
        for (found, (key, why)) in read.errors.iter().zip(expected) {
            assert!(found.starts_with(key) && found.contains(why), "{found}");
            assert!(!found.contains(&secret), "{found}");
        }
        assert!(parse_jwk_set("{\"keys\": {}}").is_err());
    }
}
