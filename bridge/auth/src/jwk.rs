//! JWK Sets (RFC 7517, RFC 7518 section 6, RFC 8037).

use std::sync::Arc;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::base64url::decode_base64url;
use crate::verification_key::{Algorithm, VerificationKey};

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
    // The error of serde could contain a part of a secret.
    let set: Set = serde_json::from_str(text)
        .map_err(|_| "it is no JWK Set: that is {\"keys\": [ … ]} in JSON".to_owned())?;
    let mut jwk_set = JwkSet::default();
    for (index, value) in set.keys.into_iter().enumerate() {
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

#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    r#use: Option<String>,
    key_ops: Option<Vec<String>>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
    k: Option<String>,
    /// The private part.
    d: Option<IgnoredAny>,
}

/// `None`: not for signatures.
fn parse_jwk(value: Value) -> Result<Option<VerificationKey>, String> {
    let no_key = "it is no JWK: `kty` is missing, or a field has the wrong type";
    let jwk: Jwk = serde_json::from_value(value).map_err(|_| no_key.to_owned())?;
    let for_signatures = jwk.r#use.as_deref().is_none_or(|own| own == "sig")
        && jwk
            .key_ops
            .as_ref()
            .is_none_or(|ops| ops.iter().any(|op| op == "verify"));
    if !for_signatures {
        return Ok(None);
    }
    if jwk.d.is_some() {
        return Err("it is a private key: the bridge needs the public part only".to_owned());
    }
    let algorithm = jwk_algorithm(&jwk)?;
    let decode_field = |name: &str, field: &Option<String>| match field {
        Some(text) => decode_base64url(name, text),
        None => Err(format!("`{name}` is missing")),
    };
    let kid = jwk.kid.clone();
    match algorithm {
        Algorithm::Hs256 => VerificationKey::from_secret(kid, &decode_field("k", &jwk.k)?),
        Algorithm::Rs256 => VerificationKey::from_rsa(
            kid,
            &decode_field("n", &jwk.n)?,
            &decode_field("e", &jwk.e)?,
        ),
        Algorithm::Es256 => VerificationKey::from_p256(
            kid,
            &decode_field("x", &jwk.x)?,
            &decode_field("y", &jwk.y)?,
        ),
        Algorithm::EdDsa => VerificationKey::from_ed25519(kid, &decode_field("x", &jwk.x)?),
    }
    .map(Some)
}

/// The one algorithm that the kind of key is for here. `alg`, when it is there, must agree.
fn jwk_algorithm(jwk: &Jwk) -> Result<Algorithm, String> {
    let algorithm = match (jwk.kty.as_str(), jwk.crv.as_deref()) {
        ("oct", _) => Algorithm::Hs256,
        ("RSA", _) => Algorithm::Rs256,
        ("EC", Some("P-256")) => Algorithm::Es256,
        ("OKP", Some("Ed25519")) => Algorithm::EdDsa,
        _ => {
            let allowed = "it is of a kind that is not used here: allowed are RSA, EC on P-256, \
                           OKP on Ed25519, and oct";
            return Err(allowed.to_owned());
        }
    };
    match jwk.alg.as_deref() {
        None => Ok(algorithm),
        Some(alg) if alg == algorithm.as_str() => Ok(algorithm),
        // RFC 9864 gives the same a name of its own.
        Some("Ed25519") if algorithm == Algorithm::EdDsa => Ok(algorithm),
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
            { "kty": "oct", "k": secret, "kid": "good" },
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
            ("key 9: ", "`y` is missing"),
            ("key 10: ", "`x` is not base64url"),
            ("key 11: ", "no JWK"),
        ];
        assert_eq!(read.errors.len(), expected.len());
        for (found, (key, why)) in read.errors.iter().zip(expected) {
            assert!(found.starts_with(key) && found.contains(why), "{found}");
            assert!(!found.contains(&secret), "{found}");
        }
        assert!(parse_jwk_set("{\"keys\": {}}").is_err());
    }
}
