use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::encoded_size;
use crate::tool_result::CallToolResult;

fn raw_value(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).unwrap()
}

/// Encodes a result in every supported way and checks that all of them agree.
fn encode_every_way(result: &CallToolResult) -> String {
    let mut members = b"{".to_vec();
    result.write_members(&mut members);
    members.push(b'}');
    let written = String::from_utf8(members).unwrap();
    assert_eq!(written, serde_json::to_string(result).unwrap());
    let len_in_event = written.len() + event_data::added_bytes(written.as_bytes());
    assert_eq!(len_in_event, encoded_size::encoded_len(result));
    assert_eq!(len_in_event, encoded_size::result_len(result));
    let whole = result.encode_body(b"head {".to_vec(), b",\"a\":1} tail");
    assert_eq!(
        whole.encoded_len(),
        "head ".len() + written.len() + ",\"a\":1 tail".len()
    );
    let whole = String::from_utf8(whole.into_vec()).unwrap();
    let members = &written[..written.len() - 1];
    assert_eq!(whole, format!("head {members},\"a\":1}} tail"));
    assert!(!encoded_size::fits_within(result, len_in_event - 1));
    written
}

/// Encodes a result that was built from values.
fn encode_via_values(json: &str) -> String {
    encode_every_way(&CallToolResult::from_value(Some(
        serde_json::from_str(json).unwrap(),
    )))
}

fn result_from_text(json: &str) -> CallToolResult {
    CallToolResult::from_raw_json(Some(raw_value(json).into())).unwrap()
}

/// A result whose value is a slice of a message. `None` if the value has to be parsed.
fn result_from_slice(json: &str) -> Option<CallToolResult> {
    let message = format!("{{\"result\":{json}}}").into();
    let (value, behind) = JsonSlice::parse_at(&message, "{\"result\":".len())?;
    assert_eq!(behind, "}");
    let result = CallToolResult::from_raw_json(Some(RawJson::Borrowed(Box::new(value)))).unwrap();
    (json != "null").then_some(result)
}

fn assert_same_encoding(json: &str) {
    for result in [Some(result_from_text(json)), result_from_slice(json)]
        .into_iter()
        .flatten()
    {
        assert_eq!(encode_every_way(&result), encode_via_values(json), "{json}");
        assert_eq!(
            encode_every_way(&result.into_parsed().into()),
            encode_via_values(json),
            "{json}"
        );
    }
}

#[test]
fn each_kind_of_value_encodes_as_its_parsed_value_does() {
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
        assert_same_encoding(json);
    }
}

#[tokio::test]
async fn borrowed_results_stream_in_segments_of_the_announced_length() {
    let text = "a \\\"b\\\" é\\n".repeat(80_000);
    for (json, is_copied) in [
        (format!("\"{text}\""), false),
        (format!("{{\"text\":\"{text}\"}}"), true),
        (format!("[\"{text}\"]"), true),
    ] {
        let result = result_from_slice(&json).unwrap();
        assert!(result.is_borrowed() && !result_from_text(&json).is_borrowed());
        let written = result.encode_body(b"{".to_vec(), b"}");
        let length = written.encoded_len();
        assert_eq!(
            http_body::Body::size_hint(&written).exact(),
            Some(length as u64)
        );
        let mut frames = http_body_util::BodyDataStream::new(written);
        let (mut whole, mut longest) = (Vec::new(), 0);
        while let Some(piece) = futures_util::StreamExt::next(&mut frames).await {
            let piece = piece.unwrap();
            longest = longest.max(piece.len());
            whole.extend_from_slice(&piece);
        }
        assert_eq!(String::from_utf8(whole).unwrap(), encode_via_values(&json));
        assert_eq!(longest >= json.len(), !is_copied || json.starts_with('{'));
    }
}

/// The text is forwarded unchanged, so numbers outside the range of `f64` and duplicate keys are
/// preserved.
#[test]
fn numbers_and_names_are_as_the_page_wrote_them() {
    for json in [
        "1e999",
        "[1.50,12345678901234567890123]",
        r#"{"a":1,"a":2}"#,
    ] {
        let written: Value =
            serde_json::from_str(&encode_every_way(&result_from_text(json))).unwrap_or_default();
        if let Some(text) = written["content"][0]["text"].as_str() {
            assert_eq!(text, json);
        }
    }
    let result = result_from_text(r#"{"n":1e999}"#);
    let text =
        r#"{"content":[{"type":"text","text":"{\"n\":1e999}"}],"structuredContent":{"n":1e999}}"#;
    assert_eq!(encode_every_way(&result), text);
    // Parsing such a result gives a failure with the reason.
    let unreadable = CallToolResult::from(result.into_parsed());
    assert!(unreadable.has_error_code(bridge_protocol::ErrorCode::InvalidResult));
}

#[test]
fn valid_blocks_pass_through_and_invalid_ones_are_errors() {
    let content = r#"[{"type":"text","text":"a\"b"},{"type":"image","data":"AA==","mimeType":"image/png"},
        {"type":"resource_link","uri":"a:b","name":"n","annotations":{"priority":0.50}}]"#;
    let of = |content: &str, structured: Option<&str>, meta: Option<&str>| {
        CallToolResult::from_raw_content(
            raw_value(content),
            structured.map(raw_value),
            meta.map(raw_value),
        )
    };
    let result = of(content, Some(r#"{"n":1.50}"#), Some(r#"{"m":1}"#)).unwrap();
    let expected: Vec<_> = content.lines().map(str::trim_start).collect();
    let expected = format!(
        r#"{{"content":{},"structuredContent":{{"n":1.50}},"_meta":{{"m":1}}}}"#,
        expected.concat()
    );
    assert_eq!(encode_every_way(&result), expected);
    assert_eq!(result.into_parsed().content.len(), 3);
    for (content, structured, meta, why) in [
        ("{}", None, None, "`content` must be an array"),
        (r#"[{"type":"x"}]"#, None, None, "block 0 has no known"),
        (r#"[{"type":"text","text":1}]"#, None, None, "`text`"),
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
    assert_eq!(
        encode_every_way(&result),
        format!(r#"{{"content":{resource}}}"#)
    );
}

/// Values as pages send them. Their numbers have only one usual notation.
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

/// Returns the text with those characters of its strings escaped for which `picked` is true.
fn with_escapes(json: &str, picked: impl Fn(usize) -> bool) -> String {
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
        assert_same_encoding(&compact);
        let pretty = serde_json::to_string_pretty(&value).unwrap();
        assert_same_encoding(&pretty);
        assert_same_encoding(&with_escapes(&pretty, |at| (at ^ pick) % 3 == 0));
        assert_same_encoding(&with_escapes(&compact, |_| true));
    }

    #[test]
    fn blocks_too(texts in proptest::collection::vec(any::<String>(), 0..4), value in any_value()) {
        let blocks = texts.iter().map(|text| json!({ "type": "text", "text": text, "_meta": { "m": value } }));
        let blocks = Value::from_iter(blocks);
        let structured = value.is_object().then_some(value);
        let meta = structured.clone();
        let of_text = |value: &Option<Value>| value.as_ref().map(|it| raw_value(&it.to_string()));
        let by_text = CallToolResult::from_raw_content(
            raw_value(&serde_json::to_string_pretty(&blocks).unwrap()),
            of_text(&structured),
            of_text(&meta),
        );
        let by_values = CallToolResult::from_content(blocks, structured, meta);
        prop_assert_eq!(encode_every_way(&by_text.unwrap()), encode_every_way(&by_values.unwrap()));
    }
}
