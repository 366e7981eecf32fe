//! `tools`.

use serde_json::Value;
use tokio::process::Command;

use crate::kit::*;

fn tools(url: &str, arguments: &[&str]) -> Command {
    let mut command = program(&[&["tools"], arguments].concat());
    command.env("MCP_SERVER_URL", url).env("AUTH_TOKEN", TOKEN);
    command
}

#[tokio::test]
async fn the_tools_of_the_page_are_listed_with_their_arguments() {
    let bridge = start_bridge(&[]).await;
    let _page = connect_page(&bridge).await;
    // With and without the path of the MCP endpoint.
    for url in [bridge.url(), format!("{}/mcp", bridge.url())] {
        let ended = run(tools(&url, &[])).await;
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
        let line = "add_card(title, column?, session_id?): Adds a card.";
        assert!(ended.stdout.lines().any(|it| it == line), "{ended:?}");
    }
    let ended = run(tools(&bridge.url(), &["--json"])).await;
    let listed: Value = serde_json::from_str(&ended.stdout).unwrap();
    let tools = listed["tools"].as_array().unwrap();
    let tool = tools.iter().find(|it| it["name"] == "add_card").unwrap();
    assert_eq!(tool["inputSchema"]["required"][0], "title");
    bridge.shutdown().await;
}

#[tokio::test]
async fn without_a_page_it_says_to_open_the_app() {
    let bridge = start_bridge(&[]).await;
    let ended = run(tools(&bridge.url(), &[])).await;
    assert_eq!(ended.code, Some(0));
    assert!(ended.stderr.contains("no page is connected"), "{ended:?}");
    assert!(ended.stdout.contains("list_active_sessions("), "{ended:?}");
    bridge.shutdown().await;
}

#[tokio::test]
async fn a_server_that_is_not_a_bridge_is_an_error() {
    let bridge = start_bridge(&[]).await;
    let url = format!("{}/sdk/nothing/mcp", bridge.url());
    let ended = run(tools(&url, &[])).await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""));
    assert!(ended.stderr.starts_with("error: "), "{ended:?}");
    bridge.shutdown().await;
}

#[tokio::test]
async fn a_closed_output_is_not_an_error() {
    let bridge = start_bridge(&[]).await;
    let _page = connect_page(&bridge).await;
    let mut command = tools(&bridge.url(), &["--json"]);
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let ended = raw_page::with_deadline("end", child.wait_with_output()).await;
    let ended = Ended::from(ended.unwrap());
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    bridge.shutdown().await;
}
