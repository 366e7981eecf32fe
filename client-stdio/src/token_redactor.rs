//! Hides the token in text from other sources: a proxy may quote the headers of a request in an
//! error, and a page may show its token.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::{Arc, PoisonError, RwLock};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use bridge_protocol::limits::MIN_TOKEN_CHARS;
use memchr::memmem::Finder;

/// The number of renewed tokens that are replaced. Texts with an earlier one do not arrive any more.
const MAX_RENEWED_TOKENS: usize = 16;

/// Replaces the token in text: unchanged, as part of base64, and percent-encoded or escaped in JSON
/// in any way. Clones share what they replace.
#[derive(Clone)]
pub struct TokenRedactor(RedactedTokens);

#[derive(Clone)]
enum RedactedTokens {
    /// One token for the whole time. No lock is taken.
    Fixed(Arc<TokenForms>),
    /// The last tokens of a command, the newest first.
    Renewed(Arc<RwLock<VecDeque<TokenForms>>>),
}

/// The forms of one token.
#[derive(Default)]
struct TokenForms {
    forms: Vec<Form>,
    replacement: &'static str,
}

/// The token, or the constant part of all base64 encodings of a text with the token.
struct Form {
    text: Vec<u8>,
    /// A part of the text that no encoding changes. It is searched for first, because most texts do not
    /// have it.
    fixed_part: Finder<'static>,
}

impl Default for TokenRedactor {
    /// Returns a redactor that changes nothing.
    fn default() -> Self {
        Self::new(None)
    }
}

impl TokenRedactor {
    /// Creates a redactor. Without a token, or with one that is shorter than bridges accept by
    /// default, it changes nothing: such a word may occur in any message.
    pub(crate) fn new(token: Option<&str>) -> Self {
        let forms = token.and_then(TokenForms::new).unwrap_or_default();
        Self(RedactedTokens::Fixed(Arc::new(forms)))
    }

    /// Creates a redactor for tokens that it [learns](Self::learn).
    pub(crate) fn for_renewed_tokens() -> Self {
        Self(RedactedTokens::Renewed(Arc::default()))
    }

    /// Also replaces these texts from now on, each of which is or may be a token.
    pub(crate) fn learn(&self, tokens: &[String]) {
        let RedactedTokens::Renewed(learned) = &self.0 else {
            return;
        };
        let mut learned = learned.write().unwrap_or_else(PoisonError::into_inner);
        for token in tokens.iter().take(MAX_RENEWED_TOKENS / 2) {
            let token = token.strip_prefix("Bearer ").unwrap_or(token);
            let is_known = |it: &TokenForms| it.is_of(token);
            if let Some(forms) = TokenForms::new(token)
                && !learned.iter().any(is_known)
            {
                learned.push_front(forms);
            }
        }
        learned.truncate(MAX_RENEWED_TOKENS);
    }

    /// Replaces the token in a text.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.replace(text, false)
    }

    /// Replaces the token in a JSON text, which stays valid.
    pub(crate) fn redact_json<'a>(&self, json: &'a str) -> Cow<'a, str> {
        self.replace(json, true)
    }

    fn replace<'a>(&self, text: &'a str, is_json: bool) -> Cow<'a, str> {
        let learned = match &self.0 {
            RedactedTokens::Fixed(token) => return token.replace(text, is_json),
            RedactedTokens::Renewed(learned) => learned,
        };
        let mut text = Cow::Borrowed(text);
        for token in &*learned.read().unwrap_or_else(PoisonError::into_inner) {
            let redacted = match token.replace(&text, is_json) {
                Cow::Owned(redacted) => Some(redacted),
                Cow::Borrowed(_) => None,
            };
            if let Some(redacted) = redacted {
                text = Cow::Owned(redacted);
            }
        }
        text
    }
}

impl TokenForms {
    /// Returns `None` for a token that is shorter than bridges accept by default.
    fn new(token: &str) -> Option<Self> {
        if token.len() < MIN_TOKEN_CHARS {
            return None;
        }
        let mut forms = vec![token.as_bytes().to_vec()];
        for offset in 0..3 {
            for engine in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
                let form = base64_form(token, offset, &engine);
                if !forms.contains(&form) {
                    forms.push(form);
                }
            }
        }
        // A number in JSON remains a number.
        let is_number = token.bytes().all(|byte| byte.is_ascii_digit());
        Some(Self {
            forms: forms.into_iter().map(Form::new).collect(),
            replacement: if is_number { "0" } else { "[token]" },
        })
    }

    /// Returns whether these are the forms of this token.
    fn is_of(&self, token: &str) -> bool {
        let unchanged = self.forms.first();
        unchanged.is_some_and(|form| form.text == token.as_bytes())
    }

    fn replace<'a>(&self, text: &'a str, is_json: bool) -> Cow<'a, str> {
        let bytes = text.as_bytes();
        let may_have = |form: &Form| form.fixed_part.find(bytes).is_some();
        if !self.forms.iter().any(may_have) {
            return Cow::Borrowed(text);
        }
        let mut redacted = String::with_capacity(text.len());
        let (mut position, mut copied) = (0, 0);
        while position < bytes.len() {
            let rest = &bytes[position..];
            if let Some(length) = self.forms.iter().find_map(|form| form.length_in(rest)) {
                redacted.push_str(&text[copied..position]);
                redacted.push_str(self.replacement);
                position += length;
                copied = position;
            } else {
                // The character after a backslash in JSON belongs to the backslash, so no token
                // begins there.
                position += if is_json && rest[0] == b'\\' { 2 } else { 1 };
            }
        }
        redacted.push_str(&text[copied..]);
        Cow::Owned(redacted)
    }
}

impl Form {
    fn new(text: Vec<u8>) -> Self {
        let parts = text.split(|byte| !byte.is_ascii_alphanumeric());
        let longest = parts.max_by_key(|part| part.len()).unwrap_or_default();
        let fixed_part = Finder::new(longest).into_owned();
        Self { text, fixed_part }
    }

    /// Returns the length of this form at the beginning of a text, if it occurs there.
    fn length_in(&self, text: &[u8]) -> Option<usize> {
        let mut length = 0;
        for byte in &self.text {
            length += encoded_length(*byte, &text[length..])?;
        }
        Some(length)
    }
}

/// Returns the length of a byte at the beginning of a text. It may be percent-encoded or escaped in
/// JSON, also in JSON inside a JSON string.
fn encoded_length(byte: u8, text: &[u8]) -> Option<usize> {
    if text.first() == Some(&byte) {
        return Some(1);
    }
    if byte.is_ascii_alphanumeric() {
        return None;
    }
    let is_hex = |digits: &[u8]| {
        let digits = std::str::from_utf8(digits).ok();
        digits.and_then(|it| u8::from_str_radix(it, 16).ok()) == Some(byte)
    };
    let backslashes = text.iter().take_while(|byte| **byte == b'\\').count();
    match &text[backslashes..] {
        [b'%', first, second, ..] if backslashes == 0 && is_hex(&[*first, *second]) => Some(3),
        [first, ..] if backslashes > 0 && *first == byte => Some(backslashes + 1),
        [b'u', b'0', b'0', first, second, ..] if backslashes > 0 && is_hex(&[*first, *second]) => {
            Some(backslashes + 5)
        }
        _ => None,
    }
}

/// Returns the part of a text's base64 that only the token determines, if the token begins at this
/// offset plus a multiple of 3. The characters at both ends are left out, because they depend on
/// its neighbours.
fn base64_form(token: &str, offset: usize, engine: &impl Engine) -> Vec<u8> {
    let mut encoded = engine.encode([&b"\0\0"[..offset], token.as_bytes()].concat());
    if !(offset + token.len()).is_multiple_of(3) {
        encoded.pop();
    }
    let start = [0, 2, 3][offset];
    encoded.split_off(start).into_bytes()
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::{STANDARD, URL_SAFE};

    use super::*;

    fn redactor(token: &str) -> TokenRedactor {
        TokenRedactor::new(Some(token))
    }

    #[test]
    fn the_token_is_replaced_in_all_its_encodings() {
        let token = r#"a+token/of="the"-page~1"#;
        let redactor = redactor(token);
        for text in [
            token.to_owned(),
            "a%2Btoken%2Fof%3D%22the%22%2Dpage%7e1".to_owned(),
            r"a\u002Btoken\/of\u003d\u0022the\u0022-page~1".to_owned(),
            r#"a+token\/of=\\\"the\\\"-page~1"#.to_owned(),
        ] {
            assert_eq!(
                redactor.redact(&format!("é {text}é")),
                "é [token]é",
                "{text}"
            );
            assert_eq!(
                redactor.redact_json(&format!(r#"{{"a":"{text}{text}"}}"#)),
                r#"{"a":"[token][token]"}"#,
                "{text}"
            );
        }
        assert_eq!(redactor.redact("a+token/of="), "a+token/of=");
        assert!(matches!(redactor.redact("of the page"), Cow::Borrowed(_)));
    }

    #[test]
    fn base64_contains_at_most_the_ends_of_the_token() {
        let token = "Zb0-token_of~the?page>>9";
        let redactor = redactor(token);
        for before in ["", "u", "us", "use", "Bearer ", "user:"] {
            for after in ["", "x", "xy", "xyz"] {
                let text = format!("{before}{token}{after}");
                for encoded in [STANDARD.encode(&text), URL_SAFE.encode(&text)] {
                    let redacted = redactor.redact(&encoded);
                    let rest = redacted.replace("[token]", "");
                    assert_eq!(redacted.len(), rest.len() + "[token]".len(), "{redacted}");
                    // Two characters have 12 bits.
                    let longest = (before.len() + after.len() + 4).div_ceil(3) * 4;
                    assert!(rest.len() <= longest, "{text}: {redacted}");
                }
            }
        }
    }

    #[test]
    fn redacted_json_stays_valid() {
        let valid = |json: &str| serde_json::from_str::<serde_json::Value>(json).is_ok();
        let newline = r#"{"a":"\nine-tokens-of-a-page"}"#;
        let redactor = self::redactor("nine-tokens-of-a-page");
        assert_eq!(redactor.redact_json(newline), newline, "a line break");
        assert!(valid(
            &redactor.redact_json(r#"{"a":"\\nine-tokens-of-a-page"}"#)
        ));
        let number = r#"{"id":1234567890123456,"a":"1234567890123456"}"#;
        let redacted = self::redactor("1234567890123456");
        assert_eq!(redacted.redact_json(number), r#"{"id":0,"a":"0"}"#);
    }

    #[test]
    fn renewed_tokens_are_replaced_and_the_last_ones_remembered() {
        let redactor = TokenRedactor::for_renewed_tokens();
        let token = |number: usize| format!("token-{number}-of-a-command");
        redactor.learn(&[token(0), format!("Bearer {}", token(1)), "short".to_owned()]);
        let clone = redactor.clone();
        let text = format!("{} short {}", token(1), token(0));
        assert_eq!(clone.redact(&text), "[token] short [token]");
        for number in 2..MAX_RENEWED_TOKENS + 1 {
            redactor.learn(&[token(number), token(number)]);
        }
        assert_eq!(clone.redact(&token(0)), token(0), "it is long ago");
        for number in 1..MAX_RENEWED_TOKENS + 1 {
            assert_eq!(clone.redact(&token(number)), "[token]", "{number}");
        }
        let fixed = self::redactor("a-token-of-a-page");
        fixed.learn(&[token(0)]);
        assert_eq!(fixed.redact(&token(0)), token(0));
    }

    #[test]
    fn nothing_is_replaced_without_a_valid_token() {
        for redactor in [TokenRedactor::new(None), redactor("short")] {
            assert!(matches!(redactor.redact("short"), Cow::Borrowed(_)));
        }
    }
}
