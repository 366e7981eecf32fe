//! The encryption of secrets: XChaCha20-Poly1305 under the [master key](super::master_key).

use std::io;

use chacha20poly1305::aead::{Aead, Generate, Payload};
use chacha20poly1305::{Key, KeyInit, XChaCha20Poly1305, XNonce};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::master_key::MasterKey;

/// The size of the authentication tag at the end of a ciphertext, in bytes.
pub(super) const AUTHENTICATION_TAG_BYTES: usize = 16;

/// Bytes that a [`MasterKey`] has encrypted.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Ciphertext {
    #[serde(with = "base64_text")]
    pub(super) nonce: Vec<u8>,
    /// The encrypted bytes and the authentication tag.
    #[serde(with = "base64_text")]
    pub(super) ciphertext: Vec<u8>,
}

impl MasterKey {
    /// Encrypts bytes under a new random nonce. Only who has the same associated data can decrypt
    /// them.
    pub(super) fn encrypt(
        &self,
        plaintext: &[u8],
        associated_data: &[u8],
    ) -> io::Result<Ciphertext> {
        let nonce = XNonce::try_generate().map_err(io::Error::other)?;
        let payload = Payload {
            msg: plaintext,
            aad: associated_data,
        };
        let ciphertext = self.cipher().encrypt(&nonce, payload);
        Ok(Ciphertext {
            nonce: nonce.to_vec(),
            ciphertext: ciphertext.map_err(io::Error::other)?,
        })
    }

    /// Decrypts bytes. Returns `None` if they, their nonce or the associated data are not those of
    /// the encryption, or the key is another one.
    pub(super) fn decrypt(
        &self,
        encrypted: &Ciphertext,
        associated_data: &[u8],
    ) -> Option<Zeroizing<Vec<u8>>> {
        let nonce = XNonce::try_from(encrypted.nonce.as_slice()).ok()?;
        let payload = Payload {
            msg: &encrypted.ciphertext,
            aad: associated_data,
        };
        let plaintext = self.cipher().decrypt(&nonce, payload).ok()?;
        Some(Zeroizing::new(plaintext))
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new(<&Key>::from(self.as_bytes()))
    }
}

/// Bytes as base64 in JSON.
mod base64_text {
    use std::borrow::Cow;

    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<u8>, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        // Of several texts for the same bytes, the engine accepts the one that it writes.
        let decoded = STANDARD.decode(text.as_bytes());
        decoded.map_err(|_| Error::custom("this is not base64"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::master_key::KEY_BYTES;
    use super::*;

    #[test]
    fn only_the_same_key_and_associated_data_decrypt() {
        let key = MasterKey::from_bytes(&[1; KEY_BYTES]);
        let encrypted = key.encrypt(b"hush", b"a").unwrap();
        assert_eq!(*key.decrypt(&encrypted, b"a").unwrap(), b"hush");
        assert!(key.decrypt(&encrypted, b"b").is_none());
        let other = MasterKey::from_bytes(&[7; KEY_BYTES]);
        assert!(other.decrypt(&encrypted, b"a").is_none());
        let again = key.encrypt(b"hush", b"a").unwrap();
        assert_ne!(again.nonce, encrypted.nonce);
        let short_nonce = Ciphertext {
            nonce: vec![0; 12],
            ..encrypted
        };
        assert!(key.decrypt(&short_nonce, b"a").is_none());
    }
}
