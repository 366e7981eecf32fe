//! Verification of signed tokens: JSON Web Tokens (RFC 7519), by the recommendations of RFC 8725.

use std::sync::Arc;
use std::time::SystemTime;

use jsonwebtoken::Validation;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use crate::algorithm::Algorithm;
use crate::base64url::decode_base64url;
use crate::claims::ClaimRules;
use crate::error::AuthError;
use crate::jwk::parse_jwk_set;
use crate::jwks::Jwks;
use crate::jwt_settings::JwtSettings;
use crate::principal::Principal;
use crate::scopes::{Scope, Scopes};
use crate::verification_key::{KeyLookupError, VerificationKey, select_key};
use crate::verified_cache::VerifiedTokenCache;

/// Verifies signed tokens.
#[derive(Debug)]
pub struct SignedTokens {
    claim_rules: ClaimRules,
    configured_keys: Vec<Arc<VerificationKey>>,
    jwks: Option<Jwks>,
    verified_cache: VerifiedTokenCache,
}

impl SignedTokens {
    /// Returns `None` when no key is configured.
    pub fn new(settings: &JwtSettings) -> Result<Option<Self>, String> {
        let mut configured_keys = Vec::new();
        if let Some(secret) = &settings.secret {
            let key = VerificationKey::from_secret(None, secret.expose().as_bytes());
            configured_keys.push(Arc::new(key.map_err(|why| format!("`jwt_secret`: {why}"))?));
        }
        if let Some(path) = &settings.key_file {
            let file_error = |why| format!("`jwt_keys` {}: {why}", path.display());
            let text = std::fs::read_to_string(path)
                .map_err(|error| file_error(format!("it cannot be read: {error}")))?;
            configured_keys.extend(parse_key_file(&text).map_err(file_error)?);
        }
        if configured_keys.is_empty() && settings.jwks_url.is_none() {
            return if settings.issuer.is_some() || !settings.audience.is_empty() {
                Err(NO_VERIFICATION_KEYS.to_owned())
            } else {
                Ok(None)
            };
        }
        let rules = claim_rules(settings)?;
        let jwks = settings.jwks_url.as_deref();
        let jwks = jwks
            .map(|url| Jwks::new(url, settings.jwks_refresh))
            .transpose()?;
        Ok(Some(Self {
            claim_rules: rules,
            configured_keys,
            jwks,
            verified_cache: VerifiedTokenCache::default(),
        }))
    }

    /// Starts the task that fetches published keys.
    pub fn start(&self) {
        if let Some(published) = &self.jwks {
            published.refresher();
        }
    }

    /// Verifies the signature and the claims of a token. Waits only if keys must be fetched.
    pub async fn verify(&self, token: &str) -> Result<Principal, AuthError> {
        let is_trusted = |key: &Arc<VerificationKey>| self.is_trusted_key(key);
        if let Some(principal) = self
            .verified_cache
            .get(token, SystemTime::now(), is_trusted)
        {
            return Ok(principal);
        }
        let header = JwtHeader::parse(token)?;
        let key = self.find_key(&header).await?;
        let mut validation = Validation::new(key.algorithm.to_jsonwebtoken());
        // `ClaimRules` validates the claims, because its errors are more precise.
        validation.required_spec_claims.clear();
        validation.validate_exp = false;
        validation.validate_aud = false;
        let decoded =
            jsonwebtoken::decode::<Map<String, Value>>(token, &key.decoding_key, &validation);
        let claims = decoded.map_err(|_| invalid_token("its signature does not fit"))?;
        let principal = self
            .claim_rules
            .validate(&claims.claims, SystemTime::now())?;
        self.verified_cache.insert(token, &principal, key);
        Ok(principal)
    }

    /// Whether the key is still trusted: a published key may have been withdrawn.
    fn is_trusted_key(&self, key: &Arc<VerificationKey>) -> bool {
        let contains = |keys: &[Arc<VerificationKey>]| keys.iter().any(|own| Arc::ptr_eq(own, key));
        let snapshot = || self.jwks.as_ref().map(|it| it.refresher().snapshot());
        contains(&self.configured_keys)
            || snapshot().is_some_and(|snapshot| contains(&snapshot.keys))
    }

    async fn find_key(&self, header: &JwtHeader) -> Result<Arc<VerificationKey>, AuthError> {
        let select = |refresher: &[Arc<VerificationKey>]| {
            let keys = self.configured_keys.iter().chain(refresher);
            select_key(keys, header.kid.as_deref(), header.algorithm)
        };
        let selected = match &self.jwks {
            None => select(&[]),
            Some(refresher) => {
                let refresher = refresher.refresher();
                let snapshot = refresher.snapshot();
                match select(&snapshot.keys) {
                    Err(KeyLookupError::NotFound) => {
                        select(&refresher.refresh_after(&snapshot).await.keys)
                    }
                    found => found,
                }
            }
        };
        selected.map_err(|why| {
            invalid_token(match why {
                KeyLookupError::NotFound => "no key of this bridge fits its `kid` and `alg`",
                KeyLookupError::AlgorithmMismatch => "its `alg` is not that of the key it names",
                KeyLookupError::Ambiguous => "it names no key (`kid`), and several fit its `alg`",
            })
        })
    }
}

const NO_VERIFICATION_KEYS: &str = "`jwt_issuer` or `jwt_audience` is set, but nothing to check signed tokens with: set \
     `jwt_secret` (MCP_WEB_JWT_SECRET), `jwt_keys` (MCP_WEB_JWT_KEYS) or `jwks_url` \
     (MCP_WEB_JWKS_URL)";

/// Loads the keys of a file, all of which must be valid because the operator has chosen them.
fn parse_key_file(text: &str) -> Result<Vec<Arc<VerificationKey>>, String> {
    if text.trim_start().starts_with("-----BEGIN") {
        return Ok(vec![Arc::new(VerificationKey::from_pem(text)?)]);
    }
    let set = parse_jwk_set(text)?;
    match set.errors.first() {
        Some(error) => Err(error.clone()),
        None if set.keys.is_empty() => Err("it has no keys for signatures".to_owned()),
        None => Ok(set.keys),
    }
}

fn claim_rules(settings: &JwtSettings) -> Result<ClaimRules, String> {
    let issuer = settings.issuer.clone().filter(|iss| !iss.is_empty());
    let issuer = issuer.ok_or(
        "signed tokens are configured without an issuer: set `jwt_issuer` (MCP_WEB_JWT_ISSUER) to \
         the `iss` of their issuer",
    )?;
    let mut audience = settings.audience.clone();
    audience.retain(|own| !own.is_empty());
    if audience.is_empty() {
        return Err(
            "signed tokens are configured without an audience: set `jwt_audience` \
             (MCP_WEB_JWT_AUDIENCE) to the `aud` of tokens that are meant for this bridge"
                .to_owned(),
        );
    }
    let scopes = settings.default_scopes.iter();
    let scopes = scopes.map(|name| {
        Scope::from_name(name).ok_or_else(|| {
            let all = Scope::ALL.map(Scope::as_str).join(", ");
            format!("`jwt_default_scopes` has {name:?}: allowed are {all}")
        })
    });
    Ok(ClaimRules {
        issuer,
        audience,
        leeway: settings.leeway,
        roles_claim: settings.roles_claim.clone(),
        default_scopes: scopes.collect::<Result<Scopes, _>>()?,
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
