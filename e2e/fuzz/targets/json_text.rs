//! The scanners of raw JSON, compared with serde_json.

use bridge_protocol::PageToBridge;
use bridge_raw_json::escape::escape_string;
use bridge_raw_json::inspection::{JsonTraits, compact};
use bridge_raw_json::scanner::{CompactJson, scan_value};
use bridge_raw_json::{JsonSlice, MAX_JSON_DEPTH};
use bridge_realm::page_messages::parse_compact_response;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio_tungstenite::tungstenite::Utf8Bytes;

use crate::choices::Choices;

#[test]
fn scans_agree_with_serde_json() {
    bolero::check!()
        .with_iterations(0)
        .for_each(|input: &[u8]| {
            let text = String::from_utf8_lossy(input);
            check_scan(&text);
            if is_json(&text) {
                check_traits(&text);
                check_compacted(&text);
                check_escape(&text);
            }
            check_compact_response(&text);
        });
}

/// Texts over 8 KiB are only sampled by some scanners.
#[test]
fn long_texts_are_scanned_like_short_ones() {
    bolero::check!()
        .with_iterations(0)
        .for_each(|input: &[u8]| {
            let text = long_text(&mut Choices::new(input));
            check_scan(&text);
            if is_json(&text) {
                check_traits(&text);
                check_compacted(&text);
                check_escape(&text);
            }
        });
}

/// Pieces of JSON, some of which are repeated. Some sequences of them are valid.
fn long_text(choices: &mut Choices<'_>) -> String {
    const PIECES: [&str; 26] = [
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"a\"",
        "\"_meta\"",
        "\"dataUrl\"",
        "1",
        "-1.5e+30",
        "null",
        "\"[[\"",
        "\"]]\"",
        "\"}\"",
        "\"\\\\\"",
        "\"\\\"\"",
        "\"\\u001f\"",
        "\"\\u0041\"",
        "\"é\"",
        " ",
        "\n",
        "[\"]\",",
        "{\"k\":",
        "\"data:image/png\"",
        "\"sixteen bytes..and more\"",
    ];
    const COUNTS: [usize; 8] = [1, 2, 3, 63, 64, 128, 700, 3_000];
    const MAX_BYTES: usize = 64 * 1024;
    let mut text = String::new();
    while choices.has_more() && text.len() < MAX_BYTES {
        let count = *choices.pick(&COUNTS);
        // A sequence of up to four pieces, `count` times.
        let pieces = (0..=choices.below(4)).map(|_| *choices.pick(&PIECES));
        let sequence: String = pieces.collect();
        text.push_str(&sequence.repeat(count.min(MAX_BYTES / sequence.len())));
        if choices.one_in(4) {
            text.push_str(&closing_brackets(&text));
        }
    }
    if choices.one_in(2) {
        text.push_str(&closing_brackets(&text));
    }
    text
}

/// The brackets that close all open ones.
fn closing_brackets(text: &str) -> String {
    let mut closing = Vec::new();
    let (mut in_string, mut escaped) = (false, false);
    for character in text.chars() {
        match character {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            '{' if !in_string => closing.push('}'),
            '[' if !in_string => closing.push(']'),
            '}' | ']' if !in_string => {
                closing.pop();
            }
            _ => {}
        }
    }
    closing.into_iter().rev().collect()
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<&RawValue>(text).is_ok()
        // `RawValue` accepts white space around the value, which no text of a value has.
        && text.trim_ascii() == text
}

/// A text that the scanner accepts is valid and what `JSON.stringify` writes, and a text that
/// serde_json writes is accepted, unless it has a member with a special meaning.
fn check_scan(text: &str) {
    let scanned = scan_value(text, 0);
    if let Some(CompactJson { end, escape_count }) = scanned {
        let value = &text[..end];
        assert!(is_json(value), "accepted: {value:?}");
        assert_eq!(JsonTraits::scan(value), JsonTraits::default(), "{value:?}");
        assert_eq!(compact(value).as_deref(), Some(value));
        let quoted = serde_json::to_string(value).unwrap();
        assert_eq!(quoted.len(), value.len() + escape_count + 2, "{value:?}");
        assert!(depth(value) <= MAX_JSON_DEPTH);
        check_slice(text, value);
    }
    let Ok(parsed) = serde_json::from_str::<Value>(text) else {
        return;
    };
    if serde_json::to_string(&parsed).unwrap() == text && !is_special(&parsed) {
        assert_eq!(
            scanned.map(|scanned| scanned.end),
            Some(text.len()),
            "{text:?}"
        );
    }
}

/// The result is the same inside a message.
fn check_slice(text: &str, value: &str) {
    let message = Utf8Bytes::from(format!("é{text}"));
    let (slice, rest) = JsonSlice::parse_at(&message, 'é'.len_utf8()).expect("it was accepted");
    assert_eq!(slice.get(), value);
    assert_eq!(slice.bytes(), value.as_bytes());
    assert_eq!(rest, &text[value.len()..]);
    let mut quoted = Vec::new();
    escape_string(value, &mut quoted);
    assert_eq!(slice.quoted_len(), quoted.len());
}

/// Whether the value must be parsed, because a part of it is sent elsewhere.
fn is_special(value: &Value) -> bool {
    match value {
        Value::String(text) => text.starts_with("data:image/"),
        Value::Object(members) => members.keys().any(|name| {
            let quoted = serde_json::to_string(name).unwrap();
            matches!(name.as_str(), "_meta" | "dataUrl") || quoted.contains('\\')
        }),
        _ => false,
    }
}

/// Nothing that matters is missed. Long texts that are not as `JSON.stringify` writes them are left
/// out, because they are only sampled.
fn check_traits(text: &str) {
    let traits = JsonTraits::scan(text);
    let is_compact = compact(text).as_deref() == Some(text);
    if text.len() <= 8 * 1024 {
        assert_eq!(traits.too_deep, depth(text) > MAX_JSON_DEPTH, "{text:?}");
        assert_eq!(traits.needs_compacting, !is_compact, "{text:?}");
    }
    if !is_compact {
        return;
    }
    assert_eq!(traits.too_deep, depth(text) > MAX_JSON_DEPTH, "{text:?}");
    let parsed = serde_json::from_str::<Value>(text);
    if !traits.needs_parsing
        && !traits.needs_compacting
        && let Ok(Value::Object(members)) = &parsed
    {
        let special = members
            .keys()
            .find(|name| matches!(name.as_str(), "_meta" | "dataUrl"));
        assert_eq!(special, None, "{text:?}");
    }
}

/// A compacted text has the same value, and nothing to compact.
fn check_compacted(text: &str) {
    let Some(compacted) = compact(text) else {
        let is_string_invalid = serde_json::from_str::<Value>(text).is_err();
        assert!(is_string_invalid, "{text:?}");
        return;
    };
    assert!(is_json(&compacted), "{text:?}");
    assert_eq!(compact(&compacted).as_ref(), Some(&compacted));
    assert!(!JsonTraits::scan(&compacted).needs_compacting, "{text:?}");
    if let Ok(parsed) = serde_json::from_str::<Value>(text) {
        assert_eq!(serde_json::from_str::<Value>(&compacted).unwrap(), parsed);
    }
}

fn check_escape(text: &str) {
    let mut quoted = Vec::new();
    escape_string(text, &mut quoted);
    assert_eq!(quoted, serde_json::to_string(text).unwrap().as_bytes());
}

/// A response that is parsed in one pass is the same for the regular decoder.
fn check_compact_response(text: &str) {
    let head = r#"{"type":"call-response","requestId":"c","result":"#;
    for message in [
        text.to_owned(),
        format!("{head}{text}}}"),
        format!("{head}{text}"),
    ] {
        let Some((call, value)) = parse_compact_response(&message.as_str().into()) else {
            continue;
        };
        match PageToBridge::decode(&message) {
            Ok(PageToBridge::CallResponse(response)) => {
                assert_eq!(response.request_id, call);
                assert_eq!(
                    response.result.map(|raw| raw.get().to_owned()).as_deref(),
                    Some(value.get())
                );
            }
            other => panic!("{message:?}: {other:?}"),
        }
    }
}

/// The nesting of a valid text.
fn depth(text: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut in_string, mut escaped) = (false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !in_string => depth -= 1,
            _ => {}
        }
    }
    deepest
}
