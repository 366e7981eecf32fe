//! The bridge that serves an MCP request, if there are several.

use std::sync::Arc;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bridge_auth::RealmId;
use bridge_cluster::{Peer, Verdict};
use bridge_realm::realm::CallFailure;
use bytes::Bytes;
use http::request::Parts;

use super::headers::session_id_header;
use super::json_rpc_message::Message;
use super::service::McpService;
use crate::budget::{Party, ScanTurn};
use crate::cluster::{
    ClusterNode, HoldEnd, MAX_ATTEMPTS, NotForwarded, NotOwner, OwnerAway, PassedOn, RealmGuard,
    Route,
};
use crate::web::{HttpRequestId, Problem};

/// The body of a request, with the turn in which it is parsed.
type BodyWithTurn = (Bytes, Option<ScanTurn>);

/// Finds out whether this bridge serves a request, if it is one of several. A client that connects claims
/// its realm, and any other request waits for an owner if there is none at the moment. Returns the body, and
/// the guard of a request that runs here. The error is the response: that of another bridge which owns the
/// realm, or a refusal.
pub(super) async fn find_owner(
    mcp: &McpService,
    cluster: &Arc<ClusterNode>,
    parts: &Parts,
    (body, turn): BodyWithTurn,
    caller: Party<RealmId>,
) -> Result<(BodyWithTurn, Option<RealmGuard>), Box<Response>> {
    let realm = caller.member;
    let connects = connects_client(parts, &body);
    let away = parts.extensions.get::<OwnerAway>();
    if !connects && away.is_none() {
        return Ok(((body, turn), None));
    }
    // Others scan their bodies meanwhile.
    drop(turn);
    if !connects && !matches!(away, Some(OwnerAway::Gone)) {
        return Err(rejected(OwnerAway::Unknown));
    }
    let end = parts.extensions.get().copied();
    let end = end.unwrap_or_else(HoldEnd::from_now);
    let (client, id) = (caller.address.ip(), HttpRequestId::current_header());
    let mut failed = None;
    for _ in 0..MAX_ATTEMPTS {
        let owner = if connects && failed.is_none() {
            claim(cluster, parts, realm).await?
        } else {
            match (hold(cluster, caller, failed.as_ref(), end).await?, connects) {
                (None, true) => claim(cluster, parts, realm).await?,
                (owner, _) => owner,
            }
        };
        let Some(owner) = owner else {
            let guard = cluster.begin_request_at_once(realm);
            let turn = mcp.state.hub.budgets.cpu_pool.scan_turn(realm, body.len());
            let turn = turn.await.map_err(CallFailure::from).map_err(rejected)?;
            return Ok(((body, turn), guard));
        };
        let sent = cluster.forward_claimed(realm, &owner, parts, body.clone(), client, &id);
        match sent.await {
            Ok(response) => return Err(Box::new(response.map(Body::new))),
            // Its claim is not complete, or it has given the realm away.
            Err(NotForwarded::NotRun) => failed = Some(owner),
            Err(lost) => return Err(rejected(lost)),
        }
    }
    Err(rejected(NotForwarded::NotRun))
}

/// Whether a request connects its client to the realm, and is not only a call.
fn connects_client(parts: &Parts, body: &Bytes) -> bool {
    let opens = |method: &str| matches!(method, "initialize" | "subscriptions/listen");
    session_id_header(&parts.headers).is_some()
        || Message::parse(body).is_some_and(|it| it.method.as_deref().is_some_and(opens))
}

/// Claims a realm for this bridge before a client connects to it. Returns the bridge that has claimed it
/// meanwhile.
async fn claim(
    cluster: &Arc<ClusterNode>,
    parts: &Parts,
    realm: RealmId,
) -> Result<Option<Peer>, Box<Response>> {
    match cluster.claim(realm).await {
        Verdict::Owned => Ok(None),
        Verdict::Elsewhere(owner) if parts.extensions.get::<PassedOn>().is_none() => {
            Ok(Some(owner))
        }
        Verdict::Elsewhere(_) => Err(Box::new(NotOwner.into_response())),
        _ => Err(rejected(OwnerAway::Unknown)),
    }
}

/// Holds a request until its realm has an owner, or is known to have none. Returns the owner, unless this
/// bridge serves the request.
async fn hold(
    cluster: &Arc<ClusterNode>,
    caller: Party<RealmId>,
    failed: Option<&Peer>,
    end: HoldEnd,
) -> Result<Option<Peer>, Box<Response>> {
    let held = cluster.hold(caller, failed, end).await;
    match held.map_err(rejected)? {
        Route::Node(_, owner) => Ok(Some(owner)),
        Route::Here => Ok(None),
        Route::Unowned => Ok(cluster.successor_of(caller.member).map(|(_, peer)| peer)),
    }
}

fn rejected(problem: impl Into<Problem>) -> Box<Response> {
    Box::new(problem.into().into_response())
}
