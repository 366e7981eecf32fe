//! A page with two tools, whose calls the test answers.

use bridge_protocol::{
    Authenticate, BridgeToPage, CallReceived, CallResponse, Definition, Kind, PageToBridge,
    Register, RegistrationId, SessionId, ToolCall,
};
use futures_util::{SinkExt, StreamExt};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use super::with_deadline;

/// A page that is connected to a bridge.
pub(crate) struct Page {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
}

impl Page {
    pub(super) async fn connect(bridge: &bridge::ServerHandle, token: &str) -> Self {
        let url = format!("ws://{}/ws?session=page", bridge.local_addr());
        let (socket, _) = connect_async(url).await.unwrap();
        let mut page = Self { socket };
        page.send(PageToBridge::Authenticate(Box::new(Authenticate {
            protocol: Some(2),
            auth_token: Some(token.to_owned()),
            session_id: Some(SessionId::from("page")),
            session_name: None,
            origin: None,
            page_title: Some("Board".to_owned()),
            document_id: Some("document".to_owned()),
            user_agent: None,
            app: None,
            timestamp: None,
            checks_late_calls: false,
        })))
        .await;
        let items = ["add_card", "plan"].map(|name| Definition {
            kind: Kind::Tool,
            definition: raw(&json!({ "name": name, "description": "For tests",
                "inputSchema": { "type": "object" } })),
        });
        page.send(PageToBridge::Register(Register {
            registration_id: RegistrationId::from("r"),
            items: items.into(),
        }))
        .await;
        page.recv_matching(|message| matches!(message, BridgeToPage::Registered(_)).then_some(()))
            .await;
        page
    }

    pub(crate) async fn send(&mut self, message: PageToBridge) {
        self.send_text(message.encode()).await;
    }

    pub(crate) async fn send_json(&mut self, message: Value) {
        self.send_text(message.to_string()).await;
    }

    async fn send_text(&mut self, text: String) {
        self.socket.send(Message::Text(text.into())).await.unwrap();
    }

    pub(crate) async fn recv(&mut self) -> BridgeToPage {
        loop {
            let frame = with_deadline("frame", self.socket.next())
                .await
                .unwrap()
                .unwrap();
            if let Message::Text(text) = frame {
                return BridgeToPage::decode(&text).unwrap();
            }
        }
    }

    /// Receives messages until `pick` returns a value for one.
    pub(crate) async fn recv_matching<T>(&mut self, pick: impl Fn(BridgeToPage) -> Option<T>) -> T {
        loop {
            if let Some(picked) = pick(self.recv().await) {
                return picked;
            }
        }
    }

    /// Receives the next event of a query, as JSON.
    pub(crate) async fn recv_query_event(&mut self) -> Value {
        self.recv_matching(|message| {
            let text = message.encode();
            let message: Value = serde_json::from_str(&text).unwrap();
            let kind = message["type"].as_str().unwrap();
            kind.starts_with("query_").then_some(message)
        })
        .await
    }

    /// Receives the next call, and acknowledges it.
    pub(crate) async fn recv_call(&mut self) -> ToolCall {
        let call = self.recv_matching(|message| match message {
            BridgeToPage::ToolCall(call) => Some(call),
            _ => None,
        });
        let call = call.await;
        let request_id = call.request_id.clone();
        self.send(PageToBridge::CallReceived(CallReceived { request_id }))
            .await;
        call
    }

    pub(crate) async fn answer(&mut self, call: &ToolCall, result: Value) {
        self.send(PageToBridge::CallResponse(CallResponse {
            request_id: call.request_id.clone(),
            result: Some(raw(&result)),
            content: None,
            structured_content: None,
            meta: None,
        }))
        .await;
    }

    /// Waits for the cancellation of a call.
    pub(crate) async fn expect_cancel(&mut self, call: &ToolCall) {
        self.recv_matching(|message| match message {
            BridgeToPage::CallCancel(it) if it.request_id == call.request_id => Some(()),
            _ => None,
        })
        .await;
    }
}

fn raw(value: &Value) -> Box<RawValue> {
    to_raw_value(value).unwrap()
}
