//! Whatever a page registers, every list is valid for a strict client. `e2e/tests/clients` has the
//! clients themselves read the same set.

use std::collections::HashSet;

use bridge::PageLimits;
use bridge_protocol::{BridgeToPage, CallId, CallResponse, Kind, PageToBridge};
use bridge_schema::{Effort, Validator};
use raw_page::{control_definitions, register_strict_set, strict_set};
use serde_json::{Value, json};

use crate::kit::*;

/// The forms that a strict client accepts, as JSON Schemas: those of the TypeScript SDK, with what
/// Ajv throws for. Those of the stateless revision accept any output schema.
fn reader(kind: Kind, is_stateless: bool) -> Validator {
    let text = json!({ "type": "string" });
    let icons = json!({ "type": "array", "items": { "type": "object", "required": ["src"],
        "properties": { "src": text, "mimeType": text, "theme": { "enum": ["light", "dark"] },
            "sizes": { "type": "array", "items": text } } } });
    let annotations = json!({ "type": "object", "properties": {
        "audience": { "type": "array", "items": { "enum": ["user", "assistant"] } },
        "priority": { "type": "number", "minimum": 0, "maximum": 1 },
        "lastModified": { "type": "string", "format": "date-time", "pattern": "^\\d{4}-\\d\\d-\\d\\dT" },
    } });
    let boolean = json!({ "type": "boolean" });
    let tool_annotations = json!({ "type": "object", "properties": { "title": text,
        "readOnlyHint": boolean, "destructiveHint": boolean, "idempotentHint": boolean,
        "openWorldHint": boolean } });
    let arguments = json!({ "type": "array", "items": { "type": "object", "required": ["name"],
        "properties": { "name": text, "title": text, "description": text, "required": boolean } } });
    let root = json!({ "allOf": [{ "$ref": "#/$defs/schema" }, { "type": "object",
        "required": ["type"], "properties": { "type": { "const": "object" },
            "properties": { "additionalProperties": { "type": "object" } },
            "required": { "type": "array", "items": text } } }] });
    let mut output = json!({ "allOf": [root] });
    if !is_stateless {
        // References into definitions would be lost with them.
        output["properties"] = json!({ "additionalProperties": boolean,
            "properties": { "additionalProperties": { "$ref": "#/$defs/plain" } } });
    }
    let plain = json!({ "properties": { "$ref": { "pattern": "^#(/properties/.*|[^/].*|)$" } },
        "additionalProperties": { "$ref": "#/$defs/plain" } });
    let inner = json!({ "$ref": "#/$defs/schema" });
    let named = json!({ "type": "object", "additionalProperties": { "allOf": [{ "type": "object" }, inner] },
        "propertyNames": { "not": { "const": "__proto__" } } });
    let listed = json!({ "type": "array", "minItems": 1, "items": { "allOf": [{ "type": "object" }, inner] } });
    let object = json!({ "type": "object" });
    let schema = json!({ "type": ["object", "boolean"], "properties": {
        "id": false, "nullable": false, "$async": false, "formatMinimum": false,
        "enum": { "type": "array", "minItems": 1 }, "$ref": { "pattern": "^#" },
        "properties": named, "patternProperties": named, "$defs": named, "dependentSchemas": named,
        "allOf": listed, "anyOf": listed, "oneOf": listed, "prefixItems": listed,
        "items": inner, "additionalProperties": inner, "unevaluatedProperties": inner,
        "not": { "allOf": [object, inner] }, "if": { "allOf": [object, inner] },
        "contains": { "allOf": [object, inner] }, "propertyNames": { "allOf": [object, inner] },
    } });
    let mut fields = json!({ "name": text, "title": text, "description": text, "icons": icons,
        "_meta": object });
    let required = match kind {
        Kind::Tool => {
            fields["inputSchema"] = root;
            fields["outputSchema"] = output;
            fields["annotations"] = tool_annotations;
            fields["execution"] = json!(false);
            json!(["name", "inputSchema"])
        }
        Kind::Prompt => {
            fields["arguments"] = arguments;
            json!(["name"])
        }
        Kind::Resource => {
            fields["uri"] = json!({ "type": "string", "format": "uri" });
            fields["size"] = json!({ "type": "integer" });
            fields["mimeType"] = text;
            fields["annotations"] = annotations;
            json!(["uri", "name"])
        }
        Kind::ResourceTemplate => {
            fields["uriTemplate"] = text.clone();
            fields["mimeType"] = text;
            fields["annotations"] = annotations;
            json!(["uriTemplate", "name"])
        }
    };
    Validator::new(
        json!({ "type": "object", "properties": fields, "required": required,
        "$defs": { "schema": schema, "plain": plain } }),
    )
    .unwrap()
}

/// The list of one kind in both eras, page by page.
async fn listed(bridge: &bridge::ServerHandle, method: &str, field: &str) -> [Vec<Value>; 2] {
    let client = McpClient::connect(bridge, TOKEN).await;
    let modern = StatelessClient::with_capabilities(bridge, json!({}));
    let mut lists = [Vec::new(), Vec::new()];
    for (index, list) in lists.iter_mut().enumerate() {
        let mut params = json!({});
        loop {
            let answer = match index {
                0 => client.request(method, params).await,
                _ => modern.request(method, params).await,
            };
            let items = answer["result"][field].as_array();
            list.extend(items.unwrap_or_else(|| panic!("{answer}")).iter().cloned());
            match answer["result"].get("nextCursor") {
                Some(cursor) => params = json!({ "cursor": cursor }),
                None => break,
            }
        }
    }
    lists
}

#[tokio::test]
async fn every_list_is_valid_for_a_strict_client() {
    let mut config = test_config();
    config.page_limits = PageLimits {
        max_definitions: 20_000,
        max_definition_bytes: 32 * 1024 * 1024,
        ..PageLimits::default()
    };
    let bridge = start_bridge_with(config).await;
    let mut page = Page::connect(&bridge, "s", TOKEN).await;
    let control = page.register_items(&control_definitions()).await;
    assert!(control.errors.is_empty(), "{:?}", control.errors);
    let set = strict_set();
    let refusals = register_strict_set(&mut page, &set).await;
    let refused: HashSet<usize> = refusals.iter().map(|(index, _)| *index).collect();
    assert!(refused.len() > set.len() / 4, "{}", refused.len());
    assert!(refused.len() < set.len() * 3 / 4, "{}", refused.len());
    for (index, reason) in &refusals {
        assert!(reason.len() > 20, "{}: {reason}", set[*index].case);
    }
    let kinds = [
        (Kind::Tool, "tools/list", "tools", "name"),
        (Kind::Prompt, "prompts/list", "prompts", "name"),
        (Kind::Resource, "resources/list", "resources", "uri"),
        (
            Kind::ResourceTemplate,
            "resources/templates/list",
            "resourceTemplates",
            "uriTemplate",
        ),
    ];
    for (kind, method, field, key) in kinds {
        let expected: HashSet<&str> = (0..set.len())
            .filter(|index| set[*index].kind == kind && !refused.contains(index))
            .map(|index| set[index].definition[key].as_str().unwrap())
            .collect();
        assert!(!expected.is_empty());
        for (index, list) in listed(&bridge, method, field).await.into_iter().enumerate() {
            let reader = reader(kind, index == 1);
            let names: HashSet<&str> = list
                .iter()
                .map(|item| item[key].as_str().unwrap())
                .collect();
            for name in &expected {
                assert!(names.contains(name), "{method}: {name} is missing");
            }
            assert!(
                names.iter().any(|name| name.starts_with("control")),
                "{method}"
            );
            let unreadable: Vec<String> = list
                .iter()
                .filter_map(|item| {
                    let verdict = reader.try_validate(item, Effort::Full).unwrap();
                    verdict.err().map(|why| format!("{why}\n    {item}"))
                })
                .collect();
            assert!(unreadable.is_empty(), "{method}: {}", unreadable.join("\n"));
        }
    }
}

/// Content of a page, and what a client gets: the repaired content, or an error with this text.
fn content_cases() -> Vec<(Value, Result<Value, &'static str>)> {
    let image = |data: &str| json!({ "type": "image", "data": data, "mimeType": "image/png" });
    let resource = |resource: Value| json!({ "type": "resource", "resource": resource });
    let text =
        |annotations: Value| json!({ "type": "text", "text": "t", "annotations": annotations });
    vec![
        (image("AA+/"), Ok(image("AA+/"))),
        (image("data:image/png;base64,AA-_"), Ok(image("AA+/"))),
        (image(" AA\nA "), Ok(image("AAA="))),
        (image("%%%"), Err("not base64")),
        (image(""), Err("has no `data`")),
        (
            json!({ "type": "image", "data": "/9j/" }),
            Ok(json!({ "type": "image", "data": "/9j/",
            "mimeType": "image/jpeg" })),
        ),
        (
            json!({ "type": "audio", "data": "AAAA" }),
            Err("`mimeType`"),
        ),
        (
            json!({ "type": "audio", "data": "AAAA", "mimeType": 7 }),
            Err("`mimeType`"),
        ),
        (
            resource(json!({ "uri": "a:b", "blob": "data:a/b;base64,AA" })),
            Ok(resource(
                json!({ "uri": "a:b", "blob": "AA==", "mimeType": "a/b" }),
            )),
        ),
        (
            resource(json!({ "uri": "a:b", "blob": "no blob" })),
            Err("not base64"),
        ),
        (
            resource(json!({ "uri": "b", "text": "" })),
            Err("not a URI"),
        ),
        (
            json!({ "type": "resource_link", "uri": "a:b" }),
            Ok(json!({ "type": "resource_link", "uri": "a:b", "name": "a:b" })),
        ),
        (
            json!({ "type": "resource_link", "uri": "a://b:c", "name": "n" }),
            Err("host and port"),
        ),
        (
            text(json!({ "priority": 2, "lastModified": "2026-01-31" })),
            Ok(text(
                json!({ "priority": 1, "lastModified": "2026-01-31T00:00:00Z" }),
            )),
        ),
        (
            text(json!({ "lastModified": "yesterday" })),
            Err("toISOString"),
        ),
        (text(json!({ "priority": "high" })), Err("from 0 to 1")),
    ]
}

/// Answers the next call of any kind.
async fn answer_call(page: &mut Page, kind: Kind, block: &Value) {
    let id: CallId = page
        .recv_matching(|message| match message {
            BridgeToPage::ToolCall(call) => Some(call.request_id),
            BridgeToPage::PromptGet(get) => Some(get.request_id),
            BridgeToPage::ResourceRead(read) => Some(read.request_id),
            _ => None,
        })
        .await;
    let result = match kind {
        Kind::Tool => {
            let response = CallResponse {
                request_id: id,
                result: None,
                content: Some(raw_json(&json!([block]))),
                structured_content: None,
                meta: None,
            };
            return page.send(PageToBridge::CallResponse(response)).await;
        }
        Kind::Prompt => json!({ "messages": [{ "role": "user", "content": block }] }),
        _ => json!({ "contents": [block["resource"]] }),
    };
    page.respond_to(&id, result).await;
}

#[tokio::test]
async fn content_is_valid_for_a_strict_client_or_an_error_for_the_page() {
    let bridge = start_bridge().await;
    let mut page = Page::connect(&bridge, "s", TOKEN).await;
    let registered = page.register_items(&control_definitions()).await;
    assert!(registered.errors.is_empty(), "{:?}", registered.errors);
    let client = McpClient::connect(&bridge, TOKEN).await;
    for (block, expected) in content_cases() {
        let mut requests = vec![
            (
                Kind::Tool,
                "tools/call",
                json!({ "name": "control" }),
                "/result/content/0",
            ),
            (
                Kind::Prompt,
                "prompts/get",
                json!({ "name": "control" }),
                "/result/messages/0/content",
            ),
        ];
        if block["type"] == "resource" {
            let params = json!({ "uri": "control:it" });
            requests.push((
                Kind::Resource,
                "resources/read",
                params,
                "/result/contents/0",
            ));
        }
        for (kind, method, params, pointer) in requests {
            let handler = answer_call(&mut page, kind, &block);
            let (answer, ()) = tokio::join!(client.request(method, params), handler);
            match &expected {
                Ok(repaired) => {
                    let repaired = if kind == Kind::Resource {
                        &repaired["resource"]
                    } else {
                        repaired
                    };
                    assert_eq!(
                        answer.pointer(pointer),
                        Some(repaired),
                        "{method}: {answer}"
                    );
                }
                Err(why) => {
                    let text = answer.to_string();
                    assert!(text.contains("InvalidResult"), "{method} {block}: {answer}");
                    assert!(text.contains(why), "{method} {block}: {answer}");
                }
            }
        }
    }
}
