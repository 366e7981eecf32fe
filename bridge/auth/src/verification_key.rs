//! Keys that verify signed tokens, each for one algorithm.

use std::fmt;
use std::sync::Arc;

use jsonwebtoken::DecodingKey;
use jsonwebtoken::jwk::{AlgorithmParameters, Jwk};

use crate::algorithm::Algorithm;
use crate::base64url::decode_base64url;

/// RFC 7518 section 3.3 demands at least 2048 bits; the library supports up to 4096.
const RSA_MODULUS_BYTES: std::ops::RangeInclusive<usize> = 256..=512;

/// The size of a coordinate on P-256 and of a point on Ed25519, in bytes.
const POINT_BYTES: usize = 32;

/// RFC 7518 section 3.2 demands a secret that is at least as long as the hash.
const MIN_SECRET_BYTES: usize = 32;

/// A key and the only algorithm that it may be used with. The constructors set both together, so
/// that no public key can be used as the secret of HS256.
pub struct VerificationKey {
    pub kid: Option<String>,
    pub algorithm: Algorithm,
    pub decoding_key: DecodingKey,
}

impl VerificationKey {
    /// Creates a key for HS256. The secret must have at least 32 bytes.
    pub fn from_secret(kid: Option<String>, secret: &[u8]) -> Result<Self, String> {
        if secret.len() < MIN_SECRET_BYTES {
            return Err(format!(
                "the secret has {} bytes, and HS256 needs at least {MIN_SECRET_BYTES}",
                secret.len()
            ));
        }
        Ok(Self {
            kid,
            algorithm: Algorithm::Hs256,
            decoding_key: DecodingKey::from_secret(secret),
        })
    }

    /// Creates an RSA key from its modulus and exponent.
    pub fn from_rsa(kid: Option<String>, n: &[u8], e: &[u8]) -> Result<Self, String> {
        let significant = n.iter().skip_while(|byte| **byte == 0).count();
        if !RSA_MODULUS_BYTES.contains(&significant) || e.is_empty() || e.len() > 4 {
            return Err(format!(
                "an RSA key of {} bits: allowed are {} to {}, with an exponent of 1 to 4 bytes",
                significant * 8,
                RSA_MODULUS_BYTES.start() * 8,
                RSA_MODULUS_BYTES.end() * 8
            ));
        }
        Self::new_checked(
            kid,
            Algorithm::Rs256,
            DecodingKey::from_rsa_raw_components(n, e),
        )
    }

    /// Creates a key from a point on P-256.
    pub fn from_p256(kid: Option<String>, x: &[u8], y: &[u8]) -> Result<Self, String> {
        if [x.len(), y.len()] != [POINT_BYTES; 2] {
            return Err("`x` and `y` of a key on P-256 have 32 bytes each".to_owned());
        }
        // SEC 1 section 2.3.3: an uncompressed point.
        let point = [&[4], x, y].concat();
        Self::new_checked(kid, Algorithm::Es256, DecodingKey::from_ec_der(&point))
    }

    /// Creates a key from a point on Ed25519.
    pub fn from_ed25519(kid: Option<String>, x: &[u8]) -> Result<Self, String> {
        // The library would panic for a shorter key.
        if x.len() != POINT_BYTES {
            return Err("`x` of a key on Ed25519 has 32 bytes".to_owned());
        }
        Self::new_checked(kid, Algorithm::EdDsa, DecodingKey::from_ed_der(x))
    }

    /// Creates a key from a public key in PEM, whose type determines the algorithm.
    pub fn from_pem(text: &str) -> Result<Self, String> {
        if text.matches("-----BEGIN").count() != 1 {
            return Err("it has several PEM blocks: put several keys into a JWK Set".to_owned());
        }
        if text.contains("PRIVATE KEY-----") {
            return Err("it is a private key: the bridge needs the public one only".to_owned());
        }
        let pem = text.as_bytes();
        let material = DecodingKey::from_rsa_pem(pem)
            .or_else(|_| DecodingKey::from_ec_pem(pem))
            .or_else(|_| DecodingKey::from_ed_pem(pem))
            .map_err(|_| INVALID_PEM.to_owned())?;
        let jwk = Jwk::from_decoding_key(&material, None).map_err(|_| INVALID_PEM.to_owned())?;
        let algorithm = Algorithm::from_jwk(&jwk).ok_or(INVALID_PEM)?;
        Self::from_jwk(&jwk, algorithm)
    }

    /// Creates a key from a JWK whose parameters are for this algorithm.
    pub fn from_jwk(jwk: &Jwk, algorithm: Algorithm) -> Result<Self, String> {
        let kid = jwk.common.key_id.clone();
        match &jwk.algorithm {
            AlgorithmParameters::OctetKey(secret) => {
                Self::from_secret(kid, &decode_base64url("k", &secret.value)?)
            }
            AlgorithmParameters::RSA(rsa) => Self::from_rsa(
                kid,
                &decode_base64url("n", &rsa.n)?,
                &decode_base64url("e", &rsa.e)?,
            ),
            AlgorithmParameters::EllipticCurve(ec) => Self::from_p256(
                kid,
                &decode_base64url("x", &ec.x)?,
                &decode_base64url("y", &ec.y)?,
            ),
            AlgorithmParameters::OctetKeyPair(ed) => {
                Self::from_ed25519(kid, &decode_base64url("x", &ed.x)?)
            }
            _ => Err(format!("it is not a valid key for {}", algorithm.as_str())),
        }
    }

    /// Checks that the library can use the key, so that the error does not appear only with the
    /// first token.
    fn new_checked(
        kid: Option<String>,
        algorithm: Algorithm,
        decoding_key: DecodingKey,
    ) -> Result<Self, String> {
        jsonwebtoken::crypto::verify("", b"", &decoding_key, algorithm.to_jsonwebtoken())
            .map_err(|_| format!("it is not a valid key for {}", algorithm.as_str()))?;
        Ok(Self {
            kid,
            algorithm,
            decoding_key,
        })
    }
}

const INVALID_PEM: &str = "it is not a PEM file with a public key: allowed are RSA keys, and keys on P-256 \
                      and Ed25519, as `PUBLIC KEY`";

/// Shows no key material, not even of public keys, because secrets have the same type.
impl fmt::Debug for VerificationKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key")
            .field("kid", &self.kid)
            .field("algorithm", &self.algorithm)
            .finish_non_exhaustive()
    }
}

/// The reason why no key was selected for a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyLookupError {
    /// No key has the `kid` of the token, or none is for its algorithm.
    NotFound,
    /// The key with this `kid` is for another algorithm.
    AlgorithmMismatch,
    /// Several keys match.
    Ambiguous,
    /// The keys of the issuer could not be fetched, so that the key may exist.
    Unavailable,
}

/// The key that the header of a token names.
#[derive(Clone, Copy, Debug)]
pub struct KeyName<'a> {
    pub kid: Option<&'a str>,
    pub algorithm: Algorithm,
}

/// Selects the key with the `kid` of the token or, without a `kid`, the only key for its algorithm.
/// Keys without a `kid` (secrets, PEM files) are used when no key has the `kid` of the token.
pub fn select_key<'a>(
    keys: impl Iterator<Item = &'a Arc<VerificationKey>> + Clone,
    KeyName { kid, algorithm }: KeyName<'_>,
) -> Result<Arc<VerificationKey>, KeyLookupError> {
    let named = |key: &&Arc<VerificationKey>| kid.is_some() && key.kid.as_deref() == kid;
    let candidates = |key: &&Arc<VerificationKey>| kid.is_none() || key.kid.is_none();
    let fits = |key: &&Arc<VerificationKey>| key.algorithm == algorithm;
    if keys.clone().any(|key| named(&key)) {
        return exactly_one(
            keys.filter(named).filter(fits),
            KeyLookupError::AlgorithmMismatch,
        );
    }
    exactly_one(
        keys.filter(candidates).filter(fits),
        KeyLookupError::NotFound,
    )
}

fn exactly_one<'a>(
    mut keys: impl Iterator<Item = &'a Arc<VerificationKey>>,
    without: KeyLookupError,
) -> Result<Arc<VerificationKey>, KeyLookupError> {
    match (keys.next(), keys.next()) {
        (Some(key), None) => Ok(Arc::clone(key)),
        (None, _) => Err(without),
        (Some(_), Some(_)) => Err(KeyLookupError::Ambiguous),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(kid: Option<&str>, algorithm: Algorithm) -> Arc<VerificationKey> {
        Arc::new(VerificationKey {
            kid: kid.map(str::to_owned),
            algorithm,
            decoding_key: DecodingKey::from_secret(b"any"),
        })
    }

    #[test]
    fn a_key_is_selected_by_kid_or_by_unique_algorithm() {
        use Algorithm::{EdDsa, Es256, Hs256, Rs256};
        let keys = [
            key(Some("a"), Rs256),
            key(Some("b"), Rs256),
            key(Some("c"), Es256),
            key(None, Hs256),
        ];
        let picked = |kid, algorithm| {
            let key = select_key(keys.iter(), KeyName { kid, algorithm })?;
            Ok(keys.iter().position(|own| Arc::ptr_eq(own, &key)).unwrap())
        };
        assert_eq!(picked(Some("b"), Rs256), Ok(1));
        assert_eq!(
            picked(Some("b"), Es256),
            Err(KeyLookupError::AlgorithmMismatch)
        );
        assert_eq!(
            picked(Some("b"), Hs256),
            Err(KeyLookupError::AlgorithmMismatch)
        );
        assert_eq!(picked(Some("new"), Rs256), Err(KeyLookupError::NotFound));
        assert_eq!(picked(Some("new"), Hs256), Ok(3));
        assert_eq!(picked(None, Rs256), Err(KeyLookupError::Ambiguous));
        assert_eq!(picked(None, Es256), Ok(2));
        assert_eq!(picked(None, EdDsa), Err(KeyLookupError::NotFound));
        let twice = [key(Some("a"), Rs256), key(Some("a"), Rs256)];
        let name = KeyName {
            kid: Some("a"),
            algorithm: Rs256,
        };
        assert_eq!(
            select_key(twice.iter(), name).unwrap_err(),
            KeyLookupError::Ambiguous
        );
    }

    #[test]
    fn unusable_keys_are_rejected() {
        let secret = VerificationKey::from_secret(None, &[7; 31]).unwrap_err();
        assert!(secret.contains("31 bytes"), "{secret}");
        let short = VerificationKey::from_rsa(None, &[0xFF; 128], &[1, 0, 1]).unwrap_err();
        assert!(short.contains("1024 bits"), "{short}");
        assert!(VerificationKey::from_rsa(None, &[0xFF; 513], &[1, 0, 1]).is_err());
        // The point is not on the curve.
        assert!(VerificationKey::from_p256(None, &[1; 32], &[1; 32]).is_err());
        assert!(VerificationKey::from_p256(None, &[1; 48], &[1; 48]).is_err());
        assert!(VerificationKey::from_ed25519(None, &[1; 31]).is_err());
        let pem = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
        assert!(
            VerificationKey::from_pem(pem)
                .unwrap_err()
                .contains("private")
        );
        assert!(VerificationKey::from_pem("-----BEGIN NONSENSE-----").is_err());
    }
}
