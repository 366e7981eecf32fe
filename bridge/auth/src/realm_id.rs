//! Identifiers of realms.

use std::fmt::{self, Write};

use sha2::{Digest, Sha256};

use crate::base64url::encode_base64url;

/// No UTF-8 text begins with this byte, so no opaque token has the same hash input as a subject.
const SUBJECT_DOMAIN: &[u8] = b"\xFFmcp-web issuer and subject\0";

/// Begins the input of the hash that names a user. No input of another hash begins with it.
const USER_DOMAIN: &[u8] = b"\xFFmcp-web user\0";

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

    /// The name of the user of this realm for the agent. It is always the same, and neither the
    /// realm's token nor the id of the realm can be computed from it.
    pub fn user_id(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(USER_DOMAIN);
        hash.update(self.0);
        encode_base64url(&hash.finalize())
    }

    /// The hash in hexadecimal digits. That of an opaque token is its SHA-256.
    pub fn to_hex(self) -> String {
        let mut hex = String::with_capacity(2 * self.0.len());
        for byte in self.0 {
            // Writing into a string cannot fail.
            let _ = write!(hex, "{byte:02x}");
        }
        hex
    }

    /// The realm with this hash in hexadecimal digits.
    pub fn from_hex(hex: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        if hex.len() != 2 * bytes.len() || !hex.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        for (index, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&hex[2 * index..2 * index + 2], 16).ok()?;
        }
        Some(Self(bytes))
    }

    /// The realm with this hash.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
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

    #[test]
    fn the_hash_of_a_token_in_digits_is_its_sha_256() {
        let realm = RealmId::from_token("abc");
        let hex = realm.to_hex();
        // FIPS 180-2, appendix B.1.
        let sha_256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hex, sha_256);
        assert_eq!(RealmId::from_hex(&hex.to_uppercase()), Some(realm));
        assert!(hex.starts_with(&format!("{realm:?}")));
        for other in [
            "",
            &hex[1..],
            &format!("{hex}0"),
            &"+f".repeat(32),
            &"é".repeat(32),
        ] {
            assert_eq!(RealmId::from_hex(other), None, "{other}");
        }
    }

    #[test]
    fn a_user_id_is_stable_and_is_not_a_hash_that_authenticates() {
        let token = "0123456789abcdef";
        let realm = RealmId::from_token(token);
        let user = realm.user_id();
        // Stored with what belongs to the user, so that it must never change.
        assert_eq!(user, "kEMdO980JqLT0wv5y6rGile7h_TUSyktHR2NVydpJ_s");
        assert_ne!(user, encode_base64url(realm.as_bytes()));
        assert_ne!(user, RealmId::from_token(&user).user_id());
        let others = [
            RealmId::from_token("0123456789abcdeF"),
            RealmId::from_subject("https://a", "bc"),
            RealmId::from_subject("https://ab", "c"),
        ];
        for other in others {
            assert_ne!(other.user_id(), user);
            assert_eq!(other.user_id().len(), user.len());
        }
        let subject = RealmId::from_subject("https://a", "bc");
        assert_eq!(subject.user_id(), others[1].user_id());
    }
}
