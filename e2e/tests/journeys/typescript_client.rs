//! The TypeScript SDK's client over Streamable HTTP, which uses neither our code nor rmcp.

use e2e::{NodeProject, TestBed, echo_program};
use serde_json::{Value, json};

#[tokio::test]
async fn the_typescript_client_lists_and_calls_tools() {
    let bed = TestBed::bridge().await;
    let _page = echo_program(&bed, "one-page").await;
    let project = NodeProject::copy_of("node");
    project.link_packages();

    let arguments = ["typescript-client.mjs", &bed.mcp_url(), bed.token()];
    let mut client = project.node("the TypeScript client", &arguments);

    let answer = client.wait_for_line("{").await;
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let tools = answer["tools"].as_array().unwrap();
    assert!(tools.contains(&json!("echo")), "{answer}");
    assert_eq!(
        answer["result"]["structuredContent"],
        json!({ "id": 7 }),
        "{answer}"
    );
}
