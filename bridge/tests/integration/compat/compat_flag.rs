//! Pages of mcp-web 0.1 at a bridge with `--compat mcp-web`.

use serde_json::json;

use super::kit::*;
use crate::kit::*;

#[tokio::test]
async fn a_null_error_key_marks_a_failure() {
    let bridge = start_bridge_with(compat_config()).await;
    let mut page = V1Page::connect(&bridge, "s").await;
    page.register_tool(tool("t")).await;
    wait_for_tools(&bridge, 1).await;
    let handler = async {
        let call = page.recv_call().await;
        page.respond(&call, json!({ "rows": [], "error": null }))
            .await;
    };
    let ((status, answer), ()) = tokio::join!(post_tool_call(&bridge, "t", json!({})), handler);
    assert_eq!(
        (status, &answer["isError"]),
        (200, &json!(true)),
        "{answer}"
    );
}

#[tokio::test]
async fn results_are_not_validated_against_output_schemas() {
    let bridge = start_bridge_with(compat_config()).await;
    let mut page = V1Page::connect(&bridge, "s").await;
    page.register_tool(json!({ "name": "t", "description": "d", "outputSchema":
        { "type": "object", "required": ["sum"] } }))
        .await;
    wait_for_tools(&bridge, 1).await;
    let call = post_tool_call(&bridge, "t", json!({ "n": 1 }));
    let ((status, answer), ()) = tokio::join!(call, page.echo_call());
    assert_eq!(status, 200);
    assert_ne!(answer["isError"], true, "{answer}");
}

#[tokio::test]
async fn a_conflicting_input_schema_is_rejected_and_earlier_ones_stay() {
    let bridge = start_bridge_with(compat_config()).await;
    let mut first = V1Page::connect(&bridge, "a").await;
    first.register_tool(tool("t")).await;
    first
        .register_tool(json!({ "name": "bare", "description": "d" }))
        .await;
    wait_for_tool(&bridge, "bare").await;
    let mut second = V1Page::connect(&bridge, "b").await;
    // Only input schemas are compared, and a missing one equals an empty one.
    let mut same_schema = tool("t");
    same_schema["description"] = json!("another text");
    second.register_tool(same_schema).await;
    second
        .register_tool(json!({ "name": "bare", "description": "d", "inputSchema": {} }))
        .await;
    let mut other = tool("t");
    other["inputSchema"]["properties"] = json!({ "text": { "type": "string" } });
    second.register_tool(other).await;
    let error = second.recv().await;
    assert_eq!(error["type"], "tool-registration-error", "{error}");
    assert_eq!(
        (&error["toolName"], &error["error"]),
        (&json!("t"), &json!("ToolSchemaConflict"))
    );
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("different schema"),
        "{error}"
    );
    let sessions = wait_for_sessions(&bridge, 2).await;
    for session in &sessions {
        assert_eq!(session["available_tools"], json!(["t", "bare"]));
    }
    // A page may change the schema of a tool that no other page has.
    second.close().await;
    wait_for_sessions(&bridge, 1).await;
    first
        .register_tool(json!({ "name": "t", "description": "alone" }))
        .await;
    first.register_tool(tool("last")).await;
    wait_for_tool(&bridge, "last").await;
}

#[tokio::test]
async fn any_token_connects_from_loopback_origins_only_with_compat() {
    for (mut config, connects) in [(compat_config(), true), (test_config(), false)] {
        config.network.allowed_origins = vec!["https://app.example".to_owned()];
        let bridge = start_bridge_with(config).await;
        for origin in [
            None,
            Some("http://localhost:5173"),
            Some("http://127.0.0.1:9"),
        ] {
            let mut page = V1Page::open_at(&bridge, "/?session=s", origin)
                .await
                .unwrap();
            page.authenticate("s", json!({ "authToken": "x" })).await;
            let response = page.recv().await;
            let authenticated = response["type"] == "authenticated";
            assert_eq!(authenticated, connects, "{origin:?}: {response}");
        }
        let mut page = V1Page::open_at(&bridge, "/?session=s", Some("https://evil.example"))
            .await
            .unwrap();
        assert_eq!(page.recv().await["code"], "OriginNotAllowed");
        let mut page = V1Page::open(&bridge, "t").await;
        page.authenticate("t", json!({ "authToken": "" })).await;
        assert_eq!(page.recv().await["code"], "MissingAuthentication");
    }
}
