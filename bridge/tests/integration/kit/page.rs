//! A native page, which sends and receives individual protocol messages.

use bridge::ServerHandle;
use bridge_protocol::parts::{Assembler, AssemblyStatus};
use bridge_protocol::{
    Authenticate, Authenticated, AuthenticationFailed, BridgeToPage, CallCancel, CallId,
    CallReceived, CallResponse, ClientResponse, ConnectedClient, Definition, Kind, PageToBridge,
    Register, RegistrationId, Renew, RenewalFailed, Renewed, SessionId, ToolCall,
};
use futures_util::{SinkExt, StreamExt};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

use super::{TOKEN, with_deadline};

/// The socket of a page on the browser's side.
pub(crate) type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// The next frame other than pings and pongs; `None` when the connection has ended.
pub(crate) async fn next_frame(socket: &mut Socket) -> Option<Message> {
    loop {
        match with_deadline("frame", socket.next()).await {
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
            Some(Ok(message)) => return Some(message),
            Some(Err(_)) | None => return None,
        }
    }
}

/// Closes the socket as a browser does for a closed document, with the code 1001 (RFC 6455, "going
/// away").
pub(crate) async fn close_going_away(socket: &mut Socket) {
    let frame = CloseFrame {
        code: 1001.into(),
        reason: "".into(),
    };
    socket.send(Message::Close(Some(frame))).await.unwrap();
    while next_frame(socket).await.is_some() {}
}

/// The connection of a native page.
pub(crate) struct Page {
    socket: Socket,
    reassembler: Assembler,
}

impl Page {
    /// Opens the socket without sending anything.
    pub(crate) async fn open(bridge: &ServerHandle, session: &str, origin: Option<&str>) -> Self {
        Self::open_to(&bridge.local_addr().to_string(), session, origin).await
    }

    async fn open_to(address: &str, session: &str, origin: Option<&str>) -> Self {
        let origin = origin.map(|origin| ("origin", origin));
        Self::open_with_headers(address, session, origin.as_slice()).await
    }

    /// Opens the socket of the bridge at this address with these headers.
    pub(crate) async fn open_with_headers(
        address: &str,
        session: &str,
        headers: &[(&'static str, &str)],
    ) -> Self {
        let url = format!("ws://{address}/ws?session={session}");
        let mut request = url.into_client_request().unwrap();
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse().unwrap());
        }
        let config = WebSocketConfig::default()
            .max_message_size(None)
            .max_frame_size(None);
        let (socket, _) = tokio_tungstenite::connect_async_with_config(request, Some(config), true)
            .await
            .unwrap();
        let reassembler = Assembler::new(usize::MAX);
        Self {
            socket,
            reassembler,
        }
    }

    /// Opens the socket and authenticates.
    pub(crate) async fn connect(bridge: &ServerHandle, session: &str, token: &str) -> Self {
        Self::connect_to(&bridge.local_addr().to_string(), session, token).await
    }

    /// Opens a socket to the bridge at this address and authenticates.
    pub(crate) async fn connect_to(address: &str, session: &str, token: &str) -> Self {
        let mut page = Self::open_to(address, session, None).await;
        page.authenticate(session, token).await;
        page.recv_authenticated().await;
        page
    }

    /// Connects a page and registers these MCP tool objects.
    pub(crate) async fn with_tools(bridge: &ServerHandle, session: &str, tools: &[Value]) -> Self {
        let mut page = Self::connect(bridge, session, TOKEN).await;
        page.register(tools).await;
        page
    }

    pub(crate) async fn authenticate(&mut self, session: &str, token: &str) {
        let message = authenticate_message(session, token);
        self.send(PageToBridge::Authenticate(Box::new(message)))
            .await;
    }

    /// Connects a page of this app and registers these tools.
    pub(crate) async fn with_app(
        bridge: &ServerHandle,
        session: &str,
        app: &str,
        tools: &[Value],
    ) -> Self {
        Self::with_app_and_token(TOKEN, bridge, session, app, tools).await
    }

    pub(crate) async fn with_app_and_token(
        token: &str,
        bridge: &ServerHandle,
        session: &str,
        app: &str,
        tools: &[Value],
    ) -> Self {
        let mut page = Self::open(bridge, session, Some("http://localhost:5173")).await;
        let app = bridge_protocol::App {
            name: app.to_owned(),
            description: None,
            version: None,
            icon: None,
        };
        let message = Authenticate {
            app: Some(app),
            session_name: Some("tab".to_owned()),
            ..authenticate_message(session, token)
        };
        page.send(PageToBridge::Authenticate(Box::new(message)))
            .await;
        page.register(tools).await;
        page
    }

    /// Connects a page that declares to check late calls, as the SDK does.
    pub(crate) async fn connect_checking_late_calls(
        bridge: &ServerHandle,
        session: &str,
        tools: &[Value],
    ) -> Self {
        let mut page = Self::open(bridge, session, Some("http://localhost:5173")).await;
        let message = Authenticate {
            checks_late_calls: true,
            ..authenticate_message(session, TOKEN)
        };
        page.send(PageToBridge::Authenticate(Box::new(message)))
            .await;
        page.register(tools).await;
        page
    }

    /// Reads and ignores messages until the bridge disconnects the page.
    pub(crate) async fn read_forever(&mut self) {
        while self.recv_without_deadline().await.is_some() {}
    }
}

fn authenticate_message(session: &str, token: &str) -> Authenticate {
    Authenticate {
        protocol: Some(2),
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
    }
}

impl Page {
    pub(crate) async fn register(&mut self, tools: &[Value]) -> bridge_protocol::Registered {
        let tools: Vec<_> = tools
            .iter()
            .map(|tool| (Kind::Tool, tool.clone()))
            .collect();
        self.register_items(&tools).await
    }

    pub(crate) async fn register_items(
        &mut self,
        items: &[(Kind, Value)],
    ) -> bridge_protocol::Registered {
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

    pub(crate) async fn send(&mut self, message: PageToBridge) {
        self.send_text(message.encode()).await;
    }

    pub(crate) async fn send_json(&mut self, message: Value) {
        self.send_text(message.to_string()).await;
    }

    pub(crate) async fn send_text(&mut self, text: impl Into<String>) {
        let frame = Message::Text(text.into().into());
        self.send_frame(frame).await.unwrap();
    }

    pub(crate) async fn send_frame(&mut self, message: Message) -> Result<(), Error> {
        self.socket.send(message).await
    }

    /// Receives the next message, which is assembled if it arrives in parts.
    pub(crate) async fn recv(&mut self) -> BridgeToPage {
        loop {
            let frame = match self.recv_frame().await {
                Some(Message::Text(text)) => text,
                other => panic!("expected a message, got {other:?}"),
            };
            if let AssemblyStatus::Complete(message) = self.reassembler.push(&frame).unwrap() {
                return BridgeToPage::decode(&message).unwrap();
            }
        }
    }

    /// Receives the next message without a deadline; `None` when the connection has ended.
    pub(crate) async fn recv_without_deadline(&mut self) -> Option<BridgeToPage> {
        loop {
            let frame = match self.socket.next().await {
                Some(Ok(Message::Text(text))) => text,
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue,
                _ => return None,
            };
            if let AssemblyStatus::Complete(message) = self.reassembler.push(&frame).unwrap() {
                return Some(BridgeToPage::decode(&message).unwrap());
            }
        }
    }

    /// The next frame other than pings and pongs; `None` when the connection has ended.
    pub(crate) async fn recv_frame(&mut self) -> Option<Message> {
        next_frame(&mut self.socket).await
    }

    /// Reads up to the answer to a ping.
    pub(crate) async fn recv_pong(&mut self, payload: &str) {
        loop {
            match with_deadline("pong", self.socket.next()).await {
                Some(Ok(Message::Pong(answer))) if answer == payload.as_bytes() => return,
                Some(Ok(_)) => {}
                other => panic!("no pong, but {other:?}"),
            }
        }
    }

    /// Reads up to the close frame, and returns its code and reason.
    pub(crate) async fn recv_close(&mut self) -> (u16, String) {
        loop {
            match self.recv_frame().await {
                Some(Message::Close(Some(frame))) => {
                    return (frame.code.into(), frame.reason.to_string());
                }
                Some(_) => {}
                None => panic!("the connection ended without a close frame"),
            }
        }
    }

    /// Reads up to the first message from which `pick` returns a value.
    pub(crate) async fn recv_matching<T>(&mut self, pick: impl Fn(BridgeToPage) -> Option<T>) -> T {
        loop {
            if let Some(picked) = pick(self.recv().await) {
                return picked;
            }
        }
    }

    /// Receives the response to `authenticate`, which must be the next message and a success.
    pub(crate) async fn recv_authenticated(&mut self) -> Authenticated {
        match self.recv().await {
            BridgeToPage::Authenticated(authenticated) => authenticated,
            other => panic!("not authenticated: {other:?}"),
        }
    }

    /// Receives the response to `authenticate`, which must be the next message and a failure.
    pub(crate) async fn recv_authentication_failure(&mut self) -> AuthenticationFailed {
        match self.recv().await {
            BridgeToPage::AuthenticationFailed(failure) => failure,
            other => panic!("expected a failure, got {other:?}"),
        }
    }

    /// Receives and acknowledges the next tool call.
    pub(crate) async fn recv_call(&mut self) -> ToolCall {
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

    pub(crate) async fn recv_call_cancel(&mut self) -> CallCancel {
        self.recv_matching(|message| match message {
            BridgeToPage::CallCancel(cancel) => Some(cancel),
            _ => None,
        })
        .await
    }

    /// Renews the token of the page, and returns the response of the bridge.
    pub(crate) async fn renew(&mut self, token: &str) -> Result<Renewed, RenewalFailed> {
        let auth_token = token.to_owned();
        self.send(PageToBridge::Renew(Renew { auth_token })).await;
        self.recv_matching(|message| match message {
            BridgeToPage::Renewed(renewed) => Some(Ok(renewed)),
            BridgeToPage::RenewalFailed(failed) => Some(Err(failed)),
            _ => None,
        })
        .await
    }

    /// Receives the responses of the client to the requests of a handler.
    pub(crate) async fn recv_client_responses(&mut self) -> Vec<ClientResponse> {
        self.recv_matching(|message| match message {
            BridgeToPage::ClientResponses(responses) => Some(responses.responses),
            _ => None,
        })
        .await
    }

    /// Reads up to the message that lists this number of connected clients.
    pub(crate) async fn wait_for_clients(&mut self, count: usize) -> Vec<ConnectedClient> {
        self.recv_matching(|message| match message {
            BridgeToPage::Clients(clients) if clients.clients.len() == count => {
                Some(clients.clients)
            }
            _ => None,
        })
        .await
    }

    pub(crate) async fn respond(&mut self, call: &ToolCall, result: Value) {
        self.respond_to(&call.request_id, result).await;
    }

    pub(crate) async fn respond_to(&mut self, call: &CallId, result: Value) {
        self.send(PageToBridge::CallResponse(CallResponse {
            request_id: call.clone(),
            result: Some(raw_json(&result)),
            content: None,
            structured_content: None,
            meta: None,
        }))
        .await;
    }

    /// Responds to the next call with this result.
    pub(crate) async fn serve_call(&mut self, result: Value) -> ToolCall {
        let call = self.recv_call().await;
        self.respond(&call, result).await;
        call
    }

    /// Responds to the next call with its own input.
    pub(crate) async fn echo_call(&mut self) {
        let call = self.recv_call().await;
        let input = serde_json::from_str(call.tool_input.get()).unwrap();
        self.respond(&call, input).await;
    }

    /// Closes the socket as a browser does for a closed document.
    pub(crate) async fn close(mut self) {
        close_going_away(&mut self.socket).await;
    }
}

pub(crate) fn raw_json(value: &Value) -> Box<RawValue> {
    RawValue::from_string(value.to_string()).unwrap()
}
