//! Identifiers of realms.

use std::fmt;

use sha2::{Digest, Sha256};

/// No UTF-8 text begins with this byte, so no opaque token has the same hash input as a subject.
const SUBJECT_DOMAIN: &[u8] = b"\xFFmcp-web issuer and subject\0";

/// Identifies a realm: the hash of its opaque token, or of the issuer and subject of its signed
/// tokens.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RealmId([u8; 32]);

impl RealmId {
    /// The realm of an opaque token.
    pub fn from_token(token: &str) -> Self {
        Self(Sha256::digest(token).into())
    }

    /// The realm of the signed tokens of an issuer for a subject.
    pub fn from_subject(issuer: &str, subject: &str) -> Self {
        let mut hash = Sha256::new();
        hash.update(SUBJECT_DOMAIN);
        // The length separates the issuer from the subject.
        hash.update((issuer.len() as u64).to_be_bytes());
        hash.update(issuer);
        hash.update(subject);
        Self(hash.finalize().into())
    }

    /// The bytes of the hash.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// Shows only the first four bytes, which are enough to distinguish realms in a log.
impl fmt::Debug for RealmId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, ..] = self.0;
        write!(f, "{a:02x}{b:02x}{c:02x}{d:02x}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn issuer_and_subject_hash_without_ambiguity() {
        let realms = [
            RealmId::from_subject("https://a", "bc"),
            RealmId::from_subject("https://ab", "c"),
            RealmId::from_subject("https://a", "b"),
            RealmId::from_token("https://abc"),
            RealmId::from_token("bc"),
        ];
        for (index, realm) in realms.iter().enumerate() {
            assert!(!realms[..index].contains(realm), "{index}");
        }
        let again = RealmId::from_subject("https://a", "bc");
        assert_eq!(again, realms[0]);
    }
}
