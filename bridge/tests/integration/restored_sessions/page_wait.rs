//! Requests after a restart wait for the page of their session.

use super::*;

/// How long requests of a restored session wait for its pages.
const PAGES_AWAITED: Duration = Duration::from_secs(3);

/// Each kind of request is the first one after a restart, and waits for the page.
#[tokio::test]
async fn each_request_after_a_restart_waits_for_its_page() {
    let folder = TempDir::new().unwrap();
    for config in [config_with_key(), config_with_folder(folder.path())] {
        let mut bridge = start_bridge_with(config.clone()).await;
        let (page, mut client) = connect_page_and_client(&bridge).await;
        drop(page);
        let session_tool = json!({ "name": "call_session_tool",
            "arguments": { "tool_name": "echo", "arguments": { "n": 1 }, "session_id": "s" } });
        let status = json!({ "name": "get_connection_status", "arguments": {} });
        let page_tools =
            json!({ "name": "list_session_tools", "arguments": { "session_id": "s" } });
        let resource = json!({ "uri": bridge_protocol::STATUS_URI });
        let direct = json!({ "name": "echo", "arguments": { "n": 1 } });
        let pinned = json!({ "name": "echo", "arguments": { "n": 1, "session_id": "s" } });
        for (method, params, expected, is_call) in [
            ("tools/list", json!({}), "\"echo\"", false),
            ("tools/call", direct, "{\"n\":1}", true),
            ("tools/call", pinned, "{\"n\":1}", true),
            ("tools/call", session_tool, "{\\\"n\\\":1}", true),
            ("tools/call", status, "1 page is connected", false),
            ("tools/call", page_tools, "\\\"echo\\\"", false),
            ("resources/read", resource, "1 page is connected", false),
        ] {
            bridge = restart(bridge, &config, [&mut client]).await;
            let handler = async {
                let mut page = reconnect_page(&bridge).await;
                if is_call {
                    page.echo_call().await;
                }
                page
            };
            let (answer, _page) = tokio::join!(client.request(method, params), handler);
            let answer = answer.to_string();
            assert!(answer.contains(expected), "{method}: {answer}");
        }
        bridge.shutdown().await;
    }
}

#[tokio::test]
async fn the_methods_of_rmcp_continue_a_session_and_wait_for_its_page() {
    let config = config_with_key();
    let mut bridge = start_bridge_with(config.clone()).await;
    let mut client = McpClient::connect(&bridge, TOKEN).await;
    let prompt = json!({ "name": "poem" });
    let resource = json!({ "name": "notes", "uri": "app://notes" });
    for (method, name, status) in [
        ("prompts/list", "poem", 200),
        ("resources/list", "app://notes", 200),
        ("resources/templates/list", "resourceTemplates", 200),
        ("ping", "result", 200),
    ] {
        bridge = restart(bridge, &config, [&mut client]).await;
        let items = [
            (bridge_protocol::Kind::Prompt, prompt.clone()),
            (bridge_protocol::Kind::Resource, resource.clone()),
        ];
        let page = async {
            poll_metric(&bridge, "mcp_web_mcp_sessions", 1.0).await;
            let mut page = Page::connect(&bridge, "s", TOKEN).await;
            page.register_items(&items).await;
            page
        };
        let (response, _page) = tokio::join!(client.start_request(method, json!({})), page);
        assert_eq!(response.status(), status, "{method}");
        let answer = response.text().await.unwrap();
        assert!(answer.contains(name), "{method}: {answer}");
    }
    // The log level is the one of a new session, and the client can set it.
    bridge = restart(bridge, &config, [&mut client]).await;
    let level = client
        .request("logging/setLevel", json!({ "level": "error" }))
        .await;
    assert_eq!(level["result"], json!({}), "{level}");
    bridge.shutdown().await;
}

/// Each request waits from its own beginning: a page may need longer than the first one.
#[tokio::test]
async fn a_request_waits_after_another_has_waited_in_vain() {
    let config = config_with_key();
    let bridge = start_bridge_with(config.clone()).await;
    let mut client = McpClient::connect(&bridge, TOKEN).await;
    let bridge = restart(bridge, &config, [&mut client]).await;
    let begun = Instant::now();
    let answer = client.call("echo", json!({})).await;
    let code = error_code(&answer["result"]);
    assert_eq!(code, Some("NoSessionsFound"), "{answer}");
    assert!(begun.elapsed() >= PAGES_AWAITED);
    let page = async {
        let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
        page.echo_call().await;
    };
    let (answer, ()) = tokio::join!(client.call("echo", json!({ "n": 1 })), page);
    assert_eq!(answer["result"]["structuredContent"], json!({ "n": 1 }));
    bridge.shutdown().await;
}

/// As `mcp-web-stdio` sends it, which opens a new MCP session or has none.
#[tokio::test]
async fn a_request_with_the_header_of_a_reconnected_client_waits_for_its_page() {
    let bridge = start_bridge().await;
    let client = StatelessClient::new(&bridge);
    let send = async || {
        let call = json!({ "name": "echo", "arguments": { "n": 1, "session_id": "s" } });
        let request = client.build("tools/call", call);
        let response = request
            .header(bridge_protocol::RECONNECTED_HEADER, "1")
            .send();
        rpc_response(with_deadline("response", response).await.unwrap()).await
    };
    let begun = Instant::now();
    let answer = send().await;
    let code = error_code(&answer["result"]);
    assert_eq!(code, Some("NoSessionsFound"), "{answer}");
    assert!(begun.elapsed() >= PAGES_AWAITED);
    let pages = async {
        let other = Page::with_tools(&bridge, "other", &[echo_tool()]).await;
        let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
        page.echo_call().await;
        (page, other)
    };
    let (answer, _pages) = tokio::join!(send(), pages);
    assert_eq!(answer["result"]["structuredContent"], json!({ "n": 1 }));
    bridge.shutdown().await;
}

#[tokio::test]
async fn a_call_that_waits_for_its_page_needs_the_headers_of_its_arguments() {
    let bridge = start_bridge().await;
    let client = StatelessClient::new(&bridge);
    let call = client.build(
        "tools/call",
        json!({ "name": "echo", "arguments": { "n": 1 } }),
    );
    let call = call.header(bridge_protocol::RECONNECTED_HEADER, "1").send();
    let mut tool = echo_tool();
    tool["inputSchema"]["properties"]["n"]["x-mcp-header"] = json!("N");
    let tools = [tool];
    let page = Page::with_tools(&bridge, "s", &tools);
    let (response, _page) = tokio::join!(with_deadline("response", call), page);
    let answer = rpc_response(response.unwrap()).await;
    assert_eq!(answer["error"]["code"], -32020, "{answer}");
    bridge.shutdown().await;
}

/// The names that a page and the bridge, or several pages, have in common.
#[tokio::test]
async fn a_call_after_a_restart_goes_where_it_went_before() {
    let config = config_with_key();
    let mut bridge = start_bridge_with(config.clone()).await;
    let mut client = McpClient::connect(&bridge, TOKEN).await;
    let list_sessions = json!({ "name": "list_sessions", "description": "Lists the sittings of a day",
        "inputSchema": { "type": "object" } });
    for (params, other_page, tool) in [
        (
            json!({ "name": "list_sessions", "arguments": {} }),
            None,
            list_sessions,
        ),
        (
            json!({ "name": "echo", "arguments": {}, "_meta": { "sessionId": "s" } }),
            Some("other"),
            echo_tool(),
        ),
    ] {
        bridge = restart(bridge, &config, [&mut client]).await;
        let tools = [tool];
        let _other = match other_page {
            Some(session) => Some(Page::with_tools(&bridge, session, &tools).await),
            None => None,
        };
        let page = async {
            poll_metric(&bridge, "mcp_web_mcp_sessions", 1.0).await;
            let mut page = Page::with_tools(&bridge, "s", &tools).await;
            page.echo_call().await;
        };
        let (answer, ()) = tokio::join!(client.request("tools/call", params.clone()), page);
        let result = &answer["result"]["structuredContent"];
        assert_eq!(*result, json!({}), "{params}: {answer}");
    }
    bridge.shutdown().await;
}

#[tokio::test]
async fn a_request_that_waits_for_its_page_ends_with_the_bridge() {
    let config = config_with_key();
    let bridge = start_bridge_with(config.clone()).await;
    let mut client = McpClient::connect(&bridge, TOKEN).await;
    let bridge = restart(bridge, &config, [&mut client]).await;
    let stop = async {
        poll_metric(&bridge, "mcp_web_mcp_sessions", 1.0).await;
        bridge.shutdown().await;
    };
    let (answer, ()) = tokio::join!(client.call("echo", json!({})), stop);
    let code = error_code(&answer["result"]);
    assert_eq!(code, Some("BridgeStopping"), "{answer}");
}
