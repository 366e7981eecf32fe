//! Requests to Gemini.

use serde_json::{Value, json};

use super::{Format, check};

#[test]
fn gemini_has_thinking_by_model() {
    let level = |level: &str| json!({ "generationConfig": { "thinkingConfig": { "thinkingLevel": level } } });
    let budget = |budget: i64| json!({ "generationConfig": { "thinkingConfig": { "thinkingBudget": budget } } });
    let both = json!({ "generationConfig": { "thinkingConfig": { "thinkingBudget": 1, "thinkingLevel": "LOW" } } });
    check(
        Format::Gemini,
        vec![
            ("gemini-4-argon", json!({}), "ok"),
            ("gemini-4-argon", level("LOW"), "ok"),
            ("gemini-4-argon", level("MINIMAL"), "gemini.level"),
            ("gemini-4-argon", budget(0), "gemini.budget_unsupported"),
            ("gemini-4-argon", both, "gemini.level_and_budget"),
            ("gemini-3.8-flash", level("XHIGH"), "gemini.level"),
            ("gemini-4-neon", level("xhigh"), "ok"),
            ("gemini-3.5-flash-lite", level("MINIMAL"), "ok"),
            (
                "gemini-3.5-flash-lite",
                budget(1024),
                "gemini.budget_unsupported",
            ),
            (
                "gemini-2.5-flash-lite",
                level("LOW"),
                "gemini.level_unsupported",
            ),
            ("gemini-2.5-flash-lite", budget(0), "ok"),
            ("gemini-2.5-flash-lite", budget(256), "gemini.budget"),
            ("gemini-2.5-pro", budget(0), "gemini.budget_zero"),
            ("gemini-5-krypton", level("LOW"), "gemini.thinking_unknown"),
            ("gemini-2.0-flash", json!({}), "gemini.model"),
            (
                "gemini-3.8-flash",
                json!({ "generationConfig": { "temperature": 1 } }),
                "gemini.sampling_ignored",
            ),
            (
                "gemini-2.5-pro",
                json!({ "generationConfig": { "presencePenalty": 1 } }),
                "gemini.penalty",
            ),
        ],
    );
}

#[test]
fn gemini_has_tools_and_schemas() {
    let tools = |field: &str, schema: Value| json!([{ "functionDeclarations": [{ "name": "weather", field: schema }] }]);
    let object = || json!({ "type": "object", "properties": { "city": { "type": "string" } }, "additionalProperties": false });
    let config = |mode: &str| json!({ "functionCallingConfig": { "mode": mode } });
    let with = |mode: &str, json_answer: bool| {
        let mut body =
            json!({ "tools": tools("parametersJsonSchema", object()), "toolConfig": config(mode) });
        if json_answer {
            body["generationConfig"] =
                json!({ "responseMimeType": "application/json", "responseJsonSchema": object() });
        }
        body
    };
    let mut allowed = with("AUTO", false);
    allowed["toolConfig"]["functionCallingConfig"]["allowedFunctionNames"] = json!(["weather"]);
    let long = json!({ "type": "array", "items": { "type": "string" }, "maxItems": 1000 });
    check(
        Format::Gemini,
        vec![
            ("gemini-3.8-flash", with("ANY", false), "ok"),
            ("gemini-3.8-flash", with("VALIDATED", true), "ok"),
            ("gemini-3.8-flash", with("ANY", true), "gemini.forced_json"),
            ("gemini-2.5-flash", with("AUTO", true), "gemini.tools_json"),
            ("gemini-3.8-flash", allowed, "gemini.allowed_names"),
            (
                "gemini-3.8-flash",
                json!({ "toolConfig": config("NONE") }),
                "gemini.config_without_tools",
            ),
            (
                "gemini-3.8-flash",
                json!({ "tools": tools("parameters", object()) }),
                "gemini.schema",
            ),
            (
                "gemini-3.8-flash",
                json!({ "tools": tools("parametersJsonSchema", json!({ "type": "object", "properties": { "a": { "type": "string", "minLength": 1 } } })) }),
                "gemini.schema_ignored",
            ),
            (
                "gemini-3.8-flash",
                json!({ "tools": tools("parametersJsonSchema", json!({ "type": "array" })) }),
                "gemini.json_schema",
            ),
            (
                "gemini-3.8-flash",
                json!({ "tools": tools("parametersJsonSchema", long) }),
                "gemini.max_items",
            ),
            (
                "gemini-3.8-flash",
                json!({ "tools": tools("parametersJsonSchema", json!({ "type": "object", "oneOf": [{}] })) }),
                "gemini.root_union",
            ),
            (
                "gemini-3.8-flash",
                json!({ "tools": tools("parametersJsonSchema", json!({ "type": "object", "properties": { "a": { "type": ["string", "null"] } } })) }),
                "gemini.type_list",
            ),
            (
                "gemini-3.8-flash",
                json!({ "tools": tools("parametersJsonSchema", json!({ "type": "object", "properties": { "nullable": { "required": ["b"] } } })) }),
                "gemini.required_unknown",
            ),
            (
                "gemini-3.8-flash",
                json!({ "tools": tools("parametersJsonSchema", json!({ "type": "object", "properties": { "a": { "nullable": true } } })) }),
                "mock.open_api_field",
            ),
            (
                "gemini-3.8-flash",
                json!({ "generationConfig": { "responseJsonSchema": object() } }),
                "gemini.mime_required",
            ),
            (
                "gemini-3.8-flash",
                json!({ "temperature": 1 }),
                "gemini.unknown",
            ),
            (
                "gemini-3.8-flash",
                json!({ "cachedContent": "cachedContents/a", "tools": [] }),
                "gemini.cached_content",
            ),
        ],
    );
}

#[test]
fn gemini_checks_turns_and_signatures() {
    let user = |part: Value| json!({ "role": "user", "parts": [part] });
    let prompt = || user(json!({ "text": "What is there?" }));
    let call = |signature: Value| {
        let mut part = json!({ "functionCall": { "name": "weather", "args": {} } });
        if !signature.is_null() {
            part["thoughtSignature"] = signature;
        }
        json!({ "role": "model", "parts": [part] })
    };
    let skipped = || call(json!("c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="));
    let result = |response: Value| {
        user(json!({ "functionResponse": { "name": "weather", "response": response } }))
    };
    let other = || user(json!({ "functionResponse": { "name": "other", "response": {} } }));
    let good = || result(json!({ "output": "22 °C" }));
    let end = || json!({ "role": "model", "parts": [{ "text": "Sunny." }] });
    let pictured = || {
        user(
            json!({ "functionResponse": { "name": "weather", "response": {}, "parts": [{ "inlineData": { "mimeType": "image/png", "data": "AAAA" } }] } }),
        )
    };
    let rows = [
        ("gemini-4-argon", vec![prompt(), skipped(), good()], "ok"),
        (
            "gemini-4-argon",
            vec![prompt(), call(Value::Null), good()],
            "gemini.signature_missing",
        ),
        (
            "gemini-4-argon",
            vec![prompt(), call(json!("AAAA")), good()],
            "gemini.signature_foreign",
        ),
        (
            "gemini-4-argon",
            vec![prompt(), call(Value::Null), good(), end(), prompt()],
            "ok",
        ),
        (
            "gemini-2.5-flash",
            vec![prompt(), call(Value::Null), good()],
            "ok",
        ),
        (
            "gemini-4-argon",
            vec![prompt(), skipped()],
            "gemini.response_count",
        ),
        (
            "gemini-4-argon",
            vec![prompt(), skipped(), other()],
            "gemini.response_name",
        ),
        (
            "gemini-4-argon",
            vec![prompt(), good()],
            "gemini.response_turn",
        ),
        (
            "gemini-4-argon",
            vec![skipped(), good()],
            "gemini.call_turn",
        ),
        (
            "gemini-4-argon",
            vec![prompt(), skipped(), result(json!("22 °C"))],
            "gemini.response_object",
        ),
        (
            "gemini-4-argon",
            vec![prompt(), skipped(), result(json!({ "$ref": "#" }))],
            "gemini.response_ref",
        ),
        (
            "gemini-4-argon",
            vec![prompt(), skipped(), pictured()],
            "ok",
        ),
        (
            "gemini-2.5-flash",
            vec![prompt(), skipped(), pictured()],
            "gemini.response_media",
        ),
        ("gemini-4-argon", vec![prompt(), end()], "gemini.model_turn"),
        ("gemini-2.5-flash", vec![prompt(), end()], "ok"),
        (
            "gemini-4-argon",
            vec![user(
                json!({ "inline_data": { "mime_type": "image/png", "data": "AAAA" } }),
            )],
            "ok",
        ),
        (
            "gemini-4-argon",
            vec![user(json!({ "text": "" }))],
            "gemini.empty_part",
        ),
        (
            "gemini-4-argon",
            vec![json!({ "role": "system", "parts": [{ "text": "a" }] })],
            "gemini.role",
        ),
        ("gemini-4-argon", vec![], "gemini.contents"),
    ];
    let rows =
        rows.map(|(model, contents, expected)| (model, json!({ "contents": contents }), expected));
    check(Format::Gemini, rows.into());
}

#[test]
fn malformed_requests_to_gemini_are_refused() {
    let part = |part: Value| json!({ "contents": [{ "role": "user", "parts": [part] }] });
    let tool = |tool: Value| json!({ "tools": [{ "functionDeclarations": [tool] }] });
    let mut allowed = tool(json!({ "name": "a" }));
    allowed["toolConfig"] =
        json!({ "functionCallingConfig": { "mode": "ANY", "allowedFunctionNames": ["b"] } });
    let object = json!({ "type": "object" });
    let schemas = json!({ "name": "a", "parameters": object, "parametersJsonSchema": object });
    check(
        Format::Gemini,
        vec![
            (
                "gemini-3.8-flash",
                part(json!({ "text": "a", "functionCall": { "name": "a" } })),
                "gemini.part_data",
            ),
            (
                "gemini-3.8-flash",
                part(json!({ "functionCall": { "name": "a", "args": "{}" } })),
                "gemini.args_object",
            ),
            ("gemini-3.8-flash", allowed, "gemini.allowed_unknown"),
            (
                "gemini-3.8-flash",
                tool(json!({ "name": "1 a" })),
                "gemini.tool_name",
            ),
            ("gemini-3.8-flash", tool(schemas), "gemini.both_schemas"),
        ],
    );
}
