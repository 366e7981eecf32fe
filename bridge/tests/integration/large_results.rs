//! Results that are larger than their client takes.

use bridge::{Config, Profile, Results};
use bridge_protocol::{BridgeToPage, ErrorCode, Kind, ToolCall};
use serde_json::{Value, json};

use crate::kit::*;

const CAP: usize = 20_000;

/// For `door-test`, the client of these tests.
fn capped(bytes: usize, results: Results) -> Config {
    let profile = Profile {
        max_result_bytes: Some(bytes),
        max_text_chars: None,
        max_image_edge: Some(1_000),
        patience: None,
    };
    Config {
        profiles: test_client_profile(profile),
        results,
        ..test_config()
    }
}

fn promising_tool() -> Value {
    json!({ "name": "promising", "outputSchema": { "type": "object" } })
}

/// The answer to a call of the tool, when the page answers so: as text, as the client hears it.
async fn answer_text(client: &McpClient, page: &mut Page, tool: &str, result: Value) -> String {
    let params = json!({ "name": tool, "arguments": {} });
    let response = async {
        let response = client.post(&rpc_request(1, "tools/call", params)).await;
        let text = with_deadline("answer", response.text()).await.unwrap();
        if text.starts_with('{') {
            return text;
        }
        let data = text.lines().filter_map(|line| line.strip_prefix("data:"));
        let mut answers = data.map(str::trim).filter(|data| !data.is_empty());
        answers.next_back().unwrap().to_owned()
    };
    let handler = async {
        let call = page.recv_call().await;
        page.respond(&call, result).await;
        call
    };
    let (text, _call): (String, ToolCall) = tokio::join!(response, handler);
    text
}

async fn answer_of(client: &McpClient, page: &mut Page, tool: &str, result: Value) -> Value {
    let text = answer_text(client, page, tool, result).await;
    assert!(text.len() <= CAP, "{} bytes", text.len());
    serde_json::from_str::<Value>(&text).unwrap()["result"].clone()
}

/// What is shown of a result that was cut: it stands behind the note.
fn last_text(result: &Value) -> &str {
    let blocks = result["content"].as_array().unwrap();
    blocks.last().unwrap()["text"].as_str().unwrap()
}

async fn get(client: &McpClient, arguments: Value) -> Value {
    client.call("get_result", arguments).await["result"].clone()
}

/// The whole text of a result, from its parts.
async fn read_parts(client: &McpClient, handle: &str) -> String {
    let (mut text, mut offset) = (String::new(), 0);
    loop {
        let part = get(client, json!({ "handle": handle, "offset": offset })).await;
        text += last_text(&part);
        let place = &part["_meta"]["mcp-web/part"];
        offset = place["end"].as_u64().unwrap();
        if offset == place["bytes"].as_u64().unwrap() {
            return text;
        }
    }
}

#[tokio::test]
async fn long_text_is_truncated_and_the_rest_is_read_with_get_result() {
    let bridge = start_bridge_with(capped(CAP, Results::default())).await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    for piece in ["x", "\"\\\n", "é→😀"] {
        let text = piece.repeat(30_000);
        let result = answer_of(&client, &mut page, "echo", json!(text)).await;
        assert_eq!(result["isError"], false);
        let shown = last_text(&result);
        assert!(text.starts_with(shown) && shown.len() > 1_000);
        let note = result_text(&result);
        assert!(
            note.contains(&format!("first {} of {}", shown.len(), text.len())),
            "{note}"
        );
        let handle = result["_meta"]["mcp-web/cut"]["handle"].as_str().unwrap();
        assert_eq!(read_parts(&client, handle).await, text);
        let link = &result["content"][1];
        assert_eq!(link["type"], "resource_link");
        assert_eq!(link["uri"], format!("mcp-web://results/{handle}"));

        // The link leads to the whole, which this client does not take either.
        let read = client
            .request("resources/read", json!({ "uri": link["uri"] }))
            .await;
        assert_eq!(read["error"]["data"]["code"], "ResultTooLarge");
        assert_eq!(read["error"]["data"]["data"]["limit"], CAP);
        let message = read["error"]["message"].as_str().unwrap();
        assert!(
            message.contains("get_result") && message.contains(handle),
            "{message}"
        );
    }
}

#[tokio::test]
async fn a_client_without_a_limit_reads_the_stored_result_as_a_resource() {
    let bridge = start_bridge_with(capped(CAP, Results::default())).await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let text = "x".repeat(30_000);
    let result = answer_of(&client, &mut page, "echo", json!(text)).await;
    let uri = result["content"][1]["uri"].clone();
    let params = json!({ "uri": uri });
    let read = stateless_request(&bridge, TOKEN, "resources/read", params.clone()).await;
    let content = &read["result"]["contents"][0];
    assert_eq!(content["text"], text);
    assert_eq!(content["uri"], uri);

    let stranger = "token-of-somebody-else-0123456789";
    let read = stateless_request(&bridge, stranger, "resources/read", params).await;
    assert!(
        read["error"]["message"]
            .as_str()
            .unwrap()
            .contains("handle"),
        "{read}"
    );
}

/// Over the protocol without sessions, as a client without a profile.
async fn stateless_request(
    bridge: &bridge::ServerHandle,
    token: &str,
    method: &str,
    mut params: Value,
) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "large", "version": "1.0.0" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let name = params["uri"]
        .as_str()
        .or(params["name"].as_str())
        .unwrap()
        .to_owned();
    let request = http_client()
        .post(format!("{}/mcp", bridge.url()))
        .bearer_auth(token)
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", method)
        .header("mcp-name", name)
        .json(&rpc_request(1, method, params));
    rpc_response(with_deadline("answer", request.send()).await.unwrap()).await
}

#[tokio::test]
async fn the_duplicate_of_structured_content_is_dropped_first() {
    let bridge = start_bridge_with(capped(CAP, Results::default())).await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool(), promising_tool()]).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let value = json!({ "text": "x".repeat(15_000) });
    let plain = answer_of(&client, &mut page, "echo", value.clone()).await;
    assert_eq!(result_text(&plain), value.to_string());
    assert_eq!(plain.get("structuredContent"), None);
    let promised = answer_of(&client, &mut page, "promising", value.clone()).await;
    assert_eq!(promised["structuredContent"], value);
    assert!(result_text(&promised).contains("structuredContent"));

    let huge = json!({ "text": "x".repeat(30_000) });
    let failed = answer_of(&client, &mut page, "promising", huge.clone()).await;
    assert_eq!(failed["isError"], true);
    let error = &failed["_meta"]["mcp-web/error"];
    assert_eq!(error["code"], "ResultTooLarge");
    assert_eq!(error["data"]["limit"], CAP);
    let handle = error["data"]["handle"].as_str().unwrap();
    assert_eq!(read_parts(&client, handle).await, huge.to_string());

    // Without the promise it is cut like any other.
    let arguments = json!({ "tool_name": "promising" });
    let call = async {
        tokio::join!(client.call("call_session_tool", arguments), async {
            let call = page.recv_call().await;
            page.respond(&call, huge.clone()).await;
        })
    };
    let (answer, ()) = call.await;
    assert_eq!(answer["result"]["isError"], false);
    assert!(huge.to_string().starts_with(last_text(&answer["result"])));
}

#[tokio::test]
async fn an_image_over_the_limit_is_omitted_as_a_whole() {
    let bridge = start_bridge_with(capped(CAP, Results::default())).await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let image = |bytes: usize| json!(format!("data:image/png;base64,{}", "A".repeat(bytes)));
    let whole = answer_of(&client, &mut page, "echo", image(10_000)).await;
    assert_eq!(whole["content"][0]["type"], "image");
    let left_out = answer_of(&client, &mut page, "echo", image(100_000)).await;
    let note = result_text(&left_out);
    assert!(note.contains("image/png left out"), "{note}");
    let handle = left_out["_meta"]["mcp-web/cut"]["handle"].as_str().unwrap();
    let again = get(&client, json!({ "handle": handle })).await;
    assert_eq!(again["_meta"]["mcp-web/cut"]["handle"], handle);
}

#[tokio::test]
async fn rest_results_are_never_truncated() {
    let config = capped(
        CAP,
        Results {
            max_client_result_bytes: CAP,
            ..Results::default()
        },
    );
    let bridge = start_bridge_with(config).await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let text = "x".repeat(100_000);
    let handler = async {
        let call = page.recv_call().await;
        page.respond(&call, json!(text)).await;
    };
    let ((_, result), ()) = tokio::join!(post_tool_call(&bridge, "echo", json!({})), handler);
    assert_eq!(result_text(&result), text);
}

#[tokio::test]
async fn clients_without_a_profile_get_max_client_result_bytes() {
    let results = Results {
        max_client_result_bytes: CAP,
        ..Results::default()
    };
    let bridge = start_bridge_with(Config {
        results,
        ..test_config()
    })
    .await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let result = answer_of(&client, &mut page, "echo", json!("x".repeat(30_000))).await;
    assert_eq!(result["_meta"]["mcp-web/cut"]["limit"], CAP);
}

#[tokio::test]
async fn results_that_cannot_be_stored_are_reported_as_lost() {
    let results = Results {
        max_kept_bytes: 50_000,
        ..Results::default()
    };
    let bridge = start_bridge_with(capped(CAP, results)).await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let first = answer_of(&client, &mut page, "echo", json!("x".repeat(30_000))).await;
    let first = first["_meta"]["mcp-web/cut"]["handle"].as_str().unwrap();
    assert_eq!(read_parts(&client, first).await.len(), 30_000);
    let lost = answer_of(&client, &mut page, "echo", json!("x".repeat(60_000))).await;
    let note = result_text(&lost);
    assert!(
        note.contains("could not be kept") && note.contains("max_kept_bytes"),
        "{note}"
    );

    // The next one takes the place of the first.
    let next = answer_of(&client, &mut page, "echo", json!("y".repeat(30_000))).await;
    let next = next["_meta"]["mcp-web/cut"]["handle"].as_str().unwrap();
    assert_eq!(read_parts(&client, next).await.len(), 30_000);
    let gone = get(&client, json!({ "handle": first })).await;
    assert_eq!(gone["_meta"]["mcp-web/error"]["code"], "HandleNotFound");
}

#[tokio::test]
async fn oversized_resources_and_prompts_fail_with_their_size() {
    let bridge = start_bridge_with(capped(CAP, Results::default())).await;
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
    let handler = async |page: &mut Page, result: Value| {
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
    let (read, ()) = tokio::join!(read, handler(&mut page, contents));
    let data = &read["error"]["data"];
    assert_eq!(data["code"], "ResultTooLarge", "{read}");
    assert_eq!(data["data"]["limit"], CAP);
    assert!(data["data"]["bytes"].as_u64().unwrap() > 30_000);
    let handle = data["data"]["handle"].as_str().unwrap();
    assert_eq!(read_parts(&client, handle).await, text);

    let messages = json!({ "messages": [{ "role": "user",
        "content": { "type": "text", "text": text } }] });
    let prompt = client.request("prompts/get", json!({ "name": "plan" }));
    let (prompt, ()) = tokio::join!(prompt, handler(&mut page, messages));
    assert_eq!(
        prompt["error"]["data"]["code"], "ResultTooLarge",
        "{prompt}"
    );
}

/// Large answers are made on other threads where there are some.
#[tokio::test(flavor = "multi_thread")]
async fn large_results_arrive_complete_in_both_eras() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool(), promising_tool()]).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let text = "é\"\n".repeat(500_000);
    let result = answer_text(&client, &mut page, "echo", json!(text)).await;
    let result: Value = serde_json::from_str(&result).unwrap();
    assert!(result_text(&result["result"]) == text);

    let value = json!({ "rows": vec![json!({ "text": "é", "n": 1 }); 20_000] });
    let params = json!({ "name": "promising", "arguments": {} });
    let handler = async {
        let call = page.recv_call().await;
        page.respond(&call, value.clone()).await;
    };
    let call = stateless_request(&bridge, TOKEN, "tools/call", params);
    let (result, ()) = tokio::join!(call, handler);
    assert!(result["result"]["structuredContent"] == value);
}

#[tokio::test]
async fn handlers_see_the_limits_of_the_client() {
    let bridge = start_bridge_with(capped(CAP, Results::default())).await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let handler = async {
        let call = page.recv_call().await;
        page.respond(&call, json!("done")).await;
        call.context.client.unwrap().limits.unwrap()
    };
    let (_, limits) = tokio::join!(client.call("echo", json!({})), handler);
    assert_eq!(limits.max_result_bytes, Some(CAP));
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

/// The profile that the bridge has for Claude Code by itself.
#[tokio::test]
async fn claude_code_gets_whole_images_and_text_within_its_character_limit() {
    let own = json!({ "name": "own", "_meta": { "anthropic/maxResultSizeChars": 90_000 } });
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool(), own]).await;
    let client = McpClient::connect_as(&bridge, "claude-code").await;
    let called = async |page: &mut Page, tool: &str, result: Value| {
        let text = answer_text(&client, page, tool, result).await;
        serde_json::from_str::<Value>(&text).unwrap()["result"].take()
    };
    let image = format!("data:image/png;base64,{}", "A".repeat(900_000));
    let result = called(&mut page, "echo", json!(image)).await;
    assert_eq!(result["content"][0]["type"], "image");

    // Characters count, not bytes.
    let fits = "é".repeat(50_000);
    let result = called(&mut page, "echo", json!(fits)).await;
    assert!(result_text(&result) == fits);
    let result = called(&mut page, "echo", json!("x".repeat(50_001))).await;
    let note = result_text(&result);
    assert!(
        note.starts_with("[Cut:") && note.contains("get_result"),
        "{note}"
    );
    let shown = last_text(&result).len() + note.len();
    assert!((45_000..=50_000).contains(&shown), "{shown}");

    // A tool may say that it has more, and Claude Code listens.
    let more = "x".repeat(90_000);
    let result = called(&mut page, "own", json!(more)).await;
    assert!(result_text(&result) == more);
    let result = called(&mut page, "own", json!("x".repeat(90_001))).await;
    assert!(result_text(&result).starts_with("[Cut:"));
    // Another client goes by no such number.
    let other = McpClient::connect(&bridge, TOKEN).await;
    let text = answer_text(&other, &mut page, "own", json!("x".repeat(90_001))).await;
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
        let answer = client.request("tools/list", json!({})).await;
        let tools = answer["result"]["tools"].as_array().unwrap().clone();
        let of = |name: &str| {
            let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
            tool["_meta"]["anthropic/maxResultSizeChars"].clone()
        };
        [of("echo"), of("own"), of("get_result")]
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
    let more = "x".repeat(200_000);
    let text = answer_text(&client, &mut page, "echo", json!(more)).await;
    assert!(text.contains(&more));
}

/// As the Python SDK 2 and fastmcp 4 send it.
const HTTPX2: &str = "python-httpx2/2.12.0";

#[tokio::test]
async fn events_for_httpx2_are_at_most_1_mib_and_bodies_are_unlimited() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let large = "x".repeat(3_000_000);
    // What can be asked gets events only.
    let able =
        McpClient::connect_with_user_agent(&bridge, HTTPX2, json!({ "elicitation": {} })).await;
    let cut = answer_text(&able, &mut page, "echo", json!(large)).await;
    assert!(cut.len() <= 1024 * 1024, "{}", cut.len());
    let cut: Value = serde_json::from_str(&cut).unwrap();
    assert!(
        result_text(&cut["result"]).contains("get_result"),
        "{}",
        result_text(&cut["result"])
    );
    let plain = McpClient::connect_with_user_agent(&bridge, HTTPX2, json!({})).await;
    let whole = answer_text(&plain, &mut page, "echo", json!(large)).await;
    let whole: Value = serde_json::from_str(&whole).unwrap();
    assert!(result_text(&whole["result"]) == large);
    // A stream that has begun ends with an event.
    let params = json!({ "name": "echo", "arguments": {}, "_meta": { "progressToken": 7 } });
    let call = rpc_request(1, "tools/call", params);
    let handler = async {
        let call = page.recv_call().await;
        let progress =
            json!({ "type": "call-progress", "requestId": call.request_id, "progress": 1 });
        page.send_json(progress).await;
        page.respond(&call, json!(large)).await;
    };
    let (response, ()) = tokio::join!(plain.post(&call), handler);
    let text = with_deadline("answer", response.text()).await.unwrap();
    let longest = text.lines().map(str::len).max().unwrap();
    assert!((900_000..=1024 * 1024).contains(&longest), "{longest}");
    // Others read longer events.
    let other =
        McpClient::connect_with_capabilities(&bridge, TOKEN, json!({ "elicitation": {} })).await;
    let whole = answer_text(&other, &mut page, "echo", json!(large)).await;
    assert!(whole.len() > 3_000_000);
}
