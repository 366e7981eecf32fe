//! The access of bridges: their credentials, and the hosts and origins of requests.

use bridge_edge::HostOriginPolicy;

use super::start_error::StartError;
use crate::bridge::{AcceptedCredentials, AgentBridge, Bridges, ServedBridge};
use crate::config::{BridgeEntry, Config};

/// A bridge whose credentials are loaded.
#[derive(Debug)]
pub(super) struct LoadedBridge {
    pub(super) entry: BridgeEntry,
    credentials: AcceptedCredentials,
    frontends: HostOriginPolicy,
}

pub(super) fn has_credential(entry: &BridgeEntry) -> bool {
    entry.credential.is_some() || entry.credential_file.is_some()
}

/// Returns which hosts and origins may send requests, if the address may be reached by them.
pub(super) fn load_policy(
    config: &Config,
    entries: &[BridgeEntry],
) -> Result<HostOriginPolicy, StartError> {
    let origins = entries
        .iter()
        .flat_map(|entry| entry.allowed_origins.clone());
    let policy = policy_for(config, &origins.collect::<Vec<_>>())?;
    if !entries.iter().all(has_credential) && !config.bind.ip().is_loopback() {
        return Err(StartError::Unauthenticated(config.bind));
    }
    Ok(policy)
}

/// Returns which hosts and origins may send requests of frontends of one bridge.
pub(super) fn policy_for(
    config: &Config,
    origins: &[String],
) -> Result<HostOriginPolicy, StartError> {
    let policy = HostOriginPolicy::new("agent", &config.allowed_hosts, origins);
    Ok(policy.map_err(StartError::Policy)?.without_own_origin())
}

/// Loads the credentials of the bridges.
pub(super) fn load_bridges(
    config: &Config,
    entries: Vec<BridgeEntry>,
) -> Result<Vec<LoadedBridge>, StartError> {
    let settings = config.credential_settings();
    let loaded = entries.into_iter().map(|entry| {
        let source = entry.credentials(settings);
        source.warn_if_open_to_all();
        Ok(LoadedBridge {
            credentials: AcceptedCredentials::load(source)?,
            frontends: policy_for(config, &entry.allowed_origins)?,
            entry,
        })
    });
    loaded.collect()
}

/// Creates the connections to the bridges, which need not run yet.
pub(super) fn connect_bridges(
    config: &Config,
    bridges: Vec<LoadedBridge>,
) -> Result<Bridges, StartError> {
    let served = bridges.into_iter().map(|loaded| {
        let client = AgentBridge::new(loaded.entry.url.url().clone());
        Ok(ServedBridge {
            name: loaded.entry.name,
            client: client.map_err(|failure| StartError::Bridge(failure.message))?,
            max_queries: loaded.entry.max_queries.unwrap_or(config.max_queries),
            frontends: loaded.frontends,
            credentials: loaded.credentials,
        })
    });
    let served = served.collect::<Result<_, StartError>>()?;
    Ok(Bridges::new(served, config.metrics_token.as_ref())?)
}
