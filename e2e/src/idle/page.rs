//! A page that costs its process a few hundred bytes: a socket without buffers of its own.

use std::cell::RefCell;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use anyhow::{Context, Result, ensure};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::source_address::connect_from;

/// The size of the buffer into which all pages of a thread read, so that an idle page owns none.
const READ_BYTES: usize = 64 * 1024;

thread_local! {
    static SCRATCH: RefCell<Vec<u8>> = RefCell::new(vec![0; READ_BYTES]);
}

/// The socket of a page.
pub(crate) struct Page {
    socket: TcpStream,
    /// The bytes of a frame that is not complete yet.
    partial_frame: Vec<u8>,
}

impl Page {
    /// Opens the socket and authenticates.
    pub(crate) async fn open(address: &str, token: &str, session: &str) -> Self {
        let (source, address) = (Ipv4Addr::LOCALHOST.into(), address.parse().unwrap());
        Self::open_from(source, address, token, session)
            .await
            .unwrap()
    }

    /// Opens the socket from this address of the client and authenticates.
    pub(crate) async fn open_from(
        source: IpAddr,
        address: SocketAddr,
        token: &str,
        session: &str,
    ) -> Result<Self> {
        let query = format!("session={session}");
        let mut page = Self::connect_from(source, address, &query, "").await?;
        page.authenticate(token, session, "board").await?;
        Ok(page)
    }

    /// Opens a socket at a floor, which has no handshake. With the query `idle`, it is never
    /// called.
    pub(crate) async fn open_at_floor(address: &str, query: &str) -> Self {
        let (source, address) = (Ipv4Addr::LOCALHOST.into(), address.parse().unwrap());
        Self::connect_from(source, address, query, "")
            .await
            .unwrap()
    }

    /// Opens the socket from this address of the client. `headers` are further lines of the
    /// request, each with its line break.
    pub(crate) async fn connect_from(
        source: IpAddr,
        address: SocketAddr,
        query: &str,
        headers: &str,
    ) -> Result<Self> {
        let mut page = Self {
            socket: connect_from(source, address).await?,
            partial_frame: Vec::new(),
        };
        let request = format!(
            "GET /ws?{query} HTTP/1.1\r\nHost: {address}\r\nConnection: Upgrade\r\n\
             Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n{headers}\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        );
        page.socket.write_all(request.as_bytes()).await?;
        page.read_upgrade_response().await?;
        Ok(page)
    }

    /// Authenticates as a page of this app.
    pub(crate) async fn authenticate(
        &mut self,
        token: &str,
        session: &str,
        app: &str,
    ) -> Result<()> {
        let authenticate = format!(
            r#"{{"type":"authenticate","protocol":2,"authToken":"{token}","sessionId":"{session}","documentId":"d-{session}","origin":"http://localhost:5173","pageTitle":"Board","app":{{"name":"{app}"}}}}"#
        );
        self.send(&authenticate).await;
        let answer = self.recv().await.context("no answer to `authenticate`")?;
        ensure!(answer.contains(r#""type":"authenticated""#), "{answer}");
        Ok(())
    }

    /// Registers tools and waits until the bridge has accepted them.
    pub(crate) async fn register(&mut self, registration: &str) {
        self.try_register(registration).await.unwrap();
    }

    /// Registers tools and waits until the bridge has accepted or refused them.
    pub(crate) async fn try_register(&mut self, registration: &str) -> Result<()> {
        self.send(registration).await;
        loop {
            let answer = self.recv().await.context("no answer to `register`")?;
            if answer.contains(r#""type":"registered""#) {
                ensure!(answer.contains(r#""errors":[]"#), "{answer}");
                return Ok(());
            }
        }
    }

    /// Answers heartbeats and calls until the bridge closes the socket. Each call returns `result`.
    pub(crate) async fn serve(mut self, result: &str) {
        while let Some(message) = self.recv().await {
            if let Some(ack) = heartbeat_ack(&message) {
                self.send(&ack).await;
            } else if let Some(id) = tool_call_id(&message) {
                let mut frames = Vec::new();
                push_frame(
                    &mut frames,
                    1,
                    format!(r#"{{"type":"call-received","requestId":"{id}"}}"#).as_bytes(),
                );
                push_frame(
                    &mut frames,
                    1,
                    format!(r#"{{"type":"call-response","requestId":"{id}","result":{result}}}"#)
                        .as_bytes(),
                );
                let _ = self.socket.write_all(&frames).await;
            } else if let Some((id, _)) = parse_floor_call(&message) {
                self.send(&format!("{id} {result}")).await;
            }
        }
    }

    /// Leaves like a tab that the user closes.
    pub(crate) async fn close(mut self) {
        self.send_frame(8, &1001_u16.to_be_bytes()).await;
        while self.recv().await.is_some() {}
    }

    async fn read_upgrade_response(&mut self) -> Result<()> {
        loop {
            if let Some(end) = find(&self.partial_frame, b"\r\n\r\n") {
                let head = String::from_utf8_lossy(&self.partial_frame[..end]).into_owned();
                ensure!(head.starts_with("HTTP/1.1 101"), "{head}");
                self.partial_frame.drain(..end + 4);
                return Ok(());
            }
            ensure!(self.read_socket().await, "the bridge closed the socket");
        }
    }

    /// Receives the next message, or returns `None` at the end of the connection.
    pub(crate) async fn recv(&mut self) -> Option<String> {
        loop {
            while let Some((opcode, payload)) = self.parse_frame() {
                match opcode {
                    1 => return Some(String::from_utf8(payload).unwrap()),
                    8 => return None,
                    9 => self.send_frame(10, &payload).await,
                    _ => {}
                }
            }
            if !self.read_socket().await {
                return None;
            }
        }
    }

    fn parse_frame(&mut self) -> Option<(u8, Vec<u8>)> {
        let [first, second, ..] = self.partial_frame[..] else {
            return None;
        };
        let (start, length) = match second & 0x7f {
            126 => (
                4,
                u16::from_be_bytes(self.partial_frame.get(2..4)?.try_into().unwrap()).into(),
            ),
            127 => (
                10,
                u64::from_be_bytes(self.partial_frame.get(2..10)?.try_into().unwrap()) as usize,
            ),
            length => (2, length.into()),
        };
        let payload = self.partial_frame.get(start..start + length)?.to_vec();
        self.partial_frame.drain(..start + length);
        if self.partial_frame.is_empty() {
            self.partial_frame = Vec::new();
        }
        Some((first & 0x0f, payload))
    }

    /// Reads what is available. Returns `false` at the end of the connection.
    async fn read_socket(&mut self) -> bool {
        loop {
            if self.socket.readable().await.is_err() {
                return false;
            }
            let read = SCRATCH.with_borrow_mut(|scratch| {
                let read = self.socket.try_read(scratch)?;
                self.partial_frame.extend_from_slice(&scratch[..read]);
                Ok::<_, std::io::Error>(read)
            });
            match read {
                Ok(read) => return read > 0,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => return false,
            }
        }
    }

    pub(crate) async fn send(&mut self, text: &str) {
        self.send_frame(1, text.as_bytes()).await;
    }

    /// Sends bytes that are frames, or a part of one.
    pub(crate) async fn send_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.socket.write_all(bytes).await
    }

    async fn send_frame(&mut self, opcode: u8, payload: &[u8]) {
        let mut bytes = Vec::with_capacity(payload.len() + 14);
        push_frame(&mut bytes, opcode, payload);
        // If the connection has ended, the next read notices it.
        let _ = self.socket.write_all(&bytes).await;
    }
}

/// Appends a masked frame. The mask is zero, so that it costs nothing.
pub(crate) fn push_frame(bytes: &mut Vec<u8>, opcode: u8, payload: &[u8]) {
    push_frame_head(bytes, 0x80 | opcode, payload.len());
    bytes.extend_from_slice(payload);
}

/// Appends the head of a masked frame. `first` is its first byte: the opcode, and 0x80 if the
/// message ends with this frame.
pub(crate) fn push_frame_head(bytes: &mut Vec<u8>, first: u8, length: usize) {
    bytes.push(first);
    match length {
        0..=125 => bytes.push(0x80 | length as u8),
        126..=0xffff => {
            bytes.push(0x80 | 126);
            bytes.extend_from_slice(&(length as u16).to_be_bytes());
        }
        _ => {
            bytes.push(0x80 | 127);
            bytes.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    bytes.extend_from_slice(&[0; 4]);
}

/// Returns the answer to a heartbeat, or `None` if the message is none.
pub(crate) fn heartbeat_ack(message: &str) -> Option<String> {
    message.contains(r#""type":"heartbeat""#).then(|| {
        let sequence = number_after(message, r#""sequence":"#);
        format!(r#"{{"type":"heartbeat-ack","sequence":{sequence}}}"#)
    })
}

/// Returns the id of a call, or `None` if the message is none.
pub(crate) fn tool_call_id(message: &str) -> Option<String> {
    let is_call = message.contains(r#""type":"tool-call""#);
    is_call.then(|| text_after(message, r#""requestId":""#).to_owned())
}

/// Parses `ID BYTES`, the format of a floor; messages of a bridge are JSON objects.
fn parse_floor_call(message: &str) -> Option<(u64, &str)> {
    let (id, rest) = message.split_once(' ')?;
    Some((id.parse().ok()?, rest))
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

fn text_after<'a>(text: &'a str, key: &str) -> &'a str {
    let (_, rest) = text.split_once(key).unwrap();
    rest.split('"').next().unwrap()
}

fn number_after<'a>(text: &'a str, key: &str) -> &'a str {
    let (_, rest) = text.split_once(key).unwrap();
    let end = rest.find(|c: char| !c.is_ascii_digit());
    &rest[..end.unwrap_or(rest.len())]
}
