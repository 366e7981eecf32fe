//! `GET /ws`, and `GET /` for pages of v1: the socket of a page.
//!
//! `run` has one exit: whatever ends the socket, the realm hears of it once.

mod admission;
mod frames;
mod renewal;
mod v1;

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Query, Request, State};
use axum::response::{IntoResponse, Response};
use bridge_protocol::{
    Authenticate, BridgeToPage, CloseCode, DecodeError, ErrorCode, PageToBridge, Renew, Retry,
    SessionId, limits,
};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use http::header::UPGRADE;
use http::{Method, Uri};
use serde::Deserialize;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::{Edge, Problem};
use crate::auth::{RealmId, Tokens};
use crate::hub::{Claim, Hub, Outbox, Outgoing};
use crate::origin::Origin;
use crate::page_wire::{Closing, PageEvent};
use crate::realm::{ConnectionId, Dialect, Parting};
use admission::{Refused, admit, let_in};

/// tokio-tungstenite's default of 128 KiB per connection is most of what an idle page costs.
const SOCKET_BUFFER_BYTES: usize = 4 * 1024;

/// How much of what a peer invents goes into a log.
const SHOWN_CHARS: usize = 64;

/// A close frame must be sent and answered within this: the peer may not be reading.
const CLOSE_WITHIN: Duration = Duration::from_secs(2);

/// A peer that sends nothing for this many heartbeats, not even a pong, is not there any more.
const SILENT_HEARTBEATS: u32 = 3;

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
    socket: Result<WebSocketUpgrade, axum::extract::ws::rejection::WebSocketUpgradeRejection>,
) -> Response {
    let socket = match socket {
        Ok(socket) => socket,
        Err(rejection) => {
            let message = format!("this is the socket of pages: {rejection}");
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
    let sockets = edge.sockets.clone();
    socket
        .read_buffer_size(SOCKET_BUFFER_BYTES)
        .write_buffer_size(0)
        .max_frame_size(limits::MAX_FRAME_BYTES)
        .max_message_size(limits::MAX_FRAME_BYTES)
        .on_upgrade(move |socket| sockets.track_future(run(edge, origin, session, socket)))
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

type Sink = SplitSink<WebSocket, Message>;
type Stream = SplitStream<WebSocket>;

async fn run(edge: Edge, origin: Origin, session: SessionId, socket: WebSocket) {
    let (mut sink, mut stream) = socket.split();
    let mut admitted = match Arc::clone(&edge.hub.pending_pages).try_acquire_owned() {
        // Given back when the page is let in, or not.
        Ok(_pending) => admit(&edge, &origin, &session, &mut stream).await,
        Err(_) => Err(Refused::With(full(), None)),
    };
    let closing = loop {
        let (page, mut outbox) = match admitted {
            Ok(admitted) => admitted,
            Err(refused) => break tell(&mut sink, refused).await,
        };
        let end = match page.dialect {
            Dialect::V2 => page.serve(&mut sink, &mut stream, &mut outbox).await,
            Dialect::V1 => page.serve_v1(&mut sink, &mut stream, &mut outbox).await,
        };
        match end {
            End::Parted(parting) => {
                page.ended(parting);
                break None;
            }
            End::Closing(closing) => {
                page.ended(parting_of(&closing));
                break Some(closing);
            }
            End::Cut => {
                page.ended(Parting::Broken);
                break None;
            }
            End::Again(hello) => {
                admitted = let_in(&edge, &origin, &session, *hello).await;
                // The session has another connection by now, or is over.
                page.ended(Parting::Gone);
                v1::send_rest(&mut sink, outbox).await;
            }
        }
    };
    if let Some(closing) = closing {
        close(&mut sink, &mut stream, closing).await;
    }
}

/// Tells a page that it is not let in.
async fn tell(sink: &mut Sink, refused: Refused) -> Option<Closing> {
    let Refused::With(closing, failure) = refused else {
        return None;
    };
    if let Some(failure) = failure {
        // The same in both dialects.
        let message = BridgeToPage::AuthenticationFailed(failure);
        let _ = sink.send(Message::Text(message.encode().into())).await;
    }
    Some(closing)
}

async fn close(sink: &mut Sink, stream: &mut Stream, closing: Closing) {
    let frame = CloseFrame {
        code: closing.code.code(),
        reason: closing.reason.as_ref().into(),
    };
    let closed = async {
        if sink.send(Message::Close(Some(frame))).await.is_ok() {
            // Until the peer has answered, so that the close frame is not lost with the connection.
            while let Some(Ok(_)) = stream.next().await {}
        }
    };
    let _ = timeout(CLOSE_WITHIN, closed).await;
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

fn is_too_big(error: &axum::Error) -> bool {
    use tokio_tungstenite::tungstenite::Error;
    std::error::Error::source(error)
        .and_then(|source| source.downcast_ref::<Error>())
        .is_some_and(|error| matches!(error, Error::Capacity(_)))
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
    async fn serve(&self, sink: &mut Sink, stream: &mut Stream, outbox: &mut Outbox) -> End {
        let (fresh_tokens, unchecked) = renewal::line();
        let cut = outbox.cut.clone();
        tokio::select! {
            end = self.read(stream, fresh_tokens) => end,
            end = self.write(sink, outbox) => end,
            never = self.check_fresh_tokens(unchecked) => match never {},
            () = cut.cancelled() => End::Cut,
        }
    }

    /// Sends what the hub puts into the outbox, and pings a silent line.
    async fn write(&self, sink: &mut Sink, outbox: &mut Outbox) -> End {
        let every = self.hub.config.heartbeat;
        let silence = every * SILENT_HEARTBEATS;
        // Messages so far that were too long for one frame.
        let mut in_parts = 0;
        let mut ping = tokio::time::interval_at(tokio::time::Instant::now() + every, every);
        loop {
            let sent = tokio::select! {
                outgoing = outbox.next() => match outgoing {
                    Some(Outgoing::Message(message)) => {
                        frames::send(sink, message.encode(), &mut in_parts, silence).await
                    }
                    Some(Outgoing::Close { code, reason }) => {
                        return End::Closing(Closing::new(code, reason));
                    }
                    None => return End::Cut,
                },
                _ = ping.tick() => {
                    frames::put(sink, Message::Ping(bytes::Bytes::new()), silence).await
                }
            };
            if sent.is_err() {
                return End::Parted(Parting::Broken);
            }
        }
    }

    async fn read(&self, stream: &mut Stream, fresh_tokens: mpsc::Sender<Renew>) -> End {
        let silence = self.hub.config.heartbeat * SILENT_HEARTBEATS;
        let mut told_of_unknown_type = false;
        let mut assembler = frames::Assembler::new(self.hub.config.max_message_bytes());
        loop {
            let text = match timeout(silence, stream.next()).await {
                Err(_) | Ok(None) => return End::Parted(Parting::Broken),
                Ok(Some(Err(error))) if is_too_big(&error) => return End::Closing(too_big()),
                Ok(Some(Err(_))) => return End::Parted(Parting::Broken),
                Ok(Some(Ok(Message::Close(frame)))) => return End::Parted(parting(frame)),
                Ok(Some(Ok(Message::Ping(_) | Message::Pong(_)))) => continue,
                Ok(Some(Ok(Message::Binary(_)))) => return End::Closing(binary()),
                Ok(Some(Ok(Message::Text(text)))) => text,
            };
            let message = match assembler.take(text) {
                Ok(Some(message)) => message,
                Ok(None) => {
                    self.part_arrived();
                    continue;
                }
                Err(closing) => return End::Closing(closing),
            };
            match message.decode().await {
                Ok(PageToBridge::Leaving {}) => return End::Parted(Parting::Gone),
                Ok(PageToBridge::Renew(fresh)) => self.renew(&fresh_tokens, fresh),
                Ok(message) => {
                    if let Err(closing) = self.heard(message) {
                        return End::Closing(closing);
                    }
                }
                Err(error @ DecodeError::NotAMessage(_)) => return End::Closing(bad_json(&error)),
                Err(DecodeError::UnknownType(kind)) => {
                    if !std::mem::replace(&mut told_of_unknown_type, true) {
                        let kind: String = kind.chars().take(SHOWN_CHARS).collect();
                        tracing::info!(session = ?self.session, kind, "unknown message type ignored");
                    }
                }
                Err(error @ DecodeError::BadFields { .. }) => {
                    let reason = shown(&error);
                    return End::Closing(Closing::new(CloseCode::PolicyViolation, reason));
                }
            }
        }
    }

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
        self.hub.change(self.realm, |realm, now| {
            let effects = event.happen(realm, &self.session, self.connection, now);
            ((), effects)
        });
        Ok(())
    }
}

/// 1000 and 1001 mean that the page's JavaScript is gone.
fn parting(frame: Option<CloseFrame>) -> Parting {
    match frame {
        Some(frame) if matches!(frame.code, 1000 | 1001) => Parting::Gone,
        _ => Parting::Broken,
    }
}
