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

use axum::Extension;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bridge_compat::page_codec;
use bridge_edge::{ClientAddress, OriginCheck};
use bridge_protocol::{BridgeToPage, CloseCode, ErrorCode, SessionId, limits};
use bridge_realm::realm::Disconnect;
use http::Uri;
use serde::Deserialize;

use crate::budget::{PageParty, RefusalRecord};
use crate::hub::OutboxReceiver;
use crate::web::{AppState, Parameters, Problem, in_current_request};
use crate::websocket::{UpgradedIo, WebSocket, WebSocketUpgrade};
use connection_end::{ConnectionEnd, disconnect_for_close};
use connection_loop::PageConnection;
use handshake::{HandshakeContext, HandshakeError, accept, authenticate};
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
    uri: Uri,
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
    let (response, connection) = socket.accept();
    let sockets = state.page_sockets.clone();
    let party = PageParty::of_page(address, &origin);
    let context = Box::new(HandshakeContext {
        state,
        origin,
        session,
        party,
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
    let Some(mut connection) = Box::pin(open_connection(connection, &context)).await else {
        return;
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
            let accepted = authenticate(context, *hello).await;
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

/// Authenticates a page. Returns `None` when it was rejected, or is gone.
async fn open_connection(
    connection: impl Future<Output = Option<UpgradedIo>>,
    context: &HandshakeContext,
) -> Option<Box<PageConnection>> {
    let config = &context.state.hub.config;
    let mut socket = WebSocket::new(connection.await?, unauthenticated_limits(config));
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
            Some(Box::new(PageConnection::new(socket, page, outbox)))
        }
        Err(error) => {
            reject(context, &mut socket, error).await;
            None
        }
    }
}

/// Sends the reason of a failed handshake to the page, and closes its socket.
async fn reject(context: &HandshakeContext, socket: &mut PageSocket, error: HandshakeError) {
    let HandshakeError::Rejected(rejection) = error else {
        return;
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
