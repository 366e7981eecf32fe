//! Frames and bytes of pages on the sockets of a real bridge.

use std::cell::RefCell;
use std::net::SocketAddr;

use bridge::{Config, MountedApp, Network, PageLimits, PageTimings, Results, ServerHandle};
use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use http_body_util::Full;
use hyper::Request;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;

use crate::choices::Choices;
use crate::mutation::{mutate, mutated_text};
use crate::server::{ANSWER_TIMEOUT, Client, assert_alive, connect, runtime};
use crate::templates::{PAGE_MESSAGES, page_message};

const MAX_STEPS: usize = 32;

thread_local! {
    static BRIDGE: RefCell<Option<TestBridge>> = const { RefCell::new(None) };
}

#[test]
fn a_bridge_survives_every_page() {
    bolero::check!()
        .with_iterations(0)
        .for_each(|input: &[u8]| {
            BRIDGE.with_borrow_mut(|bridge| {
                let bridge = bridge.get_or_insert_with(TestBridge::start);
                bridge.run(&mut Choices::new(input));
            });
        });
}

struct TestBridge {
    runtime: Runtime,
    server: ServerHandle,
    /// The number of pages so far: each has its own token.
    pages: u64,
}

impl TestBridge {
    fn start() -> Self {
        let runtime = runtime();
        let config = Config {
            network: Network {
                bind: ([127, 0, 0, 1], 0).into(),
                ..Network::default()
            },
            page_limits: PageLimits {
                max_definition_bytes: 64 * 1024,
                ..PageLimits::default()
            },
            results: Results {
                max_result_bytes: 64 * 1024,
                ..Results::default()
            },
            // A page leaves nothing behind, so that an input has the same effect each time.
            page_timings: PageTimings {
                page_grace: std::time::Duration::ZERO,
                ..PageTimings::default()
            },
            ..Config::default()
        };
        let server = runtime.block_on(bridge::serve(config, MountedApp::default()));
        Self {
            server: server.unwrap(),
            runtime,
            pages: 0,
        }
    }

    fn run(&mut self, choices: &mut Choices<'_>) {
        let address = self.server.local_addr();
        self.pages += 1;
        let token = format!("a-token-of-a-page-{:016}", self.pages);
        self.runtime.block_on(async {
            if let Some(mut page) = Page::open(address, token, choices).await {
                for _ in 0..MAX_STEPS {
                    if !choices.has_more() || page.is_closed {
                        break;
                    }
                    page.step(choices).await;
                }
                page.end(choices).await;
            }
            assert_alive(&mut Client::new(address)).await;
        });
    }
}

struct Page {
    address: SocketAddr,
    token: String,
    socket: WebSocketStream<TcpStream>,
    is_closed: bool,
    /// Whether bytes were sent that may be part of a frame, so that the bridge waits for the rest.
    is_framing_broken: bool,
    pings: u64,
    next_message: u64,
    /// Ids of the bridge, for answers.
    words: Vec<String>,
    calls: Vec<tokio::task::JoinHandle<()>>,
}

impl Page {
    async fn open(address: SocketAddr, token: String, choices: &mut Choices<'_>) -> Option<Self> {
        let stream = connect(address).await;
        let path = choices.pick(&[
            "/ws?session=tab-1",
            "/ws",
            "/?session=tab-1",
            "/ws?session=%ff",
        ]);
        let url = format!("ws://{address}{path}");
        let opened = timeout(ANSWER_TIMEOUT, tokio_tungstenite::client_async(url, stream)).await;
        let (socket, _) = opened.expect("the bridge answers").ok()?;
        let mut page = Self {
            address,
            token: token.clone(),
            socket,
            is_closed: false,
            is_framing_broken: false,
            pings: 0,
            next_message: 0,
            words: vec![token, "tab-1".to_owned(), "echo".to_owned()],
            calls: Vec::new(),
        };
        if !choices.one_in(4) {
            let mut hello = page_message("authenticate");
            hello["authToken"] = page.token.as_str().into();
            page.send(Message::text(hello.to_string())).await;
            page.send(Message::text(page_message("register").to_string()))
                .await;
        }
        Some(page)
    }

    async fn step(&mut self, choices: &mut Choices<'_>) {
        match choices.below(12) {
            0..=4 => {
                let message = self.message(choices);
                self.send(Message::text(message)).await;
            }
            5 => self.send_parts(choices).await,
            6 => {
                let text = choices.text();
                self.send(Message::text(text)).await;
            }
            7 => self.call(choices),
            8 => {
                let bytes = choices.bytes(130);
                let message = match choices.below(3) {
                    0 => Message::binary(bytes.to_vec()),
                    1 => Message::Ping(Bytes::copy_from_slice(&bytes[..bytes.len().min(125)])),
                    _ => Message::Pong(Bytes::copy_from_slice(&bytes[..bytes.len().min(125)])),
                };
                self.send(message).await;
            }
            9 if choices.one_in(4) => {
                let code = *choices.pick(&[1000_u16, 1001, 1006, 4999, 3000, 0]);
                let reason = choices.text().into();
                let frame = CloseFrame {
                    code: code.into(),
                    reason,
                };
                self.send(Message::Close(Some(frame))).await;
            }
            10 if choices.one_in(4) => {
                let bytes = choices.bytes(64);
                self.is_framing_broken = true;
                let sent = self.socket.get_mut().write_all(bytes).await;
                self.is_closed |= sent.is_err();
            }
            _ => self.receive().await,
        }
    }

    fn message(&self, choices: &mut Choices<'_>) -> String {
        let template = choices.pick(&PAGE_MESSAGES);
        let mut message = mutate(template, choices, &self.words);
        if message["requestId"].is_string() && !choices.one_in(8) {
            message["requestId"] = Value::from(choices.pick(&self.words).as_str());
        }
        mutated_text(&message, choices)
    }

    async fn send_parts(&mut self, choices: &mut Choices<'_>) {
        let message = self.message(choices);
        self.next_message += 1;
        let id = self.next_message;
        let middle = message.floor_char_boundary(choices.below(message.len() + 1));
        let (first, second) = message.split_at(middle);
        self.send(Message::text(format!("#+{id} {first}"))).await;
        if !choices.one_in(4) {
            self.send(Message::text(format!("#.{id} {second}"))).await;
        }
    }

    async fn send(&mut self, message: Message) {
        let sent = timeout(ANSWER_TIMEOUT, self.socket.send(message)).await;
        self.is_closed |= sent.expect("the bridge reads").is_err();
    }

    /// A client calls a tool of the page, and in most cases waits for the answer.
    fn call(&mut self, choices: &mut Choices<'_>) {
        let body = match choices.below(3) {
            0 => json!({"toolName": "echo", "toolInput": {"text": "x"}}),
            1 => json!({"jsonrpc": "2.0", "id": 1, "method": "prompts/get",
                "params": {"name": "review", "arguments": {"card": "1"}}}),
            _ => json!({"jsonrpc": "2.0", "id": 1, "method": "resources/read",
                "params": {"uri": "board://cards/7"}}),
        };
        let path = if body["toolName"].is_null() {
            "/mcp"
        } else {
            "/tool-call"
        };
        let request = Request::post(path)
            .header("host", "localhost")
            .header("authorization", format!("Bearer {}", self.token))
            .header("content-type", "application/json")
            .body(Full::from(body.to_string()))
            .unwrap();
        let mut client = Client::new(self.address);
        self.calls.push(tokio::spawn(async move {
            client.send(request).await;
        }));
    }

    /// Waits until the bridge has read everything, or has closed the connection.
    async fn receive(&mut self) {
        if self.is_framing_broken {
            return;
        }
        self.pings += 1;
        let payload = Bytes::from(format!("ping {}", self.pings));
        self.send(Message::Ping(payload.clone())).await;
        while !self.is_closed {
            let next = timeout(ANSWER_TIMEOUT, self.socket.next()).await;
            match next.expect("the bridge answers or closes") {
                Some(Ok(Message::Pong(answer))) if answer == payload => return,
                Some(Ok(Message::Text(text))) => self.remember(&text),
                Some(Ok(_)) => {}
                Some(Err(_)) | None => self.is_closed = true,
            }
        }
    }

    fn remember(&mut self, text: &str) {
        // Long messages come in parts, which are not JSON.
        if text.starts_with('#') {
            return;
        }
        let message: Value = serde_json::from_str(text).expect("the bridge sends JSON");
        assert!(message["type"].is_string(), "{text}");
        if let Some(id) = message["requestId"].as_str() {
            self.words.push(id.to_owned());
        }
    }

    async fn end(mut self, choices: &mut Choices<'_>) {
        if !choices.one_in(3) {
            self.receive().await;
        }
        for call in &self.calls {
            call.abort();
        }
    }
}
