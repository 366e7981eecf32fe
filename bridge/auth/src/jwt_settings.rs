//! The settings of signed tokens.

use std::path::PathBuf;
use std::time::Duration;

use bridge_settings::Secret;

/// The settings for JSON Web Tokens (RFC 7519): the keys that verify them and the claims that are
/// required. Without a key no such token is accepted.
#[derive(Clone, Debug)]
pub struct JwtSettings {
    /// The secret of tokens that are signed with HS256.
    pub secret: Option<Secret>,
    /// A file with keys: a JWK Set (RFC 7517), or a public key as PEM.
    pub key_file: Option<PathBuf>,
    /// The URL of a published JWK Set.
    pub jwks_url: Option<String>,
    /// How long published keys are used before they are fetched again.
    pub jwks_refresh: Duration,
    /// The issuer (`iss`) that tokens must have. Needed with any key.
    pub issuer: Option<String>,
    /// The audiences (`aud`) of which tokens must have one. Needed with any key.
    pub audience: Vec<String>,
    /// The tolerated clock difference for `exp` and `nbf`.
    pub leeway: Duration,
    /// The claim with the roles of the subject.
    pub roles_claim: String,
    /// The scopes of a token without a `scope` claim, by name.
    pub default_scopes: Vec<String>,
}

impl Default for JwtSettings {
    fn default() -> Self {
        Self {
            secret: None,
            key_file: None,
            jwks_url: None,
            jwks_refresh: Duration::from_secs(600),
            issuer: None,
            audience: Vec::new(),
            leeway: Duration::from_secs(30),
            roles_claim: "roles".to_owned(),
            default_scopes: Vec::new(),
        }
    }
}
