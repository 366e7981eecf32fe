//! The names of nodes, realms and denials in the directory.

use std::fmt;
use std::str::FromStr;

use data_encoding::{BASE32_NOPAD, HEXLOWER};

/// The length of the longer names, those of realms and denials.
const MAX_NAME_CHARS: usize = 32;

/// Declares a name, which is written in base32.
macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $length:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name([u8; $length]);

        impl $name {
            /// The name with these bytes.
            pub const fn from_bytes(bytes: [u8; $length]) -> Self {
                Self(bytes)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write_base32(&self.0, f)
            }
        }

        impl FromStr for $name {
            type Err = InvalidName;

            fn from_str(text: &str) -> Result<Self, InvalidName> {
                decode(text).map(Self)
            }
        }
    };
}

name! {
    /// Identifies a node: 16 random bytes of one start of the process.
    NodeId, 16
}

name! {
    /// Identifies a realm in the directory. It is a keyed hash, so that who reads the directory cannot test
    /// whether a guessed token has a realm.
    RealmKey, 20
}

name! {
    /// Identifies a realm whose principal was denied or allowed access. It is another keyed hash than
    /// [`RealmKey`], so that the directory does not show which of the realms that are served was denied.
    DenialKey, 20
}

impl DenialKey {
    /// The bytes of the hash.
    pub(crate) fn as_bytes(&self) -> &[u8; 20] {
        &self.0
    }
}

impl NodeId {
    /// The start of the id, for metrics and lines of the log.
    pub fn short(&self) -> String {
        let mut id = self.to_string();
        id.truncate(6);
        id
    }
}

impl RealmKey {
    /// The first four bytes, which suffice to follow a realm in a log.
    pub fn short(&self) -> String {
        start(self.0)
    }

    /// The weight of a node for this realm in rendezvous hashing. Both names are random already, so they
    /// only have to be mixed.
    pub(crate) fn weight(&self, node: &NodeId) -> u64 {
        let start = |bytes: &[u8]| {
            let bytes = bytes.iter().take(8);
            bytes.fold(0, |number: u64, byte| number << 8 | u64::from(*byte))
        };
        let mut mixed = start(&self.0) ^ start(&node.0);
        // The finalizer of SplitMix64.
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
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

impl fmt::Debug for DenialKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DenialKey({}…)", start(self.0))
    }
}

/// The first four bytes of a hash.
fn start(hash: [u8; 20]) -> String {
    HEXLOWER.encode(&hash[..4])
}

/// The text is not a name of the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a name in the directory")]
pub struct InvalidName;

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
