//! Keys that sign tokens.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header};
use serde_json::{Value, json};

pub(crate) const ISSUER: &str = "https://issuer.test";
pub(crate) const AUDIENCE: &str = "https://bridge.test/mcp";

/// A key on Ed25519.
pub(crate) struct Signer {
    kid: &'static str,
    private: EncodingKey,
    /// The public key as PEM.
    pem: String,
}

impl Signer {
    pub(crate) fn new(kid: &'static str) -> Self {
        let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).unwrap();
        Self {
            kid,
            private: EncodingKey::from_ed_pem(key.serialize_pem().as_bytes()).unwrap(),
            pem: key.public_key_pem(),
        }
    }

    /// The public key as JWK.
    pub(crate) fn jwk(&self) -> Value {
        let public = DecodingKey::from_ed_pem(self.pem.as_bytes()).unwrap();
        let mut jwk = Jwk::from_decoding_key(&public, Some(Algorithm::EdDSA)).unwrap();
        jwk.common.key_id = Some(self.kid.to_owned());
        serde_json::to_value(jwk).unwrap()
    }

    pub(crate) fn sign(&self, claims: &Value) -> String {
        let header = Header {
            kid: Some(self.kid.to_owned()),
            ..Header::new(Algorithm::EdDSA)
        };
        jsonwebtoken::encode(&header, claims, &self.private).unwrap()
    }

    /// A token that is valid for ten minutes.
    pub(crate) fn token(&self, sub: &str) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        self.sign(&json!({
            "iss": ISSUER,
            "aud": AUDIENCE,
            "sub": sub,
            "exp": now.as_secs() + 600,
        }))
    }
}

/// Replaces the header of a token by one with this key id. The signature is not valid any more.
pub(crate) fn with_kid(token: &str, kid: &str) -> String {
    let header = json!({ "alg": "EdDSA", "kid": kid }).to_string();
    let (_, rest) = token.split_once('.').unwrap();
    format!("{}.{rest}", URL_SAFE_NO_PAD.encode(header))
}
