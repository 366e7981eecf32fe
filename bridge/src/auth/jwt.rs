//! Signed tokens: JSON Web Tokens (RFC 7519), as RFC 8725 advises.

use std::sync::Arc;
use std::time::SystemTime;

use jsonwebtoken::Validation;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use super::claims::Rules;
use super::jwk::{base64url, read_set};
use super::keys::{Algorithm, Key, NoKey, pick};
use super::published::Published;
use super::verified::Verified;
use super::{Principal, Scope, Scopes, TokenRefusal};
use crate::config::Identity;

/// Checks signed tokens.
#[derive(Debug)]
pub(super) struct SignedTokens {
    rules: Rules,
    configured: Vec<Arc<Key>>,
    published: Option<Published>,
    verified: Verified,
}

impl SignedTokens {
    /// `None` when no key is configured.
    pub(super) fn new(identity: &Identity) -> Result<Option<Self>, String> {
        let mut configured = Vec::new();
        if let Some(secret) = &identity.jwt_secret {
            let key = Key::secret(None, secret.bytes());
            configured.push(Arc::new(key.map_err(|why| format!("`jwt_secret`: {why}"))?));
        }
        if let Some(path) = &identity.jwt_keys {
            let wrong = |why| format!("`jwt_keys` {}: {why}", path.display());
            let text = std::fs::read_to_string(path)
                .map_err(|error| wrong(format!("it cannot be read: {error}")))?;
            configured.extend(read_keys(&text).map_err(wrong)?);
        }
        if configured.is_empty() && identity.jwks_url.is_none() {
            return match identity.jwt_issuer.is_some() || !identity.jwt_audience.is_empty() {
                true => Err(WITHOUT_KEYS.to_owned()),
                false => Ok(None),
            };
        }
        let rules = rules(identity)?;
        let published = identity.jwks_url.as_deref();
        let published = published
            .map(|url| Published::at(url, identity.jwks_refresh))
            .transpose()?;
        Ok(Some(Self {
            rules,
            configured,
            published,
            verified: Verified::default(),
        }))
    }

    /// Begins to fetch what must be fetched.
    pub(super) fn start(&self) {
        if let Some(published) = &self.published {
            published.fetching();
        }
    }

    pub(super) async fn verify(&self, token: &str) -> Result<Principal, TokenRefusal> {
        let known = |key: &Arc<Key>| self.counts(key);
        if let Some(principal) = self.verified.principal(token, SystemTime::now(), known) {
            return Ok(principal);
        }
        let header = Header::read(token)?;
        let key = self.key(&header).await?;
        let mut validation = Validation::new(key.algorithm.of_library());
        // Claims are read by our own rules, which say more exactly what is wrong.
        validation.required_spec_claims.clear();
        validation.validate_exp = false;
        validation.validate_aud = false;
        let decoded = jsonwebtoken::decode::<Map<String, Value>>(token, &key.material, &validation);
        let claims = decoded.map_err(|_| refused("its signature does not fit"))?;
        let principal = self.rules.principal(&claims.claims, SystemTime::now())?;
        self.verified.remember(token, &principal, key);
        Ok(principal)
    }

    /// Whether the key is still one of ours: a published one may have been withdrawn.
    fn counts(&self, key: &Arc<Key>) -> bool {
        let ours = |keys: &[Arc<Key>]| keys.iter().any(|own| Arc::ptr_eq(own, key));
        let published = || self.published.as_ref().map(|it| it.fetching().fetched());
        ours(&self.configured) || published().is_some_and(|fetched| ours(&fetched.keys))
    }

    async fn key(&self, header: &Header) -> Result<Arc<Key>, TokenRefusal> {
        let pick = |published: &[Arc<Key>]| {
            let keys = self.configured.iter().chain(published);
            pick(keys, header.kid.as_deref(), header.algorithm)
        };
        let picked = match &self.published {
            None => pick(&[]),
            Some(published) => {
                let published = published.fetching();
                let fetched = published.fetched();
                match pick(&fetched.keys) {
                    Err(NoKey::Unknown) => pick(&published.after(&fetched).await.keys),
                    known => known,
                }
            }
        };
        picked.map_err(|why| {
            refused(match why {
                NoKey::Unknown => "no key of this bridge fits its `kid` and `alg`",
                NoKey::OtherAlgorithm => "its `alg` is not that of the key it names",
                NoKey::Several => "it names no key (`kid`), and several fit its `alg`",
            })
        })
    }
}

const WITHOUT_KEYS: &str = "`jwt_issuer` or `jwt_audience` is set, but nothing to check signed tokens with: set \
     `jwt_secret` (MCP_WEB_JWT_SECRET), `jwt_keys` (MCP_WEB_JWT_KEYS) or `jwks_url` \
     (MCP_WEB_JWKS_URL)";

/// A file's keys must all be good: its operator meant each of them.
fn read_keys(text: &str) -> Result<Vec<Arc<Key>>, String> {
    if text.trim_start().starts_with("-----BEGIN") {
        return Ok(vec![Arc::new(Key::pem(text)?)]);
    }
    let set = read_set(text)?;
    match set.unusable.first() {
        Some(unusable) => Err(unusable.clone()),
        None if set.keys.is_empty() => Err("it has no keys for signatures".to_owned()),
        None => Ok(set.keys),
    }
}

fn rules(identity: &Identity) -> Result<Rules, String> {
    let issuer = identity.jwt_issuer.clone().filter(|iss| !iss.is_empty());
    let issuer = issuer.ok_or(
        "signed tokens are configured without an issuer: set `jwt_issuer` (MCP_WEB_JWT_ISSUER) to \
         the `iss` of their issuer",
    )?;
    let mut audience = identity.jwt_audience.clone();
    audience.retain(|own| !own.is_empty());
    if audience.is_empty() {
        return Err(
            "signed tokens are configured without an audience: set `jwt_audience` \
             (MCP_WEB_JWT_AUDIENCE) to the `aud` of tokens that are meant for this bridge"
                .to_owned(),
        );
    }
    let scopes = identity.jwt_default_scopes.iter();
    let scopes = scopes.map(|name| {
        Scope::named(name).ok_or_else(|| {
            let all = Scope::ALL.map(Scope::as_str).join(", ");
            format!("`jwt_default_scopes` has {name:?}: allowed are {all}")
        })
    });
    Ok(Rules {
        issuer,
        audience,
        leeway: identity.jwt_leeway,
        roles_claim: identity.jwt_roles_claim.clone(),
        default_scopes: scopes.collect::<Result<Scopes, _>>()?,
    })
}

/// What the header of a token says, as far as it is believed.
#[derive(Debug)]
struct Header {
    algorithm: Algorithm,
    kid: Option<String>,
}

impl Header {
    fn read(token: &str) -> Result<Self, TokenRefusal> {
        #[derive(Deserialize)]
        struct Fields {
            alg: String,
            kid: Option<String>,
            #[serde(default, deserialize_with = "present")]
            crit: bool,
        }
        let no_token = || TokenRefusal::invalid(NEITHER);
        let parts: Vec<_> = token.split('.').collect();
        let [header, _, _] = parts[..] else {
            return Err(no_token());
        };
        let header = base64url("", header).map_err(|_| no_token())?;
        let fields: Fields = serde_json::from_slice(&header).map_err(|_| no_token())?;
        if fields.crit {
            // RFC 7515 section 4.1.11: what must be understood, and is not.
            return Err(refused("it demands extensions (`crit`)"));
        }
        let algorithm = fields
            .alg
            .parse()
            .map_err(|()| refused("it is not signed with HS256, RS256, ES256 or EdDSA (`alg`)"))?;
        Ok(Self {
            algorithm,
            kid: fields.kid,
        })
    }
}

const NEITHER: &str = "the token is neither on this bridge's list nor a signed one (JWT): ask its \
                       operator where to get one";

fn present<'de, D: serde::Deserializer<'de>>(field: D) -> Result<bool, D::Error> {
    IgnoredAny::deserialize(field).map(|_| true)
}

fn refused(why: &str) -> TokenRefusal {
    TokenRefusal::invalid(format!("the token is not accepted: {why}"))
}
