//! Validation of arguments and results against their schemas, from the view of clients.

use std::time::{Duration, Instant};

use futures_util::future::{join, join_all};
use serde_json::{Value, json};

use crate::kit::*;

fn tool_with(name: &str, schema: Value) -> Value {
    json!({ "name": name, "inputSchema": { "type": "object", "properties": { "v": schema } } })
}

#[tokio::test]
async fn argument_violations_name_path_and_rule_and_never_reach_the_page() {
    let cases = [
        (
            json!({ "items": { "properties": { "id": { "type": "integer" } } } }),
            json!([{ "id": 1 }, { "id": "x" }]),
            "at /v/1/id:",
            "(rule /properties/v/items/properties/id/type)",
        ),
        (
            json!({ "format": "date" }),
            json!("tomorrow"),
            "at /v:",
            "(rule /properties/v/format)",
        ),
        (
            json!({ "enum": ["a", "b"] }),
            json!("c"),
            "at /v:",
            "(rule /properties/v/enum)",
        ),
        (
            json!({ "pattern": "^(a+)+$" }),
            json!("a".repeat(30_000) + "!"),
            "at /v:",
            "(rule /properties/v/pattern)",
        ),
        (
            json!({ "additionalProperties": false }),
            json!({ "x": 1 }),
            "at /v:",
            "(rule /properties/v/additionalProperties)",
        ),
        (
            json!({ "items": [{ "type": "string" }], "additionalItems": false }),
            json!(["a", 1]),
            "at /v/1:",
            "(rule /properties/v/items)",
        ),
        (
            json!({ "if": { "minimum": 10 }, "then": { "multipleOf": 10 } }),
            json!(15),
            "at /v:",
            "then/multipleOf)",
        ),
        (
            json!({ "oneOf": [{ "type": "string" }, { "type": "integer" }] }),
            json!(true),
            "at /v:",
            "(rule /properties/v/oneOf)",
        ),
        (
            json!({ "not": {} }),
            json!(1),
            "at /v:",
            "(rule /properties/v/not)",
        ),
        (
            json!({ "uniqueItems": true }),
            json!([1, 1]),
            "at /v:",
            "(rule /properties/v/uniqueItems)",
        ),
    ];
    let bridge = start_bridge().await;
    let tools: Vec<_> = cases
        .iter()
        .enumerate()
        .map(|(n, case)| tool_with(&format!("t{n}"), case.0.clone()))
        .collect();
    let mut page = Page::with_tools(&bridge, "s", &tools).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    for (n, (_, value, path, rule)) in cases.iter().enumerate() {
        let answer = client.call(&format!("t{n}"), json!({ "v": value })).await;
        let result = &answer["result"];
        assert_eq!(result["isError"], true, "{answer}");
        assert_eq!(error_code(result), Some("InvalidArguments"));
        let text = result_text(result);
        assert!(text.contains(path) && text.contains(rule), "{text}");
    }
    // Only valid calls reach the page.
    let valid = client.call("t1", json!({ "v": "2026-11-21" }));
    let (_, call) = join(valid, page.serve_call(json!("done"))).await;
    assert_eq!(call.tool_input.get(), r#"{"v":"2026-11-21"}"#);
}

#[tokio::test]
async fn result_violations_name_path_and_rule() {
    let bridge = start_bridge().await;
    let output = json!({ "type": "object", "properties": { "at": { "format": "date-time" } }, "required": ["n"] });
    let mut page = Page::with_tools(
        &bridge,
        "s",
        &[json!({ "name": "t", "outputSchema": output })],
    )
    .await;
    let handler = page.serve_call(json!({ "at": "noon" }));
    let ((_, answer), _call) = join(post_tool_call(&bridge, "t", json!({})), handler).await;
    assert_eq!(error_code(&answer), Some("InvalidResult"));
    let text = result_text(&answer);
    for part in ["at /at:", "/properties/at/format", "at /:", "/required"] {
        assert!(text.contains(part), "{text}");
    }
}

/// Tools with schemas that are expensive to validate, each with an expensive value. All values are
/// rejected, most of them because of the estimated cost and before validation starts.
fn hostile_tools() -> Vec<(Value, Value)> {
    let ints = json!((0..60_000).collect::<Vec<_>>());
    let all_minimum = json!({ "allOf": vec![json!({ "minimum": 0 }); 4_000] });
    let names: serde_json::Map<_, _> = (0..60)
        .map(|n| (format!("^(x|y|{n})*[a-z]{{1,20}}$"), json!({})))
        .collect();
    let marking = (0..7).fold(json!({}), |inner, n| {
        let known = json!({ "properties": { format!("p{n}"): {} } });
        json!({ "allOf": [inner, known], "unevaluatedProperties": { "type": "integer" } })
    });
    let keys: serde_json::Map<_, _> = (0..1_000).map(|n| (format!("key-{n}"), json!(n))).collect();
    let deep = (0..50).fold(json!(1), |inner, _| json!({ "v": inner }));
    let twice = json!({ "anyOf": [{ "$ref": "#" }, { "$ref": "#" }] });
    vec![
        (
            tool_with("many", json!({ "items": all_minimum })),
            ints.clone(),
        ),
        (
            tool_with(
                "enum",
                json!({ "items": { "enum": (100_000..110_000).collect::<Vec<_>>() } }),
            ),
            ints.clone(),
        ),
        (
            tool_with(
                "contains",
                json!({ "allOf": vec![json!({ "contains": { "const": -1 } }); 300] }),
            ),
            ints,
        ),
        (
            tool_with(
                "names",
                json!({ "patternProperties": names, "minProperties": 9_999 }),
            ),
            json!(keys.clone()),
        ),
        (
            tool_with("marking-1", json!({ "not": marking })),
            json!(keys),
        ),
        (
            tool_with("marking-2", json!({ "not": marking })),
            json!(keys),
        ),
        (
            tool_with("marking-3", json!({ "not": marking })),
            json!(keys),
        ),
        (
            tool_with("text", json!({ "pattern": "^(.{1,99}x){1,9}$" })),
            json!("a".repeat(700_000)),
        ),
        (
            tool_with("unique", json!({ "uniqueItems": true })),
            json!(vec![json!({ "a": [1, 2] }); 50_000]),
        ),
        (tool_with("doubling", twice), deep),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_schemas_do_not_delay_other_calls() {
    /// A call takes milliseconds. If validation ran on the threads that serve sockets, the
    /// `marking` schemas would block everything for several seconds.
    const MAX_CALL_TIME: Duration = Duration::from_secs(2);
    let bridge = start_bridge().await;
    let hostile = hostile_tools();
    let mut tools: Vec<_> = hostile.iter().map(|(tool, _)| tool.clone()).collect();
    tools.push(echo_tool());
    let mut page = Page::connect(&bridge, "s", TOKEN).await;
    let registered = page.register(&tools).await;
    assert!(registered.errors.is_empty(), "{:?}", registered.errors);

    let attacks = join_all(hostile.iter().map(|(tool, value)| {
        let name = tool["name"].as_str().unwrap();
        post_tool_call(&bridge, name, json!({ "v": value }))
    }));
    let other_calls = async {
        for n in 0..50 {
            let started = Instant::now();
            let ((_, answer), ()) = join(
                post_tool_call(&bridge, "echo", json!({ "n": n })),
                page.echo_call(),
            )
            .await;
            assert_eq!(answer["structuredContent"]["n"], n);
            let elapsed = started.elapsed();
            assert!(elapsed < MAX_CALL_TIME, "call {n}: {elapsed:?}");
        }
    };
    let (answers, ()) = join(attacks, other_calls).await;
    for ((_, answer), (tool, _)) in answers.iter().zip(&hostile) {
        let code = error_code(answer);
        assert_eq!(code, Some("InvalidArguments"), "{}: {answer}", tool["name"]);
        assert!(result_text(answer).len() < 5_000);
    }
}
