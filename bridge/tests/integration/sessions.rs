//! Several sessions (browser tabs) of one token from the view of MCP clients.

use bridge::{
    AmbiguousCalls, Config, PageLimits, PageTimings, ServerHandle, SessionLimitPolicy, Tabs,
};
use bridge_protocol::{PageState, PageToBridge, Visibility};
use serde_json::{Value, json};

use crate::kit::*;

/// The tool `greet` of one version of an app, with a required argument of this name.
fn greet_tool(argument: &str) -> Value {
    json!({ "name": "greet", "description": "Greets", "inputSchema": { "type": "object",
        "properties": { argument: { "type": "string" } }, "required": [argument] } })
}

async fn start_bridge_with_tabs(tabs: Tabs) -> ServerHandle {
    let config = Config {
        tabs,
        ..test_config()
    };
    start_bridge_with(config).await
}

/// The error code in a JSON-RPC response.
fn code(answer: &Value) -> &str {
    error_code(&answer["result"]).unwrap_or_else(|| panic!("no code in {answer}"))
}

/// Calls `greet` while the page responds, and returns the input that the page received.
async fn greet(client: &McpClient, page: &mut Page, arguments: Value) -> Value {
    let call = client.call("greet", arguments);
    let (answer, call) = tokio::join!(call, page.serve_call(json!({})));
    assert_ne!(answer["result"]["isError"], true, "{answer}");
    serde_json::from_str(call.tool_input.get()).unwrap()
}

#[tokio::test]
async fn two_versions_of_an_app_each_validate_with_their_own_schema() {
    let bridge = start_bridge().await;
    let mut old = Page::with_app(&bridge, "old", "greeter", &[greet_tool("name")]).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let before = client.tool_names().await;
    let mut new = Page::with_app(&bridge, "new", "greeter", &[greet_tool("who")]).await;

    // Tool names do not depend on the number of sessions; the newer definition is listed.
    assert_eq!(client.tool_names().await, before);
    let listed = client.request("tools/list", json!({})).await;
    let tools = listed["result"]["tools"].as_array().unwrap();
    let listed = tools.iter().find(|tool| tool["name"] == "greet").unwrap();
    assert_eq!(listed["inputSchema"]["required"], json!(["who"]));
    let properties = listed["inputSchema"]["properties"].as_object().unwrap();
    assert!(properties.contains_key("session_id"), "{listed}");

    let ambiguous = client.call("greet", json!({ "who": "you" })).await;
    assert_eq!(code(&ambiguous), "SessionNotSpecified");
    let choices: Value = serde_json::from_str(result_text(&ambiguous["result"])).unwrap();
    let names: Vec<_> = choices["available_sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|session| session["session_name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["tab", "tab (2)"]);

    let input = greet(
        &client,
        &mut old,
        json!({ "name": "you", "session_id": "old" }),
    )
    .await;
    assert_eq!(input, json!({ "name": "you" }));
    let input = greet(
        &client,
        &mut new,
        json!({ "who": "you", "session_id": "new" }),
    )
    .await;
    assert_eq!(input, json!({ "who": "you" }));
    let invalid = client
        .call("greet", json!({ "who": "you", "session_id": "old" }))
        .await;
    assert_eq!(code(&invalid), "InvalidArguments");
}

#[tokio::test]
async fn a_tool_name_shared_by_two_apps_is_disambiguated_by_session_id() {
    let bridge = start_bridge().await;
    let mut notes = Page::with_app(&bridge, "n", "notes", &[greet_tool("name"), echo_tool()]).await;
    let mut mail = Page::with_app(&bridge, "m", "mail", &[greet_tool("name")]).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let ambiguous = client.call("greet", json!({ "name": "you" })).await;
    assert_eq!(code(&ambiguous), "SessionNotSpecified");
    assert!(
        result_text(&ambiguous["result"]).contains("mail"),
        "{ambiguous}"
    );
    for (page, session) in [(&mut notes, "n"), (&mut mail, "m")] {
        greet(
            &client,
            page,
            json!({ "name": "you", "session_id": session }),
        )
        .await;
    }
    // A tool that only one page has needs no session id.
    client.assert_echo(&mut notes).await;
}

#[tokio::test]
async fn builtin_tools_reach_tools_registered_after_the_first_list() {
    let bridge = start_bridge().await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let first_list = client.tool_names().await;
    let mut page = Page::with_app(&bridge, "n", "notes", &[greet_tool("name")]).await;
    assert!(!first_list.contains(&"greet".to_owned()));
    let tools = client.call("list_session_tools", json!({})).await;
    assert_eq!(
        tools["result"]["structuredContent"]["tools"][0]["name"],
        "greet"
    );
    let arguments = json!({ "tool_name": "greet", "arguments": { "name": "you" } });
    let call = client.call("call_session_tool", arguments);
    let handler = page.serve_call(json!("hello"));
    let (answer, _call) = tokio::join!(call, handler);
    assert_eq!(result_text(&answer["result"]), "hello");
}

#[tokio::test]
async fn tools_of_a_closed_app_stay_listed_and_calls_say_where_to_open_it() {
    let bridge = start_bridge().await;
    let page = Page::with_app(&bridge, "n", "notes", &[greet_tool("name")]).await;
    page.close().await;
    // The client connects after the page has closed.
    let client = McpClient::connect(&bridge, TOKEN).await;
    assert!(client.tool_names().await.contains(&"greet".to_owned()));
    let answer = client.call("greet", json!({ "name": "you" })).await;
    assert_eq!(code(&answer), "NoSessionsFound");
    let text = result_text(&answer["result"]);
    assert!(
        text.contains("notes") && text.contains("http://localhost:5173"),
        "{text}"
    );
    let status = client.call("get_connection_status", json!({})).await;
    assert_eq!(status["result"]["structuredContent"]["connected"], false);
    let other = McpClient::connect(&bridge, OTHER_TOKEN).await;
    assert!(!other.tool_names().await.contains(&"greet".to_owned()));
}

#[tokio::test]
async fn catalogues_of_closed_apps_are_limited_and_can_be_disabled() {
    let bridge = start_bridge_with(Config {
        page_limits: PageLimits {
            max_catalogues: Some(1),
            ..PageLimits::default()
        },
        ..test_config()
    })
    .await;
    // A token whose page has registered nothing does not count.
    Page::connect(&bridge, "s", "token-without-any-tools-0123")
        .await
        .close()
        .await;
    // The apps of the token that was closed first make room.
    let tokens = [(TOKEN, false), (OTHER_TOKEN, true)];
    for (token, _) in tokens {
        let page = Page::with_app_and_token(token, &bridge, "n", "notes", &[echo_tool()]).await;
        page.close().await;
    }
    for (token, has_catalogue) in tokens {
        let client = McpClient::connect(&bridge, token).await;
        let names = client.tool_names().await;
        assert_eq!(
            names.contains(&"echo".to_owned()),
            has_catalogue,
            "{names:?}"
        );
    }

    let bridge = start_bridge_with(config_with_page_timings(PageTimings {
        catalogue_ttl: std::time::Duration::ZERO,
        ..PageTimings::default()
    }))
    .await;
    Page::with_app(&bridge, "n", "notes", &[echo_tool()])
        .await
        .close()
        .await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    assert!(!client.tool_names().await.contains(&"echo".to_owned()));
}

#[tokio::test]
async fn ambiguous_calls_go_to_the_focused_page_when_configured() {
    let tabs = Tabs {
        ambiguous_calls: AmbiguousCalls::Focused,
        ..Tabs::default()
    };
    let bridge = start_bridge_with_tabs(tabs).await;
    let mut first = Page::with_app(&bridge, "a", "notes", &[greet_tool("name")]).await;
    let _second = Page::with_app(&bridge, "b", "notes", &[greet_tool("name")]).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let ambiguous = client.call("greet", json!({ "name": "you" })).await;
    assert_eq!(code(&ambiguous), "SessionNotSpecified");
    let state = PageState {
        visibility: Visibility::Visible,
        focused: true,
        frozen: false,
        page_title: None,
    };
    first.send(PageToBridge::PageState(state)).await;
    // When a registration is acknowledged, all earlier messages have been processed.
    first.register(&[greet_tool("name")]).await;
    greet(&client, &mut first, json!({ "name": "you" })).await;
}

#[tokio::test]
async fn close_oldest_closes_the_oldest_page_over_max_sessions() {
    let tabs = Tabs {
        session_limit_policy: SessionLimitPolicy::CloseOldest,
        ..Tabs::default()
    };
    let config = Config {
        tabs,
        page_limits: PageLimits {
            max_sessions: 1,
            ..PageLimits::default()
        },
        ..test_config()
    };
    let bridge = start_bridge_with(config).await;
    let mut first = Page::with_tools(&bridge, "a", &[echo_tool()]).await;
    let _second = Page::with_tools(&bridge, "b", &[echo_tool()]).await;
    let (code, reason) = first.recv_close().await;
    assert_eq!(code, 1008);
    assert!(reason.contains("Session limit exceeded"), "{reason}");
}

#[tokio::test]
async fn a_session_over_max_session_duration_is_closed() {
    let bridge = start_bridge_with(config_with_page_timings(PageTimings {
        max_session_duration: std::time::Duration::from_millis(50),
        ..PageTimings::default()
    }))
    .await;
    let mut page = Page::connect(&bridge, "a", TOKEN).await;
    let (code, reason) = page.recv_close().await;
    assert_eq!(code, 1008);
    assert!(reason.contains("maximum duration"), "{reason}");
}

#[tokio::test]
async fn a_frozen_page_is_not_called_until_it_resumes() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "a", &[echo_tool()]).await;
    let mut state = PageState {
        visibility: Visibility::Hidden,
        focused: false,
        frozen: true,
        page_title: None,
    };
    page.send(PageToBridge::PageState(state.clone())).await;
    let rejected = loop {
        // The page state and the call use different connections, so they may arrive in either
        // order.
        let call = post_tool_call(&bridge, "echo", json!({}));
        tokio::select! {
            (_, answer) = call => break answer,
            _ = page.serve_call(json!({})) => {}
        }
    };
    assert_eq!(error_code(&rejected), Some("PageSuspended"));
    assert!(
        result_text(&rejected).contains("Bring it to the front"),
        "{rejected}"
    );
    state.frozen = false;
    page.send(PageToBridge::PageState(state)).await;
    page.register(&[echo_tool()]).await;
    assert_echo(&bridge, &mut page).await;
}
