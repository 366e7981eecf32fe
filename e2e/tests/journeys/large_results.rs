//! Large results arrive complete within the limits, fail with their size beyond them, and do not
//! affect other calls.

use std::sync::Arc;

use anyhow::Result;
use bridge_protocol::CloseCode;
use e2e::{
    Era, LargeResult, McpClient, NodeProject, StaticSite, TestBed, Transport, add_echo,
    connect_program, native_program,
};
use futures_util::future::join_all;
use mcp_web_sdk::{McpWeb, Tool};
use raw_page::{Page, call_response, raw_json};
use rmcp::model::CallToolResult;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::{TRANSPORTS_AND_ERAS, open_app};

const MIB: usize = 1024 * 1024;

/// The message limit of the clients in these tests. A result of 10 MiB needs up to 25 MiB on the
/// wire.
const READ_BYTES: usize = 64 * MIB;

/// The number of small calls that are made at the same time.
const SMALL_CALLS: u64 = 16;

/// Starts a bridge whose limit for clients is as large as the clients' own limit.
async fn bridge_with_large_limits() -> TestBed {
    let limit = READ_BYTES.to_string();
    let flags = ["--max-client-result-bytes", "--max-stdio-message-bytes"];
    TestBed::bridge_with(&flags.map(|flag| [flag, limit.as_str()]).concat()).await
}

/// Starts a program with `echo` and tools with large results, each of this size.
async fn large_program(bed: &TestBed, tools: &[(LargeResult, &str, usize)]) -> McpWeb {
    let app = native_program(bed, "large").build().unwrap();
    let mut handles = vec![add_echo(&app, "echo")];
    handles.extend(
        tools
            .iter()
            .map(|&(result, name, bytes)| result.add_tool(&app, name, bytes)),
    );
    connect_program(&app, &handles).await;
    app
}

/// Starts a program with the tool `other`, which returns its arguments.
async fn other_program(bed: &TestBed) -> McpWeb {
    let app = native_program(bed, "other").build().unwrap();
    let other = add_echo(&app, "other");
    connect_program(&app, &[other]).await;
    app
}

async fn small_calls(client: &McpClient, tool: &str) {
    let calls = (0..SMALL_CALLS).map(async |id| {
        let answer = client.call(tool, json!({ "id": id })).await.unwrap();
        let expected = Some(json!({ "id": id }));
        assert_eq!(answer.structured_content, expected, "{tool}: {answer:?}");
    });
    join_all(calls).await;
}

/// Returns the text of a failed call, for a client and its model.
fn failure_text(result: &CallToolResult) -> &str {
    assert_eq!(result.is_error, Some(true), "{result:?}");
    &result.content[0].as_text().unwrap().text
}

#[tokio::test]
async fn ten_mebibytes_arrive_whole_while_small_calls_are_answered() {
    for (transport, era) in TRANSPORTS_AND_ERAS {
        let bed = bridge_with_large_limits().await;
        let tools = [
            (LargeResult::Text, "text", 10 * MIB),
            (LargeResult::Rows, "rows", 10 * MIB),
        ];
        let _large = large_program(&bed, &tools).await;
        let _other = other_program(&bed).await;
        let client = McpClient::connect_with_limit(&bed, transport, era, READ_BYTES).await;
        let other = McpClient::connect(&bed, transport, era).await;

        for tool in ["text", "rows"] {
            let call = client.start_call(tool, json!({})).await;
            small_calls(&other, "other").await;
            let answer = call.result().await.unwrap();
            let text = &answer.content[0].as_text().unwrap().text;
            match tool {
                "text" => assert_eq!(text.len(), 10 * MIB - 2, "{transport:?} {era:?}"),
                _ => assert_eq!(text.len(), 10 * MIB, "{transport:?} {era:?}"),
            }
            if let Some(rows) = &answer.structured_content {
                let parsed: Value = serde_json::from_str(text).unwrap();
                assert!(*rows == parsed, "text and structured content are the same");
            }
        }
    }
}

#[tokio::test]
async fn a_hundred_mebibytes_fail_with_their_size_and_nothing_else_does() {
    let bed = bridge_with_large_limits().await;
    let release = Arc::new(Notify::new());
    let gate_release = Arc::clone(&release);
    let app = large_program(&bed, &[(LargeResult::Text, "large", 100 * MIB)]).await;
    let gate = app.add_tool(Tool::new("gate"), move |input: Value, _| {
        let release = Arc::clone(&gate_release);
        async move {
            release.notified().await;
            Ok(input)
        }
    });
    connect_program(&app, &[gate]).await;
    let mut status = app.status();
    status.mark_unchanged();
    let _other = other_program(&bed).await;
    for (transport, era) in TRANSPORTS_AND_ERAS {
        let client = McpClient::connect(&bed, transport, era).await;
        let running = client.start_call("gate", json!({ "id": 7 })).await;
        let large = client.start_call("large", json!({})).await;
        small_calls(&client, "other").await;
        small_calls(&client, "echo").await;
        let failed = large.result().await.unwrap();
        let text = failure_text(&failed);
        for number in [100 * MIB, 10 * MIB] {
            assert!(
                text.contains(&number.to_string()),
                "{transport:?} {era:?}: {text}"
            );
        }
        release.notify_one();
        let answer = running.result().await.unwrap();
        let expected = Some(json!({ "id": 7 }));
        assert_eq!(answer.structured_content, expected, "gate: {answer:?}");
    }
    assert!(
        !status.has_changed().unwrap(),
        "it has its first connection"
    );
}

/// Responds to the next call with a result of this size, which the page does not measure.
async fn respond_with(page: &mut Page, bytes: usize) -> Result<()> {
    let call = page.recv_call().await;
    let result = raw_json(&LargeResult::Text.json(bytes));
    let response = call_response(&call.request_id, result);
    Ok(page.send_split(&response).await?)
}

#[tokio::test]
async fn the_bridge_measures_results_of_a_page_that_does_not() {
    let bed = bridge_with_large_limits().await;
    let mut page = Page::connect_to(bed.address(), "careless", bed.token()).await;
    let tools = ["large", "huge", "echo"]
        .map(|name| json!({ "name": name, "inputSchema": { "type": "object" } }));
    assert_eq!(page.register(&tools).await.errors, []);
    let _other = other_program(&bed).await;
    let client = McpClient::connect(&bed, Transport::Http, Era::Initialize).await;

    let large = client.start_call("large", json!({})).await;
    respond_with(&mut page, 12 * MIB).await.unwrap();
    let failed = large.result().await.unwrap();
    let text = failure_text(&failed);
    assert!(
        text.contains("12582912 bytes") && text.contains("10485760"),
        "{text}"
    );
    let echo = async {
        for _ in 0..SMALL_CALLS {
            page.echo_call().await;
        }
    };
    tokio::join!(small_calls(&client, "echo"), echo);

    let huge = client.start_call("huge", json!({})).await;
    small_calls(&client, "other").await;
    // The bridge closes the connection meanwhile.
    let _ = respond_with(&mut page, 100 * MIB).await;
    assert_eq!(page.recv_close().await.0, CloseCode::MessageTooBig.code());
    let failed = huge.result().await.unwrap();
    assert!(!failure_text(&failed).is_empty());
    small_calls(&client, "other").await;
}

#[tokio::test]
async fn a_page_in_chromium_fails_results_over_the_limit() {
    let (bed, site) = (bridge_with_large_limits().await, StaticSite::start().await);
    let browser = open_app(&site, &bed).await;
    let _other = other_program(&bed).await;
    for (transport, era) in [
        (Transport::Http, Era::Discover),
        (Transport::Stdio, Era::Initialize),
    ] {
        let client = McpClient::connect_with_limit(&bed, transport, era, READ_BYTES).await;
        let (allowed, too_large) = (10 * MIB, 100 * MIB);
        let large = client
            .start_call("large", json!({ "bytes": allowed }))
            .await;
        small_calls(&client, "other").await;
        small_calls(&client, "echo").await;
        let answer = large.result().await.unwrap();
        let text = &answer.content[0].as_text().unwrap().text;
        assert_eq!(text.len(), allowed - 2, "{transport:?} {era:?}");

        let large = client
            .start_call("large", json!({ "bytes": too_large }))
            .await;
        small_calls(&client, "other").await;
        let failed = large.result().await.unwrap();
        let text = failure_text(&failed);
        for number in [too_large, allowed] {
            assert!(
                text.contains(&number.to_string()),
                "{transport:?} {era:?}: {text}"
            );
        }
        small_calls(&client, "echo").await;
    }
    let console = browser.console().await.join("\n");
    assert!(
        !console.contains("WebSocket"),
        "the connection stayed open: {console}"
    );
}

#[tokio::test]
async fn rmcp_with_default_limits_reads_a_truncated_result_to_its_end() {
    let bed = TestBed::bridge_with(&["--max-result-bytes", "33554432"]).await;
    let tools = [
        (LargeResult::Rows, "rows", 10 * MIB),
        (LargeResult::Text, "text", 18 * MIB),
    ];
    let _page = large_program(&bed, &tools).await;
    let client = McpClient::connect(&bed, Transport::Http, Era::Discover).await;
    let rows = client.call("rows", json!({})).await.unwrap();
    assert_eq!(rows.structured_content, None, "the text contains it");
    assert_eq!(rows.content[0].as_text().unwrap().text.len(), 10 * MIB);
    for (transport, era, limit) in [
        (Transport::Http, Era::Initialize, 15 * MIB),
        (Transport::Stdio, Era::Discover, 10 * MIB),
    ] {
        let client = McpClient::connect(&bed, transport, era).await;
        let truncated = client.call("text", json!({})).await.unwrap();
        let truncated = serde_json::to_value(&truncated).unwrap();
        // The note is the first block, and the excerpt the last one.
        let last_block_bytes = |result: &Value| {
            let block = result["content"].as_array().unwrap().last().unwrap();
            block["text"].as_str().unwrap().len()
        };
        let excerpt_bytes = last_block_bytes(&truncated);
        assert!(
            excerpt_bytes > limit - MIB && excerpt_bytes < limit,
            "{excerpt_bytes} bytes"
        );
        let handle = truncated["_meta"]["mcp-web/cut"]["handle"].as_str();
        let handle = handle.unwrap_or_else(|| panic!("no handle in {}", truncated["_meta"]));
        let arguments = json!({ "handle": handle, "offset": excerpt_bytes });
        let rest = client.call("get_result", arguments).await.unwrap();
        let rest = serde_json::to_value(&rest).unwrap();
        let remaining_bytes = last_block_bytes(&rest);
        assert_eq!(
            excerpt_bytes + remaining_bytes,
            18 * MIB - 2,
            "{transport:?} {era:?}"
        );
    }
}

#[tokio::test]
async fn raising_the_limit_lets_larger_results_through() {
    let limits = [
        "--max-result-bytes",
        "33554432",
        "--max-client-result-bytes",
        "67108864",
        "--max-stdio-message-bytes",
        "67108864",
    ];
    let bed = TestBed::bridge_with(&limits).await;
    let _page = large_program(&bed, &[(LargeResult::Text, "large", 32 * MIB)]).await;
    for transport in [Transport::Http, Transport::Stdio] {
        let client =
            McpClient::connect_with_limit(&bed, transport, Era::Discover, READ_BYTES).await;
        let call = client.start_call("large", json!({})).await;
        small_calls(&client, "echo").await;
        let answer = call.result().await.unwrap();
        let text = &answer.content[0].as_text().unwrap().text;
        assert_eq!(text.len(), 32 * MIB - 2, "{transport:?}");
    }
}

#[tokio::test]
async fn results_over_the_limit_of_mcp_web_stdio_fail_with_their_size() {
    let bed = bridge_with_large_limits().await;
    let _page = large_program(&bed, &[(LargeResult::Text, "large", 2 * MIB)]).await;
    let server = json!({
        "command": "mcp-web-stdio",
        "args": ["--max-message-bytes", "1048576"],
        "env": { "MCP_SERVER_URL": bed.mcp_url(), "AUTH_TOKEN": bed.token() },
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
async fn the_typescript_client_reads_large_results() {
    let bed = bridge_with_large_limits().await;
    let _page = large_program(&bed, &[(LargeResult::Rows, "large", 10 * MIB)]).await;
    let project = NodeProject::copy_of("node");
    project.link_packages();
    let arguments = ["typescript-large.mjs", &bed.mcp_url(), bed.token()];
    let mut client = project.node("the TypeScript client", &arguments);
    let answer = client.wait_for_line("{").await;
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(
        answer,
        json!({ "text": 10 * MIB, "structured": 10 * MIB, "echoes": 16 })
    );
}
