//! A client with a pinned session (`--session` of `mcp-web-stdio`), which may be missing.

use e2e::{Era, McpClient, TestBed, connect_program, native_program};
use mcp_web_sdk::{Builder, McpWeb, NoArguments, Tool};
use serde_json::json;

/// Starts a program whose tool returns its name.
async fn start(program: Builder, name: &'static str) -> McpWeb {
    let app = program.build().unwrap();
    let who = app.add_tool(Tool::new("who"), move |_: NoArguments, _| {
        std::future::ready(Ok(json!({ "who": name })))
    });
    connect_program(&app, &[who]).await;
    app
}

#[tokio::test]
async fn a_missing_pinned_tab_is_reported_with_the_choices() {
    let bed = TestBed::bridge().await;
    let first = native_program(&bed, "tab-1").session_name("Invoices");
    let _first = start(first, "first").await;
    let second = start(native_program(&bed, "tab-2"), "second").await;
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
    second.disconnect().await;
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
