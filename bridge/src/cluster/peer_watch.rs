//! Pings the other nodes every second: ends what waits for one that does not answer, and gives the realms
//! of this node away while it is cut off.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bridge_cluster::{
    IsolationChange, NodeId, NodeState, Peer, PingAnswer, ReachChange, RealmLoss, SeenPeer, Sight,
};
use bridge_edge::peer_client::{PeerError, PeerResponse};
use bytes::Bytes;
use futures_util::future::join_all;
use http::uri::PathAndQuery;
use http::{Method, StatusCode};
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::link;
use super::node::ClusterNode;
use super::peer_requests::{NO_CLIENT, PING_PATH, REACHES};

/// How often each other node is pinged. With [`MAX_MISSED_PINGS`](bridge_cluster::MAX_MISSED_PINGS), what
/// waits for a node that is silent ends after five to six seconds.
const PING_INTERVAL: Duration = Duration::from_secs(1);

/// How long a node may take to answer a ping.
const PING_TIMEOUT: Duration = Duration::from_secs(1);

/// A round of pings that ends this much later than it must shows that this process has stalled: the answers
/// may have arrived in time.
const MIN_STALL: Duration = Duration::from_millis(500);

/// Why a ping has no answer.
#[derive(Clone, Copy, Debug)]
enum NoAnswer {
    NotConnected,
    Lost,
    Late,
    /// It has answered as if the ping came from something else than a node of its cluster.
    Refused(StatusCode),
}

impl NoAnswer {
    /// Describes the last of the missed pings for the log.
    fn describe(self) -> String {
        match self {
            Self::NotConnected => "it accepts no connection, or not with these certificates: `--check-config` says which".to_owned(),
            Self::Lost => "it closes the connection".to_owned(),
            Self::Late => "it does not answer within a second".to_owned(),
            // It was killed, and started again.
            Self::Refused(StatusCode::MISDIRECTED_REQUEST) => {
                "another bridge has its address now".to_owned()
            }
            Self::Refused(status) => {
                format!("it refuses the pings with {status}, and its log says why")
            }
        }
    }
}

/// Pings the other nodes until the bridge stops.
pub(super) async fn run(cluster: Arc<ClusterNode>) {
    let mut rounds = interval(PING_INTERVAL);
    rounds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut former = Vec::new();
    loop {
        let due = rounds.tick().await;
        let answers = cluster.ping_all().await;
        if due.elapsed() >= PING_TIMEOUT + MIN_STALL {
            cluster.restart_clocks();
            continue;
        }
        cluster.apply_answers(answers);
        let reaches = cluster.reaches();
        if cluster.look_for_isolation() || reaches != former {
            cluster.membership.changed.notify_one();
            former = reaches;
        }
    }
}

impl ClusterNode {
    /// Whether another node has answered the last ping.
    pub(crate) fn is_reaching(&self, id: &NodeId) -> bool {
        self.reach.answers(id)
    }

    /// Whether this node gives its realms away because it is cut off from the others.
    pub(crate) fn is_isolated(&self) -> bool {
        self.reach.is_isolated()
    }

    /// The nodes that have answered the last ping.
    pub(super) fn reaches(&self) -> Vec<NodeId> {
        self.reach.state().pings.reached().collect()
    }

    /// Restarts all clocks by which this node calls others dead, after it may have missed what they sent.
    pub(super) fn restart_clocks(&self) {
        let now = Instant::now();
        self.peers().stalled(now);
        self.reach.restart(now);
    }

    /// Pings all other nodes at the same time.
    async fn ping_all(&self) -> Vec<(Peer, Result<PingAnswer, NoAnswer>)> {
        let peers: Vec<_> = self.peers().known().map(Peer::from).collect();
        let pings = peers.into_iter().map(|peer| async {
            let answer = timeout(PING_TIMEOUT, self.ping(&peer)).await;
            (peer, answer.unwrap_or(Err(NoAnswer::Late)))
        });
        join_all(pings).await
    }

    async fn ping(&self, peer: &Peer) -> Result<PingAnswer, NoAnswer> {
        let answer = async {
            // A connection that is open already may outlive the way to the node.
            let link = self.links.connect(peer)?;
            let header = self.peer_header(peer, None, NO_CLIENT, "GET", PING_PATH);
            let path = PathAndQuery::from_static(PING_PATH);
            link::send_own(&link, Method::GET, path, header, Bytes::new()).await
        };
        match answer.await {
            Ok(response) => ping_answer(&response),
            Err(PeerError::NotConnected) => Err(NoAnswer::NotConnected),
            Err(PeerError::Lost) => Err(NoAnswer::Lost),
        }
    }

    fn apply_answers(&self, answers: Vec<(Peer, Result<PingAnswer, NoAnswer>)>) {
        for (peer, answer) in answers {
            let Peer { id, address } = peer;
            // It may have left meanwhile.
            if self.peers().peer(&id).is_none() {
                continue;
            }
            if answer.is_ok() {
                self.peers().node_answered(&id);
            }
            let mut reach = self.reach.state();
            let change = match answer {
                Ok(answer) => reach.pings.answered(id, answer),
                Err(_) => reach.pings.missed(id),
            };
            if change == Some(ReachChange::Lost) {
                reach.end_waits(&id);
            }
            drop(reach);
            let node = id.short();
            match (change, answer) {
                (Some(ReachChange::Lost), Err(reason)) => {
                    self.owners.remove_node(&id);
                    self.links.remove(&id);
                    let reason = reason.describe();
                    tracing::warn!(
                        node,
                        address,
                        reason,
                        "another bridge has not answered five pings: what waits for it ends, and it is sent \
                         nothing until it answers"
                    );
                }
                (Some(ReachChange::Back), _) => {
                    tracing::info!(node, address, "another bridge answers again");
                }
                _ => {}
            }
        }
    }

    /// Gives all realms away if this node is cut off, and takes realms again when it is not. Returns whether
    /// that has changed.
    fn look_for_isolation(self: &Arc<Self>) -> bool {
        // It stops soon, and its drain decides what becomes of its realms.
        if self.is_draining() {
            return false;
        }
        let now = Instant::now();
        let sight = self.sight(now);
        let change = self.reach.state().isolation.observe(&sight, now);
        match change {
            None => return false,
            Some(IsolationChange::Isolated(cause)) => {
                tracing::error!(
                    reason = cause.as_str(),
                    "this bridge is cut off: it gives its users to the others, and is not ready"
                );
                self.set_leaving(Some(RealmLoss::Isolated));
            }
            Some(IsolationChange::Returned(cause)) => {
                tracing::info!(
                    reason = cause.as_str(),
                    "this bridge takes users again, and is ready"
                );
                self.set_leaving(None);
            }
            Some(IsolationChange::NoneReached) => tracing::error!(
                "no bridge of the cluster reaches any other, and each serves only its own users: check \
                 `cluster_address`, the certificates, and what lies between the bridges"
            ),
        }
        true
    }

    fn sight(&self, now: Instant) -> Sight {
        let has_lease = self.has_lease();
        let peers = self.peers();
        let reach = self.reach.state();
        let seen = peers.known().map(|record| {
            let is_living = peers.is_alive(&record.id, now);
            SeenPeer {
                id: record.id,
                is_serving: is_living && record.state == NodeState::Serving,
                reaches: if is_living {
                    record.reaches.clone()
                } else {
                    Vec::new()
                },
                answer: reach.pings.last_answer(&record.id),
            }
        });
        Sight {
            has_lease,
            is_connected: peers.is_connected(),
            peers: seen.collect(),
        }
    }
}

fn ping_answer(response: &PeerResponse) -> Result<PingAnswer, NoAnswer> {
    match response.status() {
        StatusCode::OK => Ok(PingAnswer {
            is_reached: response.headers().get(REACHES).is_some_and(|it| it == "1"),
        }),
        status => Err(NoAnswer::Refused(status)),
    }
}
