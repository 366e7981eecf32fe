//! The settings of signed tokens.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bridge_settings::Secret;

/// The settings for JSON Web Tokens (RFC 7519) of one issuer: the keys that verify them, the claims
/// that are required, and what the claims grant. Without a key no such token is accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JwtSettings {
    /// The secret of tokens that are signed with HS256.
    pub secret: Option<Secret>,
    /// A file with keys: a JWK Set (RFC 7517), or a public key as PEM.
    pub key_file: Option<PathBuf>,
    /// The URL of a published JWK Set.
    pub jwks_url: Option<String>,
    /// How long published keys are used before they are fetched again.
    pub jwks_refresh: Duration,
    /// How long published keys are used after the last successful fetch.
    pub jwks_max_age: Duration,
    /// The issuer (`iss`) that tokens must have. Needed with any key.
    pub issuer: Option<String>,
    /// The audiences (`aud`) of which tokens must have one. Needed with any key.
    pub audience: Vec<String>,
    /// The tolerated clock difference for `exp` and `nbf`.
    pub leeway: Duration,
    /// The claim with the id of the subject.
    pub subject_claim: String,
    /// The claim with the roles of the subject.
    pub roles_claim: String,
    /// The claims whose values grant scopes.
    pub scope_claims: Vec<String>,
    /// The scopes of other values of these claims, as `VALUE=SCOPE`.
    pub scope_map: Vec<String>,
    /// The scopes of a token without any of the scope claims, by name.
    pub default_scopes: Vec<String>,
}

impl JwtSettings {
    /// The files that are read.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.key_file.as_deref().into_iter()
    }
}

impl Default for JwtSettings {
    fn default() -> Self {
        Self {
            secret: None,
            key_file: None,
            jwks_url: None,
            jwks_refresh: Duration::from_secs(600),
            jwks_max_age: Duration::from_secs(24 * 60 * 60),
            issuer: None,
            audience: Vec::new(),
            leeway: Duration::from_secs(30),
            subject_claim: "sub".to_owned(),
            roles_claim: "roles".to_owned(),
            scope_claims: vec!["scope".to_owned(), "scp".to_owned()],
            scope_map: Vec::new(),
            default_scopes: Vec::new(),
        }
    }
}
