//! A page of our own dialect, message by message.

use bridge::ServerHandle;
use bridge_protocol::parts::{Assembler, AssemblyStatus};
use bridge_protocol::{
    Authenticate, BridgeToPage, CallId, CallReceived, CallResponse, Definition, Kind, PageToBridge,
    Register, RegistrationId, SessionId, ToolCall,
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

/// The browser's end of a page socket.
pub(crate) type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// The next frame that is no ping; `None` when the connection is over.
pub(crate) async fn next_frame(socket: &mut Socket) -> Option<Message> {
    loop {
        match with_deadline("frame", socket.next()).await {
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
            Some(Ok(message)) => return Some(message),
            Some(Err(_)) | None => return None,
        }
    }
}

/// Closes as a browser does when the document goes away.
pub(crate) async fn close_going_away(socket: &mut Socket) {
    let frame = CloseFrame {
        code: 1001.into(),
        reason: "".into(),
    };
    socket.send(Message::Close(Some(frame))).await.unwrap();
    while next_frame(socket).await.is_some() {}
}

/// The socket of a page, message by message.
pub(crate) struct Page {
    socket: Socket,
    reassembler: Assembler,
}

impl Page {
    /// An open socket that has said nothing yet.
    pub(crate) async fn open(bridge: &ServerHandle, session: &str, origin: Option<&str>) -> Self {
        Self::open_to(&bridge.local_addr().to_string(), session, origin).await
    }

    async fn open_to(address: &str, session: &str, origin: Option<&str>) -> Self {
        let url = format!("ws://{address}/ws?session={session}");
        let mut request = url.into_client_request().unwrap();
        if let Some(origin) = origin {
            request
                .headers_mut()
                .insert("origin", origin.parse().unwrap());
        }
        let config = WebSocketConfig::default()
            .max_message_size(None)
            .max_frame_size(None);
        let (socket, _) = tokio_tungstenite::connect_async_with_config(request, Some(config), true)
            .await
            .unwrap();
        let assembler = Assembler::new(usize::MAX);
        Self {
            socket,
            reassembler: assembler,
        }
    }

    /// A page that was let in.
    pub(crate) async fn connect(bridge: &ServerHandle, session: &str, token: &str) -> Self {
        Self::connect_to(&bridge.local_addr().to_string(), session, token).await
    }

    /// The same of a bridge at this address.
    pub(crate) async fn connect_to(address: &str, session: &str, token: &str) -> Self {
        let mut page = Self::open_to(address, session, None).await;
        page.authenticate(session, token).await;
        let welcome = page.recv().await;
        assert!(
            matches!(welcome, BridgeToPage::Authenticated(_)),
            "{welcome:?}"
        );
        page
    }

    /// A page with tools, given as MCP tool objects.
    pub(crate) async fn with_tools(bridge: &ServerHandle, session: &str, tools: &[Value]) -> Self {
        let mut page = Self::connect(bridge, session, TOKEN).await;
        page.register(tools).await;
        page
    }

    pub(crate) async fn authenticate(&mut self, session: &str, token: &str) {
        let hello = authenticate_message(session, token);
        self.send(PageToBridge::Authenticate(hello)).await;
    }

    /// A page of an app, let in.
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
        let hello = Authenticate {
            app: Some(app),
            session_name: Some("tab".to_owned()),
            ..authenticate_message(session, token)
        };
        page.send(PageToBridge::Authenticate(hello)).await;
        page.register(tools).await;
        page
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
        loop {
            if let BridgeToPage::Registered(answer) = self.recv().await {
                return answer;
            }
        }
    }

    pub(crate) async fn send(&mut self, message: PageToBridge) {
        self.send_frame(Message::Text(message.encode().into()))
            .await
            .unwrap();
    }

    pub(crate) async fn send_frame(&mut self, message: Message) -> Result<(), Error> {
        self.socket.send(message).await
    }

    pub(crate) async fn recv(&mut self) -> BridgeToPage {
        loop {
            let frame = match self.recv_frame().await {
                Some(Message::Text(text)) => text,
                other => panic!("no message but {other:?}"),
            };
            if let AssemblyStatus::Complete(message) = self.reassembler.push(&frame).unwrap() {
                return BridgeToPage::decode(&message).unwrap();
            }
        }
    }

    /// The next message, however long it takes; `None` when the connection is over.
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

    /// The next frame that is no ping; `None` when the connection is over.
    pub(crate) async fn recv_frame(&mut self) -> Option<Message> {
        next_frame(&mut self.socket).await
    }

    /// Reads on to the close frame: its code and reason.
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

    /// The next call, acknowledged.
    pub(crate) async fn recv_call(&mut self) -> ToolCall {
        loop {
            if let BridgeToPage::ToolCall(call) = self.recv().await {
                let request_id = call.request_id.clone();
                self.send(PageToBridge::CallReceived(CallReceived { request_id }))
                    .await;
                return call;
            }
        }
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

    /// Waits for a message that this picks.
    pub(crate) async fn recv_matching<T>(&mut self, pick: impl Fn(BridgeToPage) -> Option<T>) -> T {
        loop {
            if let Some(picked) = pick(self.recv().await) {
                return picked;
            }
        }
    }

    /// Says a message as JSON.
    pub(crate) async fn send_json(&mut self, message: Value) {
        self.send_frame(Message::Text(message.to_string().into()))
            .await
            .unwrap();
    }

    /// Answers one call with its own input.
    pub(crate) async fn echo_call(&mut self) {
        let call = self.recv_call().await;
        let input = serde_json::from_str(call.tool_input.get()).unwrap();
        self.respond(&call, input).await;
    }

    /// Closes as a browser does when the document goes away.
    pub(crate) async fn close(mut self) {
        close_going_away(&mut self.socket).await;
    }
}

pub(crate) fn raw_json(value: &Value) -> Box<RawValue> {
    RawValue::from_string(value.to_string()).unwrap()
}
