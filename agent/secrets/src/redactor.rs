//! Replacement of secrets in texts that others than their users may see: logs, the audit file, results
//! of tools and errors.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, MatchKind};
use zeroize::Zeroizing;

use super::encoded_forms::{SharedChars, encoded_forms};
use super::limits::MIN_REDACTED_BYTES;
use super::secret_text::SecretText;

/// The number of bytes at the start of a form by which it is found. The rest of it is compared then,
/// so that large secrets do not need large automata.
const PREFIX_BYTES: usize = 32;

/// Maximum number of values that are no longer stored but still redacted. The oldest are
/// forgotten first.
const MAX_FORMER_VALUES: usize = 256;

/// Replaces the values of secrets in texts. The values and their forms are overwritten when it is
/// dropped. The first [`PREFIX_BYTES`] in the automaton cannot be overwritten, nor can the data
/// from which it was built.
pub struct SecretRedactor {
    /// The stored secrets, and after them former ones, with their names.
    secrets: Vec<(String, Arc<SecretText>)>,
    /// Finds the prefixes of forms. Overlapping ones are all found.
    automaton: AhoCorasick,
    /// The forms with each prefix, in the order of the automaton.
    forms: Vec<Vec<Form>>,
}

/// A form of a value.
struct Form {
    text: Zeroizing<String>,
    shared: SharedChars,
    /// The index of its secret.
    secret: usize,
}

/// A part of a text to replace.
#[derive(Clone, Copy)]
struct Span {
    start: usize,
    end: usize,
    /// The index of the secret.
    secret: usize,
}

impl SecretRedactor {
    /// Creates a redactor of secrets with their names, and of those that a previous redactor had.
    /// Secrets shorter than [`MIN_REDACTED_BYTES`] are left out.
    pub(super) fn new(secrets: Vec<(String, SecretText)>, previous: Option<&Self>) -> Self {
        let secrets = secrets
            .into_iter()
            .map(|(name, value)| (name, Arc::new(value)));
        let mut secrets: Vec<_> = secrets
            .filter(|(_, value)| value.expose().len() >= MIN_REDACTED_BYTES)
            .collect();
        let stored: HashSet<&str> = secrets.iter().map(|(_, value)| value.expose()).collect();
        let former = previous.into_iter().flat_map(|it| &it.secrets);
        let former = former.filter(|(_, value)| !stored.contains(value.expose()));
        let former: Vec<_> = former.take(MAX_FORMER_VALUES).cloned().collect();
        secrets.extend(former);

        let mut prefixes: Vec<Vec<u8>> = Vec::new();
        let mut forms: Vec<Vec<Form>> = Vec::new();
        let mut indices = HashMap::new();
        for (secret, (_, value)) in secrets.iter().enumerate() {
            for (text, shared) in encoded_forms(value.expose()) {
                let prefix = text.as_bytes()[..text.len().min(PREFIX_BYTES)].to_vec();
                let index = *indices.entry(prefix.clone()).or_insert_with(|| {
                    prefixes.push(prefix);
                    forms.push(Vec::new());
                    prefixes.len() - 1
                });
                let text = Zeroizing::new(text);
                forms[index].push(Form {
                    text,
                    shared,
                    secret,
                });
            }
        }
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .build(&prefixes)
            .expect("the limits of a store are far below those of an automaton");
        Self {
            secrets,
            automaton,
            forms,
        }
    }

    /// Replaces every occurrence of a secret by `[secret NAME]`: unchanged, as base64, URL-encoded
    /// and as in JSON. Where several secrets overlap, the whole text that they cover is replaced by
    /// the name of the first.
    ///
    /// A part of a secret is not recognized: texts must be redacted before they are shortened or
    /// split.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        // Most texts have no secret, and this search is faster than the one of overlapping matches.
        if !self.automaton.is_match(text) {
            return Cow::Borrowed(text);
        }
        let spans = self.spans(text);
        if spans.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut redacted = String::with_capacity(text.len());
        let mut position = 0;
        for span in spans {
            redacted.push_str(&text[position..span.start]);
            redacted.push_str("[secret ");
            redacted.push_str(&self.secrets[span.secret].0);
            redacted.push(']');
            position = span.end;
        }
        redacted.push_str(&text[position..]);
        Cow::Owned(redacted)
    }

    /// Returns the parts of a text that have secrets, in its order and without overlaps.
    fn spans(&self, text: &str) -> Vec<Span> {
        let prefixes = self.automaton.find_overlapping_iter(text);
        let mut found: Vec<Span> = prefixes
            .filter_map(|prefix| {
                let forms = &self.forms[prefix.pattern()];
                let spans = forms.iter().filter_map(|it| it.span(text, prefix.start()));
                spans.max_by_key(|span| span.end)
            })
            .collect();
        found.sort_unstable_by_key(|span| (span.start, Reverse(span.end)));
        let mut merged: Vec<Span> = Vec::new();
        for span in found {
            match merged.last_mut() {
                Some(last) if span.start < last.end => last.end = last.end.max(span.end),
                _ => merged.push(span),
            }
        }
        merged
    }
}

impl fmt::Debug for SecretRedactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Redactor(…)")
    }
}

impl Form {
    /// Returns the part of a text that has this form at a position, with the characters beside it
    /// that have bits of the value.
    fn span(&self, text: &str, start: usize) -> Option<Span> {
        let bytes = text.as_bytes();
        if !bytes[start..].starts_with(self.text.as_bytes()) {
            return None;
        }
        let end = start + self.text.len();
        let is_base64 = |byte: &&u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(byte);
        let before = bytes[..start].last().filter(is_base64);
        let after = bytes[end..].first().filter(is_base64);
        Some(Span {
            start: start - usize::from(self.shared.before && before.is_some()),
            end: end + usize::from(self.shared.after && after.is_some()),
            secret: self.secret,
        })
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

    use super::*;

    fn redactor(secrets: &[(&str, &str)]) -> SecretRedactor {
        let secrets = secrets.iter().map(|(name, value)| {
            let value = SecretText::new((*value).to_owned());
            ((*name).to_owned(), value)
        });
        SecretRedactor::new(secrets.collect(), None)
    }

    #[test]
    fn secrets_are_replaced_by_their_names() {
        let redactor = redactor(&[
            ("TOKEN", "ghp_0123456789"),
            ("LONGER", "ghp_0123456789-and-more"),
            ("QUOTED", "say \"hush\"/é\n"),
            ("SHORT", "1234567"),
            ("EDGE", "87654321"),
            ("OVERLAP", "9-and-more-and-more"),
        ]);
        for (text, expected) in [
            ("", ""),
            ("nothing", "nothing"),
            ("ghp_0123456789", "[secret TOKEN]"),
            ("é ghp_0123456789é", "é [secret TOKEN]é"),
            (
                "ghp_0123456789ghp_0123456789",
                "[secret TOKEN][secret TOKEN]",
            ),
            (
                "a ghp_0123456789 b ghp_0123456789 c",
                "a [secret TOKEN] b [secret TOKEN] c",
            ),
            ("ghp_012345678", "ghp_012345678"),
            ("GHP_0123456789", "GHP_0123456789"),
            // The longest of those that begin at the same place.
            ("ghp_0123456789-and-more!", "[secret LONGER]!"),
            ("ghp_0123456789-and-mor", "[secret TOKEN]-and-mor"),
            // Nothing of the second one is left.
            ("ghp_0123456789-and-more-and-more.", "[secret LONGER]."),
            ("1234567", "1234567"),
            ("87654321", "[secret EDGE]"),
            (r#"{"a":"say \"hush\"/é\n"}"#, r#"{"a":"[secret QUOTED]"}"#),
            (
                r#"{"a":"say \"hush\"\/\u00e9\n"}"#,
                r#"{"a":"[secret QUOTED]"}"#,
            ),
            (
                r#""{\"a\":\"say \\\"hush\\\"/é\\n\"}""#,
                r#""{\"a\":\"[secret QUOTED]\"}""#,
            ),
            ("?q=say%20%22hush%22%2F%C3%A9%0A&b", "?q=[secret QUOTED]&b"),
            ("?q=say+%22hush%22%2f%c3%a9%0a&b", "?q=[secret QUOTED]&b"),
        ] {
            assert_eq!(redactor.redact(text), expected, "{text}");
            let again = redactor.redact(expected).into_owned();
            assert_eq!(again, expected, "a redacted text stays unchanged");
        }
        assert!(matches!(redactor.redact("nothing"), Cow::Borrowed(_)));
    }

    #[test]
    fn base64_leaves_no_bits_of_a_secret() {
        // They differ in their first and their last bits.
        let values = ["ghp_0123~~??>>é", "\u{7ff}Z-9876abcdefg~"];
        for (before, after) in [
            ("", ""),
            ("u:", ""),
            ("us:", "\n"),
            ("use:", "ab"),
            ("user:", "abc"),
        ] {
            let redacted = values.map(|value| {
                let redactor = redactor(&[("TOKEN", value)]);
                let text = format!("{before}{value}{after}");
                [STANDARD.encode(&text), URL_SAFE_NO_PAD.encode(&text)].map(|encoded| {
                    let line = format!("Authorization: Basic {encoded}, next");
                    redactor.redact(&line).into_owned()
                })
            });
            assert_eq!(redacted[0], redacted[1]);
            for line in &redacted[0] {
                assert!(line.contains("[secret TOKEN]"), "{line}");
            }
        }
    }

    #[test]
    fn large_secrets_with_the_same_beginning_are_distinguished() {
        let beginning = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC";
        let value = |name: &str| format!("{beginning}{}", name.repeat(1000));
        let (one, other) = (value("one"), value("other"));
        let redactor = redactor(&[
            ("ONE", &one),
            ("OTHER", &other),
            ("START", &beginning[..30]),
        ]);
        let text = format!("{one} {other} {beginning}");
        let rest = &beginning[30..];
        let expected = format!("[secret ONE] [secret OTHER] [secret START]{rest}");
        assert_eq!(redactor.redact(&text), expected);
        let json = serde_json::Value::from(text.as_str()).to_string();
        assert!(
            redactor
                .redact(&json)
                .starts_with("\"[secret ONE] [secret OTHER] ")
        );
    }

    #[test]
    fn former_secrets_are_still_replaced_until_there_are_many() {
        let value = |index: usize| format!("a-secret-{index:06}");
        let new = |index: usize, previous: Option<&SecretRedactor>| {
            let secret = ("TOKEN".to_owned(), SecretText::new(value(index)));
            SecretRedactor::new(vec![secret], previous)
        };
        let mut redactor = new(0, None);
        for index in 1..=MAX_FORMER_VALUES + 1 {
            redactor = new(index, Some(&redactor));
        }
        assert_eq!(redactor.redact(&value(0)), value(0));
        for index in [1, 2, MAX_FORMER_VALUES + 1] {
            assert_eq!(redactor.redact(&value(index)), "[secret TOKEN]");
        }
        // A former one that is stored again is there once.
        let count = redactor.secrets.len();
        assert_eq!(new(5, Some(&redactor)).secrets.len(), count);
    }

    #[test]
    fn a_redactor_without_secrets_replaces_nothing() {
        let redactor = redactor(&[]);
        assert_eq!(redactor.redact("any text"), "any text");
        assert_eq!(format!("{redactor:?}"), "Redactor(…)");
    }
}
