//! One token, or one page, cannot keep the bridge busy for the others.

use bridge_protocol::BridgeToPage;
use futures_util::future::{join, join_all, select_all};
use serde_json::{Map, Value, json};
use tokio::task::JoinHandle;

use crate::kit::*;

const OTHER_TOKEN: &str = "another-token-of-these-tests-01234";

/// A tool whose definition has about this many bytes and takes long to analyse.
fn large_tool(name: &str, bytes: usize) -> Value {
    let properties: Map<_, _> = (0..bytes / 70)
        .map(|n| {
            let schema = json!({ "type": "array", "items": { "type": "string" }, "minItems": n });
            (format!("property-{n}"), schema)
        })
        .collect();
    json!({ "name": name, "inputSchema": { "type": "object", "properties": properties } })
}

/// Checks that `/healthz` and a call of the other token are answered.
async fn assert_served(bridge: &bridge::ServerHandle, other: &mut Page) {
    let health = http_client()
        .get(format!("{}/healthz", bridge.url()))
        .send();
    let health = with_deadline("/healthz", health).await.unwrap();
    assert_eq!(health.status(), 200);
    let (url, input) = (bridge.url(), json!({ "n": 1 }));
    let call = post_tool_call_to(&url, OTHER_TOKEN, "echo", input);
    let ((_, result), ()) = join(call, other.echo_call()).await;
    assert_eq!(result["structuredContent"], json!({ "n": 1 }), "{result}");
}

async fn connect_other(bridge: &bridge::ServerHandle) -> Page {
    let mut other = Page::connect(bridge, "other", OTHER_TOKEN).await;
    other.register(&[echo_tool()]).await;
    other
}

#[tokio::test]
async fn others_are_served_while_the_registrations_of_a_token_wait() {
    let bridge = start_bridge().await;
    let mut other = connect_other(&bridge).await;
    let mut pages = Vec::new();
    for n in 0..4 {
        pages.push(Page::connect(&bridge, &n.to_string(), TOKEN).await);
    }
    let registrations: Vec<_> = pages
        .into_iter()
        .enumerate()
        .map(|(n, mut page)| {
            let tool = large_tool(&format!("t{n}"), 300_000);
            tokio::spawn(async move { page.register(&[tool]).await })
        })
        .collect();
    // The definitions of another token are parsed in its own turn.
    let mut second = Page::connect(&bridge, "second", OTHER_TOKEN).await;
    let small = second.register(&[large_tool("small", 20_000)]).await;
    assert!(small.errors.is_empty(), "{:?}", small.errors);
    second.close().await;
    for _ in 0..20 {
        assert_served(&bridge, &mut other).await;
    }
    assert!(
        registrations.iter().any(|task| !task.is_finished()),
        "the others waited for every registration"
    );
    for registered in join_all(registrations).await {
        let registered = registered.unwrap();
        assert!(registered.errors.is_empty(), "{:?}", registered.errors);
    }
}

/// The id of the next registration that is acknowledged.
async fn recv_registered(page: &mut Page) -> String {
    let id = |message| match message {
        BridgeToPage::Registered(registered) => Some(registered.registration_id.0),
        _ => None,
    };
    page.recv_matching(id).await
}

#[tokio::test]
async fn frames_after_a_long_registration_are_applied_after_it() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let call = async {
        let call = page.recv_call().await;
        let register = |id: &str, tool: Value| {
            json!({ "type": "register", "registrationId": id,
                "items": [{ "kind": "tool", "definition": tool }] })
        };
        let long = large_tool("long", 400_000);
        page.send_json(register("long", long.clone())).await;
        // The same name again: the definition that was sent last stays.
        page.send_json(register("short", json!({ "name": "long" })))
            .await;
        page.respond(&call, json!({ "answer": 1 })).await;
        let mut ids = Vec::new();
        while ids.len() < 2 {
            ids.push(recv_registered(&mut page).await);
        }
        ids
    };
    let ((_, result), ids) = join(post_tool_call(&bridge, "echo", json!({})), call).await;
    assert_eq!(result["structuredContent"], json!({ "answer": 1 }));
    assert_eq!(ids, ["long", "short"]);
    let tools = get_json(&bridge, "/tools").await;
    let tools = tools["tools"].as_array().unwrap();
    let long = tools.iter().find(|tool| tool["name"] == "long").unwrap();
    let properties = long["inputSchema"]["properties"].as_object().unwrap();
    assert_eq!(properties.len(), 1, "{long}");
}

/// A tool whose argument `v` is an array, to each item of which this many subschemas apply.
fn costly_tool(name: &str, subschemas: usize) -> Value {
    let subschemas = vec![json!({ "items": { "minimum": 1 } }); subschemas];
    json!({ "name": name, "inputSchema": { "type": "object", "required": ["end"],
        "properties": { "v": { "allOf": subschemas } } } })
}

/// The text of a call of a tool with an array of this length, which its schema accepts, but
/// without `end`, which its schema requires.
fn call_text(tool: &str, items: usize) -> String {
    let items = vec!["1"; items].join(",");
    format!(r#"{{"toolName":"{tool}","toolInput":{{"v":[{items}]}}}}"#)
}

/// Sends a call in a task, which returns the code of its failure.
fn spawn_call(
    bridge: &bridge::ServerHandle,
    token: &str,
    text: &str,
) -> JoinHandle<Option<String>> {
    let request = http_client().post(format!("{}/tool-call", bridge.url()));
    let request = request.bearer_auth(token).body(text.to_owned());
    tokio::spawn(async move {
        let response = request.send().await.unwrap();
        let result: Value = response.json().await.unwrap();
        error_code(&result).map(str::to_owned)
    })
}

#[tokio::test]
async fn validations_of_others_do_not_wait_for_those_of_a_token() {
    const HOSTILE_CALLS: usize = 12;
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[costly_tool("hostile", 50)]).await;
    let mut other = Page::connect(&bridge, "other", OTHER_TOKEN).await;
    other.register(&[costly_tool("costly", 1)]).await;

    let hostile = call_text("hostile", 100_000);
    let calls = (0..HOSTILE_CALLS).map(|_| spawn_call(&bridge, TOKEN, &hostile));
    // When the first of them has been validated, the others have arrived and wait.
    let (first, _, waiting) = select_all(calls).await;
    assert_eq!(first.unwrap().as_deref(), Some("InvalidArguments"));
    let text = call_text("costly", 100_000);
    let code = with_deadline("call", spawn_call(&bridge, OTHER_TOKEN, &text)).await;
    assert_eq!(code.unwrap().as_deref(), Some("InvalidArguments"));
    let still_waiting = waiting.iter().filter(|call| !call.is_finished()).count();
    assert!(
        still_waiting > HOSTILE_CALLS / 2,
        "the call waited until {still_waiting} of {HOSTILE_CALLS} were left"
    );
    // A call whose client is gone is not validated.
    waiting.iter().for_each(JoinHandle::abort);
    let call = spawn_call(&bridge, TOKEN, &call_text("hostile", 1_000));
    let code = with_deadline("call", call).await;
    assert_eq!(code.unwrap().as_deref(), Some("InvalidArguments"));
    page.register(&[echo_tool()]).await;
    assert_echo(&bridge, &mut page).await;
}

#[tokio::test]
async fn a_request_with_too_many_values_is_not_parsed() {
    let bridge = start_bridge().await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let send = async |head: &str, values: usize| {
        let values = "1,".repeat(values - 1);
        let body = format!(r#"{{"jsonrpc":"2.0",{head}:{{"v":[{values}1]}}}}"#);
        let response = client.post_text(body).await;
        with_deadline("response", response.text()).await.unwrap()
    };
    for head in [
        r#""id":1,"method":"prompts/get","params""#,
        r#""id":1,"method":"initialize","params""#,
        r#""id":1,"method":"unknown","params""#,
        r#""method":"notifications/cancelled","params""#,
        r#""id":"mcp-web/1/1","result""#,
    ] {
        let refused = send(head, 1_000_000).await;
        assert!(refused.contains("more than 1,000,000 values"), "{refused}");
        let parsed = send(head, 900_000).await;
        assert!(!parsed.contains("values"), "{parsed}");
    }
}
