//! The names of nodes and realms in the directory.

use std::fmt;
use std::str::FromStr;

use data_encoding::BASE32_NOPAD;

/// The length of the longer names, those of realms.
const MAX_NAME_CHARS: usize = 32;

/// Identifies a node: 16 random bytes of one start of the process.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId([u8; 16]);

impl NodeId {
    /// The node with these bytes.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The start of the id, for metrics and lines of the log.
    pub fn short(&self) -> String {
        let mut id = self.to_string();
        id.truncate(6);
        id
    }
}

/// Identifies a realm in the directory. It is a keyed hash, so that who reads the directory cannot test
/// whether a guessed token has a realm.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RealmKey([u8; 20]);

impl RealmKey {
    /// The realm with this hash.
    pub const fn from_bytes(bytes: [u8; 20]) -> Self {
        Self(bytes)
    }

    /// The first four bytes, which suffice to follow a realm in a log.
    pub fn short(&self) -> String {
        let [one, two, three, four, ..] = self.0;
        format!("{one:02x}{two:02x}{three:02x}{four:02x}")
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_base32(&self.0, f)
    }
}

impl fmt::Display for RealmKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_base32(&self.0, f)
    }
}

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NodeId({})", self.short())
    }
}

impl fmt::Debug for RealmKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RealmKey({}…)", self.short())
    }
}

/// The text is not the name of a node or realm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a name in the directory")]
pub struct InvalidName;

impl FromStr for NodeId {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        decode(text).map(Self)
    }
}

impl FromStr for RealmKey {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        decode(text).map(Self)
    }
}

/// Writes bytes as text. Each request to another node has three names, and `encode_display` clears a
/// buffer of 1 KiB for each.
fn write_base32(bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut text = [0; MAX_NAME_CHARS];
    let text = &mut text[..BASE32_NOPAD.encode_len(bytes.len())];
    BASE32_NOPAD.encode_mut(bytes, text);
    f.write_str(str::from_utf8(text).map_err(|_| fmt::Error)?)
}

fn decode<const N: usize>(text: &str) -> Result<[u8; N], InvalidName> {
    let bytes = BASE32_NOPAD.decode(text.as_bytes());
    bytes
        .ok()
        .and_then(|bytes| bytes.try_into().ok())
        .ok_or(InvalidName)
}
