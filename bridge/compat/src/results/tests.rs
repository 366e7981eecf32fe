use serde_json::Value;

use super::*;

fn value_result(raw: &str) -> Value {
    let raw: Box<RawValue> = serde_json::from_str(raw).unwrap();
    outcome_result(CallOutcome::Answered(PageAnswer::Value(Some(raw.into()))))
}

fn outcome_result(ending: CallOutcome) -> Value {
    let mut out = Vec::new();
    ResultWriter::new(10_000).write_outcome(ending, &mut out);
    let text = String::from_utf8(out).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn text_result(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

#[test]
fn each_kind_of_value_is_written_as_expected() {
    assert_eq!(
        outcome_result(CallOutcome::Answered(PageAnswer::Value(None))),
        text_result("")
    );
    let cases = [
        ("null", ""),
        ("\"a\\nb\\u00e9\"", "a\nbé"),
        ("1.0", "1"),
        ("true", "true"),
        ("[]", "[]"),
        ("{}", "{}"),
        (
            "{\"z\":1,\"a\":{\"error\":null}}",
            "{\n  \"z\": 1,\n  \"a\": {\n    \"error\": null\n  }\n}",
        ),
    ];
    for (raw, expected) in cases {
        assert_eq!(value_result(raw), text_result(expected), "{raw}");
    }
}

#[test]
fn an_error_key_makes_the_whole_value_a_failure() {
    for (raw, printed) in [
        (
            r#"{"a":1,"error":"no","_meta":{"k":1}}"#,
            "{\n  \"a\": 1,\n  \"error\": \"no\",\n  \"_meta\": {\n    \"k\": 1\n  }\n}",
        ),
        (r#"{"error":null}"#, "{\n  \"error\": null\n}"),
        (r#"{"\u0065rror":0}"#, "{\n  \"error\": 0\n}"),
    ] {
        let mut expected = text_result(printed);
        expected["isError"] = json!(true);
        assert_eq!(value_result(raw), expected, "{raw}");
    }
}

#[test]
fn meta_moves_to_the_result_if_it_is_an_object() {
    let mut expected = text_result("{\n  \"b\": 1,\n  \"a\": 2.5\n}");
    assert_eq!(value_result(r#"{"b":1,"_meta":[7],"a":2.50}"#), expected);
    expected["_meta"] = json!({ "k": 1 });
    assert_eq!(
        value_result(r#"{"b":1,"_meta":{"k":1},"a":2.50}"#),
        expected
    );
}

#[test]
fn a_data_url_becomes_an_image_and_the_rest_is_dropped() {
    let image = json!([{ "type": "image", "data": "AAAA", "mimeType": "image/png" }]);
    assert_eq!(
        value_result(r#""data:image/png;base64,AAAA""#),
        json!({ "content": image })
    );
    assert_eq!(
        value_result(r#""data:image\/png;base64,AAAA""#),
        json!({ "content": image })
    );
    assert_eq!(
        value_result(r#"{"dataUrl":"data:image/png;base64,AAAA","x":1,"_meta":{"k":1}}"#),
        json!({ "content": image, "_meta": { "k": 1 } })
    );
    let other = r#"{"dataUrl":"data:text/plain,x"}"#;
    assert_eq!(
        value_result(other),
        text_result("{\n  \"dataUrl\": \"data:text/plain,x\"\n}")
    );
}

#[test]
fn failures_have_the_texts_that_clients_expect() {
    let failed = |code, message: &str| {
        let failure = CallFailure::new(code, message.to_owned());
        outcome_result(CallOutcome::Failed(failure))["content"][0]["text"].clone()
    };
    assert_eq!(
        failed(ErrorCode::CallTimeout, "…"),
        "{\n  \"error\": \"Tool call timeout\"\n}"
    );
    assert_eq!(
        failed(ErrorCode::PageGone, "…"),
        "{\n  \"error\": \"Session not available\"\n}"
    );
    assert_eq!(
        failed(ErrorCode::HandlerFailed, "no"),
        "{\n  \"error\": \"no\"\n}"
    );
}

#[test]
fn structured_content_is_written_only_without_content_blocks() {
    let blocks = |content: &str| {
        let raw = |json: &str| RawValue::from_string(json.to_owned()).unwrap();
        outcome_result(CallOutcome::Answered(PageAnswer::Content {
            content: raw(content),
            structured: Some(raw("{\"a\":1}")),
            meta: Some(raw("{\"k\":1}")),
        }))
    };
    let shown = blocks(r#"[{"type":"text","text":"t"}]"#);
    assert_eq!(
        shown,
        json!({ "content": [{ "type": "text", "text": "t" }], "_meta": { "k": 1 } })
    );
    assert_eq!(blocks("[]")["content"][0]["text"], "{\n  \"a\": 1\n}");
}

#[test]
fn a_result_too_large_when_indented_is_an_error() {
    let deep = "[".repeat(300) + &"]".repeat(300);
    let raw: Box<RawValue> = serde_json::from_str(&deep).unwrap();
    let answer = PageAnswer::Value(Some(raw.into()));
    let mut out = b"before".to_vec();
    ResultWriter::new(10_000).write_outcome(CallOutcome::Answered(answer), &mut out);
    let shown: Value = serde_json::from_slice(&out["before".len()..]).unwrap();
    assert_eq!(shown["isError"], true);
    assert!(
        shown["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("ResultTooLarge")
    );
}
