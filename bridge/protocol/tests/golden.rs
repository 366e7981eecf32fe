//! Every message has golden files, and decodes and encodes them byte for byte.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::Path;

use bridge_protocol::{BridgeToPage, DecodeError, PageToBridge, QueryContent, message_types};

/// Loads the golden files of one direction as pairs of name and text.
fn golden_files(direction: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("golden")
        .join(direction);
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (
                name,
                std::fs::read_to_string(path).unwrap().trim_end().to_owned(),
            )
        })
        .collect();
    files.sort();
    files
}

fn types_in(files: &[(String, String)]) -> BTreeSet<String> {
    files
        .iter()
        .map(|(_, text)| {
            let value: serde_json::Value = serde_json::from_str(text).unwrap();
            value["type"].as_str().unwrap().to_owned()
        })
        .collect()
}

fn name_set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn page_to_bridge_round_trips_its_golden_files() {
    let files = golden_files("page-to-bridge");
    assert_eq!(
        types_in(&files),
        name_set(message_types::page_to_bridge::ALL)
    );
    for (name, text) in files {
        let message = PageToBridge::decode(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(message.encode(), text, "{name}");
    }
}

#[test]
fn bridge_to_page_round_trips_its_golden_files() {
    let files = golden_files("bridge-to-page");
    assert_eq!(
        types_in(&files),
        name_set(message_types::bridge_to_page::ALL)
    );
    for (name, text) in files {
        let message = BridgeToPage::decode(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(message.encode(), text, "{name}");
    }
}

#[test]
fn query_content_round_trips_unchanged() {
    let mut decoded = 0;
    for (name, text) in golden_files("bridge-to-page") {
        let kind = name.strip_prefix("query-progress-");
        let Ok(BridgeToPage::QueryProgress(progress)) = BridgeToPage::decode(&text) else {
            assert_eq!(kind, None, "{name}");
            continue;
        };
        let content = serde_json::from_str::<QueryContent>(progress.content.get());
        assert_eq!(content.is_ok(), kind.is_some(), "{name}");
        if let Ok(content) = content {
            assert_eq!(content.to_raw().get(), progress.content.get(), "{name}");
            decoded += 1;
        }
    }
    assert_eq!(decoded, 10);
}

#[test]
fn unknown_fields_are_ignored_and_unknown_types_are_reported() {
    let message = PageToBridge::decode(r#"{"sequence":1,"later":{},"type":"heartbeat-ack"}"#);
    assert!(matches!(message, Ok(PageToBridge::HeartbeatAck(_))));
    let message = PageToBridge::decode(r#"{"type":"from-the-future"}"#);
    assert!(matches!(message, Err(DecodeError::UnknownType(kind)) if kind == "from-the-future"));
}

#[test]
fn an_invalid_frame_has_a_specific_decode_error() {
    for text in [
        "",
        "[]",
        "{}",
        "null",
        r#"{"type":7}"#,
        r#"{"type":"leaving""#,
    ] {
        let error = PageToBridge::decode(text).unwrap_err();
        assert!(
            matches!(error, DecodeError::NotAMessage(_)),
            "{text}: {error}"
        );
    }
    let error = PageToBridge::decode(r#"{"type":"call-response"}"#).unwrap_err();
    assert!(error.to_string().contains("`call-response`"), "{error}");
    assert!(error.to_string().contains("requestId"), "{error}");
}

#[test]
fn tokens_are_redacted_in_debug_output() {
    let text = r#"{"type":"authenticate","authToken":"very-secret-token"}"#;
    let message = PageToBridge::decode(text).unwrap();
    assert!(!format!("{message:?}").contains("very-secret-token"));
}
