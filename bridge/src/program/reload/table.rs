//! Which settings a reload replaces.

use crate::config::Config;

/// Copies one setting into a configuration from another one.
type Replace = fn(&mut Config, &Config);

/// The row of a setting, which has the name of its field.
macro_rules! setting {
    ($group:ident.$field:ident) => {
        (stringify!($field), |to, from| {
            to.$group.$field.clone_from(&from.$group.$field);
        })
    };
}

/// The settings that a reload replaces, besides the tables of issuers. `docs/configuration.md` lists
/// them as well.
const RELOADABLE: &[(&str, Replace)] = &[
    setting!(network.allowed_hosts),
    setting!(network.allowed_origins),
    setting!(network.trusted_proxies),
    setting!(tokens.tokens),
    setting!(tokens.token_file),
    setting!(identity.jwt_secret),
    setting!(identity.jwt_keys),
    setting!(identity.jwks_url),
    setting!(identity.jwks_refresh),
    setting!(identity.jwks_max_age),
    setting!(identity.jwt_issuer),
    setting!(identity.jwt_audience),
    setting!(identity.jwt_leeway),
    setting!(identity.jwt_subject_claim),
    setting!(identity.jwt_roles_claim),
    setting!(identity.jwt_scope_claims),
    setting!(identity.jwt_scope_map),
    setting!(identity.jwt_default_scopes),
    setting!(monitoring.metrics_token),
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
