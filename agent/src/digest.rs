//! Digests that name several values at once without showing them.

use sha2::{Digest as _, Sha256};

/// The length of a digest in bytes. In hexadecimal it is a cache key that every provider accepts.
const DIGEST_BYTES: usize = 16;

/// A digest of values in their order.
#[derive(Clone, Debug)]
pub(crate) struct Digest(Sha256);

impl Digest {
    /// Creates the digest of no values. The purpose makes it useful for nothing else.
    pub(crate) fn new(purpose: &str) -> Self {
        Self(Sha256::new()).with(purpose)
    }

    /// Adds a value.
    pub(crate) fn add(&mut self, value: impl AsRef<[u8]>) {
        let value = value.as_ref();
        // With its length, `ab` and `c` differ from `a` and `bc`.
        self.0.update((value.len() as u64).to_le_bytes());
        self.0.update(value);
    }

    /// Returns the digest with another value.
    pub(crate) fn with(mut self, value: impl AsRef<[u8]>) -> Self {
        self.add(value);
        self
    }

    /// Returns the digest in hexadecimal.
    pub(crate) fn to_hex(&self) -> String {
        let bytes = self.0.clone().finalize();
        let bytes = bytes[..DIGEST_BYTES].iter();
        bytes.map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_has_32_digits_and_depends_on_purpose_and_each_value() {
        let digest = |purpose, values: &[&str]| {
            let digest = Digest::new(purpose);
            values.iter().fold(digest, Digest::with).to_hex()
        };
        let whole = digest("p", &["ab", "c"]);
        assert_eq!(whole.len(), 32);
        assert!(whole.bytes().all(|byte| byte.is_ascii_hexdigit()));
        assert_eq!(whole, digest("p", &["ab", "c"]));
        for (purpose, values) in [
            ("q", &["ab", "c"][..]),
            ("p", &["a", "bc"]),
            ("p", &["ab", "c", ""]),
            ("pab", &["c"]),
        ] {
            assert_ne!(whole, digest(purpose, values), "{purpose} {values:?}");
        }
    }
}
