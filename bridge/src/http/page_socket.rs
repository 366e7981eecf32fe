//! `GET /ws`, and `GET /` for pages of v1: the socket of a page.
//!
//! `run` has one exit: whatever ends the socket, the realm hears of it once.

mod compat;
mod connection_loop;
mod handshake;
mod reassembly;
mod token_renewal;

use crate::compat::page_codec;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use bridge_protocol::{
    Authenticate, BridgeToPage, CallId, CloseCode, DecodeError, ErrorCode, PageToBridge, Retry,
    SessionId, limits,
};
use http::Uri;
use serde::Deserialize;
use tokio::time::timeout;

use crate::hub::{Hub, OutboxReceiver, SessionIdLease};
use crate::web::AppState;
use crate::web::Problem;
use crate::websocket::{UpgradedIo, WebSocket, WebSocketUpgrade};
use bridge_auth::{Authenticator, RealmId};
use bridge_json::RawJson;
use bridge_realm::page_messages::{CloseFrame, PageEvent};
use bridge_realm::realm::{ConnectionId, Disconnect, PageProtocol};
use bridge_service::OriginCheck;
use connection_loop::ConnectionState;
use handshake::{HandshakeError, accept, authenticate};

/// How much of what a peer invents goes into a log.
const MAX_LOGGED_CHARS: usize = 64;

/// A close frame must be sent and answered within this: the peer may not be reading.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Deserialize)]
pub(super) struct SocketQuery {
    session: Option<String>,
}

/// Upgrades a request to the socket of a page.
pub(super) async fn upgrade(
    State(edge): State<AppState>,
    Extension(origin): Extension<OriginCheck>,
    uri: Uri,
    Query(query): Query<SocketQuery>,
    socket: Result<WebSocketUpgrade, &'static str>,
) -> Response {
    let socket = match socket {
        Ok(socket) => socket,
        Err(lacking) => {
            let message = format!("this is the socket of pages: {lacking}");
            return Problem::new(ErrorCode::ProtocolViolation, message).into_response();
        }
    };
    let most = match uri.path() {
        "/" => page_codec::MAX_SESSION_ID_BYTES,
        _ => limits::MAX_SESSION_ID_BYTES,
    };
    let session = match query.session {
        Some(id) if !id.is_empty() && id.len() <= most => SessionId(id),
        _ => {
            let message = format!(
                "the page must name its session: connect to /ws?session=… with 1 to {most} bytes"
            );
            return Problem::new(ErrorCode::InvalidSession, message).into_response();
        }
    };
    let (answer, connection) = socket.accept();
    let sockets = edge.page_sockets.clone();
    let visit = Box::new(HandshakeContext {
        edge,
        origin,
        session,
    });
    tokio::spawn(sockets.track_future(run(connection, visit)));
    answer
}

/// A page that is told never to come back is gone.
fn disconnect_for_close(closing: &CloseFrame) -> Disconnect {
    match CloseCode::retry(closing.code.code()) {
        Retry::Never => Disconnect::DocumentGone,
        Retry::Soon | Retry::Later => Disconnect::ConnectionLost,
    }
}

/// How a connected socket ended.
enum ConnectionEnd {
    /// The peer closed or left.
    Disconnected(Disconnect),
    /// The bridge closes.
    Close(CloseFrame),
    /// The peer does not read: the hub cut the connection.
    Aborted,
    /// A page of v1 has authenticated again.
    Reauthenticate(Box<Authenticate>),
}

type PageSocket = WebSocket<UpgradedIo>;

/// Who wants in, and how: kept for pages that may authenticate again.
struct HandshakeContext {
    edge: AppState,
    origin: OriginCheck,
    session: SessionId,
}

/// As long as the page is there. What is needed only at its coming and going is in boxes of its own,
/// so that ten thousand pages that wait do not hold it; what they do hold is one box of that size,
/// where a task would have room for it twice.
async fn run(connection: impl Future<Output = Option<UpgradedIo>>, visit: Box<HandshakeContext>) {
    let Some(mut line) = Box::pin(open_connection(connection, &visit)).await else {
        return;
    };
    // Others hear that it comes once.
    let visit = (line.page.protocol == PageProtocol::V1).then_some(visit);
    loop {
        let end = line.serve().await;
        match Box::pin(on_connection_end(&mut line, end, visit.as_deref())).await {
            Some((page, outbox)) => (line.page, line.outbox) = (page, outbox),
            None => return,
        }
    }
}

/// What there is to do when the socket has ended. What goes on, if it is a page that comes again.
async fn on_connection_end(
    line: &mut PageConnection,
    end: ConnectionEnd,
    visit: Option<&HandshakeContext>,
) -> Option<(PageSession, OutboxReceiver)> {
    let PageConnection {
        socket,
        page,
        outbox,
        ..
    } = line;
    match (end, visit) {
        (ConnectionEnd::Disconnected(parting), _) => {
            page.on_disconnect(parting);
            // The answer to a close frame, if the peer is there to take it.
            socket.try_flush().await;
        }
        (ConnectionEnd::Close(closing), _) => {
            page.on_disconnect(disconnect_for_close(&closing));
            close(socket, closing).await;
        }
        (ConnectionEnd::Aborted, _) | (ConnectionEnd::Reauthenticate(_), None) => {
            page.on_disconnect(Disconnect::ConnectionLost)
        }
        (ConnectionEnd::Reauthenticate(hello), Some(visit)) => {
            let admitted = authenticate(visit, *hello).await;
            // The session has another connection by now, or is over.
            page.on_disconnect(Disconnect::DocumentGone);
            compat::queue_pending(socket, outbox);
            match admitted {
                Ok(admitted) => return Some(admitted),
                Err(refused) => reject(socket, refused).await,
            }
        }
    }
    None
}

/// Lets a page in; `None` when it is refused, or gone.
async fn open_connection(
    connection: impl Future<Output = Option<UpgradedIo>>,
    visit: &HandshakeContext,
) -> Option<Box<PageConnection>> {
    let mut socket = WebSocket::new(connection.await?, limits::MAX_FRAME_BYTES);
    let admitted = match Arc::clone(&visit.edge.hub.pending_pages).try_acquire_owned() {
        // Given back when the page is let in, or not.
        Ok(_pending) => accept(visit, &mut socket).await,
        Err(_) => Err(HandshakeError::Rejected(too_many_pending_pages(), None)),
    };
    match admitted {
        Ok((page, outbox)) => Some(Box::new(PageConnection {
            socket,
            page,
            outbox,
            state: ConnectionState::default(),
        })),
        Err(refused) => {
            reject(&mut socket, refused).await;
            None
        }
    }
}

/// Tells a page that it is not let in.
async fn reject(socket: &mut PageSocket, refused: HandshakeError) {
    let HandshakeError::Rejected(closing, failure) = refused else {
        return;
    };
    if let Some(failure) = failure {
        // The same in both dialects.
        let message = BridgeToPage::AuthenticationFailed(failure);
        socket.queue_text(message.encode());
    }
    close(socket, closing).await;
}

async fn close(socket: &mut PageSocket, closing: CloseFrame) {
    socket.queue_close(closing.code.code(), &closing.reason);
    let _ = timeout(CLOSE_TIMEOUT, socket.flush_and_drain()).await;
}

/// Many pages come at once, as after a restart: this one has its turn later.
fn too_many_pending_pages() -> CloseFrame {
    CloseFrame::new(
        CloseCode::TryAgainLater,
        "too many pages are connecting (`max_pending_pages`)",
    )
}

fn binary_unsupported() -> CloseFrame {
    CloseFrame::new(
        CloseCode::UnsupportedData,
        "binary frames are not understood",
    )
}

fn invalid_json(error: &DecodeError) -> CloseFrame {
    CloseFrame::new(CloseCode::UnsupportedData, error_excerpt(error))
}

/// RFC 6455 section 5.5: a control frame carries at most 125 bytes, two of them the code.
fn error_excerpt(error: &DecodeError) -> String {
    let text = error.to_string();
    text.chars().filter(char::is_ascii).take(120).collect()
}

fn frame_too_big() -> CloseFrame {
    CloseFrame::new(
        CloseCode::MessageTooBig,
        format!("a frame may have {} bytes", limits::MAX_FRAME_BYTES),
    )
}

/// A connected page and the two that it is between.
struct PageConnection {
    socket: PageSocket,
    page: PageSession,
    outbox: OutboxReceiver,
    state: ConnectionState,
}

/// A connected page.
struct PageSession {
    hub: Arc<Hub>,
    realm: RealmId,
    session: SessionId,
    protocol: PageProtocol,
    connection: ConnectionId,
    authenticator: Arc<Authenticator>,
    _lease: Option<SessionIdLease>,
}

impl PageSession {
    /// The connection is over.
    fn on_disconnect(&self, parting: Disconnect) {
        self.hub
            .connection_ended(self.realm, &self.session, self.connection, parting);
    }

    fn part_arrived(&self) {
        self.hub.apply(self.realm, |realm, now| {
            realm.part_arrived(&self.session, self.connection, now);
            ((), Vec::new())
        });
    }

    /// One message of the page.
    fn on_message(&self, message: PageToBridge) -> Result<(), CloseFrame> {
        let event = PageEvent::from_message(message, &self.hub.page_limits, &self.hub.definitions)?;
        self.apply(event);
        Ok(())
    }

    /// The same of an answer that was read in one pass.
    fn on_long_answer(&self, call: CallId, value: RawJson) {
        self.apply(PageEvent::from_long_response(
            call,
            value,
            &self.hub.page_limits,
        ));
    }

    fn apply(&self, event: PageEvent) {
        self.hub.apply(self.realm, |realm, now| {
            let effects = event.apply(realm, &self.session, self.connection, now);
            ((), effects)
        });
    }
}

/// 1000 and 1001 mean that the page's JavaScript is gone.
fn disconnect_for_code(code: Option<u16>) -> Disconnect {
    match code {
        Some(1000 | 1001) => Disconnect::DocumentGone,
        _ => Disconnect::ConnectionLost,
    }
}
