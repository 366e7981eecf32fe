//! The master key, under which the secrets of a file are encrypted.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use base64::{DecodeError, Engine, engine::GeneralPurpose};
use chacha20poly1305::Key;
use chacha20poly1305::aead::Generate;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use zeroize::{Zeroize, Zeroizing};

use super::private_file::{self, PrivateFileError};

/// The environment variable with the master key.
pub const MASTER_KEY_VARIABLE: &str = "MCP_WEB_AGENT_MASTER_KEY";

pub(super) const KEY_BYTES: usize = 32;

/// The maximum size of a file with a master key, in bytes.
const MAX_KEY_FILE_BYTES: usize = 1024;

/// Prefix that is hashed before a key for its id, so that the hash is useful for nothing else.
const KEY_ID_CONTEXT: &[u8] = b"mcp-web-agent secrets: id of a master key, version 1\0";

/// A key for XChaCha20-Poly1305, which is overwritten when it is dropped.
pub struct MasterKey(Box<Zeroizing<[u8; KEY_BYTES]>>);

/// The id of a master key: the first 8 hexadecimal digits of a hash. It is not a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct KeyId(u32);

/// Why no master key could be loaded. No message contains a key.
#[derive(Debug, thiserror::Error)]
pub enum MasterKeyError {
    /// Neither the variable nor the file is configured.
    #[error(
        "secrets are stored, and there is no master key for them: set {MASTER_KEY_VARIABLE} or \
         `master_key_file`"
    )]
    Missing,
    /// The file cannot be read or created.
    #[error(transparent)]
    File(#[from] PrivateFileError),
    /// `master_key_file` does not exist.
    #[error(
        "the file {} with the master key does not exist: use the key with which the secrets were \
         set, or generate one if there are no secrets yet", .0.display()
    )]
    NoFile(PathBuf),
    /// The text is not a key. The field names its source.
    #[error(
        "the master key in {0} is invalid: it must be 32 random bytes as base64 or as 64 hexadecimal \
         digits, such as `openssl rand -base64 32` writes"
    )]
    Malformed(String),
    /// The operating system has no random bytes.
    #[error("no master key can be generated, because this system has no random bytes: {0}")]
    NoRandomness(io::Error),
}

impl MasterKey {
    /// Loads the key from the value of [`MASTER_KEY_VARIABLE`] or, if that is not set, from
    /// `master_key_file`.
    ///
    /// # Errors
    ///
    /// [`MasterKeyError`] when no key is set, when others can read the file, and when the text is not a
    /// key.
    pub fn load(variable: Option<&str>, file: Option<&Path>) -> Result<Self, MasterKeyError> {
        match (variable, file) {
            (Some(text), _) => Self::parse(text)
                .ok_or_else(|| MasterKeyError::Malformed(MASTER_KEY_VARIABLE.to_owned())),
            (None, Some(path)) => Self::load_file(path),
            (None, None) => Err(MasterKeyError::Missing),
        }
    }

    fn load_file(path: &Path) -> Result<Self, MasterKeyError> {
        let file = private_file::read(path, MAX_KEY_FILE_BYTES)?
            .ok_or_else(|| MasterKeyError::NoFile(path.to_owned()))?;
        let bytes = Zeroizing::new(file.bytes);
        let text = str::from_utf8(&bytes).ok();
        text.and_then(Self::parse)
            .ok_or_else(|| MasterKeyError::Malformed(path.display().to_string()))
    }

    /// Creates a file with a new key. An existing file is never replaced: without its key, the
    /// secrets that are encrypted under it are lost.
    ///
    /// # Errors
    ///
    /// [`MasterKeyError`] when the file exists already, and when it cannot be written.
    pub fn generate(path: &Path) -> Result<Self, MasterKeyError> {
        let mut random = Key::try_generate()
            .map_err(|error| MasterKeyError::NoRandomness(io::Error::other(error)))?;
        let key = Self::from_bytes(&random);
        random.zeroize();
        let mut text = Zeroizing::new(String::with_capacity(2 * KEY_BYTES));
        STANDARD.encode_string(**key.0, &mut text);
        text.push('\n');
        private_file::create(path, text.as_bytes())?;
        Ok(key)
    }

    /// Parses 32 bytes as base64 or as hexadecimal digits. Rejects 32 equal bytes, which are not random.
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let bytes = if text.len() == 2 * KEY_BYTES {
            parse_hex(text)?
        } else {
            // The first engine accepts `+` and `/`, the second `-` and `_`.
            let text = text.strip_suffix('=').unwrap_or(text);
            let decode = |engine: &GeneralPurpose| -> Result<_, DecodeError> {
                engine.decode(text).map(Zeroizing::new)
            };
            decode(&STANDARD_NO_PAD)
                .or_else(|_| decode(&URL_SAFE_NO_PAD))
                .ok()?
        };
        let is_random = bytes.iter().any(|byte| *byte != bytes[0]);
        (bytes.len() == KEY_BYTES && is_random).then(|| Self::from_bytes(&bytes))
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Self {
        let mut key = Box::new(Zeroizing::new([0; KEY_BYTES]));
        key.copy_from_slice(bytes);
        Self(key)
    }

    /// Returns the id of this key.
    pub fn id(&self) -> KeyId {
        let hash = Sha256::new().chain_update(KEY_ID_CONTEXT);
        let hash = hash.chain_update(**self.0).finalize();
        KeyId(u32::from_be_bytes([hash[0], hash[1], hash[2], hash[3]]))
    }

    /// Returns the bytes of the key.
    pub(super) fn as_bytes(&self) -> &[u8; KEY_BYTES] {
        &self.0
    }
}

impl fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MasterKey(…)")
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}

impl From<KeyId> for String {
    fn from(id: KeyId) -> Self {
        id.to_string()
    }
}

impl TryFrom<String> for KeyId {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let id = u32::from_str_radix(&text, 16).ok().map(Self);
        // A number can be written in several ways, but an id has only one text.
        id.filter(|id| id.to_string() == text)
            .ok_or("the id of the key is invalid")
    }
}

fn parse_hex(text: &str) -> Option<Zeroizing<Vec<u8>>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let pair = |pair: &[u8]| u8::try_from(digit(&pair[0])? * 16 + digit(&pair[1])?).ok();
    let pairs = text.as_bytes().chunks_exact(2);
    let mut bytes = Zeroizing::new(Vec::with_capacity(KEY_BYTES));
    for byte in pairs.map(pair) {
        bytes.push(byte?);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: [u8; KEY_BYTES] = *b"\xfb\xff\xbe 29 bytes of a key for tests.";

    fn parse(text: &str) -> Option<Vec<u8>> {
        MasterKey::parse(text).map(|key| key.0.to_vec())
    }

    #[test]
    fn a_key_is_base64_or_hexadecimal_digits() {
        let hex: String = BYTES.iter().map(|byte| format!("{byte:02x}")).collect();
        let base64 = STANDARD.encode(BYTES);
        assert!(base64.starts_with("+/++"), "{base64}");
        let url_safe = URL_SAFE_NO_PAD.encode(BYTES);
        let unpadded = base64.trim_end_matches('=');
        for text in [&base64, unpadded, &url_safe, &hex, &hex.to_uppercase()] {
            assert_eq!(parse(text).unwrap(), BYTES, "{text}");
            assert_eq!(parse(&format!(" {text}\r\n")).unwrap(), BYTES);
        }
    }

    #[test]
    fn an_invalid_key_is_refused_and_not_shown() {
        let short = STANDARD.encode(&BYTES[1..]);
        let zeros = "00".repeat(KEY_BYTES);
        let not_hex = "hush".repeat(16);
        let signs = "+f".repeat(KEY_BYTES);
        for text in ["", "=", "hush", &short, &zeros, &not_hex, &signs, "hüsh"] {
            let error = MasterKey::load(Some(text), None).unwrap_err();
            let (message, debug) = (error.to_string(), format!("{error:?}"));
            assert!(message.contains(MASTER_KEY_VARIABLE), "{message}");
            assert!(message.contains("openssl rand -base64 32"), "{message}");
            assert!(!(message + &debug).contains("hush"));
        }
        let error = MasterKey::load(None, None).unwrap_err().to_string();
        assert!(error.contains("`master_key_file`"), "{error}");
    }

    #[test]
    fn the_variable_takes_precedence_over_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let generated = MasterKey::generate(&path).unwrap();
        let loaded = MasterKey::load(None, Some(&path)).unwrap();
        assert_eq!(loaded.id(), generated.id());
        let text = STANDARD.encode(BYTES);
        let from_variable = MasterKey::load(Some(&text), Some(&path)).unwrap();
        assert_eq!(*from_variable.0.as_slice(), BYTES);
    }

    #[test]
    fn a_generated_key_is_private_and_replaces_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let error = MasterKey::load(None, Some(&path)).unwrap_err().to_string();
        assert!(error.contains("does not exist"), "{error}");
        let first = MasterKey::generate(&path).unwrap();
        let error = MasterKey::generate(&path).unwrap_err().to_string();
        assert!(error.contains("exists already"), "{error}");
        let other = MasterKey::generate(&folder.path().join("other")).unwrap();
        assert_ne!(first.id(), other.id());
        assert_eq!(MasterKey::load(None, Some(&path)).unwrap().id(), first.id());
        assert_eq!(format!("{first:?}"), "MasterKey(…)");
        std::fs::write(&path, "hush").unwrap();
        let error = MasterKey::load(None, Some(&path)).unwrap_err().to_string();
        assert!(
            error.contains("key in /") && !error.contains("hush"),
            "{error}"
        );
        std::fs::write(&path, [b'a'; MAX_KEY_FILE_BYTES + 1]).unwrap();
        let error = MasterKey::load(None, Some(&path)).unwrap_err().to_string();
        assert!(error.contains("larger than 1024 bytes"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn a_key_that_others_can_read_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        MasterKey::generate(&path).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        for mode in [0o640, 0o604, 0o620] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            let error = MasterKey::load(None, Some(&path)).unwrap_err().to_string();
            assert!(error.contains("chmod 600"), "{error}");
        }
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o400)).unwrap();
        assert!(MasterKey::load(None, Some(&path)).is_ok());
    }

    #[test]
    fn the_id_of_a_key_does_not_change() {
        // Computed with another implementation of SHA-256.
        let id = MasterKey::from_bytes(&BYTES).id();
        assert_eq!(id.to_string(), "102ec999");
        assert_eq!(KeyId::try_from(id.to_string()), Ok(id));
        for text in ["+1234567", "ABCDEF01", "1", "", "123456789"] {
            assert!(KeyId::try_from(text.to_owned()).is_err(), "{text}");
        }
    }
}
