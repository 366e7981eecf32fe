//! What a provider says of an error, as far as it may be shown to a page: short, and without a key.

use bridge_service::Secret;
use serde_json::Value;

/// With what is said around it, a message stays below 300 characters.
const MAX_CHARS: usize = 220;

/// The words in the body of a response.
pub(super) fn from_body(body: &str, key: Option<&Secret>) -> Option<String> {
    match serde_json::from_str(body) {
        Ok(value) => from_value(&value, key),
        // A page of a proxy says nothing to a person.
        Err(_) if body.contains('<') => None,
        Err(_) => redact(body, key),
    }
}

/// The words in an error, in whose shape ever.
pub(super) fn from_value(error: &Value, key: Option<&Secret>) -> Option<String> {
    const POINTERS: [&str; 6] = [
        "/error/message",
        "/message",
        "/error",
        // Gemini answers a stream with a list.
        "/0/error/message",
        "/detail",
        "",
    ];
    let words = POINTERS
        .into_iter()
        .find_map(|place| error.pointer(place)?.as_str())?;
    redact(words, key)
}

/// Made fit to be shown.
pub(super) fn redact(words: &str, key: Option<&Secret>) -> Option<String> {
    let words = match key {
        Some(key) => words.replace(key.expose(), "…"),
        None => words.to_owned(),
    };
    let mut shown = String::new();
    let mut is_key_next = false;
    for word in words.split_whitespace() {
        if !shown.is_empty() {
            shown.push(' ');
        }
        let is_key = is_key_next || is_api_key(word);
        shown.push_str(if is_key { "…" } else { word });
        is_key_next = word.eq_ignore_ascii_case("bearer");
    }
    if let Some((end, _)) = shown.char_indices().nth(MAX_CHARS) {
        shown.truncate(end);
        shown.push('…');
    }
    (!shown.is_empty()).then_some(shown)
}

/// Also one that is masked in part, and one of somebody else.
fn is_api_key(word: &str) -> bool {
    let word = word.trim_start_matches(|first: char| !first.is_alphanumeric());
    ["sk-", "AIza", "gsk_", "hf_", "xai-"]
        .iter()
        .any(|beginning| word.starts_with(beginning))
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
        let shown = redact(
            "Incorrect key: a-key-of-ours, (sk-proj-***1234) AIzaSy0123. Bearer abc.def was sent",
            Some(&key),
        );
        assert_eq!(
            shown.as_deref(),
            Some("Incorrect key: …, … … Bearer … was sent")
        );
    }

    #[test]
    fn long_text_is_truncated_between_characters() {
        let shown = redact(&"ä".repeat(1000), None).unwrap();
        assert_eq!(shown.chars().count(), MAX_CHARS + 1);
        assert!(shown.ends_with('…'));
    }
}
