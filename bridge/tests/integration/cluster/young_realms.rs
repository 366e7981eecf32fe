//! Requests soon after a realm came from another bridge wait until its pages have registered.

use serde_json::{Value, json};

use super::kit::*;
use crate::kit::*;

/// Two bridges, of which the first has taken the realm over for a page that has not registered.
async fn bridges_with_young_realm() -> (Bridges, Page) {
    let bridges = Bridges::start(2).await;
    bridges.directory().await.give_away(TOKEN).await;
    let page = Page::connect(&bridges.nodes[0], "s", TOKEN).await;
    assert_eq!(claims(&bridges.nodes[0], "taken_over").await, 1.0);
    (bridges, page)
}

#[tokio::test]
async fn a_call_waits_until_the_page_has_registered() {
    let (bridges, mut page) = bridges_with_young_realm().await;
    let (owner, edge) = bridges.owner_and_edge();
    let calls = async {
        tokio::join!(
            post_tool_call(owner, "echo", json!({ "n": 1 })),
            post_tool_call(edge, "echo", json!({ "n": 1, "session_id": "s" })),
        )
    };
    let calls = waiting(owner, calls).await;
    page.register(&[echo_tool()]).await;
    let pages = async {
        page.echo_call().await;
        page.echo_call().await;
    };
    let (answers, ()) = tokio::join!(calls, pages);
    for (status, answer) in [answers.0, answers.1] {
        assert_eq!(status, 200, "{answer}");
        assert_eq!(answer["structuredContent"], json!({ "n": 1 }), "{answer}");
    }
}

#[tokio::test]
async fn lists_wait_until_the_page_has_registered() {
    let (bridges, mut page) = bridges_with_young_realm().await;
    let (owner, edge) = bridges.owner_and_edge();
    let client = StatelessClient::new(edge);
    let lists = async {
        tokio::join!(
            client.request("tools/list", json!({})),
            get_json(edge, "/tools"),
            get_json(owner, "/sessions"),
        )
    };
    let lists = waiting(owner, lists).await;
    page.register(&[echo_tool()]).await;
    let (of_mcp, of_rest, sessions) = lists.await;
    for list in [of_mcp, of_rest] {
        assert!(list.to_string().contains("\"echo\""), "{list}");
    }
    assert_eq!(sessions["sessions"][0]["session_id"], "s", "{sessions}");
}

#[tokio::test]
async fn a_client_that_connects_before_the_pages_are_back_sees_their_tools() {
    let bridges = Bridges::start(2).await;
    let (owner, edge) = bridges.owner_and_edge();
    bridges.directory().await.give_away(TOKEN).await;
    let client = McpClient::connect(owner, TOKEN).await;
    let names = waiting(owner, client.tool_names()).await;
    let tools = [echo_tool()];
    let page = Page::with_tools(edge, "s", &tools);
    let (names, mut page) = tokio::join!(names, page);
    assert!(names.contains(&"echo".to_owned()), "{names:?}");
    client.assert_echo(&mut page).await;
}

/// Nothing has been there before, so that nothing is awaited.
#[tokio::test]
async fn a_realm_that_was_not_taken_over_is_not_waited_for() {
    let bridges = Bridges::start(2).await;
    let (owner, edge) = bridges.owner_and_edge();
    let _page = Page::connect(owner, "s", TOKEN).await;
    assert_eq!(claims(owner, "created").await, 1.0);
    let (status, answer): (u16, Value) = post_tool_call(edge, "echo", json!({ "n": 1 })).await;
    assert_eq!(status, 404, "{answer}");
}
