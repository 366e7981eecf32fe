//! Warnings of a valid configuration: settings that contradict each other or the host. The bridge
//! starts, and refuses some users or exposes something.
//!
//! Each rule of [`RULES`] returns a text that names the settings, and what to do.

mod host_rules;
mod identity_rules;
mod network_rules;

#[cfg(test)]
#[cfg(unix)]
mod tests;

use crate::config::{Config, HostResources};

/// Returns the warning, if the configuration has the contradiction.
type Check = fn(&Config, &HostResources) -> Option<String>;

/// The rules, with the names by which tests have a row for each.
const RULES: &[(&str, Check)] = &[
    ("audience_without_resource", |config, _| {
        identity_rules::audience_without_resource(config)
    }),
    ("settings_without_issuer", |config, _| {
        identity_rules::settings_without_issuer(config)
    }),
    ("authorization_servers_without_keys", |config, _| {
        identity_rules::authorization_servers_without_keys(config)
    }),
    ("authorization_servers_without_public_url", |config, _| {
        identity_rules::authorization_servers_without_public_url(config)
    }),
    ("public_without_tokens", |config, _| {
        identity_rules::public_without_tokens(config)
    }),
    ("readable_token_file", |config, _| {
        identity_rules::readable_token_file(config)
    }),
    ("readable_agent_token_file", |config, _| {
        identity_rules::readable_agent_token_file(config)
    }),
    ("readable_tls_key", |config, _| {
        identity_rules::readable_tls_key(config)
    }),
    ("readable_state_key", |config, _| {
        identity_rules::readable_state_key(config)
    }),
    ("writable_key_file", |config, _| {
        identity_rules::writable_key_file(config)
    }),
    ("no_trusted_proxies", |config, _| {
        network_rules::no_trusted_proxies(config)
    }),
    ("unused_forwarded_header", |config, _| {
        network_rules::unused_forwarded_header(config)
    }),
    ("public_host_not_allowed", |config, _| {
        network_rules::public_host_not_allowed(config)
    }),
    ("no_tls", |config, _| network_rules::no_tls(config)),
    ("too_many_connections", host_rules::too_many_connections),
    ("few_open_files", host_rules::few_open_files),
    ("too_much_memory", host_rules::too_much_memory),
    (
        "more_pages_than_connections",
        host_rules::more_pages_than_connections,
    ),
];

/// Returns the warnings of a configuration on this host.
pub(crate) fn config_warnings(config: &Config, host: &HostResources) -> Vec<String> {
    let found = RULES.iter().filter_map(|(_, check)| check(config, host));
    found.collect()
}
