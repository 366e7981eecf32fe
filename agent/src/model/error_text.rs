//! Extracts the text of a provider's error that may be logged: short, and without keys.

use agent_tools::text;
use bridge_settings::Secret;
use serde_json::Value;

/// The maximum length of an error text. With the text around it, a message stays below 300
/// characters.
const MAX_CHARS: usize = 220;

/// The beginnings of what servers repeat without quotes: llama.cpp of an answer, vLLM of a request.
const UNQUOTED: [&str; 3] = ["parse input at pos", "messages=", "tools="];

/// The maximum length of a quoted name that may be logged.
const MAX_NAME_BYTES: usize = 64;

/// Extracts the error text from the body of a response.
pub(super) fn from_body(body: &str, key: Option<&Secret>) -> Option<String> {
    match serde_json::from_str(body) {
        Ok(value) => from_value(&value, key),
        // The HTML page of a proxy does not help an operator.
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

/// Leaves out what a text quotes, because it may be words of the conversation. Names in quotes, such as
/// those of fields and models, stay.
pub(super) fn without_quotations(text: &str) -> String {
    let quoting = UNQUOTED.iter().filter_map(|begin| text.find(begin));
    let text = &text[..quoting.min().unwrap_or(text.len())];
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, quote, after)) = split_at_quote(rest) {
        kept.push_str(before);
        kept.push(quote);
        let end = after.find(quote).unwrap_or(after.len());
        // Words may contain quotes themselves: the last one ends them.
        let end = if is_name(&after[..end]) {
            kept.push_str(&after[..end]);
            end
        } else {
            kept.push('…');
            after.rfind(quote).unwrap_or(after.len())
        };
        if let Some(behind) = after.get(end + quote.len_utf8()..) {
            kept.push(quote);
            rest = behind;
        } else {
            rest = "";
        }
    }
    kept + rest
}

/// Splits a text at the first quote that is not an apostrophe.
fn split_at_quote(text: &str) -> Option<(&str, char, &str)> {
    let mut before = ' ';
    for (index, char) in text.char_indices() {
        if matches!(char, '"' | '`') || char == '\'' && !before.is_alphanumeric() {
            return Some((&text[..index], char, &text[index + 1..]));
        }
        before = char;
    }
    None
}

fn is_name(text: &str) -> bool {
    let is_part = |it: char| it.is_ascii_alphanumeric() || "_-./[]:$*".contains(it);
    (1..=MAX_NAME_BYTES).contains(&text.len()) && text.chars().all(is_part)
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
    fn quotations_of_the_conversation_are_left_out_and_names_stay() {
        for (text, shown) in [
            ("cannot read \"the word is swordfish\"", "cannot read \"…\""),
            (
                "in 'my words' and \"a \\\"b\\\" c\" there",
                "in '…' and \"…\" there",
            ),
            ("'it''s \"so\" there' ends", "'it''…' ends"),
            ("Failed to parse input at pos 13: my words", "Failed to "),
            ("never ends: 'my words", "never ends: '…"),
            (
                "Unsupported value: 'reasoning_effort' does not support 'high' with `gpt-6.2-sol`",
                "Unsupported value: 'reasoning_effort' does not support 'high' with `gpt-6.2-sol`",
            ),
            (
                "the model doesn't know it's ends",
                "the model doesn't know it's ends",
            ),
            ("", ""),
        ] {
            assert_eq!(without_quotations(text), shown, "{text}");
        }
    }

    #[test]
    fn long_text_is_truncated_between_characters() {
        let redacted = redact(&"ä".repeat(1000), None).unwrap();
        assert_eq!(redacted.chars().count(), MAX_CHARS + 1);
        assert!(redacted.ends_with('…'));
    }
}
