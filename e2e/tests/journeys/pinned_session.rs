//! A client with a pinned session (`--session` of `mcp-web-stdio`), which may be missing.

use e2e::{Era, McpClient, NativeItem, NativePage, NativeSetup, TestBed};
use serde_json::json;

#[tokio::test]
async fn a_missing_pinned_tab_is_reported_with_the_choices() {
    let bed = TestBed::bridge().await;
    let who = |name: &'static str| {
        NativeItem::tool(
            "who",
            move |_| async move { Ok(json!({ "who": name }).into()) },
        )
    };
    let named = NativeSetup {
        name: Some("Invoices".to_owned()),
        ..NativeSetup::default()
    };
    let _first = NativePage::open_with(&bed, "tab-1", named, vec![who("first")]).await;
    let second = NativePage::open(&bed, "tab-2", vec![who("second")]).await;
    let server = json!({
        "command": "mcp-web-stdio",
        "args": ["--session", "tab-2"],
        "env": { "MCP_SERVER_URL": bed.mcp_url(), "AUTH_TOKEN": bed.token() },
    });
    for era in [Era::Initialize, Era::Discover] {
        let client = McpClient::from_config(&server, era).await;
        let answer = client.call("who", json!({})).await.unwrap();
        assert_eq!(answer.structured_content, Some(json!({ "who": "second" })));
    }
    second.close(1000).await;
    for era in [Era::Initialize, Era::Discover] {
        let client = McpClient::from_config(&server, era).await;
        let failed = client.call("who", json!({})).await.unwrap();
        assert_eq!(failed.is_error, Some(true), "{failed:?}");
        let text = &failed.content[0].as_text().unwrap().text;
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
