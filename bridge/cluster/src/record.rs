//! The records of the directory: who owns a realm, which nodes live, and who is denied.
//!
//! A record is a line that begins with its version and ends with a MAC over its place and its text, so that
//! only nodes can write one, and a record that was copied to another key is not accepted.

use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use data_encoding::HEXLOWER;

use crate::keys::{ClusterKeys, MacUse};
use crate::names::{DenialKey, NodeId, RealmKey};

/// Maximum length of the record of a realm in bytes.
const MAX_CLAIM_BYTES: usize = 512;
/// Maximum length of the record of a denial in bytes.
const MAX_DENIAL_BYTES: usize = 512;
/// Maximum length of the record of a node in bytes: it names the nodes that it reaches, 27 bytes each.
const MAX_NODE_BYTES: usize = 4096;

pub(crate) const NODES: &str = "nodes";
pub(crate) const REALMS: &str = "realms";
pub(crate) const DENIALS: &str = "denied";
/// Stands for a text that a record does not have.
const NONE: &str = "-";
const MOVED: &str = "moved";

/// The record of a realm: its owner, if it has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimRecord {
    /// The node owns it. Other nodes reach it at this address.
    Owned { node: NodeId, address: String },
    /// The last owner has given it away, and any node may take it.
    Moved,
}

impl ClaimRecord {
    /// The record as text, for the directory.
    pub fn encode(&self, keys: &ClusterKeys, realm: &RealmKey) -> String {
        let value = match self {
            Self::Owned { node, address } => format!("v1 {node} {address}"),
            Self::Moved => format!("v1 {MOVED} {NONE}"),
        };
        sign(keys, REALMS, &realm.to_string(), value)
    }

    /// Decodes the record of a realm.
    ///
    /// # Errors
    ///
    /// See [`InvalidRecord`].
    pub fn decode(text: &str, keys: &ClusterKeys, realm: &RealmKey) -> Result<Self, InvalidRecord> {
        let value = verify(keys, REALMS, &realm.to_string(), text, MAX_CLAIM_BYTES)?;
        match fields(value)? {
            [MOVED, NONE] => Ok(Self::Moved),
            [node, address] => Ok(Self::Owned {
                node: parse(node)?,
                address: address.to_owned(),
            }),
        }
    }
}

/// A node that lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRecord {
    pub id: NodeId,
    /// Where other nodes reach it.
    pub address: String,
    pub state: NodeState,
    /// The nodes that have answered its last ping.
    pub reaches: Vec<NodeId>,
    pub version: String,
    pub settings: SettingsFingerprint,
}

/// Decision of an operator about the principal of a realm: to deny access until a time, or to allow it
/// again, which is a denial whose time is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DenialRecord {
    pub realm: [u8; 32],
    /// Of two decisions about a realm, the one with the greater version is later.
    pub version: u64,
    /// When the denial ends, in seconds since the Unix epoch.
    pub until: u64,
}

impl DenialRecord {
    /// The record as text, for the directory.
    pub fn encode(&self, keys: &ClusterKeys) -> String {
        let Self {
            realm,
            version,
            until,
        } = self;
        let key = keys.denial_key(realm);
        let masked = URL_SAFE_NO_PAD.encode(keys.mask_realm(&key, realm));
        let value = format!("v1 {version} {until} {masked}");
        sign(keys, DENIALS, &key.to_string(), value)
    }

    /// Decodes the record of a denial.
    ///
    /// # Errors
    ///
    /// See [`InvalidRecord`].
    pub fn decode(text: &str, keys: &ClusterKeys, key: &DenialKey) -> Result<Self, InvalidRecord> {
        let value = verify(keys, DENIALS, &key.to_string(), text, MAX_DENIAL_BYTES)?;
        let [version, until, masked] = fields(value)?;
        let masked = URL_SAFE_NO_PAD.decode(masked).ok();
        let masked = masked.and_then(|masked| masked.try_into().ok());
        let realm = keys.mask_realm(key, &masked.ok_or(InvalidRecord::Malformed)?);
        if keys.denial_key(&realm) != *key {
            return Err(InvalidRecord::Malformed);
        }
        Ok(Self {
            realm,
            version: parse(version)?,
            until: parse(until)?,
        })
    }
}

/// Whether a node takes new realms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeState {
    Serving,
    /// It gives its realms away, because it is about to stop or is cut off.
    Draining,
}

impl NodeState {
    /// The name of the state.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Serving => "serving",
            Self::Draining => "draining",
        }
    }
}

/// Hashes of the settings that have to be equal on all nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SettingsFingerprint {
    /// Covers settings that only a restart changes: how tokens become subjects, and the state key.
    pub strict: [u8; 8],
    /// Covers settings that a reload changes, on one node after another: tokens, keys, allow lists.
    pub reloadable: [u8; 8],
}

impl NodeRecord {
    /// The record as text, for the directory.
    pub fn encode(&self, keys: &ClusterKeys) -> String {
        let state = self.state.as_str();
        let reaches: Vec<_> = self.reaches.iter().map(NodeId::to_string).collect();
        let reaches = if reaches.is_empty() {
            NONE.to_owned()
        } else {
            reaches.join(",")
        };
        let (address, version, settings) = (&self.address, &self.version, self.settings.encode());
        let value = format!("v1 {address} {state} {reaches} {version} {settings}");
        sign(keys, NODES, &self.id.to_string(), value)
    }

    /// Decodes the record of a node.
    ///
    /// # Errors
    ///
    /// See [`InvalidRecord`].
    pub fn decode(text: &str, keys: &ClusterKeys, id: NodeId) -> Result<Self, InvalidRecord> {
        let value = verify(keys, NODES, &id.to_string(), text, MAX_NODE_BYTES)?;
        let [address, state, reaches, version, settings] = fields(value)?;
        let state = [NodeState::Serving, NodeState::Draining]
            .into_iter()
            .find(|known| known.as_str() == state)
            .ok_or(InvalidRecord::Malformed)?;
        let reaches = match reaches {
            NONE => Vec::new(),
            ids => ids.split(',').map(parse).collect::<Result<_, _>>()?,
        };
        Ok(Self {
            id,
            address: address.to_owned(),
            state,
            reaches,
            version: version.to_owned(),
            settings: SettingsFingerprint::decode(settings)?,
        })
    }
}

impl SettingsFingerprint {
    fn encode(self) -> String {
        format!(
            "{}.{}",
            HEXLOWER.encode(&self.strict),
            HEXLOWER.encode(&self.reloadable)
        )
    }

    fn decode(text: &str) -> Result<Self, InvalidRecord> {
        let hash = |text: &str| {
            let bytes = HEXLOWER.decode(text.as_bytes()).ok();
            bytes.and_then(|bytes| bytes.try_into().ok())
        };
        let (strict, reloadable) = text.split_once('.').ok_or(InvalidRecord::Malformed)?;
        match (hash(strict), hash(reloadable)) {
            (Some(strict), Some(reloadable)) => Ok(Self { strict, reloadable }),
            _ => Err(InvalidRecord::Malformed),
        }
    }
}

/// The text is not a record that this node can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRecord {
    /// A node with a newer version has written it. It is ignored without a line in the log.
    #[error("the record has another version")]
    UnknownVersion,
    /// Something other than a node has written it, or a node with another secret.
    #[error("the record is not signed with the secret of the cluster")]
    WrongMac,
    /// It is too long, or a node has written it that does not follow the format.
    #[error("the record has a wrong format")]
    Malformed,
}

fn sign(keys: &ClusterKeys, bucket: &str, key: &str, value: String) -> String {
    let mac = keys.mac(MacUse::Record, &[bucket, key, &value]);
    value + " " + &mac
}

/// Returns the text of a record without its MAC.
fn verify<'a>(
    keys: &ClusterKeys,
    bucket: &str,
    key: &str,
    text: &'a str,
    max_bytes: usize,
) -> Result<&'a str, InvalidRecord> {
    if text.len() > max_bytes {
        return Err(InvalidRecord::Malformed);
    }
    match text.split(' ').next() {
        Some("v1") => {}
        Some(version) if is_version(version) => return Err(InvalidRecord::UnknownVersion),
        _ => return Err(InvalidRecord::Malformed),
    }
    let (value, mac) = text.rsplit_once(' ').ok_or(InvalidRecord::Malformed)?;
    if keys.is_mac(MacUse::Record, &[bucket, key, value], mac) {
        Ok(value)
    } else {
        Err(InvalidRecord::WrongMac)
    }
}

fn is_version(text: &str) -> bool {
    (text.strip_prefix('v')).is_some_and(|digits| {
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// Splits the text of a record into the fields after its version.
fn fields<const N: usize>(value: &str) -> Result<[&str; N], InvalidRecord> {
    let fields: Vec<_> = value.split(' ').skip(1).collect();
    match <[&str; N]>::try_from(fields) {
        Ok(fields) if fields.iter().all(|field| !field.is_empty()) => Ok(fields),
        _ => Err(InvalidRecord::Malformed),
    }
}

fn parse<T: FromStr>(text: &str) -> Result<T, InvalidRecord> {
    text.parse().map_err(|_| InvalidRecord::Malformed)
}

#[cfg(test)]
mod tests;
