//! Replaces what a running agent can use from now on: tools, profiles, prompts, hosts and origins.

use std::path::PathBuf;

use super::bridge_access::{load_policy, policy_for};
use super::{ServerHandle, StartError, load_setup};
use crate::config::Config;

impl ServerHandle {
    /// Uses the hosts, origins, tools, profiles and prompts of these settings from now on. Queries that
    /// run continue with the former ones. If neither the files of tools nor the settings have changed, no
    /// source is restarted. Blocks while it reads files. Returns whether there are other tools or prompts.
    ///
    /// # Errors
    ///
    /// When the settings or their files are invalid. Then nothing changes.
    pub(crate) fn replace_settings(&self, config: &Config) -> Result<bool, StartError> {
        let entries = config.bridge_entries().map_err(StartError::Bridges)?;
        let policy = load_policy(config, &entries)?;
        let frontends = entries.iter().map(|entry| {
            let policy = policy_for(config, &entry.allowed_origins)?;
            Ok((entry.name.as_str(), policy))
        });
        let frontends = frontends.collect::<Result<Vec<_>, StartError>>()?;
        let former = self.queries.setup.load_full();
        let has_changed = former.source().reload(config) != *former.source();
        let queries = &self.queries;
        let setup = has_changed.then(|| load_setup(config, &queries.model, &queries.metrics));
        let setup = setup.transpose()?;
        self.policy.replace(&policy);
        for (bridge, policy) in &frontends {
            queries.bridges.replace_frontends(bridge, policy);
        }
        if let Some(setup) = setup {
            queries.replace_setup(setup);
        }
        Ok(has_changed)
    }

    /// The files of tools, profiles and prompts.
    pub(crate) fn setup_files(&self) -> Vec<PathBuf> {
        self.queries.setup.load().files().collect()
    }

    /// Refuses new queries, and completes when those that run have ended. [`shutdown`](Self::shutdown)
    /// ends the others.
    pub async fn drain(&self) {
        self.queries.drain().await;
    }
}
