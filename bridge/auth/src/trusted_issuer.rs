//! An issuer whose signed tokens are accepted: its keys, and the rules for the claims of its tokens.

use std::sync::Arc;

use bridge_edge::ClientAddress;

use crate::claim_scopes::{ScopeRules, parse_scope_mapping};
use crate::claims::ClaimRules;
use crate::jwk::parse_jwk_set;
use crate::jwks::{Jwks, JwksRefresher, KeyWaits};
use crate::jwt_settings::JwtSettings;
use crate::scopes::Scope;
use crate::verification_key::{KeyLookupError, KeyName, VerificationKey, select_key};

/// The keys and the claim rules of one issuer.
#[derive(Debug)]
pub struct TrustedIssuer {
    pub claim_rules: ClaimRules,
    configured_keys: Vec<Arc<VerificationKey>>,
    jwks: Option<Arc<Jwks>>,
}

impl TrustedIssuer {
    /// Loads the keys of the settings, of which there must be some.
    ///
    /// # Errors
    ///
    /// Describes the error in the settings and what to change.
    pub fn new(settings: &JwtSettings) -> Result<Self, String> {
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
            return Err(NO_VERIFICATION_KEYS.to_owned());
        }
        let claim_rules = claim_rules(settings)?;
        let jwks = settings.jwks_url.as_deref();
        let jwks = jwks
            .map(|url| Jwks::new(url, settings.jwks_refresh, settings.jwks_max_age).map(Arc::new))
            .transpose()?;
        Ok(Self {
            claim_rules,
            configured_keys,
            jwks,
        })
    }

    /// The task that fetches published keys, if there are any. It is started by the first call.
    pub fn refresher(&self) -> Option<&JwksRefresher> {
        self.jwks.as_deref().map(Jwks::refresher)
    }

    /// Uses the published keys of another issuer, if they are those of the same address. Returns whether
    /// they are.
    pub fn share_published_keys(&mut self, other: &Self) -> bool {
        let (Some(own), Some(former)) = (&self.jwks, &other.jwks) else {
            return false;
        };
        let is_same = own.is_same_source(former);
        if is_same {
            self.jwks = Some(Arc::clone(former));
        }
        is_same
    }

    /// Whether there are keys now.
    pub fn has_keys(&self) -> bool {
        !self.configured_keys.is_empty() || self.refresher().is_some_and(JwksRefresher::has_keys)
    }

    /// Whether the key is still trusted: a published key may have been withdrawn.
    pub fn trusts(&self, key: &Arc<VerificationKey>) -> bool {
        let mut configured = self.configured_keys.iter();
        configured.any(|own| Arc::ptr_eq(own, key))
            || self.refresher().is_some_and(|it| it.contains(key))
    }

    /// Finds the key that a token names. Waits only if keys must be fetched.
    ///
    /// # Errors
    ///
    /// The reason why no key was selected.
    pub async fn find_key(
        &self,
        name: KeyName<'_>,
        waits: &KeyWaits,
        client: ClientAddress,
    ) -> Result<Arc<VerificationKey>, KeyLookupError> {
        match self.refresher() {
            None => select_key(self.configured_keys.iter(), name),
            Some(published) => {
                let configured = &self.configured_keys;
                published.find_key(name, configured, waits, client).await
            }
        }
    }
}

const NO_VERIFICATION_KEYS: &str = "there is nothing to check signed tokens with: set `jwt_secret` \
     (MCP_WEB_JWT_SECRET), `jwt_keys` (MCP_WEB_JWT_KEYS) or `jwks_url` (MCP_WEB_JWKS_URL)";

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
    Ok(ClaimRules {
        issuer,
        audience,
        leeway: settings.leeway,
        subject_claim: settings.subject_claim.clone(),
        roles_claim: settings.roles_claim.clone(),
        scopes: scope_rules(settings)?,
    })
}

fn scope_rules(settings: &JwtSettings) -> Result<ScopeRules, String> {
    let mapping = settings.scope_map.iter().map(|entry| {
        parse_scope_mapping(entry)
            .map_err(|allowed| format!("`jwt_scope_map` has {entry:?}: {allowed}"))
    });
    let default = settings.default_scopes.iter().map(|name| {
        Scope::from_name(name).ok_or_else(|| {
            let all = Scope::ALL.map(Scope::as_str).join(", ");
            format!("`jwt_default_scopes` has {name:?}: allowed are {all}")
        })
    });
    Ok(ScopeRules {
        claims: settings.scope_claims.clone(),
        map: mapping.collect::<Result<_, _>>()?,
        default: default.collect::<Result<_, _>>()?,
    })
}
