//! Results that exceed the limit of their client.

use bridge::{Config, Profile, Results};
use bridge_protocol::{BridgeToPage, ErrorCode, Kind};
use serde_json::{Value, json};

use crate::kit::*;

const LIMIT: usize = 20_000;

/// A configuration in which the client of these tests accepts [`LIMIT`] bytes.
fn limited_client(results: Results) -> Config {
    let profile = Profile {
        max_result_bytes: Some(LIMIT),
        max_image_edge: Some(1_000),
        ..Profile::default()
    };
    Config {
        profiles: test_client_profile(profile),
        ..config_with_results(results)
    }
}

fn structured_tool() -> Value {
    json!({ "name": "structured", "outputSchema": { "type": "object" } })
}

/// The JSON-RPC response to a call to which the page responds with `result`, as the client receives
/// it.
async fn call_response_text(
    client: &McpClient,
    page: &mut Page,
    tool: &str,
    result: Value,
) -> String {
    let params = json!({ "name": tool, "arguments": {} });
    let response = async {
        let response = client.start_request("tools/call", params).await;
        let text = with_deadline("body", response.text()).await.unwrap();
        if text.starts_with('{') {
            return text;
        }
        let data = text.lines().filter_map(|line| line.strip_prefix("data:"));
        let mut messages = data.map(str::trim).filter(|data| !data.is_empty());
        messages.next_back().unwrap().to_owned()
    };
    tokio::join!(response, page.serve_call(result)).0
}

/// The result of a call to which the page responds with `result`, of any size.
async fn call_result(client: &McpClient, page: &mut Page, tool: &str, result: Value) -> Value {
    let text = call_response_text(client, page, tool, result).await;
    serde_json::from_str::<Value>(&text).unwrap()["result"].take()
}

/// The result of a call to which the page responds with `result`; it must not exceed [`LIMIT`].
async fn limited_result(client: &McpClient, page: &mut Page, tool: &str, result: Value) -> Value {
    let text = call_response_text(client, page, tool, result).await;
    assert!(text.len() <= LIMIT, "{} bytes", text.len());
    serde_json::from_str::<Value>(&text).unwrap()["result"].clone()
}

/// The last block of a result. In a truncated result it contains the text and follows the note.
fn last_text(result: &Value) -> &str {
    let blocks = result["content"].as_array().unwrap();
    blocks.last().unwrap()["text"].as_str().unwrap()
}

/// Reads the complete text of a stored result, part by part.
async fn read_parts(client: &McpClient, handle: &str) -> String {
    let (mut text, mut offset) = (String::new(), 0);
    loop {
        let part = client
            .get_result(json!({ "handle": handle, "offset": offset }))
            .await;
        text += last_text(&part);
        let position = &part["_meta"]["mcp-web/part"];
        offset = position["end"].as_u64().unwrap();
        if offset == position["bytes"].as_u64().unwrap() {
            return text;
        }
    }
}

#[tokio::test]
async fn long_text_is_truncated_and_the_rest_is_read_with_get_result() {
    let bridge = start_bridge_with(limited_client(Results::default())).await;
    let (mut page, client) = connect_page_and_client(&bridge).await;
    for piece in ["x", "\"\\\n", "é→😀"] {
        let text = piece.repeat(30_000);
        let result = limited_result(&client, &mut page, "echo", json!(text)).await;
        assert_eq!(result["isError"], false);
        let excerpt = last_text(&result);
        assert!(text.starts_with(excerpt) && excerpt.len() > 1_000);
        let note = result_text(&result);
        assert!(
            note.contains(&format!("first {} of {}", excerpt.len(), text.len())),
            "{note}"
        );
        let handle = result["_meta"]["mcp-web/cut"]["handle"].as_str().unwrap();
        assert_eq!(read_parts(&client, handle).await, text);
        let link = &result["content"][1];
        assert_eq!(link["type"], "resource_link");
        assert_eq!(link["uri"], format!("mcp-web://results/{handle}"));

        // The link refers to the complete result, which also exceeds the limit of this client.
        let read = client
            .request("resources/read", json!({ "uri": link["uri"] }))
            .await;
        assert_eq!(read["error"]["data"]["code"], "ResultTooLarge");
        assert_eq!(read["error"]["data"]["data"]["limit"], LIMIT);
        let message = read["error"]["message"].as_str().unwrap();
        assert!(
            message.contains("get_result") && message.contains(handle),
            "{message}"
        );
    }
}

#[tokio::test]
async fn a_client_without_a_limit_reads_the_stored_result_as_a_resource() {
    let bridge = start_bridge_with(limited_client(Results::default())).await;
    let (mut page, client) = connect_page_and_client(&bridge).await;
    let text = "x".repeat(30_000);
    let result = limited_result(&client, &mut page, "echo", json!(text)).await;
    let uri = result["content"][1]["uri"].clone();
    let params = json!({ "uri": uri });
    // A profile is selected by the name of the client.
    let unlimited = StatelessClient {
        name: "other",
        ..StatelessClient::new(&bridge)
    };
    let read = unlimited.request("resources/read", params.clone()).await;
    let content = &read["result"]["contents"][0];
    assert_eq!(content["text"], text);
    assert_eq!(content["uri"], uri);

    let stranger = StatelessClient {
        token: OTHER_TOKEN,
        ..unlimited
    };
    let read = stranger.request("resources/read", params).await;
    let message = read["error"]["message"].as_str().unwrap();
    assert!(message.contains("handle"), "{read}");
}

#[tokio::test]
async fn the_duplicate_of_structured_content_is_dropped_first() {
    let bridge = start_bridge_with(limited_client(Results::default())).await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool(), structured_tool()]).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let value = json!({ "text": "x".repeat(15_000) });
    let unstructured = limited_result(&client, &mut page, "echo", value.clone()).await;
    assert_eq!(result_text(&unstructured), value.to_string());
    assert_eq!(unstructured.get("structuredContent"), None);
    let structured = limited_result(&client, &mut page, "structured", value.clone()).await;
    assert_eq!(structured["structuredContent"], value);
    assert!(result_text(&structured).contains("structuredContent"));

    let too_large = json!({ "text": "x".repeat(30_000) });
    let failed = limited_result(&client, &mut page, "structured", too_large.clone()).await;
    assert_eq!(failed["isError"], true);
    let error = &failed["_meta"]["mcp-web/error"];
    assert_eq!(error["code"], "ResultTooLarge");
    assert_eq!(error["data"]["limit"], LIMIT);
    let handle = error["data"]["handle"].as_str().unwrap();
    assert_eq!(read_parts(&client, handle).await, too_large.to_string());

    // `call_session_tool` has no output schema, so the result is truncated like any other.
    let call = client.call("call_session_tool", json!({ "tool_name": "structured" }));
    let (answer, _call) = tokio::join!(call, page.serve_call(too_large.clone()));
    assert_eq!(answer["result"]["isError"], false);
    assert!(
        too_large
            .to_string()
            .starts_with(last_text(&answer["result"]))
    );
}

#[tokio::test]
async fn an_image_over_the_limit_is_omitted_as_a_whole() {
    let bridge = start_bridge_with(limited_client(Results::default())).await;
    let (mut page, client) = connect_page_and_client(&bridge).await;
    let image = |bytes: usize| json!(format!("data:image/png;base64,{}", "A".repeat(bytes)));
    let complete = limited_result(&client, &mut page, "echo", image(10_000)).await;
    assert_eq!(complete["content"][0]["type"], "image");
    let omitted = limited_result(&client, &mut page, "echo", image(100_000)).await;
    let note = result_text(&omitted);
    assert!(note.contains("image/png left out"), "{note}");
    let handle = omitted["_meta"]["mcp-web/cut"]["handle"].as_str().unwrap();
    let again = client.get_result(json!({ "handle": handle })).await;
    assert_eq!(again["_meta"]["mcp-web/cut"]["handle"], handle);
}

/// Codex and Gemini CLI send the pictures of all results again with each request.
#[tokio::test]
async fn pictures_are_summed_over_an_mcp_session() {
    let profile = Profile {
        max_media_bytes: Some(1_000),
        ..Profile::default()
    };
    let bridge = start_bridge_with(Config {
        profiles: test_client_profile(profile),
        ..test_config()
    })
    .await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let picture = json!(format!("data:image/png;base64,{}", "A".repeat(400)));
    let has_picture = |result: &Value| result["content"][0]["type"] == "image";
    for sent in [true, true, false] {
        let result = call_result(&client, &mut page, "echo", picture.clone()).await;
        assert_eq!(has_picture(&result), sent, "{result}");
        if !sent {
            let note = result_text(&result);
            assert!(note.contains("1 × image/png left out"), "{note}");
            let handle = result["_meta"]["mcp-web/cut"]["handle"].as_str().unwrap();
            let link = &result["content"][1];
            assert_eq!(link["uri"], format!("mcp-web://results/{handle}"));
            // A second attempt to get it also counts.
            let again = client.get_result(json!({ "handle": handle })).await;
            assert!(!has_picture(&again), "{again}");
            // The link in the note as well.
            let read = client.request("resources/read", json!({ "uri": link["uri"] }));
            let error = read.await["error"].clone();
            assert_eq!(error["data"]["data"]["media"], 1_000, "{error}");
            let message = error["message"].as_str().unwrap();
            assert!(message.contains("reconnect to this server"), "{error}");
        }
    }
    // A new session is a new conversation, and REST has no limit.
    let other = McpClient::connect(&bridge, TOKEN).await;
    let result = call_result(&other, &mut page, "echo", picture.clone()).await;
    assert!(has_picture(&result), "{result}");
    let stateless = StatelessClient::new(&bridge);
    for _ in 0..3 {
        let call = stateless.request("tools/call", json!({ "name": "echo", "arguments": {} }));
        let (answer, _) = tokio::join!(call, page.serve_call(picture.clone()));
        assert!(has_picture(&answer["result"]), "{answer}");
    }
    let call = post_tool_call(&bridge, "echo", json!({}));
    let ((_, result), _) = tokio::join!(call, page.serve_call(picture));
    assert!(has_picture(&result), "{result}");
}

#[tokio::test]
async fn rest_results_are_never_truncated() {
    let results = Results {
        max_client_result_bytes: LIMIT,
        ..Results::default()
    };
    let bridge = start_bridge_with(limited_client(results)).await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let text = "x".repeat(100_000);
    let handler = page.serve_call(json!(text));
    let ((_, result), _call) = tokio::join!(post_tool_call(&bridge, "echo", json!({})), handler);
    assert_eq!(result_text(&result), text);
}

#[tokio::test]
async fn clients_without_a_profile_get_max_client_result_bytes() {
    let results = Results {
        max_client_result_bytes: LIMIT,
        ..Results::default()
    };
    let bridge = start_bridge_with(config_with_results(results)).await;
    let (mut page, client) = connect_page_and_client(&bridge).await;
    let result = limited_result(&client, &mut page, "echo", json!("x".repeat(30_000))).await;
    assert_eq!(result["_meta"]["mcp-web/cut"]["limit"], LIMIT);
}

#[tokio::test]
async fn results_that_cannot_be_stored_are_reported_as_lost() {
    let results = Results {
        // Half of it is for one token.
        max_kept_bytes: 100_000,
        ..Results::default()
    };
    let bridge = start_bridge_with(limited_client(results)).await;
    let (mut page, client) = connect_page_and_client(&bridge).await;
    let first = limited_result(&client, &mut page, "echo", json!("x".repeat(30_000))).await;
    let first = first["_meta"]["mcp-web/cut"]["handle"].as_str().unwrap();
    assert_eq!(read_parts(&client, first).await.len(), 30_000);
    let lost = limited_result(&client, &mut page, "echo", json!("x".repeat(60_000))).await;
    let note = result_text(&lost);
    assert!(
        note.contains("could not be kept") && note.contains("max_kept_bytes"),
        "{note}"
    );

    // The next result evicts the first one.
    let next = limited_result(&client, &mut page, "echo", json!("y".repeat(30_000))).await;
    let next = next["_meta"]["mcp-web/cut"]["handle"].as_str().unwrap();
    assert_eq!(read_parts(&client, next).await.len(), 30_000);
    let evicted = client.get_result(json!({ "handle": first })).await;
    assert_eq!(error_code(&evicted), Some("HandleNotFound"));
}

#[tokio::test]
async fn oversized_resources_and_prompts_fail_with_their_size() {
    let bridge = start_bridge_with(limited_client(Results::default())).await;
    let mut page = Page::connect(&bridge, "s", TOKEN).await;
    let items = [
        (
            Kind::Resource,
            json!({ "uri": "board://cards", "name": "cards" }),
        ),
        (Kind::Prompt, json!({ "name": "plan" })),
    ];
    page.register_items(&items).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let text = "é".repeat(15_000);
    let respond = async |page: &mut Page, result: Value| {
        let call = page
            .recv_matching(|message| match message {
                BridgeToPage::ResourceRead(read) => Some(read.request_id),
                BridgeToPage::PromptGet(prompt) => Some(prompt.request_id),
                _ => None,
            })
            .await;
        page.respond_to(&call, result).await;
    };
    let contents = json!({ "contents": [{ "uri": "board://cards", "text": text }] });
    let read = client.request("resources/read", json!({ "uri": "board://cards" }));
    let (read, ()) = tokio::join!(read, respond(&mut page, contents));
    let data = &read["error"]["data"];
    assert_eq!(data["code"], "ResultTooLarge", "{read}");
    assert_eq!(data["data"]["limit"], LIMIT);
    assert!(data["data"]["bytes"].as_u64().unwrap() > 30_000);
    let handle = data["data"]["handle"].as_str().unwrap();
    assert_eq!(read_parts(&client, handle).await, text);

    let messages = json!({ "messages": [{ "role": "user",
        "content": { "type": "text", "text": text } }] });
    let prompt = client.request("prompts/get", json!({ "name": "plan" }));
    let (prompt, ()) = tokio::join!(prompt, respond(&mut page, messages));
    assert_eq!(
        prompt["error"]["data"]["code"], "ResultTooLarge",
        "{prompt}"
    );
}

/// With several threads, large responses are encoded on another thread.
#[tokio::test(flavor = "multi_thread")]
async fn large_results_arrive_complete_in_both_eras() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool(), structured_tool()]).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let text = "é\"\n".repeat(500_000);
    let result = call_response_text(&client, &mut page, "echo", json!(text)).await;
    let result: Value = serde_json::from_str(&result).unwrap();
    assert!(result_text(&result["result"]) == text);

    let value = json!({ "rows": vec![json!({ "text": "é", "n": 1 }); 20_000] });
    let params = json!({ "name": "structured", "arguments": {} });
    let stateless = StatelessClient::new(&bridge);
    let call = stateless.request("tools/call", params);
    let (result, _call) = tokio::join!(call, page.serve_call(value.clone()));
    assert!(result["result"]["structuredContent"] == value);
}

#[tokio::test]
async fn handlers_see_the_limits_of_the_client() {
    let bridge = start_bridge_with(limited_client(Results::default())).await;
    let (mut page, client) = connect_page_and_client(&bridge).await;
    let handler = page.serve_call(json!("done"));
    let (_, call) = tokio::join!(client.call("echo", json!({})), handler);
    let limits = call.context.client.unwrap().limits.unwrap();
    assert_eq!(limits.max_result_bytes, Some(LIMIT));
    assert_eq!(limits.max_image_edge, Some(1_000));
}

#[tokio::test]
async fn the_stored_result_uri_prefix_is_reserved() {
    let bridge = start_bridge().await;
    let mut page = Page::connect(&bridge, "s", TOKEN).await;
    let item = json!({ "uri": "mcp-web://results/h", "name": "mine" });
    let registered = page.register_items(&[(Kind::Resource, item)]).await;
    assert_eq!(registered.errors[0].code, ErrorCode::DefinitionInvalid);
}

/// The bridge has a built-in profile for Claude Code.
#[tokio::test]
async fn claude_code_gets_whole_images_and_text_within_its_character_limit() {
    let own = json!({ "name": "own", "_meta": { "anthropic/maxResultSizeChars": 90_000 } });
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool(), own]).await;
    let client = McpClient::connect_as(&bridge, "claude-code").await;
    let image = format!("data:image/png;base64,{}", "A".repeat(900_000));
    let result = call_result(&client, &mut page, "echo", json!(image)).await;
    assert_eq!(result["content"][0]["type"], "image");

    // The limit is in characters, not bytes.
    let at_limit = "é".repeat(50_000);
    let result = call_result(&client, &mut page, "echo", json!(at_limit)).await;
    assert!(result_text(&result) == at_limit);
    let result = call_result(&client, &mut page, "echo", json!("x".repeat(50_001))).await;
    let note = result_text(&result);
    assert!(
        note.starts_with("[Cut:") && note.contains("get_result"),
        "{note}"
    );
    let shown_chars = last_text(&result).len() + note.len();
    assert!((45_000..=50_000).contains(&shown_chars), "{shown_chars}");

    // A tool can declare a larger limit, which Claude Code respects.
    let at_limit = "x".repeat(90_000);
    let result = call_result(&client, &mut page, "own", json!(at_limit)).await;
    assert!(result_text(&result) == at_limit);
    let result = call_result(&client, &mut page, "own", json!("x".repeat(90_001))).await;
    assert!(result_text(&result).starts_with("[Cut:"));
    // The declaration has no effect on other clients.
    let other = McpClient::connect(&bridge, TOKEN).await;
    let text = call_response_text(&other, &mut page, "own", json!("x".repeat(90_001))).await;
    assert!(text.contains(&"x".repeat(90_001)));
}

#[tokio::test]
async fn the_configured_text_limit_is_published_to_claude_code() {
    let profile = Profile {
        max_text_chars: Some(200_000),
        ..Profile::default()
    };
    let name = "claude-code".to_owned();
    let config = Config {
        profiles: bridge::Profiles::new(vec![bridge::ClientProfile { name, profile }]),
        ..test_config()
    };
    let bridge = start_bridge_with(config).await;
    let own = json!({ "name": "own", "_meta": { "anthropic/maxResultSizeChars": 90_000 } });
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool(), own]).await;
    let published = async |client: &McpClient| {
        let list = client.request("tools/list", json!({})).await;
        let tools = list["result"]["tools"].as_array().unwrap().clone();
        let limit = |name: &str| {
            let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
            tool["_meta"]["anthropic/maxResultSizeChars"].clone()
        };
        [limit("echo"), limit("own"), limit("get_result")]
    };
    let client = McpClient::connect_as(&bridge, "claude-code").await;
    assert_eq!(
        published(&client).await,
        [json!(200_000), json!(90_000), json!(200_000)]
    );
    let other = McpClient::connect(&bridge, TOKEN).await;
    assert_eq!(
        published(&other).await,
        [json!(null), json!(90_000), json!(null)]
    );
    let at_limit = "x".repeat(200_000);
    let text = call_response_text(&client, &mut page, "echo", json!(at_limit)).await;
    assert!(text.contains(&at_limit));
}

/// The `User-Agent` of the Python SDK 2 and of fastmcp 4.
const HTTPX2: &str = "python-httpx2/2.12.0";

#[tokio::test]
async fn events_for_httpx2_are_at_most_1_mib_and_bodies_are_unlimited() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let large = "x".repeat(3_000_000);
    let client =
        McpClient::connect_with_user_agent(&bridge, HTTPX2, json!({ "elicitation": {} })).await;
    let complete = call_response_text(&client, &mut page, "echo", json!(large)).await;
    let complete: Value = serde_json::from_str(&complete).unwrap();
    assert!(result_text(&complete["result"]) == large);
    // A response that has started as an event stream ends with an event.
    let params = json!({ "name": "echo", "arguments": {}, "_meta": { "progressToken": 7 } });
    let call = rpc_request(1, "tools/call", params);
    let handler = async {
        let call = page.recv_call().await;
        let progress =
            json!({ "type": "call-progress", "requestId": call.request_id, "progress": 1 });
        page.send_json(progress).await;
        page.respond(&call, json!(large)).await;
    };
    let (response, ()) = tokio::join!(client.post(&call), handler);
    let text = with_deadline("body", response.text()).await.unwrap();
    let longest = text.lines().map(str::len).max().unwrap();
    assert!((900_000..=1024 * 1024).contains(&longest), "{longest}");
    assert!(text.contains("get_result"), "the result is cut");
    // Other clients accept longer events.
    let other =
        McpClient::connect_with_capabilities(&bridge, TOKEN, json!({ "elicitation": {} })).await;
    let complete = call_response_text(&other, &mut page, "echo", json!(large)).await;
    assert!(complete.len() > 3_000_000);
}
