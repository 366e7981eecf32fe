//! Requests to every route of a bridge, a bridge for clients of mcp-web 0.1, and an agent.

mod request;

use std::cell::RefCell;

use agent::{ModelSettings, Provider};
use bridge::{Compat, Compatibility, Config, MountedApp, Network};
use bridge_protocol::BridgeToPage;
use bytes::Bytes;
use hyper::body::Incoming;
use hyper::{Method, Response, StatusCode};
use raw_page::{Page, call_input};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::choices::Choices;
use crate::server::{Client, assert_alive, assert_no_panics, body, runtime};
use crate::templates::page_message;
use request::{AGENT_TOKEN, Peer, TOKEN, any_request};

const MAX_REQUESTS: usize = 8;

thread_local! {
    static SERVERS: RefCell<Option<Servers>> = const { RefCell::new(None) };
}

#[test]
fn a_bridge_answers_every_request() {
    bolero::check!()
        .with_iterations(0)
        .for_each(|input: &[u8]| {
            let mut choices = Choices::new(input);
            let peer = *choices.pick(&[Peer::Bridge, Peer::CompatBridge]);
            with_servers(|servers| servers.run(peer, &mut choices));
        });
}

#[test]
fn an_agent_answers_every_request() {
    bolero::check!()
        .with_iterations(0)
        .for_each(|input: &[u8]| {
            let mut choices = Choices::new(input);
            with_servers(|servers| servers.run(Peer::Agent, &mut choices));
        });
}

fn with_servers(run: impl FnOnce(&mut Servers)) {
    SERVERS.with_borrow_mut(|servers| run(servers.get_or_insert_with(Servers::start)));
}

struct Servers {
    runtime: Runtime,
    bridge: Client,
    compat_bridge: Client,
    agent: Client,
    /// Ids of the bridges: MCP sessions and queries.
    words: Vec<String>,
}

impl Servers {
    fn start() -> Self {
        let runtime = runtime();
        let (bridge, compat_bridge, agent) = runtime.block_on(async {
            let bridge = serve_bridge(None).await;
            let compat_bridge = serve_bridge(Some(Compat::McpWeb)).await;
            let config = agent::Config {
                bind: ([127, 0, 0, 1], 0).into(),
                token: Some(AGENT_TOKEN.parse().unwrap()),
                model: ModelSettings {
                    provider: Some(Provider::Commands),
                    ..ModelSettings::default()
                },
                ..agent::Config::default()
            };
            let agent = agent::bind(config).await.unwrap();
            let agent = agent.serve(&format!("http://{bridge}")).unwrap();
            (bridge, compat_bridge, agent.local_addr())
        });
        Self {
            runtime,
            bridge: Client::new(bridge),
            compat_bridge: Client::new(compat_bridge),
            agent: Client::new(agent),
            words: Vec::new(),
        }
    }

    fn run(&mut self, peer: Peer, choices: &mut Choices<'_>) {
        let Self {
            runtime,
            bridge,
            compat_bridge,
            agent,
            words,
        } = self;
        let client = match peer {
            Peer::Bridge => bridge,
            Peer::CompatBridge => compat_bridge,
            Peer::Agent => agent,
        };
        words.clear();
        runtime.block_on(async {
            for _ in 0..MAX_REQUESTS {
                let request = any_request(peer, choices, words);
                let description = format!("{request:?}");
                let is_head = request.method() == Method::HEAD;
                if let Some(response) = client.send(request).await {
                    check_response(response, is_head, client, words, &description).await;
                }
                assert_no_panics();
                if !choices.has_more() {
                    break;
                }
            }
            client.close();
            assert_alive(client).await;
        });
    }
}

/// Every response is what the documentation promises: no failure of the server itself, and an
/// error that a program can read.
async fn check_response(
    response: Response<Incoming>,
    is_head: bool,
    client: &mut Client,
    words: &mut Vec<String>,
    description: &str,
) {
    let status = response.status();
    assert_ne!(status, StatusCode::INTERNAL_SERVER_ERROR, "{description}");
    let header = |name: &str| {
        response
            .headers()
            .get(name)
            .and_then(|value| value.to_str().ok())
    };
    if let Some(session) = header("mcp-session-id") {
        words.push(session.to_owned());
    }
    let content_type = header("content-type").unwrap_or_default().to_owned();
    if content_type == "text/event-stream" {
        assert!(status.is_success(), "{description}");
        // Some streams do not end before the client does.
        client.close();
        return;
    }
    let Some(body) = body(response).await else {
        client.close();
        return;
    };
    if content_type.starts_with("application/json") && !is_head {
        assert!(is_json(&body), "{description}: {status} {body:?}");
    }
    let is_error = status.is_client_error() || status.is_server_error();
    // hyper refuses long headers itself, without a body.
    let is_from_hyper = status == StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
    if is_error && !is_head && !is_from_hyper {
        check_error(status, &body, description);
    }
}

/// An error is an object with the member `error`: of MCP, or a code with a message beside it.
fn check_error(status: StatusCode, body: &Bytes, description: &str) {
    // The id of a request is returned unchanged, however deeply it is nested.
    let Ok(error) = serde_json::from_slice::<Value>(body) else {
        assert!(is_json(body), "{description}: {status} {body:?}");
        return;
    };
    let has_message = error["error"]["message"].is_string() || error["message"].is_string();
    let has_text = error["error"].is_string();
    assert!(has_message || has_text, "{description}: {status} {error}");
}

fn is_json(body: &[u8]) -> bool {
    serde_json::from_slice::<&RawValue>(body).is_ok()
}

/// Starts a bridge, with a page that answers the calls of its tools.
async fn serve_bridge(compat: Option<Compat>) -> std::net::SocketAddr {
    let config = Config {
        network: Network {
            bind: ([127, 0, 0, 1], 0).into(),
            max_request_bytes: 128 * 1024,
            ..Network::default()
        },
        compatibility: Compatibility { compat },
        ..Config::default()
    };
    let server = bridge::serve(config, MountedApp::default()).await.unwrap();
    let address = server.local_addr();
    let mut page = Page::connect_to(address, "tab-1", TOKEN).await;
    page.send_json(page_message("register")).await;
    page.recv_type("registered").await;
    tokio::spawn(async move {
        while let Some(message) = page.recv_without_deadline().await {
            let (call, input) = match message {
                BridgeToPage::ToolCall(call) => (call.request_id.clone(), call_input(&call)),
                BridgeToPage::PromptGet(get) => (get.request_id, Value::Null),
                BridgeToPage::ResourceRead(read) => (read.request_id, Value::Null),
                BridgeToPage::Completion(completion) => (completion.request_id, Value::Null),
                _ => continue,
            };
            page.respond_to(&call, json!({ "echo": input })).await;
        }
    });
    address
}
