//! Definitions, arguments and results pass through the bridge unchanged, and invalid definitions
//! are rejected one by one.

use std::sync::Arc;

use bridge::{ClientProfile, Config, Profile, Profiles};
use bridge_protocol::ErrorCode;
use futures_util::future::join;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use crate::any_definition::{any_object, any_tool};
use crate::kit::*;

const DEFINITIONS: usize = 100;
const RESULTS: usize = 40;

/// Generates this number of values, which are the same in each run.
fn sample<T>(count: usize, strategy: impl Strategy<Value = T>) -> Vec<T> {
    let mut runner = TestRunner::deterministic();
    let mut next = || strategy.new_tree(&mut runner).unwrap().current();
    (0..count).map(|_| next()).collect()
}

fn without_session_id(mut tool: Value) -> Value {
    let properties = tool.pointer_mut("/inputSchema/properties").unwrap();
    properties
        .as_object_mut()
        .unwrap()
        .shift_remove("session_id");
    tool
}

fn find_tool<'a>(tools: &'a [Value], name: &Value) -> &'a Value {
    let found = tools.iter().find(|tool| tool["name"] == *name);
    found.unwrap_or_else(|| panic!("{name} is not listed"))
}

#[tokio::test]
async fn registered_definitions_are_listed_unchanged() {
    let bridge = start_bridge().await;
    let definitions: Vec<Value> = sample(DEFINITIONS, any_tool())
        .into_iter()
        .enumerate()
        .map(|(n, mut tool)| {
            tool["name"] = json!(format!("tool-{n}"));
            tool
        })
        .collect();
    let mut page = Page::connect(&bridge, "s", TOKEN).await;
    let answer = page.register(&definitions).await;
    assert!(answer.errors.is_empty(), "{:?}", answer.errors);

    let over_rest = get_json(&bridge, "/tools").await;
    let over_rest = over_rest["tools"].as_array().unwrap();
    let client = McpClient::connect(&bridge, TOKEN).await;
    let listed = client.request("tools/list", json!({})).await;
    let listed = listed["result"]["tools"].as_array().unwrap();
    let modern = StatelessClient::new(&bridge);
    let modern = modern.request("tools/list", json!({})).await;
    let modern = modern["result"]["tools"].as_array().unwrap();
    for definition in &definitions {
        let name = &definition["name"];
        let complete = without_session_id(find_tool(over_rest, name).clone());
        assert_eq!(complete.to_string(), definition.to_string());
        let tool = without_session_id(find_tool(listed, name).clone());
        let output = &find_tool(modern, name)["outputSchema"];
        assert_eq!(output.to_string(), definition["outputSchema"].to_string());
        for field in ["title", "description", "inputSchema", "_meta"] {
            assert_eq!(
                tool[field].to_string(),
                definition[field].to_string(),
                "{field}"
            );
        }
        // rmcp serializes the members of these in its own order.
        for field in ["annotations", "icons"] {
            assert_eq!(tool[field], definition[field], "{field}");
        }
    }
}

#[tokio::test]
async fn arguments_and_results_arrive_unchanged() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[json!({ "name": "any" })]).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let objects = sample(2 * RESULTS, any_object());
    for pair in objects.chunks(2) {
        let (arguments, result) = (&pair[0], &pair[1]);
        let handler = page.serve_call(result.clone());
        let (answer, call) = join(client.call("any", arguments.clone()), handler).await;
        assert_eq!(call.tool_input.get(), arguments.to_string());
        let answer = &answer["result"];
        assert_eq!(answer["structuredContent"].to_string(), result.to_string());
        assert_eq!(result_text(answer), result.to_string());
    }
}

#[tokio::test]
async fn an_invalid_definition_does_not_affect_the_others() {
    let bridge = start_bridge().await;
    let mut page = Page::connect(&bridge, "s", TOKEN).await;
    let schema = |schema: Value| json!({ "type": "object", "properties": { "a": schema } });
    let bad = [
        (
            json!({ "name": "b0", "inputSchema": { "type": "string" } }),
            "must be an object schema",
        ),
        (
            json!({ "name": "b1", "inputSchema": schema(json!({ "type": "text" })) }),
            "/properties/a/type",
        ),
        (
            json!({ "name": "b2", "inputSchema": schema(json!({ "pattern": "(" })) }),
            "not a regular expression",
        ),
        (
            json!({ "name": "b3", "inputSchema": schema(json!({ "$ref": "https://example.com/s" })) }),
            "not found",
        ),
        (
            json!({ "name": "b4", "inputSchema": { "properties": { "größe": {} } } }),
            "größe",
        ),
        (
            json!({ "name": "b5", "annotations": { "readOnlyHint": "yes" } }),
            "readOnlyHint",
        ),
        (json!({ "name": "b6", "icons": "icon.png" }), "icons"),
        (json!({ "name": "b7", "_meta": [] }), "_meta"),
        (json!({ "name": "b8", "title": 8 }), "title"),
        (
            json!({ "name": "b9", "outputSchema": { "$schema": "https://example.com/d" } }),
            "dialect",
        ),
    ];
    let mut definitions: Vec<Value> = bad
        .iter()
        .map(|(definition, _)| definition.clone())
        .collect();
    definitions.insert(3, json!({ "name": "good" }));
    let answer = page.register(&definitions).await;
    assert_eq!(answer.errors.len(), bad.len(), "{:?}", answer.errors);
    for (failure, (definition, expected)) in answer.errors.iter().zip(&bad) {
        assert_eq!(failure.code, ErrorCode::DefinitionInvalid);
        assert!(
            failure.message.contains(expected),
            "{definition}: {}",
            failure.message
        );
    }
    let client = Arc::new(McpClient::connect(&bridge, TOKEN).await);
    assert!(client.tool_names().await.contains(&"good".to_owned()));
}

#[tokio::test]
async fn tools_whose_published_names_collide_are_rejected() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[json!({ "name": "add card" })]).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let repaired = client.tool_names().await.pop().unwrap();
    assert!(repaired.starts_with("add_card_"), "{repaired}");
    let answer = page.register(&[json!({ "name": repaired })]).await;
    assert_eq!(answer.errors[0].code, ErrorCode::DefinitionInvalid);
    assert!(
        answer.errors[0].message.contains("\"add card\""),
        "{:?}",
        answer.errors
    );

    // Tools whose names do not collide can be registered together, and again.
    page.register(&[
        json!({ "name": "x_12345678" }),
        json!({ "name": "add card" }),
    ])
    .await;
    let again = page.register(&[json!({ "name": "x_12345678" })]).await;
    assert!(again.errors.is_empty(), "{:?}", again.errors);
}

#[tokio::test]
async fn root_unions_are_listed_only_for_clients_that_are_known_to_accept_them() {
    let name = "accepts-unions".to_owned();
    let profile = Profile {
        root_unions: true,
        ..Profile::default()
    };
    let bridge = start_bridge_with(Config {
        profiles: Profiles::new(vec![ClientProfile { name, profile }]),
        ..test_config()
    })
    .await;
    let branches = json!([
        { "properties": { "id": { "type": "integer" } }, "required": ["id"] },
        { "properties": { "name": { "type": "string" } }, "required": ["name"] },
        { "properties": { "größe": { "type": "integer" } } },
    ]);
    let keywords = ["oneOf", "anyOf", "allOf"];
    let tools = keywords
        .map(|keyword| json!({ "name": keyword, "inputSchema": { "type": "object", keyword: branches } }));
    let _page = Page::with_tools(&bridge, "s", &tools).await;
    let check = |answer: &Value, accepts: bool, client: &str| {
        let listed = answer["tools"].as_array().unwrap();
        for keyword in keywords {
            let shown = &find_tool(listed, &json!(keyword))["inputSchema"];
            let expected = if accepts { &branches } else { &Value::Null };
            assert_eq!(&shown[keyword], expected, "{client}");
            if !accepts {
                let properties = &shown["properties"];
                assert_eq!(properties["name"], json!({ "type": "string" }), "{client}");
                // Claude's service refuses such a name at the root.
                assert_eq!(properties.get("größe"), None, "{client}");
                let rules = shown["description"].as_str().unwrap();
                assert!(rules.contains("größe"), "{rules}");
            }
        }
    };
    // The revision says nothing about the service behind the client, see `root_unions`.
    for (client, accepts) in [
        (CLIENT_NAME, false),
        ("mcp-web-agent", false),
        ("claude-ai", false),
        ("accepts-unions", true),
        ("accepts-unions (via mcp-remote 0.15.1)", true),
        ("claude-code", false),
        ("conformance-test-client", true),
    ] {
        let newer = StatelessClient {
            name: client,
            ..StatelessClient::new(&bridge)
        };
        let answer = newer.request("tools/list", json!({})).await;
        check(&answer["result"], accepts, client);
        let older = McpClient::connect_as(&bridge, client).await;
        let answer = older.request("tools/list", json!({})).await;
        check(&answer["result"], accepts, client);
    }
    check(&get_json(&bridge, "/tools").await, false, "HTTP");

    // The schema as registered decides about each call.
    let (_, rejected) = post_tool_call(&bridge, "oneOf", json!({ "id": 1, "name": "x" })).await;
    assert!(result_text(&rejected).contains("/oneOf"), "{rejected}");
}
