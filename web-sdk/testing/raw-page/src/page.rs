//! A page that sends and receives single messages of the page protocol.

use std::fmt::Display;
use std::ops::{Deref, DerefMut};

use bridge_protocol::limits::PART_BYTES;
use bridge_protocol::message_parts::{Assembler, AssemblyStatus, split};
use bridge_protocol::{
    Authenticate, Authenticated, AuthenticationFailed, BridgeToPage, CallCancel, CallId,
    CallReceived, CallResponse, ClientResponse, ConnectedClient, Definition, Kind, PageToBridge,
    Register, Registered, RegistrationId, Renew, RenewalFailed, Renewed, SessionId, ToolCall,
};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::PageSocket;

/// A connection of a page. Its frames are those of [`PageSocket`].
#[derive(Debug)]
pub struct Page {
    socket: PageSocket,
    assembler: Assembler,
}

impl Deref for Page {
    type Target = PageSocket;

    fn deref(&self) -> &PageSocket {
        &self.socket
    }
}

impl DerefMut for Page {
    fn deref_mut(&mut self) -> &mut PageSocket {
        &mut self.socket
    }
}

/// Connecting, registering and leaving.
impl Page {
    /// Opens the socket of the bridge at an address with these headers, without sending anything.
    pub async fn open_with_headers(
        address: impl Display,
        session: &str,
        headers: &[(&'static str, &str)],
    ) -> Self {
        let url = format!("ws://{address}/ws?session={session}");
        Self {
            socket: PageSocket::open(&url, headers).await.unwrap(),
            assembler: Assembler::new(usize::MAX),
        }
    }

    /// Opens a socket to the bridge at an address and authenticates.
    pub async fn connect_to(address: impl Display, session: &str, token: &str) -> Self {
        let mut page = Self::open_with_headers(address, session, &[]).await;
        page.authenticate(session, token).await;
        page.recv_authenticated().await;
        page
    }

    /// Sends [`authenticate_message`].
    pub async fn authenticate(&mut self, session: &str, token: &str) {
        let message = authenticate_message(session, token);
        self.send(PageToBridge::Authenticate(Box::new(message)))
            .await;
    }

    /// Receives the response to `authenticate`, which must be the next message and a success.
    pub async fn recv_authenticated(&mut self) -> Authenticated {
        match self.recv().await {
            BridgeToPage::Authenticated(authenticated) => authenticated,
            other => panic!("not authenticated: {other:?}"),
        }
    }

    /// Receives the response to `authenticate`, which must be the next message and a failure.
    pub async fn recv_authentication_failure(&mut self) -> AuthenticationFailed {
        match self.recv().await {
            BridgeToPage::AuthenticationFailed(failure) => failure,
            other => panic!("expected a failure, got {other:?}"),
        }
    }

    /// Registers MCP tool objects, and returns the response of the bridge.
    pub async fn register(&mut self, tools: &[Value]) -> Registered {
        let tools: Vec<_> = tools
            .iter()
            .map(|tool| (Kind::Tool, tool.clone()))
            .collect();
        self.register_items(&tools).await
    }

    /// Registers definitions, and returns the response of the bridge.
    pub async fn register_items(&mut self, items: &[(Kind, Value)]) -> Registered {
        let items = items
            .iter()
            .map(|(kind, definition)| Definition {
                kind: *kind,
                definition: raw_json(definition),
            })
            .collect();
        let registration_id = RegistrationId::from("r");
        self.send(PageToBridge::Register(Register {
            registration_id,
            items,
        }))
        .await;
        self.recv_matching(|message| match message {
            BridgeToPage::Registered(registered) => Some(registered),
            _ => None,
        })
        .await
    }

    /// Renews the token of the page, and returns the response of the bridge.
    pub async fn renew(&mut self, token: &str) -> Result<Renewed, RenewalFailed> {
        let auth_token = token.to_owned();
        self.send(PageToBridge::Renew(Renew { auth_token })).await;
        self.recv_matching(|message| match message {
            BridgeToPage::Renewed(renewed) => Some(Ok(renewed)),
            BridgeToPage::RenewalFailed(failed) => Some(Err(failed)),
            _ => None,
        })
        .await
    }

    /// Closes the socket as a browser does for a closed document.
    pub async fn close(self) {
        self.socket.close().await;
    }
}

/// Messages.
impl Page {
    /// Sends a message in one frame, however long it is.
    pub async fn send(&mut self, message: PageToBridge) {
        self.send_text(message.encode()).await;
    }

    /// Sends a message in parts if it is long, as the SDK does.
    ///
    /// # Errors
    /// Returns an error when the connection has ended.
    pub async fn send_split(&mut self, message: &PageToBridge) -> Result<(), Error> {
        let text = message.encode();
        if text.len() <= PART_BYTES {
            return self.send_frame(Message::text(text)).await;
        }
        // The parts of two messages are never mixed, so that all may have the same number.
        for part in split(&text, 1) {
            self.send_frame(Message::text(part)).await?;
        }
        Ok(())
    }

    /// Receives the next message, which is assembled if it arrives in parts.
    pub async fn recv(&mut self) -> BridgeToPage {
        BridgeToPage::decode(&self.recv_text().await).unwrap()
    }

    async fn recv_text(&mut self) -> String {
        loop {
            let frame = match self.recv_frame().await {
                Some(Message::Text(text)) => text,
                other => panic!("expected a message, got {other:?}"),
            };
            if let AssemblyStatus::Complete(text) = self.assembler.push(&frame).unwrap() {
                return text.into_owned();
            }
        }
    }

    /// Receives the next message, however long it takes; `None` when the connection has ended. This
    /// is cancel safe.
    pub async fn recv_without_deadline(&mut self) -> Option<BridgeToPage> {
        loop {
            let Some(Message::Text(frame)) = self.recv_frame_without_deadline().await else {
                return None;
            };
            if let AssemblyStatus::Complete(text) = self.assembler.push(&frame).unwrap() {
                return Some(BridgeToPage::decode(&text).unwrap());
            }
        }
    }

    /// Reads and ignores messages until the bridge disconnects the page.
    pub async fn read_forever(&mut self) {
        while self.recv_without_deadline().await.is_some() {}
    }

    /// Reads up to the first message from which `pick` returns a value.
    pub async fn recv_matching<T>(&mut self, pick: impl Fn(BridgeToPage) -> Option<T>) -> T {
        loop {
            if let Some(picked) = pick(self.recv().await) {
                return picked;
            }
        }
    }

    /// Reads up to the first message whose type begins like this, and returns its JSON.
    pub async fn recv_type(&mut self, prefix: &str) -> Value {
        loop {
            let message: Value = serde_json::from_str(&self.recv_text().await).unwrap();
            if message["type"].as_str().unwrap().starts_with(prefix) {
                return message;
            }
        }
    }

    /// Receives the responses of the client to the requests of a handler.
    pub async fn recv_client_responses(&mut self) -> Vec<ClientResponse> {
        self.recv_matching(|message| match message {
            BridgeToPage::ClientResponses(responses) => Some(responses.responses),
            _ => None,
        })
        .await
    }

    /// Reads up to the message that lists this number of connected clients.
    pub async fn wait_for_clients(&mut self, count: usize) -> Vec<ConnectedClient> {
        self.recv_matching(|message| match message {
            BridgeToPage::Clients(clients) if clients.clients.len() == count => {
                Some(clients.clients)
            }
            _ => None,
        })
        .await
    }
}

/// Calls.
impl Page {
    /// Receives and acknowledges the next tool call.
    pub async fn recv_call(&mut self) -> ToolCall {
        let call = self
            .recv_matching(|message| match message {
                BridgeToPage::ToolCall(call) => Some(call),
                _ => None,
            })
            .await;
        let request_id = call.request_id.clone();
        self.send(PageToBridge::CallReceived(CallReceived { request_id }))
            .await;
        call
    }

    /// Receives the next cancellation of a call.
    pub async fn recv_call_cancel(&mut self) -> CallCancel {
        self.recv_matching(|message| match message {
            BridgeToPage::CallCancel(cancel) => Some(cancel),
            _ => None,
        })
        .await
    }

    /// Waits until this call is cancelled.
    pub async fn expect_cancel(&mut self, call: &ToolCall) {
        self.recv_matching(|message| match message {
            BridgeToPage::CallCancel(cancel) if cancel.request_id == call.request_id => Some(()),
            _ => None,
        })
        .await;
    }

    /// Responds to a tool call.
    pub async fn respond(&mut self, call: &ToolCall, result: Value) {
        self.respond_to(&call.request_id, result).await;
    }

    /// Responds to a call of any kind.
    pub async fn respond_to(&mut self, call: &CallId, result: Value) {
        let message = call_response(call, raw_json(&result));
        self.send(message).await;
    }

    /// Responds to the next call with this result.
    pub async fn serve_call(&mut self, result: Value) -> ToolCall {
        let call = self.recv_call().await;
        self.respond(&call, result).await;
        call
    }

    /// Responds to the next call with its own input.
    pub async fn echo_call(&mut self) {
        let call = self.recv_call().await;
        self.respond(&call, call_input(&call)).await;
    }
}

/// Returns what a page sends first.
pub fn authenticate_message(session: &str, token: &str) -> Authenticate {
    Authenticate {
        protocol: Some(bridge_protocol::PROTOCOL_VERSION),
        auth_token: Some(token.to_owned()),
        session_id: Some(SessionId::from(session)),
        session_name: None,
        origin: None,
        page_title: Some("Test page".to_owned()),
        document_id: Some(format!("document of {session}")),
        user_agent: None,
        app: None,
        timestamp: None,
        checks_late_calls: false,
        sdk_version: None,
    }
}

/// Returns the response to a call of any kind.
pub fn call_response(call: &CallId, result: Box<RawValue>) -> PageToBridge {
    PageToBridge::CallResponse(CallResponse {
        request_id: call.clone(),
        result: Some(result),
        content: None,
        structured_content: None,
        meta: None,
    })
}

/// Returns the arguments of a tool call.
pub fn call_input(call: &ToolCall) -> Value {
    serde_json::from_str(call.tool_input.get()).unwrap()
}

/// Returns a value as raw JSON.
pub fn raw_json(value: &Value) -> Box<RawValue> {
    to_raw_value(value).unwrap()
}
