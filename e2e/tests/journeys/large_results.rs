//! Large results: whole while they are within the limits, failed with their size when they are
//! not, and nobody else's matter.

use std::sync::Arc;

use bridge_protocol::CloseCode;
use e2e::{
    Era, LargeResult, McpClient, NativeItem, NativePage, NativeSetup, NodeProject, StaticSite,
    TestBed, Transport,
};
use futures_util::future::join_all;
use rmcp::model::CallToolResult;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::{EVERY_WAY, open_app};

const MIB: usize = 1024 * 1024;

/// Of what the clients here read. A result of 10 MiB has at most 25 MiB on its way to them.
const READ_BYTES: usize = 64 * MIB;

/// A bridge that sends its clients as much as they read here.
async fn bridge_with_large_limits() -> TestBed {
    let most = READ_BYTES.to_string();
    TestBed::bridge_with(&["--max-client-result-bytes", &most]).await
}

async fn small_calls(client: &McpClient, tool: &str) {
    let calls = (0..16).map(async |id| {
        let answer = client.call(tool, json!({ "id": id })).await.unwrap();
        assert_eq!(answer.structured_content, Some(json!({ "id": id })));
    });
    join_all(calls).await;
}

/// What a client and a model are told of a failed call.
fn failure_text(result: &CallToolResult) -> &str {
    assert_eq!(result.is_error, Some(true), "{result:?}");
    &result.content[0].as_text().unwrap().text
}

#[tokio::test]
async fn ten_mebibytes_arrive_whole_while_small_calls_are_answered() {
    for (leg, era) in EVERY_WAY {
        let world = bridge_with_large_limits().await;
        let items = vec![
            LargeResult::Text.tool("text", 10 * MIB),
            LargeResult::Rows.tool("rows", 10 * MIB),
        ];
        let _large = NativePage::open(&world, "large", items).await;
        let _small = NativePage::open(&world, "small", vec![NativeItem::echo()]).await;
        let client = McpClient::connect_with_limit(&world, leg, era, READ_BYTES).await;
        let other = McpClient::connect(&world, leg, era).await;

        for tool in ["text", "rows"] {
            let call = client.start_call(tool, json!({})).await;
            small_calls(&other, "echo").await;
            let answer = call.result().await.unwrap();
            let text = &answer.content[0].as_text().unwrap().text;
            match tool {
                "text" => assert_eq!(text.len(), 10 * MIB - 2, "{leg:?} {era:?}"),
                _ => assert_eq!(text.len(), 10 * MIB, "{leg:?} {era:?}"),
            }
            if let Some(rows) = &answer.structured_content {
                let written: Value = serde_json::from_str(text).unwrap();
                assert!(*rows == written, "both forms say the same");
            }
        }
    }
}

#[tokio::test]
async fn a_hundred_mebibytes_fail_with_their_size_and_nothing_else_does() {
    let world = bridge_with_large_limits().await;
    let go = Arc::new(Notify::new());
    let waits = Arc::clone(&go);
    let gate = NativeItem::tool("gate", move |call| {
        let go = Arc::clone(&waits);
        async move {
            go.notified().await;
            Ok(call.input().into())
        }
    });
    let items = vec![
        LargeResult::Text.tool("large", 100 * MIB),
        gate,
        NativeItem::echo(),
    ];
    let page = NativePage::open(&world, "large", items).await;
    let other = NativeItem::tool("other", |call| async move { Ok(call.input().into()) });
    let _other = NativePage::open(&world, "other", vec![other]).await;
    for (leg, era) in EVERY_WAY {
        let client = McpClient::connect(&world, leg, era).await;
        let running = client.start_call("gate", json!({ "id": 7 })).await;
        let large = client.start_call("large", json!({})).await;
        small_calls(&client, "other").await;
        small_calls(&client, "echo").await;
        let failed = large.result().await.unwrap();
        let text = failure_text(&failed);
        for number in [100 * MIB, 10 * MIB] {
            assert!(
                text.contains(&number.to_string()),
                "{leg:?} {era:?}: {text}"
            );
        }
        go.notify_one();
        let answer = running.result().await.unwrap();
        assert_eq!(answer.structured_content, Some(json!({ "id": 7 })));
    }
    // Its connection is the one that it came with.
    page.close(CloseCode::Normal.code()).await;
}

#[tokio::test]
async fn the_bridge_measures_results_of_a_page_that_does_not() {
    let world = bridge_with_large_limits().await;
    let careless = NativeSetup {
        measures: false,
        ..NativeSetup::default()
    };
    let items = vec![
        LargeResult::Text.tool("large", 12 * MIB),
        LargeResult::Text.tool("huge", 100 * MIB),
        NativeItem::echo(),
    ];
    let page = NativePage::open_with(&world, "careless", careless, items).await;
    let other = NativeItem::tool("other", |call| async move { Ok(call.input().into()) });
    let _other = NativePage::open(&world, "other", vec![other]).await;
    let client = McpClient::connect(&world, Transport::Http, Era::Initialize).await;

    let failed = client.call("large", json!({})).await.unwrap();
    let text = failure_text(&failed);
    assert!(
        text.contains("12582912 bytes") && text.contains("10485760"),
        "{text}"
    );
    small_calls(&client, "echo").await;

    let huge = client.start_call("huge", json!({})).await;
    small_calls(&client, "other").await;
    assert_eq!(
        page.wait_closed().await,
        Some(CloseCode::MessageTooBig.code())
    );
    let failed = huge.result().await.unwrap();
    assert!(!failure_text(&failed).is_empty());
    small_calls(&client, "other").await;
}

#[tokio::test]
async fn a_page_in_chromium_sends_what_fits_and_measures_the_rest() {
    let (world, site) = (bridge_with_large_limits().await, StaticSite::start().await);
    let browser = open_app(&site, &world).await;
    let other = NativeItem::tool("other", |call| async move { Ok(call.input().into()) });
    let _other = NativePage::open(&world, "other", vec![other]).await;
    for (leg, era) in [
        (Transport::Http, Era::Discover),
        (Transport::Stdio, Era::Initialize),
    ] {
        let client = McpClient::connect_with_limit(&world, leg, era, READ_BYTES).await;
        let (fits, too_large) = (10 * MIB, 100 * MIB);
        let large = client.start_call("large", json!({ "bytes": fits })).await;
        small_calls(&client, "other").await;
        small_calls(&client, "echo").await;
        let answer = large.result().await.unwrap();
        let text = &answer.content[0].as_text().unwrap().text;
        assert_eq!(text.len(), fits - 2, "{leg:?} {era:?}");

        let large = client
            .start_call("large", json!({ "bytes": too_large }))
            .await;
        small_calls(&client, "other").await;
        let failed = large.result().await.unwrap();
        let text = failure_text(&failed);
        for number in [too_large, fits] {
            assert!(
                text.contains(&number.to_string()),
                "{leg:?} {era:?}: {text}"
            );
        }
        small_calls(&client, "echo").await;
    }
    let console = browser.console().await.join("\n");
    assert!(
        !console.contains("WebSocket"),
        "its connection held: {console}"
    );
}

#[tokio::test]
async fn rmcp_with_default_limits_reads_a_truncated_result_to_its_end() {
    let world = TestBed::bridge_with(&["--max-result-bytes", "33554432"]).await;
    let items = vec![
        LargeResult::Rows.tool("rows", 10 * MIB),
        LargeResult::Text.tool("text", 20 * MIB),
    ];
    let _page = NativePage::open(&world, "large", items).await;
    let client = McpClient::connect(&world, Transport::Http, Era::Discover).await;
    let once = client.call("rows", json!({})).await.unwrap();
    assert_eq!(once.structured_content, None, "it stands in the text");
    assert_eq!(once.content[0].as_text().unwrap().text.len(), 10 * MIB);
    for (leg, era) in [
        (Transport::Http, Era::Initialize),
        (Transport::Stdio, Era::Discover),
    ] {
        let client = McpClient::connect(&world, leg, era).await;
        let cut = client.call("text", json!({})).await.unwrap();
        let cut = serde_json::to_value(&cut).unwrap();
        // The note stands first, what is shown last.
        let last = |result: &Value| {
            let block = result["content"].as_array().unwrap().last().unwrap();
            block["text"].as_str().unwrap().len()
        };
        let shown = last(&cut);
        assert!(shown > 10 * MIB && shown < 15 * MIB, "{shown} bytes");
        let handle = cut["_meta"]["mcp-web/cut"]["handle"].as_str();
        let handle = handle.unwrap_or_else(|| panic!("no handle in {}", cut["_meta"]));
        let arguments = json!({ "handle": handle, "offset": shown });
        let rest = client.call("get_result", arguments).await.unwrap();
        let rest = serde_json::to_value(&rest).unwrap();
        let rest = last(&rest);
        assert_eq!(shown + rest, 20 * MIB - 2, "{leg:?} {era:?}");
    }
}

#[tokio::test]
async fn raising_the_limit_lets_larger_results_through() {
    let limits = [
        "--max-result-bytes",
        "33554432",
        "--max-client-result-bytes",
        "67108864",
    ];
    let world = TestBed::bridge_with(&limits).await;
    let items = vec![
        LargeResult::Text.tool("large", 32 * MIB),
        NativeItem::echo(),
    ];
    let _page = NativePage::open(&world, "large", items).await;
    for leg in [Transport::Http, Transport::Stdio] {
        let client = McpClient::connect_with_limit(&world, leg, Era::Discover, READ_BYTES).await;
        let call = client.start_call("large", json!({})).await;
        small_calls(&client, "echo").await;
        let answer = call.result().await.unwrap();
        let text = &answer.content[0].as_text().unwrap().text;
        assert_eq!(text.len(), 32 * MIB - 2, "{leg:?}");
    }
}

#[tokio::test]
async fn what_is_too_large_for_the_stdio_client_fails_there_with_its_size() {
    let world = bridge_with_large_limits().await;
    let items = vec![LargeResult::Text.tool("large", 2 * MIB), NativeItem::echo()];
    let _page = NativePage::open(&world, "large", items).await;
    let server = json!({
        "command": "mcp-web-stdio",
        "args": ["--max-message-bytes", "1048576"],
        "env": { "MCP_SERVER_URL": world.mcp_url(), "AUTH_TOKEN": world.token() },
    });
    for era in [Era::Initialize, Era::Discover] {
        let client = McpClient::from_config(&server, era).await;
        let call = client.start_call("large", json!({})).await;
        small_calls(&client, "echo").await;
        let failed = call.result().await.unwrap();
        let text = failure_text(&failed);
        assert!(text.contains("1048576 is the limit"), "{text}");
        let bytes = text.split(' ').find_map(|word| word.parse::<usize>().ok());
        assert!(bytes.is_some_and(|bytes| bytes > 2 * MIB), "{text}");
        small_calls(&client, "echo").await;
    }
}

#[tokio::test]
async fn the_typescript_client_takes_what_rmcp_takes() {
    let world = bridge_with_large_limits().await;
    let items = vec![
        LargeResult::Rows.tool("large", 10 * MIB),
        NativeItem::echo(),
    ];
    let _page = NativePage::open(&world, "large", items).await;
    let project = NodeProject::copy_of("node");
    project.link_packages();
    let arguments = ["typescript-large.mjs", &world.mcp_url(), world.token()];
    let mut client = project.node("the TypeScript client", &arguments);
    let answer = client.wait_for_line("{").await;
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(
        answer,
        json!({ "text": 10 * MIB, "structured": 10 * MIB, "echoes": 16 })
    );
}
