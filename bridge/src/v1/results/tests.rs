use serde_json::Value;

use super::*;

fn shown(raw: &str) -> Value {
    let raw: Box<RawValue> = serde_json::from_str(raw).unwrap();
    shown_ending(Ending::Answered(Answer::Value(Some(raw.into()))))
}

fn shown_ending(ending: Ending) -> Value {
    let mut out = Vec::new();
    Results::new(10_000).called(ending, &mut out);
    let text = String::from_utf8(out).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn text(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

#[test]
fn each_kind_of_value_has_its_shape() {
    assert_eq!(
        shown_ending(Ending::Answered(Answer::Value(None))),
        text("")
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
        assert_eq!(shown(raw), text(expected), "{raw}");
    }
}

#[test]
fn an_error_of_its_own_makes_a_failure_of_all_of_it() {
    for (raw, printed) in [
        (
            r#"{"a":1,"error":"no","_meta":{"k":1}}"#,
            "{\n  \"a\": 1,\n  \"error\": \"no\",\n  \"_meta\": {\n    \"k\": 1\n  }\n}",
        ),
        (r#"{"error":null}"#, "{\n  \"error\": null\n}"),
        (r#"{"\u0065rror":0}"#, "{\n  \"error\": 0\n}"),
    ] {
        let mut expected = text(printed);
        expected["isError"] = json!(true);
        assert_eq!(shown(raw), expected, "{raw}");
    }
}

#[test]
fn meta_is_lifted_where_it_is_an_object() {
    let mut expected = text("{\n  \"b\": 1,\n  \"a\": 2.5\n}");
    assert_eq!(shown(r#"{"b":1,"_meta":[7],"a":2.50}"#), expected);
    expected["_meta"] = json!({ "k": 1 });
    assert_eq!(shown(r#"{"b":1,"_meta":{"k":1},"a":2.50}"#), expected);
}

#[test]
fn a_data_url_is_an_image_and_the_rest_is_dropped() {
    let image = json!([{ "type": "image", "data": "AAAA", "mimeType": "image/png" }]);
    assert_eq!(
        shown(r#""data:image/png;base64,AAAA""#),
        json!({ "content": image })
    );
    assert_eq!(
        shown(r#""data:image\/png;base64,AAAA""#),
        json!({ "content": image })
    );
    assert_eq!(
        shown(r#"{"dataUrl":"data:image/png;base64,AAAA","x":1,"_meta":{"k":1}}"#),
        json!({ "content": image, "_meta": { "k": 1 } })
    );
    let other = r#"{"dataUrl":"data:text/plain,x"}"#;
    assert_eq!(
        shown(other),
        text("{\n  \"dataUrl\": \"data:text/plain,x\"\n}")
    );
}

#[test]
fn failures_have_the_words_that_clients_know() {
    let failed = |code, message: &str| {
        let failure = Failure::new(code, message.to_owned());
        shown_ending(Ending::Failed(failure))["content"][0]["text"].clone()
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
fn blocks_stay_and_structured_content_is_shown_where_there_is_nothing_else() {
    let blocks = |content: &str| {
        let raw = |json: &str| RawValue::from_string(json.to_owned()).unwrap();
        shown_ending(Ending::Answered(Answer::Content {
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
fn what_indentation_makes_too_large_is_refused() {
    let deep = "[".repeat(300) + &"]".repeat(300);
    let raw: Box<RawValue> = serde_json::from_str(&deep).unwrap();
    let answer = Answer::Value(Some(raw.into()));
    let mut out = b"before".to_vec();
    Results::new(10_000).called(Ending::Answered(answer), &mut out);
    let shown: Value = serde_json::from_slice(&out["before".len()..]).unwrap();
    assert_eq!(shown["isError"], true);
    assert!(
        shown["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("ResultTooLarge")
    );
}
