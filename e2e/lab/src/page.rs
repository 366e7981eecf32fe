//! Pages: sockets that speak the page protocol, and answer every call at once.
//!
//! They are neither programs of `mcp-web-sdk` nor pages of `raw-page`, because they share processor and
//! memory with what is measured: they decode nothing, their answers are encoded beforehand, an idle
//! one has 4 KiB, and attackers connect from their own addresses.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use anyhow::{Context, Result, anyhow, bail, ensure};
use bridge_protocol::limits::PART_BYTES;
use bridge_protocol::message_parts;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Bytes, Message, Utf8Bytes};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use crate::connection::connect_from;

/// The size of the read buffer of a page. It is small, because there may be thousands of pages.
const READ_BUFFER: usize = 4 * 1024;

/// The protocol between pages and a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageProtocol {
    /// The page protocol as the SDK uses it.
    Current,
    /// The page protocol of mcp-web 0.1.
    V1,
    /// The protocol of the floor: `ID BYTES`, without a handshake.
    Floor,
}

/// The socket of a page.
pub(crate) struct Page(WebSocketStream<TcpStream>);

impl Page {
    /// Connects a page and registers its tools.
    pub(crate) async fn open(
        address: SocketAddr,
        protocol: PageProtocol,
        token: &str,
        session: &str,
        tools: &[Value],
    ) -> Result<Self> {
        let source = Ipv4Addr::LOCALHOST.into();
        match protocol {
            PageProtocol::Current => {
                let mut page = Self::authenticated(source, address, token, session).await?;
                page.register(&registration(tools)).await?;
                Ok(page)
            }
            PageProtocol::V1 => {
                let target = format!("/?session={session}");
                let mut page = Self::connect(source, address, &target).await?;
                page.register_v1(token, session, tools).await?;
                Ok(page)
            }
            PageProtocol::Floor => Self::connect(source, address, "/ws").await,
        }
    }

    /// Opens the socket from this address of the client and authenticates.
    pub(crate) async fn authenticated(
        source: IpAddr,
        address: SocketAddr,
        token: &str,
        session: &str,
    ) -> Result<Self> {
        let mut page = Self::connect(source, address, &format!("/ws?session={session}")).await?;
        let authenticated = page.authenticate(token, session).await;
        authenticated.map_err(|reason| anyhow!("not authenticated: {reason}"))?;
        Ok(page)
    }

    /// Authenticates on an open socket.
    ///
    /// # Errors
    /// Returns the bridge's answer, or the reason of its close frame.
    pub(crate) async fn authenticate(&mut self, token: &str, session: &str) -> Result<(), String> {
        let message = json!({ "type": "authenticate", "protocol": bridge_protocol::PROTOCOL_VERSION,
            "authToken": token, "sessionId": session, "documentId": format!("d-{session}"),
            "pageTitle": "Board", "app": { "name": "board" } });
        let sent = self.send(Message::text(message.to_string())).await;
        // The reason of a close frame may have arrived before.
        let answer = self.recv_or_reason().await?;
        sent.map_err(|error| error.to_string())?;
        let is_accepted = answer.contains(r#""type":"authenticated""#);
        is_accepted.then_some(()).ok_or_else(|| answer.to_string())
    }

    /// Opens the socket from this address of the client.
    pub(crate) async fn connect(source: IpAddr, address: SocketAddr, target: &str) -> Result<Self> {
        let stream = connect_from(source, address).await?;
        let config = WebSocketConfig::default().read_buffer_size(READ_BUFFER);
        let url = format!("ws://{address}{target}");
        let (socket, _) = client_async_with_config(url, stream, Some(config)).await?;
        Ok(Self(socket))
    }

    /// Sends the message that registers tools, and waits until the bridge has accepted them.
    pub(crate) async fn register(&mut self, registration: &str) -> Result<()> {
        self.send(Message::text(registration)).await?;
        loop {
            let answer = self.recv().await.context("no answer to `register`")?;
            if answer.contains(r#""type":"registered""#) {
                ensure!(answer.contains(r#""errors":[]"#), "{answer}");
                return Ok(());
            }
        }
    }

    async fn register_v1(&mut self, token: &str, session: &str, tools: &[Value]) -> Result<()> {
        let authenticate = json!({ "type": "authenticate", "authToken": token,
            "sessionId": session, "timestamp": 1_790_000_000_000_u64 });
        self.send(Message::text(authenticate.to_string())).await?;
        for tool in tools {
            let register = json!({ "type": "register-tool", "tool": tool });
            self.send(Message::text(register.to_string())).await?;
        }
        // v1 acknowledges nothing, but messages before a ping have been read when the pong arrives.
        self.send(Message::Ping(Bytes::new())).await?;
        loop {
            match self.0.next().await.context("the page was closed")?? {
                Message::Pong(_) => return Ok(()),
                Message::Text(text) if text.contains("authenticated") => {}
                other => bail!("rejected: {other}"),
            }
        }
    }

    /// Answers heartbeats and calls until the server closes the socket.
    pub(crate) async fn serve(self, answer: &PageAnswer) {
        self.serve_until_closed(answer).await;
    }

    /// Answers heartbeats and calls until the server closes the socket. Returns the reason of the close
    /// frame, which is empty without one.
    pub(crate) async fn serve_until_closed(mut self, answer: &PageAnswer) -> String {
        loop {
            match self.recv_or_reason().await {
                // The end of the connection is noticed when the next message is received.
                Ok(message) => drop(self.send_all(answer.frames_for(&message)).await),
                Err(reason) => return reason,
            }
        }
    }

    /// Receives the next message, or returns `None` at the end of the connection.
    pub(crate) async fn recv(&mut self) -> Option<Utf8Bytes> {
        self.recv_or_reason().await.ok()
    }

    /// Receives the next message.
    ///
    /// # Errors
    /// Returns the reason of the close frame at the end of the connection. It is empty without one.
    async fn recv_or_reason(&mut self) -> Result<Utf8Bytes, String> {
        loop {
            match self.0.next().await {
                Some(Ok(Message::Text(text))) => return Ok(text),
                Some(Ok(Message::Close(Some(frame)))) => return Err(frame.reason.to_string()),
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Err(String::new()),
            }
        }
    }

    async fn send(&mut self, message: Message) -> Result<()> {
        Ok(self.0.send(message).await?)
    }

    /// Sends messages with as few writes as possible.
    pub(crate) async fn send_all(
        &mut self,
        messages: impl IntoIterator<Item = Message>,
    ) -> Result<()> {
        for message in messages {
            self.0.feed(message).await?;
        }
        Ok(self.0.flush().await?)
    }
}

/// Returns the token of one of many pages that have a token each.
pub(crate) fn token_of_page(number: usize) -> String {
    format!("idle-token-{number:08}-0123456789abcdef")
}

/// Returns the session of one of many pages.
pub(crate) fn session_of_page(number: usize) -> String {
    format!("5f0c9a52-7b1e-4c7e-9d1f-{number:012}")
}

/// Returns the message that registers these tools.
pub(crate) fn registration(tools: &[Value]) -> String {
    let item = |tool| json!({ "kind": "tool", "definition": tool });
    let items: Vec<Value> = tools.iter().map(item).collect();
    json!({ "type": "register", "registrationId": "r", "items": items }).to_string()
}

/// The answer of a page to every call, split into frames beforehand.
pub(crate) struct PageAnswer {
    protocol: PageProtocol,
    /// The text after the id in the first frame.
    first: String,
    /// The other frames of a message in parts.
    rest: Vec<Utf8Bytes>,
}

/// The maximum size of the text before the result in the first part, in bytes.
const HEAD_BYTES: usize = 128;

/// Only one message in parts is in flight at a time, so all may have the same number.
const PART_NUMBER: u64 = 1;

impl PageAnswer {
    /// Prepares the answer; `payload` is JSON.
    pub(crate) fn new(protocol: PageProtocol, payload: &str) -> Self {
        let close = if protocol == PageProtocol::Floor {
            ""
        } else {
            "}"
        };
        let has_parts = protocol == PageProtocol::Current;
        if !has_parts || payload.len() + HEAD_BYTES <= PART_BYTES {
            return Self {
                protocol,
                first: format!("{payload}{close}"),
                rest: Vec::new(),
            };
        }
        let (first, rest) = payload.split_at(payload.floor_char_boundary(PART_BYTES - HEAD_BYTES));
        let rest = format!("{rest}{close}");
        Self {
            protocol,
            first: first.to_owned(),
            rest: message_parts::split(&rest, PART_NUMBER)
                .map(Utf8Bytes::from)
                .collect(),
        }
    }

    /// Returns the frames that answer a message of the server: none if it needs no answer.
    fn frames_for(&self, message: &str) -> Vec<Message> {
        if let Some(text) = self.first_frame_for(message) {
            let rest = self.rest.iter().cloned().map(Message::Text);
            return [Message::text(text)].into_iter().chain(rest).collect();
        }
        heartbeat_ack(message)
            .map(Message::text)
            .into_iter()
            .collect()
    }

    fn first_frame_for(&self, message: &str) -> Option<String> {
        let first = &self.first;
        let kind = match self.protocol {
            PageProtocol::Floor => {
                let (id, _) = message.split_once(' ')?;
                return Some(format!("{id} {first}"));
            }
            PageProtocol::V1 => "tool-response",
            PageProtocol::Current => "call-response",
        };
        message
            .starts_with(r#"{"type":"tool-call""#)
            .then_some(())?;
        let (id, _) = text_after(message, r#""requestId":""#)?.split_once('"')?;
        let part = if self.rest.is_empty() { "" } else { "#+1 " };
        Some(format!(
            r#"{part}{{"type":"{kind}","requestId":"{id}","result":{first}"#
        ))
    }
}

/// Returns the answer to a heartbeat, or `None` if the message is another one.
fn heartbeat_ack(message: &str) -> Option<String> {
    let sequence = text_after(message, r#"{"type":"heartbeat","sequence":"#)?;
    let digits = sequence.split(|c: char| !c.is_ascii_digit()).next()?;
    Some(format!(r#"{{"type":"heartbeat-ack","sequence":{digits}}}"#))
}

fn text_after<'a>(text: &'a str, what: &str) -> Option<&'a str> {
    text.split_once(what).map(|(_, after)| after)
}

#[cfg(test)]
mod tests {
    use bridge_protocol::PageToBridge;
    use bridge_protocol::message_parts::{Assembler, AssemblyStatus};

    use super::*;

    const CALL: &str =
        r#"{"type":"tool-call","requestId":"c7","toolName":"t","toolInput":{},"context":{}}"#;

    /// Returns the message that a bridge decodes from the answer.
    fn decode(frames: Vec<Message>) -> PageToBridge {
        let mut assembler = Assembler::new(usize::MAX);
        for frame in frames {
            let frame = frame.into_text().unwrap();
            if let AssemblyStatus::Complete(text) = assembler.push(&frame).unwrap() {
                return PageToBridge::decode(&text).unwrap();
            }
        }
        panic!("the message is incomplete")
    }

    #[test]
    fn calls_are_answered_in_one_frame_or_in_parts() {
        let long = format!("\"{}\"", "é".repeat(400_000));
        for payload in ["{\"a\":1}", &long] {
            let answer = PageAnswer::new(PageProtocol::Current, payload);
            match decode(answer.frames_for(CALL)) {
                PageToBridge::CallResponse(response) => {
                    assert_eq!(response.request_id, "c7".into());
                    assert_eq!(response.result.as_ref().unwrap().get(), payload);
                }
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn heartbeats_are_answered_and_other_messages_are_not() {
        let answer = PageAnswer::new(PageProtocol::Current, "1");
        match decode(answer.frames_for(r#"{"type":"heartbeat","sequence":12,"answers":3}"#)) {
            PageToBridge::HeartbeatAck(heartbeat) => assert_eq!(heartbeat.sequence, 12),
            other => panic!("{other:?}"),
        }
        assert!(answer.frames_for("{\"type\":\"clients\"}").is_empty());
    }
}
