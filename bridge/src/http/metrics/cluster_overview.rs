//! `GET /cluster`: the bridges that serve as one, as this one knows them, and which of them serves a user.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use bridge_auth::RealmId;
use bridge_protocol::ErrorCode;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::cluster::ClusterNode;
use crate::web::{AppState, Parameters, Problem};

#[derive(Deserialize)]
pub(super) struct OverviewQuery {
    /// The subject of a user of signed tokens, or the SHA-256 of another token in hexadecimal digits.
    user: Option<String>,
}

/// Serves the overview. It does not depend on other bridges, which may not answer.
pub(super) async fn overview(
    State((state, cluster)): State<(AppState, Arc<ClusterNode>)>,
    Parameters(query): Parameters<OverviewQuery>,
) -> Result<Json<Value>, Problem> {
    let usage = state.hub.usage();
    let status = cluster.status();
    let nodes = cluster.known_nodes().into_iter().map(|node| {
        let reaches: Vec<_> = node.record.reaches.iter().map(|id| id.short()).collect();
        json!({
            "node": node.record.id.short(),
            "address": node.record.address,
            "state": node.state(),
            "version": node.record.version,
            "renewedSecondsAgo": node.age.as_secs_f64(),
            "reaches": reaches,
        })
    });
    let mut overview = json!({
        "node": status.node,
        "address": cluster.address(),
        "state": cluster.node_state().as_str(),
        "version": env!("CARGO_PKG_VERSION"),
        "leaseSecondsLeft": status.lease_left.as_secs_f64(),
        "isNatsConnected": status.is_connected,
        "ownedRealms": status.realms.owned,
        "pages": usage.connected_sessions,
        "calls": usage.calls,
        "nodes": nodes.collect::<Vec<_>>(),
    });
    if let Some(user) = query.user {
        overview["owners"] = owners(&state, &cluster, &user).await?;
    }
    Ok(Json(overview))
}

/// Returns the owner of each realm of a user: subjects of two issuers are two users.
async fn owners(state: &AppState, cluster: &ClusterNode, user: &str) -> Result<Value, Problem> {
    let mut realms = Vec::new();
    realms.extend(RealmId::from_hex(user).map(|realm| (None, realm)));
    realms.extend(state.authenticator.issuers().into_iter().map(|issuer| {
        let realm = RealmId::from_subject(&issuer, user);
        (Some(issuer), realm)
    }));
    let mut owners = Vec::new();
    for (issuer, realm) in realms {
        let owner = cluster.node_in_record(realm).await.map_err(|_| {
            let message = "NATS has not answered, which knows the bridge of each user: retry";
            Problem::new(ErrorCode::ClusterUnavailable, message).uncounted()
        })?;
        let (node, address) = owner.map(|owner| (owner.id.short(), owner.address)).unzip();
        owners.push(json!({ "issuer": issuer, "node": node, "address": address }));
    }
    Ok(owners.into())
}
