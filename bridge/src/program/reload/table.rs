//! Which settings a reload replaces.

use crate::config::Config;

/// Copies one setting into a configuration from another one.
type Replace = fn(&mut Config, &Config);

/// The settings that a reload replaces, besides the tables of issuers. `docs/configuration.md` lists
/// them as well.
const RELOADABLE: &[(&str, Replace)] = &[
    ("allowed_hosts", |to, from| {
        to.network
            .allowed_hosts
            .clone_from(&from.network.allowed_hosts);
    }),
    ("allowed_origins", |to, from| {
        to.network
            .allowed_origins
            .clone_from(&from.network.allowed_origins);
    }),
    ("trusted_proxies", |to, from| {
        to.network
            .trusted_proxies
            .clone_from(&from.network.trusted_proxies);
    }),
    ("tokens", |to, from| {
        to.tokens.tokens.clone_from(&from.tokens.tokens);
    }),
    ("token_file", |to, from| {
        to.tokens.token_file.clone_from(&from.tokens.token_file);
    }),
    ("jwt_secret", |to, from| {
        to.identity.jwt_secret.clone_from(&from.identity.jwt_secret);
    }),
    ("jwt_keys", |to, from| {
        to.identity.jwt_keys.clone_from(&from.identity.jwt_keys);
    }),
    ("jwks_url", |to, from| {
        to.identity.jwks_url.clone_from(&from.identity.jwks_url);
    }),
    ("jwks_refresh", |to, from| {
        to.identity.jwks_refresh = from.identity.jwks_refresh;
    }),
    ("jwks_max_age", |to, from| {
        to.identity.jwks_max_age = from.identity.jwks_max_age;
    }),
    ("jwt_issuer", |to, from| {
        to.identity.jwt_issuer.clone_from(&from.identity.jwt_issuer);
    }),
    ("jwt_audience", |to, from| {
        to.identity
            .jwt_audience
            .clone_from(&from.identity.jwt_audience);
    }),
    ("jwt_leeway", |to, from| {
        to.identity.jwt_leeway = from.identity.jwt_leeway;
    }),
    ("jwt_subject_claim", |to, from| {
        to.identity
            .jwt_subject_claim
            .clone_from(&from.identity.jwt_subject_claim);
    }),
    ("jwt_roles_claim", |to, from| {
        to.identity
            .jwt_roles_claim
            .clone_from(&from.identity.jwt_roles_claim);
    }),
    ("jwt_scope_claims", |to, from| {
        to.identity
            .jwt_scope_claims
            .clone_from(&from.identity.jwt_scope_claims);
    }),
    ("jwt_scope_map", |to, from| {
        to.identity
            .jwt_scope_map
            .clone_from(&from.identity.jwt_scope_map);
    }),
    ("jwt_default_scopes", |to, from| {
        to.identity
            .jwt_default_scopes
            .clone_from(&from.identity.jwt_default_scopes);
    }),
    ("metrics_token", |to, from| {
        to.monitoring
            .metrics_token
            .clone_from(&from.monitoring.metrics_token);
    }),
    // The filter of the log is not a part of the bridge.
    ("log", |_, _| {}),
];

/// Returns how a setting is replaced. `None` if that needs a restart.
pub(super) fn reloadable(name: &str) -> Option<Replace> {
    let row = RELOADABLE
        .iter()
        .find(|(reloadable, _)| *reloadable == name)?;
    Some(row.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GUIDE: &str = include_str!("../../../../docs/configuration.md");

    #[test]
    fn the_guide_lists_the_settings_that_a_reload_replaces() {
        let (_, list) = GUIDE.split_once("A reload replaces ").unwrap();
        let (list, _) = list.split_once(". ").unwrap();
        let listed: Vec<_> = list.split('`').skip(1).step_by(2).collect();
        let names: Vec<_> = RELOADABLE.iter().map(|(name, _)| *name).collect();
        assert_eq!(listed, names);
    }
}
