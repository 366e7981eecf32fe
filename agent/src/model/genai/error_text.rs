//! Extracts the text of a provider's error that may be shown to a page: short, and without keys.

use agent_tools::text;
use bridge_settings::Secret;
use serde_json::Value;

/// The maximum length of an error text. With the text around it, a message stays below 300
/// characters.
const MAX_CHARS: usize = 220;

/// Extracts the error text from the body of a response.
pub(super) fn from_body(body: &str, key: Option<&Secret>) -> Option<String> {
    match serde_json::from_str(body) {
        Ok(value) => from_value(&value, key),
        // The HTML page of a proxy does not help a person.
        Err(_) if body.contains('<') => None,
        Err(_) => redact(body, key),
    }
}

/// Extracts the error text from a JSON value, in the format of any provider.
pub(super) fn from_value(error: &Value, key: Option<&Secret>) -> Option<String> {
    const POINTERS: [&str; 6] = [
        "/error/message",
        "/message",
        "/error",
        // Gemini may answer with a list.
        "/0/error/message",
        "/detail",
        "",
    ];
    let text = POINTERS
        .into_iter()
        .find_map(|pointer| error.pointer(pointer)?.as_str())?;
    redact(text, key)
}

/// Replaces keys, joins lines, and truncates a text.
pub(super) fn redact(text: &str, key: Option<&Secret>) -> Option<String> {
    let text = match key {
        Some(key) => text.replace(key.expose(), "…"),
        None => text.to_owned(),
    };
    let mut redacted = String::new();
    let mut is_key_next = false;
    for word in text.split_whitespace() {
        if !redacted.is_empty() {
            redacted.push(' ');
        }
        let is_key = is_key_next || is_api_key(word);
        redacted.push_str(if is_key { "…" } else { word });
        is_key_next = word.eq_ignore_ascii_case("bearer");
    }
    (!redacted.is_empty()).then(|| text::shorten(&redacted, MAX_CHARS))
}

/// Returns whether a word looks like a key of any provider, even if it is partly masked.
fn is_api_key(word: &str) -> bool {
    let word = word.trim_start_matches(|first: char| !first.is_alphanumeric());
    ["sk-", "AIza", "gsk_", "hf_", "xai-"]
        .iter()
        .any(|prefix| word.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_text_is_found_in_every_provider_format() {
        for body in [
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Over\n loaded"}}"#,
            r#"{"error":{"message":"Over loaded","type":"server_error","code":null}}"#,
            r#"{"message":"Over loaded","type":"server_error"}"#,
            r#"[{"error":{"code":503,"message":"Over loaded","status":"UNAVAILABLE"}}]"#,
            r#"{"error":"Over loaded"}"#,
            r#"{"detail":"Over loaded"}"#,
            "Over loaded\n",
        ] {
            assert_eq!(
                from_body(body, None).as_deref(),
                Some("Over loaded"),
                "{body}"
            );
        }
        for body in [
            "",
            "{}",
            "<html>Bad gateway</html>",
            r#"{"error":{"code":1}}"#,
        ] {
            assert_eq!(from_body(body, None), None, "{body}");
        }
    }

    #[test]
    fn keys_are_not_shown() {
        let key = Secret::from_trusted("a-key-of-ours".to_owned());
        let redacted = redact(
            "Incorrect key: a-key-of-ours, (sk-proj-***1234) AIzaSy0123. Bearer abc.def was sent",
            Some(&key),
        );
        assert_eq!(
            redacted.as_deref(),
            Some("Incorrect key: …, … … Bearer … was sent")
        );
    }

    #[test]
    fn long_text_is_truncated_between_characters() {
        let redacted = redact(&"ä".repeat(1000), None).unwrap();
        assert_eq!(redacted.chars().count(), MAX_CHARS + 1);
        assert!(redacted.ends_with('…'));
    }
}
