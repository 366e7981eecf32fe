//! Rules about tokens, keys and OAuth.

use bridge_auth::JwtSettings;
use bridge_edge::StateFolder;
use bridge_settings::file_permissions::has_mode_bits;
use bridge_settings::{warning_if_open_to_all, warning_if_open_to_others};

use crate::config::{Config, Identity};
use crate::web::ProtectedResource;

/// The bits of a Unix mode with which others than the owner can write a file.
const WRITE_BY_OTHERS: u32 = 0o022;

/// Clients of OAuth request a token for the URL that the metadata of the bridge has (RFC 8707), and a
/// provider makes it the audience.
pub(super) fn audience_without_resource(config: &Config) -> Option<String> {
    let identity = &config.identity;
    let resource = ProtectedResource::new(identity).ok()?;
    let expected = resource.public_url()?.join("/mcp");
    let audiences = identity
        .all_issuers()
        .flat_map(|issuer| &issuer.jwt_audience);
    let audiences: Vec<&str> = audiences.map(String::as_str).collect();
    let is_listed = audiences
        .iter()
        .any(|audience| audience.trim_end_matches('/') == expected);
    if identity.authorization_servers.is_empty() || !has_keys(identity) || is_listed {
        return None;
    }
    Some(format!(
        "`jwt_audience` is {}, and OAuth clients request tokens for {expected}, which are refused: \
         add that, unless the provider issues the configured audience for every request",
        audiences.join(", ")
    ))
}

/// Each table `[[issuers]]` has all settings of its issuer, and none from beside the tables.
pub(super) fn settings_without_issuer(config: &Config) -> Option<String> {
    let identity = &config.identity;
    let is_set = identity.jwt_settings_of_issuer() != JwtSettings::default();
    (is_set && !identity.has_own_issuer()).then(|| {
        "settings of signed tokens (`jwt_…`, `jwks_…`) have no effect without `jwt_issuer`: set it, or \
         move them into each table [[issuers]]"
            .to_owned()
    })
}

pub(super) fn authorization_servers_without_keys(config: &Config) -> Option<String> {
    let identity = &config.identity;
    (!identity.authorization_servers.is_empty() && !has_keys(identity)).then(|| {
        "`authorization_servers` sends clients to a provider whose tokens are refused, because there \
         are no keys: set `jwks_url` or `jwt_keys`, `jwt_issuer` and `jwt_audience`"
            .to_owned()
    })
}

pub(super) fn authorization_servers_without_public_url(config: &Config) -> Option<String> {
    let identity = &config.identity;
    // With TLS, clients reach the bridge itself, and find the resource that they use.
    let is_behind_proxy = !config.network.is_loopback_only() && !config.tls.is_enabled();
    let is_needed = !identity.authorization_servers.is_empty() && is_behind_proxy;
    (is_needed && identity.public_url.is_none()).then(|| {
        "`authorization_servers` without `public_url`: clients see a resource that begins with \
         http:// and the `Host` of their request, which is wrong behind a proxy: set `public_url`"
            .to_owned()
    })
}

/// Without tokens, a page makes a token itself, which on a machine of one person is safe.
pub(super) fn public_without_tokens(config: &Config) -> Option<String> {
    let tokens = config.tokens.load().ok()?;
    let is_open = tokens.is_empty() && !has_keys(&config.identity);
    let is_public = config.identity.public_url.is_some() || !config.network.is_loopback_only();
    (is_open && is_public).then(|| {
        "the bridge has a public name and no tokens, so that everybody who reaches it can use it: \
         set `token_file`, or the keys of signed tokens"
            .to_owned()
    })
}

pub(super) fn readable_token_file(config: &Config) -> Option<String> {
    warning_if_open_to_others(config.tokens.token_file.as_deref()?)
}

pub(super) fn readable_agent_token_file(config: &Config) -> Option<String> {
    warning_if_open_to_all(config.agent.agent_token_file.as_deref()?)
}

pub(super) fn readable_tls_key(config: &Config) -> Option<String> {
    warning_if_open_to_all(config.tls.tls_key.as_deref()?)
}

pub(super) fn readable_state_key(config: &Config) -> Option<String> {
    let folder = config.state.state_dir.as_deref()?;
    warning_if_open_to_all(&StateFolder::key_file(folder))
}

pub(super) fn writable_key_file(config: &Config) -> Option<String> {
    let mut files = config
        .identity
        .all_issuers()
        .filter_map(|issuer| issuer.jwt_keys.as_deref());
    let path = files
        .find(|path| has_mode_bits(path, WRITE_BY_OTHERS))?
        .display();
    Some(format!(
        "other users of this machine can write {path}, and with their own key in it they can sign \
         tokens: forbid it with `chmod go-w {path}`"
    ))
}

/// Whether signed tokens can be verified.
fn has_keys(identity: &Identity) -> bool {
    identity.all_issuers().any(|issuer| {
        issuer.jwt_secret.is_some() || issuer.jwt_keys.is_some() || issuer.jwks_url.is_some()
    })
}
