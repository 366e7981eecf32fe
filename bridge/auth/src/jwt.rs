//! Verification of signed tokens: JSON Web Tokens (RFC 7519), by the recommendations of RFC 8725.

use std::time::{Duration, SystemTime};

use bridge_edge::ClientAddress;
use jsonwebtoken::Validation;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use crate::algorithm::Algorithm;
use crate::base64url::decode_base64url;
use crate::claims::unknown_issuer;
use crate::error::AuthError;
use crate::jwks::KeyWaits;
use crate::jwt_settings::JwtSettings;
use crate::principal::Principal;
use crate::trusted_issuer::TrustedIssuer;
use crate::verification_key::{KeyLookupError, KeyName};
use crate::verified_cache::{DEFAULT_CACHE_BYTES, VerifiedTokenCache};

/// Verifies the signed tokens of all configured issuers.
#[derive(Debug)]
pub struct SignedTokens {
    issuers: Vec<TrustedIssuer>,
    verified_cache: VerifiedTokenCache,
    key_waits: KeyWaits,
}

/// The state of the published keys of an issuer.
#[derive(Clone, Copy, Debug)]
pub struct KeySetStatus {
    /// The number of the issuer in the order of the settings, from 1.
    pub issuer: usize,
    /// The time since the last successful fetch or, if there was none, since the start.
    pub age: Duration,
    /// The number of fetches that have failed.
    pub failed_fetches: u64,
}

impl SignedTokens {
    /// Returns `None` when no issuer is configured.
    ///
    /// # Errors
    ///
    /// Describes the error in the settings and what to change.
    pub fn new(settings: &[JwtSettings]) -> Result<Option<Self>, String> {
        let mut issuers: Vec<TrustedIssuer> = Vec::new();
        for (index, settings_of_issuer) in settings.iter().enumerate() {
            let number = match settings {
                [_] => String::new(),
                _ => format!("issuer {}: ", index + 1),
            };
            let issuer = TrustedIssuer::new(settings_of_issuer);
            let issuer = issuer.map_err(|why| format!("{number}{why}"))?;
            let name = &issuer.claim_rules.issuer;
            if issuers.iter().any(|own| own.claim_rules.issuer == *name) {
                return Err(format!(
                    "{number}`jwt_issuer` is {name:?}, which another issuer has: give one all keys \
                     and audiences"
                ));
            }
            issuers.push(issuer);
        }
        Ok((!issuers.is_empty()).then(|| Self {
            issuers,
            verified_cache: VerifiedTokenCache::new(DEFAULT_CACHE_BYTES),
            key_waits: KeyWaits::default(),
        }))
    }

    /// Sets the maximum size of the cache of verified tokens, which is empty afterwards.
    pub fn set_cache_bytes(&mut self, max_bytes: usize) {
        self.verified_cache = VerifiedTokenCache::new(max_bytes);
    }

    /// Starts the tasks that fetch published keys.
    pub fn start(&self) {
        for issuer in &self.issuers {
            issuer.refresher();
        }
    }

    /// Takes over the published keys of former rules, where their address is the same. Those of other
    /// addresses are fetched now.
    ///
    /// # Errors
    ///
    /// When another address has no keys.
    pub async fn take_over(&mut self, former: Option<&Self>) -> Result<(), String> {
        let mut others = Vec::new();
        for issuer in &mut self.issuers {
            let mut known = former.into_iter().flat_map(|former| &former.issuers);
            if !known.any(|known| issuer.share_published_keys(known)) {
                // All are fetched at the same time.
                issuer.refresher();
                others.push(&*issuer);
            }
        }
        for issuer in others {
            if let Some(published) = issuer.refresher()
                && !published.is_fetched().await
            {
                let name = &issuer.claim_rules.issuer;
                return Err(format!(
                    "the keys of {name:?} cannot be fetched: check `jwks_url`"
                ));
            }
        }
        Ok(())
    }

    /// Fetches published keys again, unless they were fetched a moment ago.
    pub fn refetch(&self) {
        for published in self.issuers.iter().filter_map(TrustedIssuer::refresher) {
            published.refetch();
        }
    }

    /// Whether the tokens of any issuer can be verified now.
    pub fn has_keys(&self) -> bool {
        self.issuers.iter().any(TrustedIssuer::has_keys)
    }

    /// The published keys, for metrics.
    pub fn key_sets(&self) -> impl Iterator<Item = KeySetStatus> {
        let issuers = self.issuers.iter().enumerate();
        issuers.filter_map(|(index, issuer)| {
            let published = issuer.refresher()?;
            Some(KeySetStatus {
                issuer: index + 1,
                age: published.age(),
                failed_fetches: published.failures(),
            })
        })
    }

    /// Verifies the signature and the claims of a token that a client has sent from this address.
    /// Waits only if keys must be fetched.
    ///
    /// # Errors
    ///
    /// The reason why the token is refused.
    pub async fn verify(&self, token: &str, client: ClientAddress) -> Result<Principal, AuthError> {
        let is_trusted = |key: &_| self.issuers.iter().any(|issuer| issuer.trusts(key));
        if let Some(principal) = self
            .verified_cache
            .get(token, SystemTime::now(), is_trusted)
        {
            return Ok(principal);
        }
        let header = JwtHeader::parse(token)?;
        let issuer = self.issuer_of(token)?;
        let name = KeyName {
            kid: header.kid.as_deref(),
            algorithm: header.algorithm,
        };
        let key = issuer.find_key(name, &self.key_waits, client).await;
        let key = key.map_err(key_error)?;
        let mut validation = Validation::new(key.algorithm.to_jsonwebtoken());
        // `ClaimRules` validates the claims, because its errors are more precise.
        validation.required_spec_claims.clear();
        validation.validate_exp = false;
        validation.validate_aud = false;
        let decoded =
            jsonwebtoken::decode::<Map<String, Value>>(token, &key.decoding_key, &validation);
        let claims = decoded.map_err(|_| invalid_token("its signature does not fit"))?;
        let now = SystemTime::now();
        let principal = issuer.claim_rules.validate(&claims.claims, now)?;
        self.verified_cache.insert(token, now, &principal, key);
        Ok(principal)
    }

    /// Returns the issuer that a token names. It is not verified yet, so it only selects the keys. A
    /// token of another issuer causes no fetch.
    fn issuer_of(&self, token: &str) -> Result<&TrustedIssuer, AuthError> {
        #[derive(Deserialize)]
        struct Fields {
            iss: Option<Value>,
        }
        let claims = token.split('.').nth(1).unwrap_or_default();
        let claims = decode_base64url("", claims).ok();
        let fields: Option<Fields> = claims.and_then(|it| serde_json::from_slice(&it).ok());
        let fields = fields.ok_or_else(|| invalid_token("its claims are not a JSON object"))?;
        let name = fields.iss.as_ref().and_then(Value::as_str);
        let mut issuers = self.issuers.iter();
        issuers
            .find(|own| name == Some(&own.claim_rules.issuer))
            .ok_or_else(unknown_issuer)
    }
}

fn key_error(error: KeyLookupError) -> AuthError {
    invalid_token(match error {
        KeyLookupError::Unavailable => return AuthError::unavailable(),
        KeyLookupError::NotFound => "no key of this bridge fits its `kid` and `alg`",
        KeyLookupError::AlgorithmMismatch => "its `alg` is not that of the key it names",
        KeyLookupError::Ambiguous => "it names no key (`kid`), and several fit its `alg`",
    })
}

/// The fields of the header of a token that are used.
#[derive(Debug)]
struct JwtHeader {
    algorithm: Algorithm,
    kid: Option<String>,
}

impl JwtHeader {
    fn parse(token: &str) -> Result<Self, AuthError> {
        #[derive(Deserialize)]
        struct Fields {
            alg: String,
            kid: Option<String>,
            #[serde(default, deserialize_with = "present")]
            crit: bool,
        }
        let unknown_token = || AuthError::invalid(UNKNOWN_TOKEN);
        let parts: Vec<_> = token.split('.').collect();
        let [header, _, _] = parts[..] else {
            return Err(unknown_token());
        };
        let header = decode_base64url("", header).map_err(|_| unknown_token())?;
        let fields: Fields = serde_json::from_slice(&header).map_err(|_| unknown_token())?;
        if fields.crit {
            // RFC 7515 section 4.1.11: a token with critical extensions that the verifier does not
            // support is invalid.
            return Err(invalid_token("it demands extensions (`crit`)"));
        }
        let algorithm = fields.alg.parse().map_err(|()| {
            let allowed = Algorithm::alternatives();
            invalid_token(&format!("it is not signed with {allowed} (`alg`)"))
        })?;
        Ok(Self {
            algorithm,
            kid: fields.kid,
        })
    }
}

const UNKNOWN_TOKEN: &str = "the token is neither on this bridge's list nor a signed one (JWT): ask its \
                       operator where to get one";

fn present<'de, D: serde::Deserializer<'de>>(field: D) -> Result<bool, D::Error> {
    IgnoredAny::deserialize(field).map(|_| true)
}

fn invalid_token(why: &str) -> AuthError {
    AuthError::invalid(format!("the token is not accepted: {why}"))
}
