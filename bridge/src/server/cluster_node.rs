//! Starts this bridge as one of several: the listener for the others, and the directory.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bridge_auth::JwtSettings;
use bridge_cluster::{ClusterKeys, NatsSettings, SettingsFingerprint};
use bridge_edge::connections::{Listener, TlsAcceptor};
use bridge_settings::Secret;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

use super::preflight::StartError;
use crate::cluster::{ClusterCheck, ClusterNode, NodeSettings};
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
            setting: "cluster_bind",
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
        let node = node_settings(&hub.config, self.address, self.tls.clone());
        let started = ClusterNode::start(config, nats_settings(config), hub, node, stopping);
        started.map_err(StartError::Cluster)
    }
}

/// Checks whether a bridge with this configuration could be one of several, if it is to be one.
pub(crate) async fn run_cluster_check(
    config: &Config,
    tls: Option<TlsAcceptor>,
) -> Option<ClusterCheck> {
    let cluster = &config.cluster;
    let bind = cluster.cluster_bind.filter(|_| cluster.is_enabled())?;
    let node = node_settings(config, cluster.address(bind), tls);
    Some(ClusterCheck::run(cluster, &nats_settings(cluster), &node).await)
}

fn node_settings(config: &Config, address: SocketAddr, tls: Option<TlsAcceptor>) -> NodeSettings {
    let name = &config.cluster.cluster_tls_name;
    NodeSettings {
        address,
        tls: tls.map(|tls| (tls, name.clone())),
        fingerprint: fingerprint(config),
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
/// keyed with the secret of the cluster that never changes. The texts that are hashed are the same in every
/// version that shares a cluster.
pub(super) fn fingerprint(config: &Config) -> SettingsFingerprint {
    let (identity, network) = (&config.identity, &config.network);
    let cluster = &config.cluster;
    let strict = json!([
        config.state.state_key.as_ref().map(Secret::expose),
        identity.public_url,
        millis(cluster.cluster_lease),
    ]);
    let tokens = config.tokens.load().unwrap_or_default();
    let reloadable = json!([
        sorted(tokens),
        sorted(identity.all_issuers().map(describe_issuer)),
        sorted(network.allowed_hosts.clone()),
        sorted(network.allowed_origins.clone()),
    ]);
    // The first secret differs while bridges get a new one.
    let lasting = cluster.cluster_realm_secret.as_ref();
    let lasting = lasting.or(cluster.cluster_secret.first());
    let hash = |settings: Value| {
        let mut hash = Sha256::new();
        hash.update(lasting.map_or("", Secret::expose));
        hash.update(settings.to_string());
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
fn describe_issuer(identity: &Identity) -> String {
    // All fields, so that a new one is not forgotten here.
    let JwtSettings {
        secret,
        key_file,
        jwks_url,
        jwks_refresh,
        jwks_max_age,
        issuer,
        audience,
        leeway,
        subject_claim,
        roles_claim,
        scope_claims,
        scope_map,
        default_scopes,
    } = identity.jwt_settings_of_issuer();
    // The keys in use have been loaded from it. Without it, a bridge does not start.
    let keys = key_file.and_then(|file| std::fs::read(file).ok());
    let settings = json!([
        secret.as_ref().map(Secret::expose),
        keys.map(|keys| Sha256::digest(keys).to_vec()),
        jwks_url,
        millis(jwks_refresh),
        millis(jwks_max_age),
        issuer,
        audience,
        millis(leeway),
        subject_claim,
        roles_claim,
        scope_claims,
        scope_map,
        default_scopes,
    ]);
    settings.to_string()
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
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
        let program = ["bridge", "--cluster-realm-secret", OLD];
        fingerprint(&Config::try_parse_from(program.iter().chain(arguments)).unwrap())
    }

    #[test]
    fn the_fingerprint_stays_while_the_secret_is_changed() {
        let both = format!("{NEW},{OLD}");
        let before = of(&["--cluster-secret", OLD]);
        assert_eq!(before, of(&["--cluster-secret", &both]));
        assert_eq!(before, of(&["--cluster-secret", NEW]));
    }

    /// Bridges of two versions must agree on it. The values come from Python's `hashlib` and `json`.
    #[test]
    fn the_fingerprint_is_the_same_in_every_version() {
        let keys = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(keys.path(), "keys").unwrap();
        let fingerprint = of(&[
            "--public-url",
            "https://bridge.example",
            "--tokens",
            "token-b-0123456789abcdef,token-a-0123456789abcdef",
            "--allowed-hosts",
            "bridge.example",
            "--allowed-origins",
            "https://app.example",
            "--jwt-keys",
            keys.path().to_str().unwrap(),
            "--jwt-issuer",
            "https://id.example",
            "--jwt-audience",
            "mcp-web",
        ]);
        assert_eq!(
            [fingerprint.strict, fingerprint.reloadable].map(u64::from_be_bytes),
            [0x5f28_6e03_f568_03ac, 0xe992_e84e_3f2b_022b]
        );
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
