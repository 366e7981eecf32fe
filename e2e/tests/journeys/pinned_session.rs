//! A client that is pinned to a tab (`--session` of `mcp-web-stdio`) that is there, or not.

use e2e::{Era, McpClient, NativeItem, NativePage, NativeSetup, TestBed};
use serde_json::json;

#[tokio::test]
async fn a_missing_pinned_tab_is_reported_with_the_choices() {
    let world = TestBed::bridge().await;
    let who = |who: &'static str| {
        NativeItem::tool(
            "who",
            move |_| async move { Ok(json!({ "who": who }).into()) },
        )
    };
    let named = NativeSetup {
        name: Some("Invoices".to_owned()),
        ..NativeSetup::default()
    };
    let _first = NativePage::open_with(&world, "tab-1", named, vec![who("first")]).await;
    let second = NativePage::open(&world, "tab-2", vec![who("second")]).await;
    let server = json!({
        "command": "mcp-web-stdio",
        "args": ["--session", "tab-2"],
        "env": { "MCP_SERVER_URL": world.mcp_url(), "AUTH_TOKEN": world.token() },
    });
    for era in [Era::Initialize, Era::Discover] {
        let client = McpClient::from_config(&server, era).await;
        let answer = client.call("who", json!({})).await.unwrap();
        assert_eq!(answer.structured_content, Some(json!({ "who": "second" })));
    }
    second.close(1000).await;
    for era in [Era::Initialize, Era::Discover] {
        let client = McpClient::from_config(&server, era).await;
        let refused = client.call("who", json!({})).await.unwrap();
        assert_eq!(refused.is_error, Some(true), "{refused:?}");
        let text = &refused.content[0].as_text().unwrap().text;
        for part in ["SessionNotFound", "tab-1", "Invoices"] {
            assert!(text.contains(part), "{era:?}: {text}");
        }
        assert!(
            client
                .tools()
                .await
                .contains(&"list_active_sessions".to_owned())
        );
    }
}
