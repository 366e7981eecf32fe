//! The page socket with `--compat mcp-web`.

use serde_json::{Value, json};

use super::kit::{V1Page, compat, seen, tool};
use crate::kit::{bridge_with, tool_call};

#[tokio::test]
async fn a_null_error_key_marks_a_failure() {
    let bridge = bridge_with(compat()).await;
    let mut page = V1Page::connect(&bridge, "s").await;
    page.register_tool(tool("t")).await;
    let fits = |answer: &Value| answer["sessions"][0]["available_tools"] == json!(["t"]);
    seen(&bridge, "/sessions", fits).await;
    let reply = async {
        let call = page.call().await;
        page.respond(&call, json!({ "rows": [], "error": null }))
            .await;
    };
    let ((status, answer), ()) = tokio::join!(tool_call(&bridge, "t", json!({})), reply);
    assert_eq!(
        (status, &answer["isError"]),
        (200, &json!(true)),
        "{answer}"
    );
}

#[tokio::test]
async fn results_are_not_validated_against_output_schemas() {
    let bridge = bridge_with(compat()).await;
    let mut page = V1Page::connect(&bridge, "s").await;
    page.register_tool(json!({ "name": "t", "description": "d", "outputSchema":
        { "type": "object", "required": ["sum"] } }))
        .await;
    let fits = |answer: &Value| answer["sessions"][0]["available_tools"] == json!(["t"]);
    seen(&bridge, "/sessions", fits).await;
    let both = async { tokio::join!(tool_call(&bridge, "t", json!({ "n": 1 })), page.echo()) };
    let ((status, answer), ()) = both.await;
    assert_eq!(status, 200);
    assert_ne!(answer["isError"], true, "{answer}");
}

#[tokio::test]
async fn a_conflicting_input_schema_is_rejected_and_earlier_ones_stay() {
    let bridge = bridge_with(compat()).await;
    let mut first = V1Page::connect(&bridge, "a").await;
    first.register_tool(tool("t")).await;
    first
        .register_tool(json!({ "name": "bare", "description": "d" }))
        .await;
    first.settled(&bridge, "bare").await;
    let mut second = V1Page::connect(&bridge, "b").await;
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
    let told = second.hear().await;
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
    let sessions = super::kit::sessions(&bridge, 2).await;
    for session in &sessions {
        assert_eq!(session["available_tools"], json!(["t", "bare"]));
    }
    // Its own schema a page may change, once nobody else has the tool.
    second.go_away().await;
    super::kit::sessions(&bridge, 1).await;
    first
        .register_tool(json!({ "name": "t", "description": "alone" }))
        .await;
    first.register_tool(tool("last")).await;
    first.settled(&bridge, "last").await;
}

#[tokio::test]
async fn any_token_connects_from_loopback_origins_only_with_compat() {
    for (config, lets_in) in [(compat(), true), (crate::kit::on_free_port(), false)] {
        let config = bridge::Config {
            allowed_origins: vec!["https://app.example".to_owned()],
            ..config
        };
        let bridge = bridge_with(config).await;
        for origin in [
            None,
            Some("http://localhost:5173"),
            Some("http://127.0.0.1:9"),
        ] {
            let mut page = V1Page::open_at(&bridge, "/?session=s", origin)
                .await
                .unwrap();
            page.authenticate("s", json!({ "authToken": "x" })).await;
            let told = page.hear().await;
            let welcome = told["type"] == "authenticated";
            assert_eq!(welcome, lets_in, "{origin:?}: {told}");
        }
        let mut page = V1Page::open_at(&bridge, "/?session=s", Some("https://evil.example"))
            .await
            .unwrap();
        assert_eq!(page.hear().await["code"], "OriginNotAllowed");
        let mut page = V1Page::open(&bridge, "t").await;
        page.authenticate("t", json!({ "authToken": "" })).await;
        assert_eq!(page.hear().await["code"], "MissingAuthentication");
    }
}
