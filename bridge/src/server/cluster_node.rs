//! Starts this bridge as one of several: the listener for the others, and the directory.

use std::net::SocketAddr;
use std::sync::Arc;

use bridge_auth::JwtSettings;
use bridge_cluster::{ClusterKeys, NatsSettings, SettingsFingerprint};
use bridge_edge::connections::{Listener, TlsAcceptor};
use bridge_settings::Secret;
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

use super::preflight::StartError;
use crate::cluster::{ClusterNode, NodeSettings};
use crate::config::{self, Config, Identity};
use crate::hub::Hub;

/// The listener for the other bridges.
pub(super) struct PeerListener {
    pub(super) listener: Listener,
    address: SocketAddr,
    pub(super) tls: Option<TlsAcceptor>,
}

impl PeerListener {
    /// Listens for the other bridges, if there are any.
    pub(super) fn bind(
        config: &config::Cluster,
        tls: Option<TlsAcceptor>,
    ) -> Result<Option<Self>, StartError> {
        let Some(bind) = config.cluster_bind.filter(|_| config.is_enabled()) else {
            return Ok(None);
        };
        let bind_error = |error| StartError::Bind {
            address: bind,
            error,
        };
        let listener = Listener::bind(bind).map_err(bind_error)?;
        let bound = listener.local_addr().map_err(bind_error)?;
        Ok(Some(Self {
            listener: listener.with_tls(tls.clone()),
            address: config.address(bound),
            tls,
        }))
    }

    /// Starts this node. It needs no directory yet.
    pub(super) fn start(
        &self,
        hub: &Arc<Hub>,
        stopping: CancellationToken,
    ) -> Result<Arc<ClusterNode>, StartError> {
        let config = &hub.config.cluster;
        let tls = self.tls.clone();
        let node = NodeSettings {
            address: self.address,
            tls: tls.map(|tls| (tls, config.cluster_tls_name.clone())),
            fingerprint: fingerprint(&hub.config),
        };
        let started = ClusterNode::start(config, nats_settings(config), hub, node, stopping);
        started.map_err(StartError::Cluster)
    }
}

/// The key of sealed state that all bridges share, if this is one of several.
pub(super) fn shared_state_key(config: &config::Cluster) -> Option<Secret> {
    let keys = || ClusterKeys::new(&config.cluster_secret, config.cluster_realm_secret.as_ref());
    config.is_enabled().then(|| keys().state_secret())
}

fn nats_settings(config: &config::Cluster) -> NatsSettings {
    NatsSettings {
        servers: config.cluster.clone(),
        name: config.cluster_name.clone(),
        replicas: config.cluster_replicas,
        lease: config.cluster_lease,
        credentials: config.cluster_nats_credentials.clone(),
        user: config.cluster_nats_user.clone(),
        password: config.cluster_nats_password.clone(),
        ca: config.cluster_nats_ca.clone(),
    }
}

/// Returns the fingerprints of the settings that all bridges must share. They contain secrets, and are
/// keyed with the secret of the cluster that never changes.
pub(super) fn fingerprint(config: &Config) -> SettingsFingerprint {
    let identity = &config.identity;
    let state_key = config.state.state_key.as_ref().map(Secret::expose);
    let strict = format!(
        "{:?}",
        (
            state_key,
            &identity.public_url,
            config.cluster.cluster_lease,
        )
    );
    let tokens = config.tokens.load().unwrap_or_default();
    let issuers = identity.all_issuers().map(fingerprint_of_issuer);
    let network = &config.network;
    let reloadable = format!(
        "{:?}",
        [
            sorted(tokens),
            sorted(issuers),
            sorted(network.allowed_hosts.clone()),
            sorted(network.allowed_origins.clone()),
        ]
    );
    let cluster = &config.cluster;
    // The first secret differs while bridges get a new one.
    let lasting = cluster.cluster_realm_secret.as_ref();
    let lasting = lasting.or(cluster.cluster_secret.first());
    let hash = |text: String| {
        let mut hash = Sha256::new();
        hash.update(lasting.map_or("", Secret::expose));
        hash.update(text);
        let mut short = [0; 8];
        short.copy_from_slice(&hash.finalize()[..8]);
        short
    };
    SettingsFingerprint {
        strict: hash(strict),
        reloadable: hash(reloadable),
    }
}

/// Describes how tokens of an issuer are checked. Its file with keys may have another path at each bridge.
fn fingerprint_of_issuer(issuer: &Identity) -> String {
    let settings = JwtSettings {
        key_file: None,
        ..issuer.jwt_settings_of_issuer()
    };
    let secret = issuer.jwt_secret.as_ref().map(Secret::expose);
    // The keys in use have been loaded from it. Without it, a bridge does not start.
    let keys = issuer
        .jwt_keys
        .as_ref()
        .and_then(|it| std::fs::read(it).ok());
    format!("{:?}", (settings, secret, keys.map(Sha256::digest)))
}

/// Lists may have another order at each bridge.
fn sorted(list: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut list: Vec<_> = list.into_iter().collect();
    list.sort_unstable();
    list
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    const OLD: &str = "old-secret-old-secret-old-secret-1";
    const NEW: &str = "new-secret-new-secret-new-secret-2";

    fn of(arguments: &[&str]) -> SettingsFingerprint {
        let program = ["mcp-web-bridge", "--cluster-realm-secret", OLD];
        fingerprint(&Config::try_parse_from(program.iter().chain(arguments)).unwrap())
    }

    #[test]
    fn the_fingerprint_stays_while_the_secret_is_changed() {
        let both = format!("{NEW},{OLD}");
        let before = of(&["--cluster-secret", OLD]);
        assert_eq!(before, of(&["--cluster-secret", &both]));
        assert_eq!(before, of(&["--cluster-secret", NEW]));
    }

    #[test]
    fn the_fingerprint_depends_on_the_content_of_lists_and_files() {
        let [one, same, other] = ["k1", "k1", "k2"].map(|keys| {
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), keys).unwrap();
            file
        });
        let with = |file: &tempfile::NamedTempFile, hosts| {
            let path = file.path().to_str().unwrap();
            of(&["--jwt-keys", path, "--allowed-hosts", hosts])
        };
        let first = with(&one, "a.example,b.example");
        assert_eq!(first, with(&same, "b.example,a.example"));
        let changed = with(&other, "a.example,b.example");
        assert_ne!(first.reloadable, changed.reloadable);
        assert_eq!(first.strict, changed.strict);
        assert_ne!(first.reloadable, with(&one, "a.example").reloadable);
    }
}
