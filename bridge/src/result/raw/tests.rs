use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::result::size;

fn raw(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).unwrap()
}

/// What a client gets, in every way that it is written.
fn written(result: &ToolResult) -> String {
    let mut members = b"{".to_vec();
    result.write_members(&mut members);
    members.push(b'}');
    let written = String::from_utf8(members).unwrap();
    assert_eq!(written, serde_json::to_string(result).unwrap());
    assert_eq!(written.len(), size::encoded(result));
    assert_eq!(written.len(), size::of(result));
    let whole = result.written(b"head {".to_vec(), b",\"a\":1} tail");
    assert_eq!(
        whole.len(),
        "head ".len() + written.len() + ",\"a\":1 tail".len()
    );
    let whole = String::from_utf8(whole.into_vec()).unwrap();
    let members = &written[..written.len() - 1];
    assert_eq!(whole, format!("head {members},\"a\":1}} tail"));
    assert!(!size::is_surely_within(result, written.len() - 1));
    written
}

/// The same by the way of values.
fn by_values(json: &str) -> String {
    written(&ToolResult::from_value(Some(
        serde_json::from_str(json).unwrap(),
    )))
}

fn by_text(json: &str) -> ToolResult {
    ToolResult::of_value(Some(raw(json).into())).unwrap()
}

/// From within a message. `None`: the value has to be looked into.
fn within(json: &str) -> Option<ToolResult> {
    let message = format!("{{\"result\":{json}}}").into();
    let (value, behind) = Within::read(&message, "{\"result\":".len())?;
    assert_eq!(behind, "}");
    let result = ToolResult::of_value(Some(Json::Within(Box::new(value)))).unwrap();
    (json != "null").then_some(result)
}

fn check_same(json: &str) {
    for result in [Some(by_text(json)), within(json)].into_iter().flatten() {
        assert_eq!(written(&result), by_values(json), "{json}");
        assert_eq!(written(&result.read()), by_values(json), "{json}");
    }
}

#[test]
fn each_kind_of_value_has_the_shape_that_its_value_would_have() {
    for json in [
        "null",
        "true",
        "-0.5",
        "[]",
        "{}",
        r#""""#,
        r#""a\"\\\n\u0001é😀""#,
        r#""\ud83d\ude00\/""#,
        r#"[1,"a",{"_meta":{"b":1}}]"#,
        r#"{"z":1,"a":{"error":null},"text":"\"quoted\"\\"}"#,
        r#"{"_meta":{"k":1},"a":2}"#,
        r#"{"a":2,"_meta":3}"#,
        r#"{"\u005fmeta":{"k":1}}"#,
        r#"{"dataUrl":"data:image/png;base64,AAAA","_meta":{"k":1}}"#,
        r#"{"dataUrl":"data:text/plain,AAAA"}"#,
        r#""data:image/png;base64,AAAA""#,
        r#""data:image\/png;base64,AAAA""#,
        r#"{ "data" : [ 1 , {"_meta" : " "} ], "dataUrl"
            : "data:image/png;base64,AAAA" }"#,
        r#""data:image/png,AAAA""#,
    ] {
        check_same(json);
    }
}

#[tokio::test]
async fn what_lies_in_its_message_goes_out_in_pieces_of_the_length_that_was_told() {
    let text = "a \\\"b\\\" é\\n".repeat(100_000);
    for (json, is_copied) in [
        (format!("\"{text}\""), false),
        (format!("{{\"text\":\"{text}\"}}"), true),
        (format!("[\"{text}\"]"), true),
    ] {
        let result = within(&json).unwrap();
        assert!(result.is_within() && !by_text(&json).is_within());
        let written = result.written(b"{".to_vec(), b"}");
        let length = written.len();
        let body = axum::body::Body::from(written);
        assert_eq!(
            http_body::Body::size_hint(&body).exact(),
            Some(length as u64)
        );
        let mut frames = body.into_data_stream();
        let (mut whole, mut longest) = (Vec::new(), 0);
        while let Some(piece) = futures_util::StreamExt::next(&mut frames).await {
            let piece = piece.unwrap();
            longest = longest.max(piece.len());
            whole.extend_from_slice(&piece);
        }
        assert_eq!(String::from_utf8(whole).unwrap(), by_values(&json));
        assert_eq!(longest >= json.len(), !is_copied || json.starts_with('{'));
    }
}

/// What a value would have lost: nothing is lost any more.
#[test]
fn numbers_and_names_are_as_the_page_wrote_them() {
    for json in [
        "1e999",
        "[1.50,12345678901234567890123]",
        r#"{"a":1,"a":2}"#,
    ] {
        let written: Value = serde_json::from_str(&written(&by_text(json))).unwrap_or_default();
        if let Some(text) = written["content"][0]["text"].as_str() {
            assert_eq!(text, json);
        }
    }
    let result = by_text(r#"{"n":1e999}"#);
    let text =
        r#"{"content":[{"type":"text","text":"{\"n\":1e999}"}],"structuredContent":{"n":1e999}}"#;
    assert_eq!(written(&result), text);
    // A reader who needs values hears why there are none.
    let unreadable = result.read();
    assert!(unreadable.failed_with(bridge_protocol::ErrorCode::InvalidResult));
}

#[test]
fn complete_blocks_go_on_as_they_came_and_others_are_told() {
    let content = r#"[{"type":"text","text":"a\"b"},{"type":"image","data":"AA","mimeType":"image/png"},
        {"type":"resource_link","uri":"a:b","name":"n","annotations":{"priority":0.50}}]"#;
    let of = |content: &str, structured: Option<&str>, meta: Option<&str>| {
        ToolResult::of_blocks(raw(content), structured.map(raw), meta.map(raw))
    };
    let result = of(content, Some(r#"{"n":1.50}"#), Some(r#"{"m":1}"#)).unwrap();
    let expected: Vec<_> = content.lines().map(str::trim_start).collect();
    let expected = format!(
        r#"{{"content":{},"structuredContent":{{"n":1.50}},"_meta":{{"m":1}}}}"#,
        expected.concat()
    );
    assert_eq!(written(&result), expected);
    assert_eq!(result.read().content.len(), 3);
    for (content, structured, meta, why) in [
        ("{}", None, None, "`content` must be an array"),
        (r#"[{"type":"x"}]"#, None, None, "block 0 has no known"),
        (r#"[{"type":"text","text":1}]"#, None, None, "`/text`"),
        (
            r#"[["text","t",null,null,null,null]]"#,
            None,
            None,
            "block 0 has no known",
        ),
        ("[]", Some("[]"), None, "`structuredContent` must"),
        ("[]", None, Some("1"), "`_meta` must"),
    ] {
        let error = of(content, structured, meta).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
    let resource = r#"[{"type":"resource","resource":{"uri":"a:b","text":"t"}}]"#;
    let result = of(resource, None, Some("null")).unwrap();
    assert_eq!(written(&result), format!(r#"{{"content":{resource}}}"#));
}

/// Values as pages have them. Numbers are such that one way of writing them is the usual one.
fn any_value() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        "\\PC{0,8}",
        any::<String>(),
        Just("_meta".to_owned()),
        Just("dataUrl".to_owned()),
        Just("data:image/png;base64,AAAA".to_owned()),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, move |inner| {
        let fields = proptest::collection::vec((text.clone(), inner.clone()), 0..6);
        prop_oneof![
            proptest::collection::vec(inner, 0..6).prop_map(Value::from),
            fields.prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// The same text with each character of its strings escaped that `picked` picks.
fn escaped(json: &str, picked: impl Fn(usize) -> bool) -> String {
    let mut units = [0; 2];
    let mut escaped = String::new();
    for (at, character) in json.char_indices() {
        if !character.is_ascii() && picked(at) {
            for unit in character.encode_utf16(&mut units) {
                escaped += &format!("\\u{unit:04X}");
            }
        } else if character == '/' && picked(at) {
            escaped += "\\/";
        } else {
            escaped.push(character);
        }
    }
    escaped
}

proptest! {
    #[test]
    fn the_way_of_the_text_and_that_of_the_value_give_the_same_bytes(value in any_value(), pick: usize) {
        let compact = value.to_string();
        check_same(&compact);
        let pretty = serde_json::to_string_pretty(&value).unwrap();
        check_same(&pretty);
        check_same(&escaped(&pretty, |at| (at ^ pick) % 3 == 0));
        check_same(&escaped(&compact, |_| true));
    }

    #[test]
    fn blocks_too(texts in proptest::collection::vec(any::<String>(), 0..4), value in any_value()) {
        let blocks = texts.iter().map(|text| json!({ "type": "text", "text": text, "_meta": { "m": value } }));
        let blocks = Value::from_iter(blocks);
        let structured = value.is_object().then_some(value);
        let meta = structured.clone();
        let of_text = |value: &Option<Value>| value.as_ref().map(|it| raw(&it.to_string()));
        let by_text = ToolResult::of_blocks(
            raw(&serde_json::to_string_pretty(&blocks).unwrap()),
            of_text(&structured),
            of_text(&meta),
        );
        let by_values = ToolResult::from_content(blocks, structured, meta);
        prop_assert_eq!(written(&by_text.unwrap()), written(&by_values.unwrap()));
    }
}
