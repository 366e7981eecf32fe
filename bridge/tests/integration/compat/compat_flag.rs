//! The page socket with `--compat mcp-web`.

use serde_json::{Value, json};

use super::kit::{CompatPage, compat, poll_until, tool};
use crate::kit::{post_tool_call, start_bridge_with};

#[tokio::test]
async fn a_null_error_key_marks_a_failure() {
    let bridge = start_bridge_with(compat()).await;
    let mut page = CompatPage::connect(&bridge, "s").await;
    page.register_tool(tool("t")).await;
    let fits = |answer: &Value| answer["sessions"][0]["available_tools"] == json!(["t"]);
    poll_until(&bridge, "/sessions", fits).await;
    let reply = async {
        let call = page.recv_call().await;
        page.respond(&call, json!({ "rows": [], "error": null }))
            .await;
    };
    let ((status, answer), ()) = tokio::join!(post_tool_call(&bridge, "t", json!({})), reply);
    assert_eq!(
        (status, &answer["isError"]),
        (200, &json!(true)),
        "{answer}"
    );
}

#[tokio::test]
async fn results_are_not_validated_against_output_schemas() {
    let bridge = start_bridge_with(compat()).await;
    let mut page = CompatPage::connect(&bridge, "s").await;
    page.register_tool(json!({ "name": "t", "description": "d", "outputSchema":
        { "type": "object", "required": ["sum"] } }))
        .await;
    let fits = |answer: &Value| answer["sessions"][0]["available_tools"] == json!(["t"]);
    poll_until(&bridge, "/sessions", fits).await;
    let both = async {
        tokio::join!(
            post_tool_call(&bridge, "t", json!({ "n": 1 })),
            page.echo_call()
        )
    };
    let ((status, answer), ()) = both.await;
    assert_eq!(status, 200);
    assert_ne!(answer["isError"], true, "{answer}");
}

#[tokio::test]
async fn a_conflicting_input_schema_is_rejected_and_earlier_ones_stay() {
    let bridge = start_bridge_with(compat()).await;
    let mut first = CompatPage::connect(&bridge, "a").await;
    first.register_tool(tool("t")).await;
    first
        .register_tool(json!({ "name": "bare", "description": "d" }))
        .await;
    first.wait_for_tool(&bridge, "bare").await;
    let mut second = CompatPage::connect(&bridge, "b").await;
    // The same schema, whatever else differs; none is an empty one.
    let mut alike = tool("t");
    alike["description"] = json!("another text");
    second.register_tool(alike).await;
    second
        .register_tool(json!({ "name": "bare", "description": "d", "inputSchema": {} }))
        .await;
    let mut other = tool("t");
    other["inputSchema"]["properties"] = json!({ "text": { "type": "string" } });
    second.register_tool(other).await;
    let told = second.recv().await;
    assert_eq!(told["type"], "tool-registration-error", "{told}");
    assert_eq!(
        (&told["toolName"], &told["error"]),
        (&json!("t"), &json!("ToolSchemaConflict"))
    );
    assert!(
        told["message"]
            .as_str()
            .unwrap()
            .contains("different schema"),
        "{told}"
    );
    let sessions = super::kit::wait_for_sessions(&bridge, 2).await;
    for session in &sessions {
        assert_eq!(session["available_tools"], json!(["t", "bare"]));
    }
    // Its own schema a page may change, once nobody else has the tool.
    second.close().await;
    super::kit::wait_for_sessions(&bridge, 1).await;
    first
        .register_tool(json!({ "name": "t", "description": "alone" }))
        .await;
    first.register_tool(tool("last")).await;
    first.wait_for_tool(&bridge, "last").await;
}

#[tokio::test]
async fn any_token_connects_from_loopback_origins_only_with_compat() {
    for (config, lets_in) in [(compat(), true), (crate::kit::test_config(), false)] {
        let config = bridge::Config {
            allowed_origins: vec!["https://app.example".to_owned()],
            ..config
        };
        let bridge = start_bridge_with(config).await;
        for origin in [
            None,
            Some("http://localhost:5173"),
            Some("http://127.0.0.1:9"),
        ] {
            let mut page = CompatPage::open_at(&bridge, "/?session=s", origin)
                .await
                .unwrap();
            page.authenticate("s", json!({ "authToken": "x" })).await;
            let told = page.recv().await;
            let welcome = told["type"] == "authenticated";
            assert_eq!(welcome, lets_in, "{origin:?}: {told}");
        }
        let mut page = CompatPage::open_at(&bridge, "/?session=s", Some("https://evil.example"))
            .await
            .unwrap();
        assert_eq!(page.recv().await["code"], "OriginNotAllowed");
        let mut page = CompatPage::open(&bridge, "t").await;
        page.authenticate("t", json!({ "authToken": "" })).await;
        assert_eq!(page.recv().await["code"], "MissingAuthentication");
    }
}
