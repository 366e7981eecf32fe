//! A bridge of a cluster that ends with SIGTERM: its realms go to the others first.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bridge::{Config, ServerHandle};
use bridge_cluster::{NodeId, PeerHeader};
use bridge_protocol::{CallCancel, CloseCode, ToolCall};
use futures_util::future::join_all;
use mcp_web_sdk::{Call, McpWeb, Token, Tool};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::exchange::RawRequest;
use super::kit::*;
use crate::kit::*;

/// A `drain_timeout` that no test waits for, and of which a third is short.
const ENOUGH: Duration = Duration::from_secs(20);

async fn bridges_with(count: usize, drain_timeout: Duration) -> Bridges {
    let change = |_, config: &mut Config| config.state.drain_timeout = drain_timeout;
    Bridges::start_with(count, change).await
}

/// A page with a call that runs.
struct BusyPage {
    page: Page,
    call: ToolCall,
    answer: tokio::task::JoinHandle<(u16, Value)>,
}

impl BusyPage {
    /// Connects a page to a bridge, and calls it from another one.
    async fn start(bridge: &ServerHandle, caller: &ServerHandle) -> Self {
        let mut page = Page::with_tools(bridge, "busy", &[echo_tool()]).await;
        let url = caller.url();
        let call = async move { post_tool_call_to(&url, TOKEN, "echo", json!({ "n": 1 })).await };
        let answer = tokio::spawn(call);
        let call = page.recv_call().await;
        Self { page, call, answer }
    }

    /// Lets the call end, and returns the page.
    async fn finish(mut self) -> Page {
        self.page.respond(&self.call, json!({ "n": 1 })).await;
        let (status, answer) = self.answer.await.unwrap();
        assert_eq!(status, 200, "{answer}");
        assert_eq!(answer["structuredContent"]["n"], 1, "{answer}");
        self.page
    }
}

/// Waits until the others know that a bridge drains.
async fn wait_until_draining(others: &[ServerHandle]) {
    for other in others {
        wait_for_metrics(other, "the record of the bridge that drains", |metrics| {
            metrics["mcp_web_cluster_nodes{state=\"draining\"}"] == 1.0
        })
        .await;
    }
}

async fn recv_restart(page: &mut Page) {
    let (code, reason) = page.recv_close().await;
    assert_eq!(code, CloseCode::ServiceRestart.code(), "{reason}");
}

async fn node_id(view: &DirectoryView, bridge: &ServerHandle) -> NodeId {
    view.node_of(bridge).await.id
}

#[tokio::test]
async fn idle_realms_leave_a_draining_bridge_one_after_another() {
    const REALMS: usize = 30;
    let spread = Duration::from_secs(1);
    let bridges = bridges_with(3, 3 * spread).await;
    let view = bridges.directory().await;
    let [draining, others @ ..] = &bridges.nodes[..] else {
        panic!()
    };
    let token = |number| format!("token-of-the-realm-with-the-number-{number}");
    let mut pages = Vec::new();
    for number in 0..REALMS {
        pages.push(Page::connect(draining, "s", &token(number)).await);
    }
    let moving = async {
        let moving = pages.iter_mut().enumerate().map(async |(number, page)| {
            recv_restart(page).await;
            let closed = Instant::now();
            let next = &others[number % 2];
            (closed, Page::connect(next, "s", &token(number)).await)
        });
        let moved = join_all(moving).await;
        wait_for_metrics(draining, "the end of the realms", |metrics| {
            let lost = "mcp_web_cluster_realms_lost_total{reason=\"drained\"}";
            metrics[lost] == REALMS as f64
                && metrics["mcp_web_cluster_realms{state=\"owned\"}"] == 0.0
        })
        .await;
        moved
    };
    let ((), moved) = tokio::join!(draining.drain(), moving);
    let times = || moved.iter().map(|(closed, _)| *closed);
    assert!(times().max().unwrap() - times().min().unwrap() > spread / 2);
    let ids = [
        node_id(&view, &others[0]).await,
        node_id(&view, &others[1]).await,
    ];
    for number in 0..REALMS {
        assert_eq!(view.owner(&token(number)).await, Some(ids[number % 2]));
        let sessions = get_json_as(&others[0], &token(number), "/sessions").await;
        assert_eq!(sessions["sessions"].as_array().unwrap().len(), 1);
    }
}

#[tokio::test]
async fn a_call_runs_to_its_end_while_other_realms_leave() {
    let bridges = bridges_with(2, ENOUGH).await;
    let (draining, other) = bridges.owner_and_edge();
    let busy = BusyPage::start(draining, other).await;
    let mut idle = Page::connect(draining, "idle", OTHER_TOKEN).await;
    let ending = async {
        recv_restart(&mut idle).await;
        let mut page = busy.finish().await;
        recv_restart(&mut page).await;
        Page::with_tools(other, "busy", &[echo_tool()]).await
    };
    let ((), mut page) = tokio::join!(draining.drain(), ending);
    assert_echo(other, &mut page).await;
    let view = bridges.directory().await;
    assert_eq!(view.owner(TOKEN).await, Some(node_id(&view, other).await));
}

#[tokio::test]
async fn calls_end_at_the_deadline_of_the_drain() {
    let bridges = bridges_with(2, Duration::from_millis(300)).await;
    let (draining, other) = bridges.owner_and_edge();
    let mut busy = BusyPage::start(draining, other).await;
    let ending = async {
        let CallCancel { code, .. } = busy.page.recv_call_cancel().await;
        assert_eq!(code.as_str(), "CallMayHaveRun");
        recv_restart(&mut busy.page).await;
        busy.answer.await.unwrap()
    };
    let ((), (status, answer)) = tokio::join!(draining.drain(), ending);
    assert_eq!(
        (status, error_code(&answer)),
        (200, Some("CallMayHaveRun")),
        "{answer}"
    );
    // Another bridge may have it at once.
    let mut page = Page::with_tools(other, "busy", &[echo_tool()]).await;
    assert_echo(other, &mut page).await;
}

#[tokio::test]
async fn newcomers_at_a_draining_bridge_belong_to_another_one() {
    const CLIENT_TOKEN: &str = "token-of-a-client-that-comes-while-it-drains";
    let bridges = bridges_with(3, ENOUGH).await;
    let view = bridges.directory().await;
    let [draining, others @ ..] = &bridges.nodes[..] else {
        panic!()
    };
    let busy = BusyPage::start(draining, draining).await;
    let drained = async {
        wait_until_draining(others).await;
        // Nothing is claimed for a request that finds nothing.
        let sessions = get_json_as(draining, OTHER_TOKEN, "/sessions").await;
        assert_eq!(sessions, json!({ "sessions": [] }));
        assert_eq!(forwards(draining, "ok").await, 1.0);
        assert_eq!(view.owner(OTHER_TOKEN).await, None);

        let mut page = Page::connect(draining, "new", OTHER_TOKEN).await;
        page.register(&[echo_tool()]).await;
        let client = McpClient::connect(draining, CLIENT_TOKEN).await;
        assert!(!client.tool_names().await.is_empty());
        let own = node_id(&view, draining).await;
        for token in [OTHER_TOKEN, CLIENT_TOKEN] {
            let owner = view.owner(token).await;
            assert!(owner.is_some() && owner != Some(own), "{owner:?}");
        }
        for bridge in &bridges.nodes {
            let url = bridge.url();
            let call = post_tool_call_to(&url, OTHER_TOKEN, "echo", json!({ "n": 1 }));
            let ((status, answer), ()) = tokio::join!(call, page.echo_call());
            assert_eq!(status, 200, "{answer}");
        }
        // The realm that is still here is served here, also for a new page.
        let _second = Page::connect(draining, "second", TOKEN).await;
        assert_eq!(view.owner(TOKEN).await, Some(own));
        busy.finish().await
    };
    let ((), mut page) = tokio::join!(draining.drain(), drained);
    recv_restart(&mut page).await;
}

#[tokio::test]
async fn the_last_bridge_serves_newcomers_while_it_drains() {
    let mut bridges = bridges_with(2, ENOUGH).await;
    let gone = bridges.nodes.remove(1);
    gone.drain().await;
    gone.shutdown().await;
    let last = &bridges.nodes[0];
    let busy = BusyPage::start(last, last).await;
    let served = async {
        with_deadline("drain", async {
            let url = format!("{}/readyz", last.url());
            while http_client().get(&url).send().await.unwrap().status() != 503 {
                poll_pause().await;
            }
        })
        .await;
        let page = Page::connect(last, "new", OTHER_TOKEN).await;
        let client = McpClient::connect(last, OTHER_TOKEN).await;
        let status = client.call("get_connection_status", json!({})).await;
        assert_eq!(status["result"]["structuredContent"]["connected"], true);
        drop(page);
        let view = bridges.directory().await;
        let own = node_id(&view, last).await;
        assert_eq!(view.owner(OTHER_TOKEN).await, Some(own));
        busy.finish().await
    };
    let ((), mut page) = tokio::join!(last.drain(), served);
    // Its pages wait for the next process.
    bridges.nodes.remove(0).shutdown().await;
    recv_restart(&mut page).await;
}

#[tokio::test]
async fn closed_apps_are_still_listed_when_their_bridge_has_drained() {
    let bridges = bridges_with(3, ENOUGH).await;
    let [draining, others @ ..] = &bridges.nodes[..] else {
        panic!()
    };
    let tools = [
        echo_tool(),
        json!({ "name": "other", "title": "Ünï \"quoted\"" }),
    ];
    let page = Page::with_app(draining, "s", "notes", &tools).await;
    page.close().await;
    let names = async |bridge| McpClient::connect(bridge, TOKEN).await.tool_names().await;
    let before = names(draining).await;
    assert!(before.contains(&"echo".to_owned()), "{before:?}");
    let definitions = get_json(draining, "/tools").await;
    let view = bridges.directory().await;
    let own = node_id(&view, draining).await;
    assert_eq!(view.owner(TOKEN).await, Some(own));
    draining.drain().await;
    let owner = view.owner(TOKEN).await;
    assert!(owner.is_some() && owner != Some(own), "{owner:?}");
    for bridge in others {
        assert_eq!(names(bridge).await, before);
        assert_eq!(get_json(bridge, "/tools").await, definitions);
        let (_, answer) = post_tool_call(bridge, "echo", json!({})).await;
        assert!(answer.to_string().contains("notes"), "{answer}");
    }
    // Its page replaces them.
    let mut page = Page::with_app(&others[0], "s", "notes", &[echo_tool()]).await;
    assert_echo(&others[1], &mut page).await;
    assert!(!names(&others[0]).await.contains(&"other".to_owned()));
}

#[tokio::test]
async fn a_client_continues_its_session_when_its_bridge_has_drained() {
    let bridges = bridges_with(2, ENOUGH).await;
    let (draining, other) = bridges.owner_and_edge();
    let mut client = McpClient::connect(draining, TOKEN).await;
    let mut page = Page::with_tools(draining, "s", &[echo_tool()]).await;
    client.assert_echo(&mut page).await;
    let session = client.session.clone();
    let moved = async {
        recv_restart(&mut page).await;
        let mut page = Page::with_tools(other, "s", &[echo_tool()]).await;
        // Through the bridge that drains.
        client.assert_echo(&mut page).await;
        page
    };
    let ((), mut page) = tokio::join!(draining.drain(), moved);
    client.url = client.url.replace(&draining.url(), &other.url());
    client.assert_echo(&mut page).await;
    assert_eq!(client.session, session);
}

/// Its socket is closed without a close frame. The call waits for the page.
#[tokio::test]
async fn a_page_leaves_a_draining_bridge_that_does_not_own_its_realm_and_its_call_continues() {
    let bridges = bridges_with(3, ENOUGH).await;
    let [owner, draining, other] = &bridges.nodes[..] else {
        panic!()
    };
    let _first = Page::connect(owner, "first", TOKEN).await;
    let mut busy = BusyPage::start(draining, other).await;
    wait_for_tunnels(draining, "edge", 1).await;
    let moved = async {
        busy.page.read_forever().await;
        busy.page = Page::connect(other, "busy", TOKEN).await;
        busy.page.register(&[echo_tool()]).await;
        wait_for_tunnels(draining, "edge", 0).await;
        busy.finish().await
    };
    let ((), mut page) = tokio::join!(draining.drain(), moved);
    assert_echo(other, &mut page).await;
    let view = bridges.directory().await;
    assert_eq!(view.owner(TOKEN).await, Some(node_id(&view, owner).await));
}

/// Only another bridge can hand a catalogue over, and only for a realm that this one has or may claim.
#[tokio::test]
async fn a_catalogue_is_only_taken_as_its_bridge_has_sent_it() {
    let bridges = Bridges::start(2).await;
    let view = bridges.directory().await;
    let (_, bridge) = bridges.owner_and_edge();
    let sender = node_id(&view, &bridges.nodes[0]).await;
    let target = view.node_of(bridge).await;
    let realm = bridge_auth::RealmId::from_token(TOKEN).to_hex();
    let app = json!({ "name": "notes", "origin": null, "listedForMs": 60_000, "definitions": [
        { "kind": "tool", "definition": { "name": "echo" } },
        { "kind": "tool", "definition": { "title": "without a name" } },
    ] });
    let body = json!({ "realm": realm, "apps": [app] }).to_string();
    let send = async |body: &str, hashed: &str, may_claim: bool| {
        let hash = URL_SAFE_NO_PAD.encode(Sha256::digest(hashed));
        let path = format!("/_cluster/hand-over?sha256={hash}");
        let header = PeerHeader {
            node: sender,
            target: target.id,
            realm: Some(view.realm(TOKEN)),
            may_claim,
            client: [192, 0, 2, 1].into(),
            unix: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap()
                .as_secs(),
        };
        let request = RawRequest::new("POST", &path)
            .header("mcp-web-peer", &header.encode(&view.keys, "POST", &path))
            .body(body.to_owned());
        request.send(target.address.parse().unwrap()).await.code()
    };
    assert_eq!(send(&body, &body, false).await, 421);
    assert_eq!(send(&body, "another", true).await, 400);
    let other = body.replace(&realm, &"0".repeat(64));
    assert_eq!(send(&other, &other, true).await, 421);
    let long = " ".repeat(3 * 1024 * 1024);
    assert_eq!(send(&long, &long, true).await, 413);
    assert_eq!(view.owner(TOKEN).await, None);
    let names = async || McpClient::connect(bridge, TOKEN).await.tool_names().await;
    assert!(!names().await.contains(&"echo".to_owned()));

    assert_eq!(send(&body, &body, true).await, 204);
    assert_eq!(view.owner(TOKEN).await, Some(target.id));
    assert!(names().await.contains(&"echo".to_owned()));
}

/// A program with the tool `count`, which records each call.
struct Program {
    token: String,
    _app: McpWeb,
    counted: Arc<Mutex<Vec<u64>>>,
}

impl Program {
    async fn start(bridge: &ServerHandle, token: String) -> Self {
        let app = McpWeb::builder("App").bridge(bridge.url());
        let app = app.token(Token::new(token.clone())).build().unwrap();
        let counted = Arc::new(Mutex::new(Vec::new()));
        let counts = Arc::clone(&counted);
        let tool = app.add_tool(Tool::new("count"), move |input: Value, _: Call| {
            counts.lock().unwrap().push(input["n"].as_u64().unwrap());
            async { Ok("counted".to_owned()) }
        });
        with_deadline("connection", app.connect()).await.unwrap();
        with_deadline("tool", tool.registered()).await.unwrap();
        Self {
            token,
            _app: app,
            counted,
        }
    }
}

/// The realms belong to the bridge that drains, and the programs are connected to another one.
#[tokio::test]
async fn calls_while_a_bridge_drains_run_once_and_none_fails() {
    const REALMS: u64 = 24;
    let bridges = bridges_with(3, Duration::from_secs(6)).await;
    let [draining, others @ ..] = &bridges.nodes[..] else {
        panic!()
    };
    let mut programs = Vec::new();
    for number in 0..REALMS {
        let token = format!("token-of-the-program-with-the-number-{number}");
        let mut client = McpClient::connect(draining, &token).await;
        client.url = client.url.replace(&draining.url(), &others[1].url());
        programs.push((client, Program::start(&others[0], token).await));
    }
    wait_for_tunnels(&others[0], "edge", programs.len()).await;
    let (ended, is_ended) = tokio::sync::watch::channel(false);
    // It still accepts connections for 3 s when its realms have gone, as an edge.
    let last_at_draining = Instant::now() + Duration::from_secs(4);
    let calling = join_all(programs.iter().map(async |(client, program)| {
        let (mut calls, mut failed) = (0, Vec::new());
        while !*is_ended.borrow() {
            let input = json!({ "n": calls });
            let bridge = match calls % 4 {
                0 if Instant::now() < last_at_draining => Some(draining),
                0 | 1 => Some(&others[0]),
                2 => Some(&others[1]),
                // In the client's session.
                _ => None,
            };
            let (status, answer) = match bridge {
                Some(bridge) => {
                    post_tool_call_to(&bridge.url(), &program.token, "count", input).await
                }
                None => (200, client.call("count", input).await["result"].take()),
            };
            if status != 200 || answer["content"].is_null() || error_code(&answer).is_some() {
                failed.push((calls, status, answer));
            }
            calls += 1;
        }
        (calls, failed)
    }));
    let draining = async {
        draining.drain().await;
        ended.send_replace(true);
    };
    let (called, ()) = tokio::join!(calling, draining);
    for ((calls, failed), (_, program)) in called.into_iter().zip(programs) {
        assert!(failed.is_empty(), "{} of {calls}: {failed:?}", failed.len());
        let mut counted = program.counted.lock().unwrap().clone();
        counted.sort_unstable();
        assert_eq!(counted, (0..calls).collect::<Vec<_>>());
    }
}
