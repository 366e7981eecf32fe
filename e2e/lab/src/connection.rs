//! Connections of clients: one request at a time, and streams of events.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;

use crate::request::{Endpoint, Request};

/// How much the system stores of what a client at a chosen address sends. Linux copies all that it
/// has room for without letting other threads run, even those of a higher priority: a client that
/// sends megabytes would take milliseconds from the bridge, which it could not on another machine.
const SEND_BUFFER_BYTES: u32 = 128 * 1024;

/// Connects from this address of the client, without Nagle's algorithm. All of 127.0.0.0/8 belong to
/// this machine on Linux, so that one process plays clients with several addresses.
pub(crate) async fn connect_from(source: IpAddr, address: SocketAddr) -> io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    // The system chooses this one by itself, and a port that may serve other destinations as well.
    if source != Ipv4Addr::LOCALHOST {
        socket.bind((source, 0).into())?;
        socket.set_send_buffer_size(SEND_BUFFER_BYTES)?;
    }
    let socket = socket.connect(address).await?;
    socket.set_nodelay(true)?;
    Ok(socket)
}

/// A persistent connection.
pub(crate) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    /// The task that reads and writes the socket.
    tasks: JoinSet<()>,
}

/// The answer to a request.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) mcp_session: Option<String>,
    /// The JSON message: the body, or the data of the last event that has data.
    pub(crate) message: Bytes,
}

/// An event stream that is read and discarded until this is dropped.
pub(crate) struct EventStream {
    _tasks: JoinSet<()>,
}

impl Connection {
    pub(crate) async fn open(endpoint: &Endpoint) -> Result<Self> {
        let socket = connect_from(endpoint.source, endpoint.address).await;
        let socket = socket.with_context(|| format!("{} does not accept", endpoint.address))?;
        let (sender, connection) = handshake(TokioIo::new(socket)).await?;
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            // The sender of a request gets the error.
            let _ = connection.await;
        });
        Ok(Self { sender, tasks })
    }

    /// Sends a request and reads the answer to its end.
    pub(crate) async fn request(&mut self, request: &Request) -> Result<Answer> {
        self.sender.ready().await?;
        let (head, body) = self
            .sender
            .send_request(request.to_http())
            .await?
            .into_parts();
        let header = |name| head.headers.get(name).and_then(|value| value.to_str().ok());
        let is_stream = header(CONTENT_TYPE.as_str()).is_some_and(is_event_stream);
        let mcp_session = header("mcp-session-id").map(str::to_owned);
        let body = body.collect().await?.to_bytes();
        Ok(Answer {
            status: head.status.as_u16(),
            mcp_session,
            message: if is_stream {
                body.slice_ref(last_event(&body))
            } else {
                body
            },
        })
    }

    /// Sends a request whose answer is an event stream without an end.
    pub(crate) async fn into_event_stream(mut self, request: &Request) -> Result<EventStream> {
        let answer = self.sender.send_request(request.to_http()).await?;
        ensure!(
            answer.status() == 200,
            "the stream has status {}",
            answer.status()
        );
        let mut body = answer.into_body();
        self.tasks
            .spawn(async move { while let Some(Ok(_)) = body.frame().await {} });
        Ok(EventStream { _tasks: self.tasks })
    }
}

impl Answer {
    /// Returns an error with the message unless the answer has this status.
    pub(crate) fn require_status(&self, status: u16) -> Result<()> {
        let text = String::from_utf8_lossy(&self.message[..self.message.len().min(1_000)]);
        ensure!(
            self.status == status,
            "status {} instead of {status}: {text}",
            self.status
        );
        Ok(())
    }
}

fn is_event_stream(media_type: &str) -> bool {
    media_type.starts_with("text/event-stream")
}

/// Returns the data of the last event that has data. Messages are events of one line.
fn last_event(stream: &[u8]) -> &[u8] {
    let lines = stream.split(|byte| *byte == b'\n').rev();
    let mut data = lines.filter_map(|line| line.strip_prefix(b"data:"));
    let last = data.find(|data| !data.trim_ascii().is_empty());
    last.unwrap_or_default().trim_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_of_a_stream_is_the_last_data() {
        let stream = b"id: 0\ndata: \n\nid: 1\r\ndata: {\"a\":1}\r\n\r\ndata:\n\n: alive\n\n";
        assert_eq!(last_event(stream), b"{\"a\":1}");
        assert_eq!(last_event(b": alive\n\n"), b"");
    }
}
