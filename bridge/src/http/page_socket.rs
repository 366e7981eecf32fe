//! `GET /ws`, and `GET /` for pages of mcp-web 0.1: the socket of a page.
//!
//! `run` has one exit, so that the realm is notified once, whatever ends the socket.

mod codec;
mod compat;
mod connection_end;
mod connection_loop;
mod early_frames;
mod handshake;
mod long_registration;
mod memory;
mod page_protocol;
mod page_session;
mod probe;
mod reassembly;
mod socket;
mod token_renewal;

use std::pin::Pin;
use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bridge_auth::RealmId;
use bridge_cluster::Peer;
use bridge_compat::page_codec;
use bridge_edge::{ClientAddress, OriginCheck};
use bridge_protocol::{BridgeToPage, CloseCode, ErrorCode, SessionId, limits};
use bridge_realm::realm::Disconnect;
use futures_util::FutureExt;
use http::{HeaderMap, Uri};
use serde::Deserialize;

use crate::budget::{PageParty, Party, RefusalKind, RefusalRecord};
use crate::cluster::{PassedOn, PassedPage, Tunnel, TunnelSide};
use crate::hub::OutboxReceiver;
use crate::web::{AppState, HttpRequestId, Parameters, Problem, in_current_request};
use crate::websocket::{UpgradedIo, WebSocket, WebSocketUpgrade};
use connection_end::{ConnectionEnd, disconnect_for_close};
use connection_loop::PageConnection;
use handshake::{
    Arrival, HandshakeContext, HandshakeError, SocketRequest, accept, authenticate, moved,
};
use page_protocol::PageProtocol;
use page_session::PageSession;
use socket::{
    PageSocket, SILENT_PAGE_EVICTED, authenticated_limits, close, too_many_pending_pages,
    unauthenticated_limits,
};

#[derive(Deserialize)]
pub(super) struct SocketQuery {
    session: Option<String>,
}

/// Upgrades a request to the socket of a page.
pub(super) async fn upgrade(
    State(state): State<AppState>,
    Extension(origin): Extension<OriginCheck>,
    Extension(address): Extension<ClientAddress>,
    passed_on: Option<Extension<PassedOn>>,
    (uri, headers): (Uri, HeaderMap),
    Parameters(query): Parameters<SocketQuery>,
    socket: Result<WebSocketUpgrade, &'static str>,
) -> Response {
    let socket = match socket {
        Ok(socket) => socket,
        Err(reason) => {
            let message = format!("this is the socket of pages: {reason}");
            return Problem::new(ErrorCode::ProtocolViolation, message).into_response();
        }
    };
    let max_bytes = match uri.path() {
        "/" => page_codec::MAX_SESSION_ID_BYTES,
        _ => limits::MAX_SESSION_ID_BYTES,
    };
    let session = match query.session {
        Some(id) if !id.is_empty() && id.len() <= max_bytes => SessionId(id),
        _ => {
            let message = format!(
                "the page must name its session: connect to /ws?session=… with 1 to {max_bytes} bytes"
            );
            return Problem::new(ErrorCode::InvalidSession, message).into_response();
        }
    };
    let arrival = state.cluster.as_ref().map(|_| match passed_on {
        Some(Extension(passed_on)) => Arrival::PassedOn(passed_on),
        None => Arrival::Direct(Box::new(SocketRequest {
            path_and_query: uri
                .path_and_query()
                .map_or("/ws", |it| it.as_str())
                .to_owned(),
            id: HttpRequestId::current_header(),
            headers,
        })),
    });
    let (response, connection) = socket.accept();
    let sockets = state.page_sockets.clone();
    let party = PageParty::of_page(address, &origin);
    let context = Box::new(HandshakeContext {
        state,
        origin,
        session,
        party,
        arrival,
    });
    let run = in_current_request(run(connection, context));
    tokio::spawn(sockets.track_future(run));
    response
}

/// Serves one socket until it ends.
///
/// The futures of the handshake and of the end are boxed, so that the tasks of ten thousand idle
/// pages do not hold them. The connection is one box, for which a task would reserve its size twice.
async fn run(connection: impl Future<Output = Option<UpgradedIo>>, context: Box<HandshakeContext>) {
    let mut connection = match Box::pin(open_connection(connection, &context)).await {
        Some(PageDestination::Here(connection)) => connection,
        Some(PageDestination::Elsewhere(tunnel)) => {
            drop(context);
            return tunnel.await;
        }
        None => return,
    };
    let _passed_on = match (&context.state.cluster, &context.arrival) {
        (Some(cluster), Some(Arrival::PassedOn(_))) => {
            Some(cluster.counters.count_tunnel(TunnelSide::Owner))
        }
        _ => None,
    };
    // Only pages of mcp-web 0.1 authenticate more than once.
    let context = (connection.page.protocol == PageProtocol::Compat).then_some(context);
    loop {
        let end = connection.serve().await;
        match Box::pin(on_connection_end(&mut connection, end, context.as_deref())).await {
            Some((page, outbox)) => connection.replace_session(page, outbox),
            None => return,
        }
    }
}

/// Cleans up when the connection loop has ended. Returns the new session of a page that has
/// authenticated again.
async fn on_connection_end(
    connection: &mut PageConnection,
    end: ConnectionEnd,
    context: Option<&HandshakeContext>,
) -> Option<(PageSession, OutboxReceiver)> {
    if let ConnectionEnd::Close(frame) = &end
        && frame.code == CloseCode::Superseded
        && connection.page.awaits_former_document()
    {
        let disconnect = connection.serve_former_document(frame.clone()).await;
        connection.page.on_disconnect(disconnect);
        return None;
    }
    let PageConnection {
        socket,
        page,
        outbox,
        ..
    } = connection;
    match (end, context) {
        (ConnectionEnd::Disconnected(disconnect), _) => {
            page.on_disconnect(disconnect);
            // Sends the response to a close frame, if the peer still takes it.
            socket.try_flush().await;
        }
        (ConnectionEnd::Close(close_frame), _) => {
            page.on_disconnect(disconnect_for_close(&close_frame));
            close(socket, close_frame).await;
        }
        (ConnectionEnd::Aborted, _) | (ConnectionEnd::Reauthenticate(_), None) => {
            page.on_disconnect(Disconnect::ConnectionLost)
        }
        (ConnectionEnd::Reauthenticate(hello), Some(context)) => {
            let accepted = authenticate(context, *hello, None).await;
            // By now the session has another connection, or has ended.
            page.on_disconnect(Disconnect::DocumentGone);
            compat::queue_pending(socket, outbox);
            match accepted {
                Ok(accepted) => return Some(accepted),
                Err(error) => reject(context, socket, error).await,
            }
        }
    }
    None
}

/// The socket of a page that has authenticated.
enum PageDestination {
    Here(Box<PageConnection>),
    /// Another bridge serves the page, and gets what was received of it until the tunnel ends.
    Elsewhere(Pin<Box<dyn Future<Output = ()> + Send>>),
}

/// Authenticates a page. Returns `None` when it was rejected, or is gone.
async fn open_connection(
    connection: impl Future<Output = Option<UpgradedIo>>,
    context: &HandshakeContext,
) -> Option<PageDestination> {
    let config = &context.state.hub.config;
    let mut socket = WebSocket::new(connection.await?, unauthenticated_limits(config));
    if let Some(Arrival::Direct(_)) = &context.arrival {
        socket.start_recording();
    }
    let accepted = match context
        .state
        .hub
        .budgets
        .pending_pages
        .try_acquire(&context.party)
    {
        // The permit is released when the handshake ends.
        Ok(permit) => tokio::select! {
            biased;
            accepted = accept(context, &mut socket, &permit) => accepted,
            () = permit.evicted() => {
                Err(HandshakeError::too_many_pending(SILENT_PAGE_EVICTED.to_owned()))
            }
        },
        Err(used) => {
            let reason = too_many_pending_pages(used, &context.party);
            Err(HandshakeError::too_many_pending(reason))
        }
    };
    match accepted {
        Ok((page, outbox)) => {
            socket.set_limits(authenticated_limits(config));
            socket.stop_recording();
            let connection = PageConnection::new(socket, page, outbox);
            Some(PageDestination::Here(Box::new(connection)))
        }
        Err(HandshakeError::Elsewhere(realm, owner, protocol)) => {
            match tunnel(context, realm, &owner).await {
                Some(tunnel) => {
                    let (io, received) = socket.into_recorded();
                    let refusals = Arc::clone(&context.state.hub.budgets.refusals);
                    let address = context.party.address;
                    let running = tunnel.run(io, received).map(move |ended| {
                        if let Err(exceeded) = ended {
                            let reason = format!("no memory to pass on this message: {exceeded}");
                            refusals.record(RefusalKind::MaxMemoryBytes, address, "/ws", &reason);
                        }
                    });
                    Some(PageDestination::Elsewhere(Box::pin(running)))
                }
                None => {
                    reject(context, &mut socket, moved(protocol)).await;
                    None
                }
            }
        }
        Err(error) => {
            reject(context, &mut socket, error).await;
            None
        }
    }
}

/// Opens the socket of a page at the bridge that serves its realm.
async fn tunnel(context: &HandshakeContext, realm: RealmId, owner: &Peer) -> Option<Tunnel> {
    let (Some(cluster), Some(Arrival::Direct(request))) =
        (&context.state.cluster, &context.arrival)
    else {
        return None;
    };
    let request = PassedPage {
        path_and_query: &request.path_and_query,
        headers: &request.headers,
        client: context.party.address.ip(),
        request_id: &request.id,
    };
    let party = Party::new(context.party.address, realm);
    let memory = context.state.hub.budgets.memory.lease(party);
    let opening = cluster.open_tunnel(realm, owner, request, memory);
    let tunnel = context.state.stopping.run_until_cancelled(opening).await;
    tunnel.and_then(Result::ok)
}

/// Sends the reason of a failed handshake to the page, and closes its socket.
async fn reject(context: &HandshakeContext, socket: &mut PageSocket, error: HandshakeError) {
    let rejection = match error {
        HandshakeError::Rejected(rejection) => rejection,
        // A page of mcp-web 0.1 has authenticated again, with a token of another bridge.
        HandshakeError::Elsewhere(_, _, protocol) => match moved(protocol) {
            HandshakeError::Rejected(rejection) => rejection,
            _ => return,
        },
        HandshakeError::PeerLeft => return,
    };
    if let Some(refusal) = &rejection.refusal {
        let address = context.party.address;
        let RefusalRecord { kind, reason } = refusal;
        let refusals = &context.state.hub.budgets.refusals;
        refusals.record(*kind, address, "/ws", reason);
    }
    if let Some(failure) = rejection.message {
        // This message is the same in both protocols.
        let message = BridgeToPage::AuthenticationFailed(failure);
        socket.queue_text(message.encode());
    }
    close(socket, rejection.close_frame).await;
}
