//! Denials of an operator at one bridge count at all of them.

use bridge::{Config, ServerHandle};
use bridge_protocol::BridgeToPage;
use serde_json::json;

use super::kit::*;
use crate::agent_queries::tools_status;
use crate::kit::operator::Operator;
use crate::kit::*;

/// Bridges with an operator each.
struct Scene {
    bridges: Bridges,
    operators: Vec<Operator>,
}

impl Scene {
    /// Starts two bridges without state folders.
    async fn start() -> Self {
        Self::start_with(|_, _| {}).await
    }

    async fn start_with(change: impl Fn(&Operator, &mut Config)) -> Self {
        let operators = vec![Operator::new(), Operator::new()];
        let bridges = Bridges::start_with(2, |number, config| {
            let operator = &operators[number];
            config.admin.admin_socket = Some(operator.socket());
            change(operator, config);
        })
        .await;
        Self { bridges, operators }
    }

    /// Denies [`TOKEN`] at the bridge with this number, and returns what the command prints.
    async fn deny_at(&self, number: usize) -> String {
        let operator = &self.operators[number];
        operator.run_with("deny --token-stdin", TOKEN).await
    }

    async fn wait_for_status(&self, number: usize, status: u16) {
        wait_for_status(&self.bridges.nodes[number], status).await;
    }
}

/// Waits until requests with [`TOKEN`] get this status.
async fn wait_for_status(bridge: &ServerHandle, status: u16) {
    let poll = async {
        while tools_status(bridge, TOKEN).await != status {
            poll_pause().await;
        }
    };
    with_deadline("the decision", poll).await;
}

/// Waits until the page's session has ended because its user was denied.
async fn recv_denied(page: &mut Page) {
    let code = page.recv_matching(|message| match message {
        BridgeToPage::SessionClosed(closed) => Some(closed.code.as_str().to_owned()),
        _ => None,
    });
    assert_eq!(code.await, "AccessDenied");
    assert_eq!(page.recv_close().await.0, 1008);
}

#[tokio::test]
async fn a_denial_ends_everything_of_the_user_at_the_owner_and_is_in_force_everywhere() {
    let scene = Scene::start().await;
    let (owner, edge) = scene.bridges.owner_and_edge();
    let mut page = Page::with_tools(owner, "s", &[echo_tool()]).await;
    let mut tunnelled = Page::connect(edge, "t", TOKEN).await;
    let client = McpClient::connect(edge, TOKEN).await;
    let mut stream = client.listen().await;
    let answer = scene.deny_at(1).await;
    assert!(
        !answer.contains("restart") && !answer.contains("NATS"),
        "{answer}"
    );
    recv_denied(&mut page).await;
    recv_denied(&mut tunnelled).await;
    with_deadline("end of the stream", async {
        while stream.next().await.is_some() {}
    })
    .await;
    for bridge in &scene.bridges.nodes {
        let (status, answer) = post_tool_call(bridge, "echo", json!({})).await;
        assert_eq!(status, 403, "{answer}");
        let mut refused = Page::open(bridge, "u", None).await;
        refused.authenticate("u", TOKEN).await;
        refused.recv_authentication_failure().await;
        assert_eq!(tools_status(bridge, OTHER_TOKEN).await, 200);
    }
    // The other operator sees whom, and can end it.
    let (denied, _) = scene.operators[0].list("denied").await;
    let realm = denied[0]["realm"].as_str().unwrap();
    let allow = format!("allow --realm {}", &realm[..8]);
    scene.operators[0].run(&allow).await;
    scene.wait_for_status(1, 200).await;
    assert!(scene.operators[1].list("denied").await.0.is_empty());
}

/// Without state folders.
#[tokio::test]
async fn a_bridge_that_starts_has_all_denials_before_it_is_ready() {
    let mut scene = Scene::start().await;
    scene.deny_at(0).await;
    scene.wait_for_status(1, 403).await;
    scene.bridges.nodes.remove(1).shutdown().await;
    let restarted = start_bridge_with(node_config(&scene.bridges.nats)).await;
    wait_until_ready(&restarted).await;
    assert_eq!(tools_status(&restarted, TOKEN).await, 403);
}

#[tokio::test]
async fn a_denial_while_nats_is_away_is_in_force_there_and_elsewhere_afterwards() {
    let mut scene = Scene::start().await;
    let mut page = Page::with_tools(&scene.bridges.nodes[1], "s", &[echo_tool()]).await;
    for is_empty in [false, true] {
        scene.bridges.nats.stop();
        if is_empty {
            // Its store has the denial of the first round, which was ended.
            scene.bridges.nats.remove_store();
        }
        let answer = scene.deny_at(0).await;
        assert!(
            answer.contains("as soon as this one reaches NATS"),
            "{answer}"
        );
        assert_eq!(tools_status(&scene.bridges.nodes[0], TOKEN).await, 403);
        assert_eq!(tools_status(&scene.bridges.nodes[1], TOKEN).await, 200);
        scene.bridges.nats.restart();
        recv_denied(&mut page).await;
        scene.wait_for_status(1, 403).await;
        scene.operators[1]
            .run_with("allow --token-stdin", TOKEN)
            .await;
        scene.wait_for_status(0, 200).await;
        page = Page::with_tools(&scene.bridges.nodes[1], "s", &[echo_tool()]).await;
    }
}

#[tokio::test]
async fn denials_that_nats_has_lost_are_written_again() {
    let mut scene = Scene::start().await;
    scene.deny_at(0).await;
    scene.wait_for_status(1, 403).await;
    scene.bridges.nats.stop();
    scene.bridges.nats.remove_store();
    scene.bridges.nats.restart();
    scene.bridges.wait_until_connected().await;
    // It knows of the denial only what NATS has.
    let other = start_bridge_with(node_config(&scene.bridges.nats)).await;
    wait_for_status(&other, 403).await;
}

/// The file of a bridge that was away would bring it back.
#[tokio::test]
async fn a_denial_that_was_ended_while_a_bridge_was_away_does_not_come_back_with_its_file() {
    let keep = |operator: &Operator, config: &mut Config| {
        config.state.state_dir = Some(operator.state_folder());
    };
    let mut scene = Scene::start_with(keep).await;
    scene.deny_at(0).await;
    scene.wait_for_status(1, 403).await;
    let file = scene.operators[1].state_folder().join("denied");
    let stored = async {
        while !std::fs::read_to_string(&file).is_ok_and(|lines| !lines.is_empty()) {
            poll_pause().await;
        }
    };
    with_deadline("the file", stored).await;
    scene.bridges.nodes.remove(1).shutdown().await;
    scene.operators[0]
        .run_with("allow --token-stdin", TOKEN)
        .await;
    let mut config = node_config(&scene.bridges.nats);
    keep(&scene.operators[1], &mut config);
    let restarted = start_bridge_with(config).await;
    wait_until_ready(&restarted).await;
    for bridge in [&scene.bridges.nodes[0], &restarted] {
        assert_eq!(tools_status(bridge, TOKEN).await, 200);
    }
}
