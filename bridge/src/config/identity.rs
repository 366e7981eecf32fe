//! The settings of signed tokens: the keys that verify JSON Web Tokens, the required claims, and
//! the metadata for clients.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use bridge_auth::{JwtSettings, Scope};
use bridge_settings::{Secret, values};

/// Settings of JSON Web Tokens (RFC 7519) and of OAuth 2.0 Protected Resource Metadata (RFC 9728).
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Identity")]
pub struct Identity {
    /// Secret of tokens that are signed with HS256: at least 32 characters.
    #[arg(
        long,
        env = "MCP_WEB_JWT_SECRET",
        value_name = "SECRET",
        hide_env_values = true
    )]
    pub jwt_secret: Option<Secret>,

    /// File with the keys of signed tokens: a JWK Set (RFC 7517), or a public key as PEM.
    #[arg(long, env = "MCP_WEB_JWT_KEYS", value_name = "PATH")]
    pub jwt_keys: Option<PathBuf>,

    /// URL where the keys of signed tokens are published, as a JWK Set. `https://`, or `http://` on
    /// this machine.
    #[arg(long, env = "MCP_WEB_JWKS_URL", value_name = "URL")]
    pub jwks_url: Option<String>,

    /// Published keys are fetched again after this, and earlier when a token names one that is not
    /// among them.
    #[arg(long, env = "MCP_WEB_JWKS_REFRESH", value_name = "TIME", default_value = "10m", value_parser = values::parse_duration)]
    pub jwks_refresh: Duration,

    /// Published keys are used until this time after the last successful fetch.
    #[arg(long, env = "MCP_WEB_JWKS_MAX_AGE", value_name = "TIME", default_value = "24h", value_parser = values::parse_duration)]
    pub jwks_max_age: Duration,

    /// The issuer (`iss`) that signed tokens must have. Needed with any key.
    #[arg(long, env = "MCP_WEB_JWT_ISSUER", value_name = "ISSUER")]
    pub jwt_issuer: Option<String>,

    /// The audiences (`aud`) of which signed tokens must have one. Needed with any key.
    #[arg(
        long,
        env = "MCP_WEB_JWT_AUDIENCE",
        value_name = "AUDIENCE,…",
        value_delimiter = ','
    )]
    pub jwt_audience: Vec<String>,

    /// Maximum difference between clocks, for `exp` and `nbf`.
    #[arg(long, env = "MCP_WEB_JWT_LEEWAY", value_name = "TIME", default_value = "30s", value_parser = values::parse_duration_or_zero)]
    pub jwt_leeway: Duration,

    /// The claim with the id of the user. Issuer and id are the user's realm.
    #[arg(
        long,
        env = "MCP_WEB_JWT_SUBJECT_CLAIM",
        value_name = "CLAIM",
        default_value = "sub"
    )]
    pub jwt_subject_claim: String,

    /// The claim with the caller's roles: a list of texts, or one text separated by spaces.
    #[arg(
        long,
        env = "MCP_WEB_JWT_ROLES_CLAIM",
        value_name = "CLAIM",
        default_value = "roles"
    )]
    pub jwt_roles_claim: String,

    /// The claims with scopes, all of which count: lists of texts, or texts separated by spaces.
    #[arg(
        long,
        env = "MCP_WEB_JWT_SCOPE_CLAIMS",
        value_name = "CLAIM,…",
        value_delimiter = ',',
        default_values = ["scope", "scp"]
    )]
    pub jwt_scope_claims: Vec<String>,

    /// Scopes for other values of these claims: `api://bridge/Tools.Read=tools:read`.
    #[arg(
        long,
        env = "MCP_WEB_JWT_SCOPE_MAP",
        value_name = "VALUE=SCOPE,…",
        value_delimiter = ','
    )]
    pub jwt_scope_map: Vec<String>,

    /// Scopes of a signed token without any of these claims: of page, tools:read, tools:call, query.
    #[arg(
        long,
        env = "MCP_WEB_JWT_DEFAULT_SCOPES",
        value_name = "SCOPE,…",
        value_delimiter = ','
    )]
    pub jwt_default_scopes: Vec<String>,

    /// Authorization servers that issue tokens for this bridge: clients find them in its protected
    /// resource metadata (RFC 9728).
    #[arg(
        long,
        env = "MCP_WEB_AUTHORIZATION_SERVERS",
        value_name = "URL,…",
        value_delimiter = ','
    )]
    pub authorization_servers: Vec<String>,

    /// Scopes that clients request from these servers, under the names that the servers have for
    /// them. The scope of pages is left out, because clients request each scope that they see.
    #[arg(
        long,
        env = "MCP_WEB_OAUTH_SCOPES",
        value_name = "SCOPE,…",
        value_delimiter = ',',
        default_values = ["tools:read", "tools:call"]
    )]
    pub oauth_scopes: Vec<String>,

    /// URL at which clients reach this bridge through a proxy: `https://bridge.example.com`. If it has
    /// a path, the bridge serves its routes with and without the path. Without this setting, the URL
    /// is derived from the request's `Host`.
    #[arg(long, env = "MCP_WEB_PUBLIC_URL", value_name = "URL")]
    pub public_url: Option<String>,

    /// Invalid tokens per minute and address that are answered with 401. Beyond it the answer is
    /// 429. Valid tokens from the address are accepted.
    #[arg(long, env = "MCP_WEB_MAX_REFUSED_TOKENS", value_name = "N", default_value_t = 30, value_parser = values::parse_count)]
    pub max_refused_tokens: usize,

    /// The issuers of the tables `[[issuers]]`, each with the settings of signed tokens.
    #[arg(skip)]
    pub issuers: Vec<Identity>,
}

impl Identity {
    /// The settings of each issuer in the form that [`bridge_auth`] uses.
    pub(crate) fn jwt_settings(&self) -> Vec<JwtSettings> {
        self.all_issuers()
            .map(Self::jwt_settings_of_issuer)
            .collect()
    }

    /// The issuer of the flags, if one is set, and those of the tables.
    pub(crate) fn all_issuers(&self) -> impl Iterator<Item = &Self> {
        let own = self.has_own_issuer().then_some(self);
        own.into_iter().chain(&self.issuers)
    }

    pub(crate) fn has_own_issuer(&self) -> bool {
        self.jwt_secret.is_some()
            || self.jwt_keys.is_some()
            || self.jwks_url.is_some()
            || self.jwt_issuer.is_some()
            || !self.jwt_audience.is_empty()
    }

    pub(crate) fn jwt_settings_of_issuer(&self) -> JwtSettings {
        JwtSettings {
            secret: self.jwt_secret.clone(),
            key_file: self.jwt_keys.clone(),
            jwks_url: self.jwks_url.clone(),
            jwks_refresh: self.jwks_refresh,
            jwks_max_age: self.jwks_max_age,
            issuer: self.jwt_issuer.clone(),
            audience: self.jwt_audience.clone(),
            leeway: self.jwt_leeway,
            subject_claim: self.jwt_subject_claim.clone(),
            roles_claim: self.jwt_roles_claim.clone(),
            scope_claims: self.jwt_scope_claims.clone(),
            scope_map: self.jwt_scope_map.clone(),
            default_scopes: self.jwt_default_scopes.clone(),
        }
    }
}

impl Default for Identity {
    fn default() -> Self {
        let jwt = JwtSettings::default();
        Self {
            jwt_secret: None,
            jwt_keys: None,
            jwks_url: None,
            jwks_refresh: jwt.jwks_refresh,
            jwks_max_age: jwt.jwks_max_age,
            jwt_issuer: None,
            jwt_audience: Vec::new(),
            jwt_leeway: jwt.leeway,
            jwt_subject_claim: jwt.subject_claim,
            jwt_roles_claim: jwt.roles_claim,
            jwt_scope_claims: jwt.scope_claims,
            jwt_scope_map: Vec::new(),
            jwt_default_scopes: Vec::new(),
            authorization_servers: Vec::new(),
            oauth_scopes: Scope::FOR_CLIENTS.map(|scope| scope.to_string()).to_vec(),
            public_url: None,
            max_refused_tokens: 30,
            issuers: Vec::new(),
        }
    }
}
