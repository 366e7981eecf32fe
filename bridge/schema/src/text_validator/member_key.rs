//! The name of a member with its quotes and the colon, in its usual spelling in a text.

/// The number of bytes that are compared at once.
const WORD_BYTES: usize = size_of::<u128>();

/// A name with its quotes and the colon.
#[derive(Debug)]
pub(super) struct MemberKey {
    text: Box<[u8]>,
    /// The first bytes of the text, with zeros after a shorter one.
    word: u128,
    /// The bits of [`Self::word`] that the text has.
    mask: u128,
}

impl MemberKey {
    /// Returns `None` for a name with characters that must be escaped.
    pub(super) fn new(name: &str) -> Option<Self> {
        let is_escaped = |byte| matches!(byte, b'"' | b'\\' | ..b' ');
        if name.bytes().any(is_escaped) {
            return None;
        }
        let text = format!("\"{name}\":").into_bytes().into_boxed_slice();
        let (mut word, mut mask) = ([0; WORD_BYTES], [0; WORD_BYTES]);
        for (at, byte) in text.iter().take(WORD_BYTES).enumerate() {
            (word[at], mask[at]) = (*byte, u8::MAX);
        }
        Some(Self {
            text,
            word: u128::from_ne_bytes(word),
            mask: u128::from_ne_bytes(mask),
        })
    }

    /// The length of the name with its quotes and the colon, if the bytes begin with them.
    #[inline(always)]
    pub(super) fn prefix_len(&self, bytes: &[u8]) -> Option<usize> {
        let length = self.text.len();
        let is_prefix = match bytes.first_chunk() {
            // A call of `memcmp` takes longer than the comparison of one word.
            Some(word) if length <= WORD_BYTES => {
                u128::from_ne_bytes(*word) & self.mask == self.word
            }
            _ => bytes.starts_with(&self.text),
        };
        is_prefix.then_some(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_at_any_distance_to_the_end() {
        for name in [
            "",
            "a",
            "é",
            "0123456789abc",
            "0123456789abcd",
            "much longer than a word",
        ] {
            let key = MemberKey::new(name).unwrap();
            let written = format!("\"{name}\":");
            for after in ["", "1}", "\"a text that is longer than a word\"}"] {
                let text = format!("{written}{after}");
                assert_eq!(
                    key.prefix_len(text.as_bytes()),
                    Some(written.len()),
                    "{text}"
                );
                for at in 0..written.len() {
                    let mut other = text.clone().into_bytes();
                    other[at] ^= 1;
                    assert_eq!(key.prefix_len(&other), None, "{text} at {at}");
                    assert_eq!(
                        key.prefix_len(&text.as_bytes()[..at]),
                        None,
                        "{text} to {at}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_name_that_must_be_escaped_has_no_key() {
        for name in ["\"", "a\\", "\n"] {
            assert!(MemberKey::new(name).is_none(), "{name:?}");
        }
    }
}
