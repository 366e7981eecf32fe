//! `GET /ws`, and `GET /` for pages of v1: the socket of a page.
//!
//! `run` has one exit: whatever ends the socket, the realm hears of it once.

mod admission;
mod frames;
mod renewal;
mod serving;
mod v1;

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::{Query, Request, State};
use axum::response::{IntoResponse, Response};
use bridge_protocol::{
    Authenticate, BridgeToPage, CallId, CloseCode, DecodeError, ErrorCode, PageToBridge, Retry,
    SessionId, limits,
};
use http::header::UPGRADE;
use http::{Method, Uri};
use serde::Deserialize;
use tokio::time::timeout;

use super::{Edge, Problem};
use crate::auth::{RealmId, Tokens};
use crate::hub::{Claim, Hub, Outbox};
use crate::json::Json;
use crate::origin::Origin;
use crate::page_wire::{Closing, PageEvent};
use crate::realm::{ConnectionId, Dialect, Parting};
use crate::websocket::{Upgrade, Upgraded, WebSocket};
use admission::{Refused, admit, let_in};
use serving::Serving;

/// How much of what a peer invents goes into a log.
const SHOWN_CHARS: usize = 64;

/// A close frame must be sent and answered within this: the peer may not be reading.
const CLOSE_WITHIN: Duration = Duration::from_secs(2);

#[derive(Deserialize)]
pub(super) struct SocketQuery {
    session: Option<String>,
}

/// Whether a request to another route wants to be the socket of a page.
pub(super) fn is_wanted(request: &Request) -> bool {
    let upgrade = request.headers().get(UPGRADE);
    let to_socket = upgrade.is_some_and(|to| to.as_bytes().eq_ignore_ascii_case(b"websocket"));
    to_socket && *request.method() == Method::GET
}

pub(super) async fn upgrade(
    State(edge): State<Edge>,
    Extension(origin): Extension<Origin>,
    uri: Uri,
    Query(query): Query<SocketQuery>,
    socket: Result<Upgrade, &'static str>,
) -> Response {
    let socket = match socket {
        Ok(socket) => socket,
        Err(lacking) => {
            let message = format!("this is the socket of pages: {lacking}");
            return Problem::new(ErrorCode::ProtocolViolation, message).into_response();
        }
    };
    let most = match uri.path() {
        "/" => crate::v1::page::MAX_SESSION_ID_BYTES,
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
    let sockets = edge.sockets.clone();
    let visit = Box::new(Visit {
        edge,
        origin,
        session,
    });
    tokio::spawn(sockets.track_future(run(connection, visit)));
    answer
}

/// A page that is told never to come back is gone.
fn parting_of(closing: &Closing) -> Parting {
    match CloseCode::retry(closing.code.code()) {
        Retry::Never => Parting::Gone,
        Retry::Soon | Retry::Later => Parting::Broken,
    }
}

/// How a connected socket ended.
enum End {
    /// The peer closed or left.
    Parted(Parting),
    /// The bridge closes.
    Closing(Closing),
    /// The peer does not read: the hub cut the connection.
    Cut,
    /// A page of v1 has authenticated again.
    Again(Box<Authenticate>),
}

type Socket = WebSocket<Upgraded>;

/// Who wants in, and how: kept for pages that may authenticate again.
struct Visit {
    edge: Edge,
    origin: Origin,
    session: SessionId,
}

/// As long as the page is there. What is needed only at its coming and going is in boxes of its own,
/// so that ten thousand pages that wait do not hold it; what they do hold is one box of that size,
/// where a task would have room for it twice.
async fn run(connection: impl Future<Output = Option<Upgraded>>, visit: Box<Visit>) {
    let Some(mut line) = Box::pin(arrive(connection, &visit)).await else {
        return;
    };
    // Others hear that it comes once.
    let visit = (line.page.dialect == Dialect::V1).then_some(visit);
    loop {
        let end = line.serve().await;
        match Box::pin(after(&mut line, end, visit.as_deref())).await {
            Some((page, outbox)) => (line.page, line.outbox) = (page, outbox),
            None => return,
        }
    }
}

/// What there is to do when the socket has ended. What goes on, if it is a page that comes again.
async fn after(line: &mut Line, end: End, visit: Option<&Visit>) -> Option<(Page, Outbox)> {
    let Line {
        socket,
        page,
        outbox,
        ..
    } = line;
    match (end, visit) {
        (End::Parted(parting), _) => {
            page.ended(parting);
            // The answer to a close frame, if the peer is there to take it.
            socket.flush_at_once().await;
        }
        (End::Closing(closing), _) => {
            page.ended(parting_of(&closing));
            close(socket, closing).await;
        }
        (End::Cut, _) | (End::Again(_), None) => page.ended(Parting::Broken),
        (End::Again(hello), Some(visit)) => {
            let admitted = let_in(visit, *hello).await;
            // The session has another connection by now, or is over.
            page.ended(Parting::Gone);
            v1::queue_rest(socket, outbox);
            match admitted {
                Ok(admitted) => return Some(admitted),
                Err(refused) => refuse(socket, refused).await,
            }
        }
    }
    None
}

/// Lets a page in; `None` when it is refused, or gone.
async fn arrive(
    connection: impl Future<Output = Option<Upgraded>>,
    visit: &Visit,
) -> Option<Box<Line>> {
    let mut socket = WebSocket::new(connection.await?, limits::MAX_FRAME_BYTES);
    let admitted = match Arc::clone(&visit.edge.hub.pending_pages).try_acquire_owned() {
        // Given back when the page is let in, or not.
        Ok(_pending) => admit(visit, &mut socket).await,
        Err(_) => Err(Refused::With(full(), None)),
    };
    match admitted {
        Ok((page, outbox)) => Some(Box::new(Line {
            socket,
            page,
            outbox,
            serving: Serving::default(),
        })),
        Err(refused) => {
            refuse(&mut socket, refused).await;
            None
        }
    }
}

/// Tells a page that it is not let in.
async fn refuse(socket: &mut Socket, refused: Refused) {
    let Refused::With(closing, failure) = refused else {
        return;
    };
    if let Some(failure) = failure {
        // The same in both dialects.
        let message = BridgeToPage::AuthenticationFailed(failure);
        socket.queue_text(message.encode());
    }
    close(socket, closing).await;
}

async fn close(socket: &mut Socket, closing: Closing) {
    socket.queue_close(closing.code.code(), &closing.reason);
    let _ = timeout(CLOSE_WITHIN, socket.closed()).await;
}

/// Many pages come at once, as after a restart: this one has its turn later.
fn full() -> Closing {
    Closing::new(
        CloseCode::TryAgainLater,
        "too many pages are connecting (`max_pending_pages`)",
    )
}

fn binary() -> Closing {
    Closing::new(
        CloseCode::UnsupportedData,
        "binary frames are not understood",
    )
}

fn bad_json(error: &DecodeError) -> Closing {
    Closing::new(CloseCode::UnsupportedData, shown(error))
}

/// RFC 6455 section 5.5: a control frame carries at most 125 bytes, two of them the code.
fn shown(error: &DecodeError) -> String {
    let text = error.to_string();
    text.chars().filter(char::is_ascii).take(120).collect()
}

fn too_big() -> Closing {
    Closing::new(
        CloseCode::MessageTooBig,
        format!("a frame may have {} bytes", limits::MAX_FRAME_BYTES),
    )
}

/// A connected page and the two that it is between.
struct Line {
    socket: Socket,
    page: Page,
    outbox: Outbox,
    serving: Serving,
}

/// A connected page.
struct Page {
    hub: Arc<Hub>,
    realm: RealmId,
    session: SessionId,
    dialect: Dialect,
    connection: ConnectionId,
    tokens: Arc<Tokens>,
    _claim: Option<Claim>,
}

impl Page {
    /// The connection is over.
    fn ended(&self, parting: Parting) {
        self.hub
            .connection_ended(self.realm, &self.session, self.connection, parting);
    }

    fn part_arrived(&self) {
        self.hub.change(self.realm, |realm, now| {
            realm.part_arrived(&self.session, self.connection, now);
            ((), Vec::new())
        });
    }

    /// One message of the page.
    fn heard(&self, message: PageToBridge) -> Result<(), Closing> {
        let event = PageEvent::read(message, &self.hub.config, &self.hub.definitions)?;
        self.happens(event);
        Ok(())
    }

    /// The same of an answer that was read in one pass.
    fn answered(&self, call: CallId, value: Json) {
        self.happens(PageEvent::answered(call, value, &self.hub.config));
    }

    fn happens(&self, event: PageEvent) {
        self.hub.change(self.realm, |realm, now| {
            let effects = event.happen(realm, &self.session, self.connection, now);
            ((), effects)
        });
    }
}

/// 1000 and 1001 mean that the page's JavaScript is gone.
fn parting(code: Option<u16>) -> Parting {
    match code {
        Some(1000 | 1001) => Parting::Gone,
        _ => Parting::Broken,
    }
}
