//! Many tabs of one token, as MCP clients see them.

use bridge::{AmbiguousCalls, Config, SessionLimitPolicy, Tabs};
use bridge_protocol::{ErrorCode, PageState, PageToBridge, Visibility};
use serde_json::{Value, json};

use crate::kit::{
    McpClient, Page, TOKEN, echo_tool, post_tool_call, result_text, start_bridge,
    start_bridge_with, test_config, with_deadline,
};

/// `greet` as a version of an app has it.
fn greet(argument: &str) -> Value {
    json!({ "name": "greet", "description": "Greets", "inputSchema": { "type": "object",
        "properties": { argument: { "type": "string" } }, "required": [argument] } })
}

fn code(answer: &Value) -> &str {
    let code = &answer["result"]["_meta"]["mcp-web/error"]["code"];
    code.as_str()
        .unwrap_or_else(|| panic!("no code in {answer}"))
}

/// Calls while the page answers with the name of its tab.
async fn called(client: &McpClient, page: &mut Page, arguments: Value) -> Value {
    let answering = async {
        let call = page.recv_call().await;
        let input: Value = serde_json::from_str(call.tool_input.get()).unwrap();
        page.respond(&call, input.clone()).await;
        input
    };
    let (answer, input) = with_deadline(
        "call",
        futures_util::future::join(client.call("greet", arguments), answering),
    )
    .await;
    assert_ne!(answer["result"]["isError"], true, "{answer}");
    input
}

#[tokio::test]
async fn two_versions_of_an_app_each_validate_with_their_own_schema() {
    let bridge = start_bridge().await;
    let mut old = Page::with_app(&bridge, "old", "greeter", &[greet("name")]).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let before = client.tool_names().await;
    let mut new = Page::with_app(&bridge, "new", "greeter", &[greet("who")]).await;

    // Names do not change with the number of tabs, and the newer definition is listed.
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

    let input = called(
        &client,
        &mut old,
        json!({ "name": "you", "session_id": "old" }),
    )
    .await;
    assert_eq!(input, json!({ "name": "you" }));
    let input = called(
        &client,
        &mut new,
        json!({ "who": "you", "session_id": "new" }),
    )
    .await;
    assert_eq!(input, json!({ "who": "you" }));
    let misfit = client
        .call("greet", json!({ "who": "you", "session_id": "old" }))
        .await;
    assert_eq!(code(&misfit), "InvalidArguments");
}

#[tokio::test]
async fn a_tool_name_shared_by_two_apps_is_disambiguated_by_session_id() {
    let bridge = start_bridge().await;
    let mut notes = Page::with_app(&bridge, "n", "notes", &[greet("name"), echo_tool()]).await;
    let mut mail = Page::with_app(&bridge, "m", "mail", &[greet("name")]).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let ambiguous = client.call("greet", json!({ "name": "you" })).await;
    assert_eq!(code(&ambiguous), "SessionNotSpecified");
    assert!(
        result_text(&ambiguous["result"]).contains("mail"),
        "{ambiguous}"
    );
    for (page, session) in [(&mut notes, "n"), (&mut mail, "m")] {
        called(
            &client,
            page,
            json!({ "name": "you", "session_id": session }),
        )
        .await;
    }
    // What only one of them has needs no choice.
    let (answer, ()) =
        futures_util::future::join(client.call("echo", json!({ "n": 1 })), notes.echo_call()).await;
    assert_eq!(answer["result"]["structuredContent"], json!({ "n": 1 }));
}

#[tokio::test]
async fn builtin_tools_reach_tools_registered_after_the_first_list() {
    let bridge = start_bridge().await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let frozen = client.tool_names().await;
    let mut page = Page::with_app(&bridge, "n", "notes", &[greet("name")]).await;
    assert!(!frozen.contains(&"greet".to_owned()));
    let tools = client.call("list_session_tools", json!({})).await;
    assert_eq!(
        tools["result"]["structuredContent"]["tools"][0]["name"],
        "greet"
    );
    let arguments = json!({ "tool_name": "greet", "arguments": { "name": "you" } });
    let call = client.call("call_session_tool", arguments);
    let answering = async {
        let call = page.recv_call().await;
        page.respond(&call, json!("hello")).await;
    };
    let (answer, ()) = futures_util::future::join(call, answering).await;
    assert_eq!(result_text(&answer["result"]), "hello");
}

#[tokio::test]
async fn tools_of_a_closed_app_stay_listed_and_calls_say_where_to_open_it() {
    let bridge = start_bridge().await;
    let page = Page::with_app(&bridge, "n", "notes", &[greet("name")]).await;
    page.close().await;
    // A client that comes only now.
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
    let other = McpClient::connect(&bridge, "another-token-of-the-test").await;
    assert!(!other.tool_names().await.contains(&"greet".to_owned()));
}

#[tokio::test]
async fn catalogues_of_closed_apps_are_limited_and_can_be_disabled() {
    let tabs = Tabs {
        max_catalogues: 1,
        ..Tabs::default()
    };
    let bridge = start_bridge_with(Config {
        tabs,
        ..test_config()
    })
    .await;
    // A token whose page offered nothing takes no place of those whose apps did.
    Page::connect(&bridge, "s", "token-without-any-tools-0123")
        .await
        .close()
        .await;
    let tokens = [(TOKEN, true), ("another-token-of-the-test", false)];
    for (token, _) in tokens {
        let page = Page::with_app_and_token(token, &bridge, "n", "notes", &[echo_tool()]).await;
        page.close().await;
    }
    for (token, is_remembered) in tokens {
        let client = McpClient::connect(&bridge, token).await;
        let names = client.tool_names().await;
        assert_eq!(
            names.contains(&"echo".to_owned()),
            is_remembered,
            "{names:?}"
        );
    }

    let tabs = Tabs {
        catalogue_ttl: std::time::Duration::ZERO,
        ..Tabs::default()
    };
    let bridge = start_bridge_with(Config {
        tabs,
        ..test_config()
    })
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
    let bridge = start_bridge_with(Config {
        tabs,
        ..test_config()
    })
    .await;
    let mut first = Page::with_app(&bridge, "a", "notes", &[greet("name")]).await;
    let _second = Page::with_app(&bridge, "b", "notes", &[greet("name")]).await;
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
    // An answered registration shows that the message before it was heard.
    first.register(&[greet("name")]).await;
    called(&client, &mut first, json!({ "name": "you" })).await;
}

#[tokio::test]
async fn close_oldest_closes_the_oldest_page_over_max_sessions() {
    let tabs = Tabs {
        session_limit_policy: SessionLimitPolicy::CloseOldest,
        ..Tabs::default()
    };
    let config = Config {
        tabs,
        max_sessions: 1,
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
    let tabs = Tabs {
        max_session_duration: std::time::Duration::from_millis(50),
        ..Tabs::default()
    };
    let bridge = start_bridge_with(Config {
        tabs,
        ..test_config()
    })
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
    let mut frozen = PageState {
        visibility: Visibility::Hidden,
        focused: false,
        frozen: true,
        page_title: None,
    };
    page.send(PageToBridge::PageState(frozen.clone())).await;
    let refused = loop {
        // The state travels on another connection than the call.
        let call = post_tool_call(&bridge, "echo", json!({}));
        let taken = async {
            let call = page.recv_call().await;
            page.respond(&call, json!({})).await;
        };
        tokio::select! {
            (_, answer) = call => break answer,
            () = taken => {}
        }
    };
    assert_eq!(
        refused["_meta"]["mcp-web/error"]["code"],
        ErrorCode::PageSuspended.as_str()
    );
    assert!(
        result_text(&refused).contains("Bring it to the front"),
        "{refused}"
    );
    frozen.frozen = false;
    page.send(PageToBridge::PageState(frozen)).await;
    page.register(&[echo_tool()]).await;
    let ((_, answer), ()) = futures_util::future::join(
        post_tool_call(&bridge, "echo", json!({ "n": 2 })),
        page.echo_call(),
    )
    .await;
    assert_eq!(answer["structuredContent"], json!({ "n": 2 }));
}
