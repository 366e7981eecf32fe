//! Replaces the settings of a running bridge that can be replaced: who may send requests.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use bridge_auth::Authenticator;
use bridge_edge::connections::TlsAcceptor;
use bridge_edge::{HostOriginPolicy, TokenHash, TrustedProxies};
use bridge_realm::realm::RealmEnd;
use bridge_settings::Secret;

use super::cluster_node::fingerprint;
use super::preflight::{AccessRules, StartError};
use crate::agent_queries::AgentQueries;
use crate::cluster::ClusterNode;
use crate::config::Config;
use crate::counters::ReloadCounters;
use crate::hub::Hub;
use crate::web::AppState;

/// The parts of a bridge that a reload replaces.
#[derive(Clone, Debug)]
pub(crate) struct LiveSettings {
    hub: Arc<Hub>,
    agent_queries: Arc<AgentQueries>,
    policy: Arc<HostOriginPolicy>,
    authenticator: Arc<Authenticator>,
    trusted_proxies: TrustedProxies,
    metrics_token: Arc<ArcSwapOption<TokenHash>>,
    tls: Option<TlsAcceptor>,
    cluster: Option<Arc<ClusterNode>>,
}

/// The changes of a reload, for the log.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AccessChanges {
    /// Whether other tokens are valid than before.
    pub(crate) has_changed_tokens: bool,
    pub(crate) added_tokens: usize,
    pub(crate) removed_tokens: usize,
    /// The tokens with pages or clients that were removed.
    pub(crate) closed_realms: usize,
}

impl LiveSettings {
    pub(super) fn new(state: &AppState) -> Self {
        Self {
            hub: Arc::clone(&state.hub),
            agent_queries: Arc::clone(&state.agent_queries),
            policy: Arc::clone(&state.policy),
            authenticator: Arc::clone(&state.authenticator),
            trusted_proxies: state.trusted_proxies.clone(),
            metrics_token: Arc::clone(&state.metrics_token),
            tls: state.tls.clone(),
            cluster: state.cluster.clone(),
        }
    }

    pub(crate) fn counters(&self) -> &ReloadCounters {
        &self.hub.counters.reloads
    }

    /// Checks the settings, and uses them from now on. Everything of a token that is no longer valid
    /// ends: its pages get the final code `InvalidAuthentication`. Pages of signed tokens authenticate
    /// again if the rules of these have changed, and their calls continue.
    ///
    /// # Errors
    ///
    /// When the settings are invalid. Then the former ones are still used.
    pub(crate) async fn replace(&self, config: &Config) -> Result<AccessChanges, StartError> {
        let rules = AccessRules::load(config)?;
        let tokens_are_configured = self.authenticator.has_configured_tokens();
        if rules.authenticator.has_configured_tokens() != tokens_are_configured {
            return Err(StartError::TokensOnReload);
        }
        let authenticator = rules.authenticator.prepare_to_replace(&self.authenticator);
        let authenticator = authenticator.await.map_err(StartError::Identity)?;
        self.policy.replace(&rules.policy);
        let proxies = config.network.trusted_proxies.clone();
        self.trusted_proxies.replace(proxies);
        let token = config.monitoring.metrics_token.as_ref();
        let hash = token.map(|token| TokenHash::from_token(Secret::expose(token)));
        self.metrics_token.store(hash.map(Arc::new));
        let changes = self.authenticator.replace(authenticator);
        // Afterwards, so that nothing can come back.
        let mut revoked = self.hub.all_realms();
        revoked.retain(|realm| changes.is_revoked(realm));
        for realm in &revoked {
            self.hub.close_realm(realm, RealmEnd::TokenRevoked);
        }
        for realm in self.hub.find_realms(|realm| changes.may_be_revoked(realm)) {
            self.hub.expire_tokens(&realm);
        }
        if let Some(cluster) = &self.cluster {
            cluster.settings_changed(fingerprint(config));
        }
        let (added_tokens, removed_tokens) = changes.listed_changes();
        Ok(AccessChanges {
            has_changed_tokens: !changes.is_empty(),
            added_tokens,
            removed_tokens,
            closed_realms: revoked.len(),
        })
    }

    /// Loads the certificates of `tls_cert` and `cluster_tls_cert` again. Returns whether one of them is
    /// another one.
    ///
    /// # Errors
    ///
    /// When one of them cannot be used. Then the former one is still used.
    pub(crate) fn reload_certificates(&self) -> Result<bool, StartError> {
        // Neither waits for the other to be right.
        let cluster = self.cluster.as_deref().map(ClusterNode::reload_certificate);
        let public = self.tls.as_ref().map(TlsAcceptor::reload);
        let cluster = cluster.transpose().map_err(StartError::ClusterTls)?;
        let public = public.transpose().map_err(StartError::Tls)?;
        Ok(cluster == Some(true) || public == Some(true))
    }

    /// Loads `agent_token_file` again. Queries that are sent from now on carry its first credential.
    ///
    /// # Errors
    ///
    /// When the file cannot be used. Then the former credential is still sent.
    pub(crate) fn reload_agent_credential(&self) -> Result<(), StartError> {
        let reloaded = self.agent_queries.reload_credential(&self.hub.config.agent);
        reloaded.map_err(StartError::AgentTokenFile)
    }

    /// Fetches published keys again, unless they were fetched a moment ago.
    pub(crate) fn refetch_keys(&self) {
        self.authenticator.refetch_keys();
    }
}
