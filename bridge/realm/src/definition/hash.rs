//! The hash of a definition's text, which identifies equal definitions.

use sha2::{Digest, Sha256};

/// The SHA-256 of the text of a definition.
pub type DefinitionHash = [u8; 32];

/// Hashes the text of a definition.
pub fn hash_text(text: &str) -> DefinitionHash {
    Sha256::digest(text).into()
}

/// The first 64 bits of a hash, for uses in which a collision does no harm.
pub fn hash_prefix(hash: &DefinitionHash) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = *hash;
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}
