use proptest::prelude::*;
use proptest::string::string_regex;
use serde_json::Value;
use serde_json::value::RawValue;

use super::*;

/// Scans a text that consists of one value. Checks an accepted text against serde_json, and its
/// escape count against the text as a JSON string.
fn scan_whole_text(text: &str) -> Option<CompactJson> {
    let tight = scan_value(text, 0).filter(|tight| tight.end == text.len())?;
    let read = serde_json::from_str::<&RawValue>(text);
    assert_eq!(read.map(RawValue::get).ok(), Some(text), "no JSON: {text}");
    let quoted = serde_json::to_string(text).unwrap();
    assert_eq!(text.len() + tight.escape_count + 2, quoted.len(), "{text}");
    assert!(!text.contains(['\n', '\r', '\t']), "{text}");
    Some(tight)
}

fn is_compact(text: &str) -> bool {
    scan_whole_text(text).is_some()
}

#[test]
fn accepts_values_as_json_stringify_writes_them() {
    for text in [
        "null",
        "true",
        "false",
        "0",
        "-0",
        "1234567890123",
        "-1.5",
        "0.25",
        "1e+30",
        "1E5",
        "12.5e-7",
        "\"\"",
        r#""a \"b\" \\ \b\f\n\r\t\u0000\u0007\u000b\u000e\u000f\u0010\u001f é😀 / ""#,
        "[]",
        "{}",
        r#"[{},[],[[]],{"":{}}]"#,
        r#"{"a":[{"_meta":1,"dataUrl":" ","\n":2}],"_metas":"_meta","b":"data:image/png"}"#,
    ] {
        assert!(is_compact(text), "{text}");
        assert!(is_compact(&format!("[{text},{text}]")), "{text}");
        let behind = format!("{{\"result\":{text}}}");
        let tight = scan_value(&behind, "{\"result\":".len()).unwrap();
        assert_eq!(&behind[tight.end..], "}");
    }
}

#[test]
fn rejects_text_that_needs_parsing_or_repair() {
    for text in [
        r#"{"_meta":1}"#,
        r#"{"a":1,"dataUrl":""}"#,
        r#"{"\u005fmeta":1}"#,
        r#"{"a\n":1}"#,
        r#""data:image/png;base64,AAAA""#,
        r#""\/""#,
        r#""\u00e9""#,
        r#""\u000a""#,
        r#""\u001F""#,
        r#""\ud83d\ude00""#,
        r#""\ud83d""#,
        "[1, 2]",
        " 1",
        "{ }",
        "{\"a\": 1}",
    ] {
        let mended = bridge_protocol::to_well_formed(text);
        assert!(serde_json::from_str::<Value>(&mended).is_ok(), "{text}");
        assert!(!is_compact(text), "{text}");
    }
    let nested = |depth| "[".repeat(depth) + &"]".repeat(depth);
    assert!(is_compact(&nested(MAX_JSON_DEPTH)));
    assert!(!is_compact(&nested(MAX_JSON_DEPTH + 1)));
    let within = |depth| "{\"a\":".repeat(depth) + "1" + &"}".repeat(depth);
    assert!(is_compact(&within(MAX_JSON_DEPTH)));
    assert!(!is_compact(&within(MAX_JSON_DEPTH + 1)));
}

#[test]
fn rejects_invalid_json() {
    for text in [
        "",
        "-",
        "01",
        "-01",
        "1.",
        ".5",
        "1e",
        "1e+",
        "+1",
        "NaN",
        "tru",
        "truE",
        "nul",
        "fals",
        "\"",
        "\"\\\"",
        "\"\\x\"",
        "\"\\u00\"",
        "\"\\u000g\"",
        "\"\u{1}\"",
        "[",
        "]",
        "[1",
        "[1,",
        "[1,]",
        "[,1]",
        "[1 2]",
        "[1}",
        "{",
        "}",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":1",
        "{\"a\":1,",
        "{\"a\":1,}",
        "{\"a\",1}",
        "{a:1}",
        "{1:1}",
        "{\"a\":1]",
        "{\"a\":1 }x",
        "[\"a\":1]",
        "{\"a\"}",
        "{,}",
        "{\"a\":}",
    ] {
        assert!(!is_compact(text), "{text}");
        assert!(
            !is_compact(&format!("[\"{}\",{text}]", "x".repeat(20))),
            "{text}"
        );
    }
    // Strings without an end, of each length for which the scanner takes different steps.
    for length in 0..40 {
        let open = format!("\"{}", "x".repeat(length));
        assert_eq!(scan_value(&open, 0), None);
        for special in ["\u{0}", "\u{1f}", "\n", "\\", "\\u12"] {
            let text = format!("{open}{special}\"");
            assert_eq!(scan_value(&text, 0), None, "{text:?}");
        }
        assert!(is_compact(&format!("{open}\"")));
        assert!(is_compact(&format!("{open}é\\\"\\\\x\"")));
    }
}

/// Values as pages send them.
fn any_value() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        string_regex("\\PC{0,24}").unwrap(),
        string_regex("\\PC*").unwrap(),
        string_regex("[a-z]{0,12}").unwrap()
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

/// The characters with which texts are changed: all that have a meaning in JSON, and some that have
/// none.
const MUTATION_CHARS: [char; 24] = [
    '"', '\\', '{', '}', '[', ']', ',', ':', ' ', '\n', '0', '1', '-', '+', '.', 'e', 'E', 'u',
    't', 'n', '/', '\u{1}', '\u{7f}', 'é',
];

proptest! {
    /// The value is in an array, because only a value at the top level can have members or an image
    /// that must be parsed.
    #[test]
    fn whatever_serde_json_writes_is_taken(value in any_value()) {
        let text = format!("[{value}]");
        prop_assert!(is_compact(&text), "{text}");
    }

    /// `scan_whole_text` asserts that serde_json accepts what the scanner accepts.
    #[test]
    fn of_texts_that_were_spoilt_nothing_is_taken_that_serde_json_refuses(
        value in any_value(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), 0..3, prop::sample::select(&MUTATION_CHARS[..])), 1..4),
    ) {
        let mut text: Vec<char> = value.to_string().chars().collect();
        for (place, change, character) in changes {
            let at = place.index(text.len() + 1);
            match change {
                0 => text.insert(at, character),
                1 if at < text.len() => text[at] = character,
                _ if at < text.len() => { text.remove(at); }
                _ => text.truncate(at / 2),
            }
        }
        let text: String = text.into_iter().collect();
        let taken = is_compact(&text);
        // The end of the value is the same when other text follows it.
        let behind = format!("{text}}}");
        let ends_there = super::scan_value(&behind, 0).is_some_and(|tight| tight.end == text.len());
        prop_assert!(ends_there == taken || text.is_empty(), "{text}");
    }
}
