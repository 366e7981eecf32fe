//! The metrics of a bridge that is one of several.

use std::fmt;

use prometheus_client::encoding::NoLabelSet;
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Unit;

use super::metric_writer::{Labels, MetricWriter, WriteSeries};
use crate::cluster::{Claim, ClusterNode, Forward, Held, Lookup, LossReason, TunnelSide};

/// Writes the metrics of a cluster.
pub(super) fn write(cluster: &ClusterNode, metrics: &mut MetricWriter<'_>) -> fmt::Result {
    let status = cluster.status();
    let node: Labels<'_> = &[("node", &status.node)];
    metrics
        .gauges(
            "cluster_node",
            "This bridge among those of the cluster, by its id",
        )?
        .write_gauge(node, 1)?;
    let mut nodes = metrics.gauges("cluster_nodes", "The other bridges, by state")?;
    for (state, count) in [
        ("serving", status.peers.serving),
        ("draining", status.peers.draining),
        ("dead", status.peers.dead),
    ] {
        nodes.write_gauge(&[("state", state)], count)?;
    }
    let help = "Whether another bridge of the cluster answers, by its id";
    let mut peers = metrics.gauges("cluster_peer_up", help)?;
    for (peer, is_up) in &status.reachable_peers {
        peers.write_gauge(&[("peer", peer)], usize::from(*is_up))?;
    }
    let help = "Tokens that this bridge serves and no other one, and those that it is giving up";
    let mut realms = metrics.gauges("cluster_realms", help)?;
    realms.write_gauge(&[("state", "owned")], status.realms.owned)?;
    realms.write_gauge(&[("state", "moving")], status.realms.moving)?;
    let help = "How long the record of this bridge in NATS still lasts";
    let unit = Some(&Unit::Seconds);
    metrics
        .describe("cluster_lease", help, unit, MetricType::Gauge)?
        .encode_gauge(&status.lease_left.as_secs_f64())?;
    let help = "Whether NATS is connected";
    metrics.gauge("cluster_engine_up", help, usize::from(status.is_connected))?;
    let counters = &cluster.counters;
    let mut tunnels = metrics.gauges(
        "cluster_tunnels",
        "Page sockets that are passed on, at the bridge of the page and at that of its token",
    )?;
    for side in TunnelSide::ALL {
        tunnels.write_gauge(&[("side", side.as_str())], counters.tunnels(*side))?;
    }
    let help = "Look-ups of the bridge that serves a token, by how it was found";
    let mut lookups = metrics.counters("cluster_lookups", help)?;
    for outcome in Lookup::ALL {
        lookups.write_counter(&[("outcome", outcome.as_str())], counters.lookups(*outcome))?;
    }
    let help = "Time that look-ups in NATS have taken";
    let (time, count) = counters.lookup_time();
    metrics
        .describe("cluster_lookup", help, unit, MetricType::Histogram)?
        .encode_histogram::<NoLabelSet>(
            time.as_secs_f64(),
            count,
            &[(f64::INFINITY, count)],
            None,
        )?;
    let help = "Tokens that this bridge has begun to serve, and claims of others, by outcome";
    let mut claims = metrics.counters("cluster_claims", help)?;
    for outcome in Claim::ALL {
        claims.write_counter(&[("outcome", outcome.as_str())], counters.claims(*outcome))?;
    }
    let help = "Requests that were passed on to other bridges, by outcome";
    let mut forwards = metrics.counters("cluster_forwards", help)?;
    for outcome in Forward::ALL {
        forwards.write_counter(
            &[("outcome", outcome.as_str())],
            counters.forwards(*outcome),
        )?;
    }
    let help = "Requests that have waited until another bridge serves their token, by outcome";
    let mut held = metrics.counters("cluster_held", help)?;
    for outcome in Held::ALL {
        held.write_counter(&[("outcome", outcome.as_str())], counters.held(*outcome))?;
    }
    let help = "Tokens that this bridge has given up, by reason";
    let mut lost = metrics.counters("cluster_realms_lost", help)?;
    for reason in LossReason::ALL {
        lost.write_counter(&[("reason", reason.as_str())], counters.losses(*reason))?;
    }
    let help = "Records in NATS that were not written with the secret of the cluster";
    metrics
        .counters("cluster_invalid_records", help)?
        .encode_counter::<NoLabelSet, u64, f64>(&counters.invalid_records(), None)
}
