//! Checks whether this machine could be a node of the cluster, without being one: for the check of a
//! configuration, also while the bridge of this machine runs.

use std::fmt::Write;
use std::time::{Duration, Instant, SystemTime};

use bridge_auth::unix_seconds;
use bridge_cluster::{
    ClusterKeys, InvalidRecord, NatsCheck, NatsSettings, NodeId, NodeRecord, Peer,
    PeerCompatibility, PeerHeader, Peers,
};
use bridge_edge::peer_client::{PeerError, PeerResponse};
use bytes::Bytes;
use futures_util::future::join_all;
use http::Method;
use http::header::DATE;
use http::uri::PathAndQuery;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::forward::{is_misdirected, is_refused};
use super::link::{self, Link};
use super::peer_requests::{NO_CLIENT, OWNS_PATH, visible};
use super::start::NodeSettings;
use crate::config;

/// How long another node may take to accept a connection, and then to answer.
const PEER_TIMEOUT: Duration = Duration::from_secs(2);

/// From this difference on, clocks are reported. Nodes refuse each other from 300 s on.
const MAX_CLOCK_DIFFERENCE: Duration = Duration::from_secs(30);

/// Result of a check.
#[derive(Debug, Default)]
pub(crate) struct ClusterCheck {
    /// Faults without whose remedy this bridge cannot serve with the others.
    pub(crate) errors: Vec<String>,
    /// Faults that may pass, or do not hinder it.
    pub(crate) warnings: Vec<String>,
    /// NATS and the other nodes, a line each.
    pub(crate) summary: String,
}

/// This node, if it began.
struct Candidate<'a> {
    own: NodeId,
    keys: ClusterKeys,
    settings: &'a NodeSettings,
    lease: Duration,
}

impl ClusterCheck {
    /// Checks the rights in NATS, and the settings, the address and the clock of each other node.
    pub(crate) async fn run(
        config: &config::Cluster,
        nats: &NatsSettings,
        settings: &NodeSettings,
    ) -> Self {
        let candidate = Candidate {
            own: NodeId::from_bytes(uuid::Uuid::new_v4().into_bytes()),
            keys: ClusterKeys::new(&config.cluster_secret, config.cluster_realm_secret.as_ref()),
            settings,
            lease: config.cluster_lease,
        };
        let NatsCheck {
            errors,
            warnings,
            version,
            nodes,
        } = NatsCheck::run(nats, candidate.own).await;
        let version = version.map_or("is not reached".to_owned(), |version| version);
        let mut check = Self {
            errors,
            warnings,
            summary: format!("cluster: NATS {version}, {} bridges\n", nodes.len()),
        };
        let checked = nodes
            .iter()
            .map(|(id, record)| candidate.check_node(*id, record));
        for found in join_all(checked).await {
            check.errors.extend(found.errors);
            check.warnings.extend(found.warnings);
            check.summary += &found.summary;
        }
        check
    }

    fn error(&mut self, text: String) {
        self.errors.push(text);
    }

    fn warn(&mut self, text: String) {
        self.warnings.push(text);
    }
}

impl Candidate<'_> {
    /// Checks the settings of a node by its record, and then the node itself.
    async fn check_node(&self, id: NodeId, record: &str) -> ClusterCheck {
        let mut check = ClusterCheck::default();
        let record = match NodeRecord::decode(record, &self.keys, id) {
            Ok(record) => record,
            Err(InvalidRecord::UnknownVersion) => {
                let node = id.short();
                check.warn(format!(
                    "the bridge {node} has a newer version, which this one does not understand"
                ));
                return check;
            }
            Err(InvalidRecord::WrongMac | InvalidRecord::Malformed) => {
                let node = id.short();
                check.error(format!(
                    "the record of the bridge {node} in NATS was not written with `cluster_secret`: \
                     check the secrets of all bridges, and who else may write to their buckets"
                ));
                return check;
            }
        };
        let (node, address) = (id.short(), record.address.clone());
        let _ = writeln!(
            check.summary,
            "  {node} at {address}, {}, version {}",
            record.state.as_str(),
            record.version
        );
        let name = format!("the bridge {node} at {address}");
        // The bridge of this machine is started again with these settings.
        if address != self.settings.address.to_string() {
            self.compare(record, &name, &mut check);
        }
        self.reach(&Peer { id, address }, &name, &mut check).await;
        check
    }

    fn compare(&self, record: NodeRecord, name: &str, check: &mut ClusterCheck) {
        let (id, now) = (record.id, Instant::now());
        let mut peers = Peers::new(self.own, self.lease);
        peers.node_announced(record, now);
        match peers.compatibility(&id, &self.settings.fingerprint, now) {
            PeerCompatibility::Same => {}
            PeerCompatibility::DiffersFor(_) => check.warn(format!(
                "{name} has other tokens, keys or allow lists: the two serve each other for 10 minutes, \
                 within which all must be reloaded"
            )),
            PeerCompatibility::Different(difference) => check.error(format!("{name}: {difference}")),
        }
    }

    /// Sends a question to a node, as this node would.
    async fn reach(&self, peer: &Peer, name: &str, check: &mut ClusterCheck) {
        let Ok(address) = peer.address.parse() else {
            return check.error(format!("{name} has an address that cannot be used"));
        };
        if let Err(error) = connect(address).await {
            let lease = humantime::format_duration(self.lease);
            return check.warn(format!(
                "{name} cannot be connected to ({error}): check its `cluster_address` and what filters \
                 packets between the two. If it was killed, its record ends after {lease}"
            ));
        }
        let tls = self.settings.tls.as_ref();
        let link = match Link::new(address, tls.map(|(tls, name)| (tls, name.as_str()))) {
            Ok(link) => link,
            Err(error) => {
                return check.error(format!("the other bridges cannot be reached: {error}"));
            }
        };
        let header = PeerHeader {
            node: self.own,
            target: peer.id,
            realm: None,
            may_claim: false,
            client: NO_CLIENT,
            unix: unix_seconds(),
        };
        let header = visible(header.encode(&self.keys, "GET", OWNS_PATH));
        let path = PathAndQuery::from_static(OWNS_PATH);
        let asked = link::send_own(&link, Method::GET, path, header, Bytes::new());
        let asked = timeout(PEER_TIMEOUT, asked).await;
        match asked {
            Err(_) => check.warn(format!("{name} accepts connections, and does not answer")),
            Ok(Err(PeerError::NotConnected | PeerError::Lost)) => check.error(format!(
                "{name} ends the connection: check `cluster_tls_cert`, `cluster_tls_ca` and \
                 `cluster_tls_name` of both, which must encrypt alike"
            )),
            Ok(Ok(answer)) => {
                let difference = clock_difference(&answer);
                if is_refused(&answer) {
                    check.error(format!(
                        "{name} refuses the requests of this one: its clock differs by {} s, and may \
                         by at most 300 s; with equal clocks, check `cluster_secret` of both",
                        difference.as_secs()
                    ));
                } else if !is_misdirected(&answer) {
                    check.error(format!(
                        "{name} answers with the status {}, so something else listens there, or only one \
                         of the two encrypts: check its `cluster_address` and `cluster_tls_cert` of both",
                        answer.status()
                    ));
                } else if difference >= MAX_CLOCK_DIFFERENCE {
                    check.warn(format!(
                        "the clocks of this machine and of {name} differ by {} s, and from 300 s on \
                         they refuse each other: synchronize both",
                        difference.as_secs()
                    ));
                }
            }
        }
    }
}

async fn connect(address: std::net::SocketAddr) -> Result<(), String> {
    let connecting = timeout(PEER_TIMEOUT, TcpStream::connect(address)).await;
    match connecting {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("no answer in time".to_owned()),
    }
}

/// Returns how much the clock of a node differs from the one of this machine, in whole seconds.
fn clock_difference(answer: &PeerResponse) -> Duration {
    let now = SystemTime::now();
    let date = answer.headers().get(DATE).and_then(|it| it.to_str().ok());
    let theirs = date.and_then(|date| httpdate::parse_http_date(date).ok());
    let theirs = theirs.unwrap_or(now);
    let ahead = theirs.duration_since(now);
    ahead.unwrap_or_else(|behind| behind.duration())
}
