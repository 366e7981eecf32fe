//! Three bridges behind a balancer serve as one: tabs and clients of one token connect to any of them.

use std::cell::Cell;

use e2e::{
    BridgeEndpoint, Browser, ClusterBed, McpClient, PlainHttp, StaticSite, TestBed, poll_pause,
    with_deadline,
};
use serde_json::{Value, json};

use crate::ask_ai::wait_for_state;
use crate::demo_page::open_demo;
use crate::{TRANSPORTS_AND_ERAS, open_app};

#[tokio::test]
async fn two_tabs_and_a_client_at_different_nodes_meet_at_the_node_of_the_first_tab() {
    let (cluster, site) = (ClusterBed::start(3).await, StaticSite::start().await);
    let balancer = cluster.balancer();
    balancer.use_only(&[0]);
    let browser = open_app(&site, &cluster).await;
    balancer.use_only(&[1]);
    browser.open_tab().await;
    browser.goto(&site.app(&cluster)).await;
    browser.wait_for("journey.ready").await;
    assert_eq!(
        cluster
            .metric(1, "mcp_web_cluster_tunnels{side=\"edge\"}")
            .await,
        1.0
    );
    assert_eq!(
        cluster
            .metric(0, "mcp_web_cluster_tunnels{side=\"owner\"}")
            .await,
        1.0
    );

    balancer.use_only(&[2]);
    for (id, (transport, era)) in (1..).zip(TRANSPORTS_AND_ERAS) {
        let client = McpClient::connect(&cluster, transport, era).await;
        let status = result(&client, "get_connection_status", json!({})).await;
        assert_eq!(status["pages"], 2, "{transport:?}, {era:?}: {status}");
        assert_eq!(status["node"], cluster.node_id(0), "{transport:?}, {era:?}");
        let sessions = result(&client, "list_active_sessions", json!({})).await;
        for session in sessions["sessions"].as_array().unwrap() {
            let arguments = json!({
                "session_id": session["session_id"],
                "tool_name": "echo",
                "arguments": { "id": id },
            });
            let echo = result(&client, "call_session_tool", arguments).await;
            assert_eq!(echo, json!({ "id": id }), "{transport:?}, {era:?}");
        }
    }

    let echoed = browser.eval("return journey.echoed", json!(null)).await;
    assert_eq!(echoed, json!([1, 2, 3, 4]));
    let forwards = "mcp_web_cluster_forwards_total{outcome=\"ok\"}";
    assert!(cluster.metric(2, forwards).await >= 4.0);
    let owned = "mcp_web_cluster_realms{state=\"owned\"}";
    for (node, realms) in [(0, 1.0), (1, 0.0), (2, 0.0)] {
        assert_eq!(cluster.metric(node, owned).await, realms);
        assert_eq!(cluster.owner(cluster.token(), node).await, 0);
    }
}

#[tokio::test]
async fn a_tab_returns_at_another_node_after_its_node_has_crashed_and_after_it_drains() {
    let arguments = ["--cluster-lease", "3s", "--drain-timeout", "1s"];
    let mut cluster = ClusterBed::start_with(3, &arguments).await;
    let site = StaticSite::start().await;
    cluster.balancer().use_only(&[0]);
    let browser = open_app(&site, &cluster).await;
    assert_eq!(cluster.owner(cluster.token(), 1).await, 0);
    let document = browser.eval("return journey.document", json!(null)).await;

    cluster.balancer().use_all();
    cluster.kill(0).await;
    let owner = assert_served(&cluster, &browser, 2, &[1, 2]).await;

    let other = 3 - owner;
    cluster.drain(owner);
    assert_served(&cluster, &browser, 3, &[other]).await;
    cluster.wait_until_ended(owner).await;

    cluster.restart(0).await;
    cluster.restart(owner).await;
    for node in 0..3 {
        assert_eq!(cluster.owner(cluster.token(), node).await, other);
    }
    let same = browser.eval("return journey.document", json!(null)).await;
    assert_eq!(same, document, "the page was not reloaded");
}

#[tokio::test]
async fn a_call_fails_once_when_the_owner_is_killed_and_the_next_one_finds_the_tab_elsewhere() {
    let mut cluster = ClusterBed::start_with(3, &["--cluster-lease", "3s"]).await;
    let site = StaticSite::start().await;
    cluster.balancer().use_only(&[0]);
    let browser = open_app(&site, &cluster).await;
    cluster.balancer().use_all();
    let client = PlainHttp::new(cluster.node(1));
    let running = tokio::spawn({
        let client = client.clone();
        async move { client.call("hang", json!({})).await }
    });
    browser.wait_for("journey.started === 1").await;

    cluster.kill(0).await;
    let failed = with_deadline("the running call to fail", running).await;
    let failed = failed.unwrap().unwrap();
    assert_eq!(failed["error"], "NodeLost", "{failed}");
    // It waits for the tab, whose browser may need longer on a busy machine than a call is held: to connect,
    // without which the user has no owner then, and to register its tools.
    let input = json!({ "id": 1 });
    let echo = async {
        loop {
            let answer = client.call("echo", input.clone()).await.unwrap();
            let code = answer["error"].as_str();
            let code = code.or(answer["_meta"]["mcp-web/error"]["code"].as_str());
            let is_away = ["ClusterUnavailable", "NoSessionsFound", "ToolNotFound"];
            if !code.is_some_and(|code| is_away.contains(&code)) {
                return answer;
            }
            poll_pause().await;
        }
    };
    let echo = with_deadline("the tab elsewhere", echo).await;
    assert_eq!(echo["structuredContent"], input, "{echo}");
    browser.wait_for("journey.aborted === 1").await;
    let calls = "return [journey.started, ...journey.echoed]";
    assert_eq!(browser.eval(calls, json!(null)).await, json!([1, 1]));
    let states = browser.eval("return journey.states", json!(null)).await;
    let states: Vec<String> = serde_json::from_value(states).unwrap();
    assert!(states.iter().any(|it| it == "reconnecting"), "{states:?}");
    assert_eq!(states.last().unwrap(), "connected", "{states:?}");
}

#[tokio::test]
async fn no_call_fails_or_runs_twice_while_the_owner_drains() {
    let mut cluster = ClusterBed::start_with(3, &["--drain-timeout", "6s"]).await;
    let site = StaticSite::start().await;
    cluster.balancer().use_only(&[0]);
    let browser = open_app(&site, &cluster).await;
    let document = browser.eval("return journey.document", json!(null)).await;
    cluster.balancer().use_all();
    let client = PlainHttp::new(cluster.node(1));
    let running = tokio::spawn({
        let client = client.clone();
        async move { client.call("held", json!({})).await }
    });
    browser.wait_for("journey.release").await;

    cluster.drain(0);
    for id in 0..20 {
        assert_echo(&client, id).await;
    }
    browser.eval("journey.release()", json!(null)).await;
    let held = with_deadline("the running call", running).await;
    let held = held.unwrap().unwrap();
    assert!(held["structuredContent"]["caller"].is_object(), "{held}");
    let (has_ended, last) = (Cell::new(false), Cell::new(20));
    let ended = async {
        cluster.wait_until_ended(0).await;
        has_ended.set(true);
    };
    let calls = async {
        while !has_ended.get() {
            assert_echo(&client, last.get()).await;
            last.set(last.get() + 1);
        }
    };
    tokio::join!(ended, calls);
    assert_echo(&client, last.get()).await;

    let echoed = browser.eval("return journey.echoed", json!(null)).await;
    let all: Vec<_> = (0..=last.get()).collect();
    assert_eq!(echoed, json!(all), "each call ran once");
    let same = browser.eval("return journey.document", json!(null)).await;
    assert_eq!(same, document, "the page was not reloaded");
    assert_ne!(cluster.owner(cluster.token(), 1).await, 0);
}

#[tokio::test]
async fn tabs_of_two_owners_meet_at_the_later_one_when_the_earlier_one_runs_again() {
    let cluster = ClusterBed::start_with(3, &["--cluster-lease", "3s"]).await;
    let site = StaticSite::start().await;
    cluster.balancer().use_only(&[0]);
    let browser = open_app(&site, &cluster).await;
    cluster.suspend(0);
    cluster.balancer().use_only(&[1]);
    browser.open_tab().await;
    // Not by the balancer, to which the browser has connections that lead to the first node.
    browser.goto(&site.app(cluster.node(1))).await;
    browser.wait_for("journey.ready").await;
    assert_eq!(cluster.owner(cluster.token(), 1).await, 1);
    let client = PlainHttp::new(cluster.node(2));
    assert_eq!(sessions(&client).await.len(), 1);

    cluster.resume(0);
    let both = async {
        loop {
            let sessions = sessions(&client).await;
            if sessions.len() == 2 {
                return sessions;
            }
            poll_pause().await;
        }
    };
    for session in with_deadline("both tabs at one node", both).await {
        let input = json!({ "session_id": session, "tool_name": "echo", "arguments": { "id": 7 } });
        let echo = client
            .call_when_registered("call_session_tool", input)
            .await;
        assert_eq!(echo["structuredContent"], json!({ "id": 7 }), "{echo}");
    }
    for node in 0..3 {
        assert_eq!(cluster.owner(cluster.token(), node).await, 1);
    }
    let lost = "mcp_web_cluster_realms_lost_total{reason=\"record\"}";
    assert_eq!(cluster.metric(0, lost).await, 1.0);
}

#[tokio::test]
async fn the_demo_of_several_bridges_serves_the_board_and_answers_questions() {
    let mut bed = TestBed::demo_nodes(3).await;
    let browser = open_demo(&mut bed).await;
    browser.open_tab().await;
    browser.goto(&bed.url()).await;
    browser
        .wait_for("mcpWeb.status.state === 'connected'")
        .await;

    browser.press_button("Plan my day").await;
    wait_for_state(&browser, "complete").await;
    let script = PlainHttp::new(&bed);
    let status = script.call("get_connection_status", json!({}));
    let status = status.await.unwrap()["structuredContent"].clone();
    assert_eq!(status["pages"], 2, "{status}");
    let node = format!("is node {}:", status["node"].as_str().unwrap());
    assert!(bed.log().contains(&node), "{node}");
    assert_eq!(browser.console().await, [""; 0], "the console is empty");
    drop(browser);

    bed.stop().await;
    assert_eq!(bed.log().matches("the bridge has stopped").count(), 3);
    assert!(!bed.log().contains("still run"), "{}", bed.log());
}

/// Waits until the page has connected this often, and a client finds it at one of these nodes. Returns the
/// node.
async fn assert_served(
    cluster: &ClusterBed,
    browser: &Browser,
    connections: u64,
    nodes: &[usize],
) -> usize {
    let connected = "journey.states.filter((state) => state === 'connected').length";
    let connected = format!("{connected} >= {connections}");
    browser.wait_for(&connected).await;
    let client = PlainHttp::new(cluster.node(nodes[0]));
    let input = json!({ "id": connections });
    let answer = client.call_when_registered("echo", input.clone()).await;
    assert_eq!(answer["structuredContent"], input, "{answer}");
    let owner = cluster.owner(cluster.token(), nodes[0]).await;
    assert!(nodes.contains(&owner), "{owner} is one of {nodes:?}");
    owner
}

async fn assert_echo(client: &PlainHttp, id: u64) {
    let echo = with_deadline("a call", client.call("echo", json!({ "id": id }))).await;
    let echo = echo.unwrap();
    assert_eq!(echo["structuredContent"], json!({ "id": id }), "{echo}");
}

/// Returns the ids of all sessions that a client sees.
async fn sessions(client: &PlainHttp) -> Vec<Value> {
    let sessions = client
        .call("list_active_sessions", json!({}))
        .await
        .unwrap();
    let sessions = sessions["structuredContent"]["sessions"].as_array();
    let sessions = sessions.into_iter().flatten();
    sessions.map(|it| it["session_id"].clone()).collect()
}

async fn result(client: &McpClient, tool: &str, arguments: Value) -> Value {
    let result = client.call(tool, arguments).await.unwrap();
    assert_ne!(result.is_error, Some(true), "{tool}: {result:?}");
    result.structured_content.unwrap()
}
