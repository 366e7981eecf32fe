//! The keys that all nodes derive from their common secrets.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bridge_settings::Secret;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::names::{DenialKey, RealmKey};

type HmacSha256 = Hmac<Sha256>;

/// Length of a MAC in a record or header. 16 bytes cannot be guessed, and keep records short.
const MAC_BYTES: usize = 16;

/// The keys of a cluster. Each is HMAC-SHA256 of a secret over a label, so that no use of a secret can be
/// mistaken for another.
#[derive(Clone)]
pub struct ClusterKeys {
    realm: HmacSha256,
    denial: HmacSha256,
    denial_mask: HmacSha256,
    state: Secret,
    /// One for each secret that is accepted. The first signs.
    accepted: Vec<MacKeys>,
}

#[derive(Clone)]
struct MacKeys {
    record: HmacSha256,
    peer: HmacSha256,
    answer: HmacSha256,
}

/// The texts that a MAC covers, one key for each kind of text.
#[derive(Clone, Copy)]
pub(crate) enum MacUse {
    Record,
    PeerHeader,
    PeerAnswer,
}

impl ClusterKeys {
    /// Derives the keys. MACs are made with the first secret, and accepted if made with any: so a secret
    /// can be replaced without stopping all nodes.
    ///
    /// The names of realms and denials, and the key of sealed state, must survive that, or nodes would not
    /// find each other's realms. They come from `realm_secret`, and only without one from the first secret.
    ///
    /// # Panics
    ///
    /// Panics without a secret.
    pub fn new(secrets: &[Secret], realm_secret: Option<&Secret>) -> Self {
        let lasting = realm_secret.unwrap_or(&secrets[0]);
        let state = derive(lasting, "mcp-web state").finalize().into_bytes();
        let mac_keys = |secret| MacKeys {
            record: derived_key(secret, "mcp-web record"),
            peer: derived_key(secret, "mcp-web peer"),
            answer: derived_key(secret, "mcp-web peer answer"),
        };
        Self {
            realm: derived_key(lasting, "mcp-web realm"),
            denial: derived_key(lasting, "mcp-web denial"),
            denial_mask: derived_key(lasting, "mcp-web denial mask"),
            state: Secret::from_trusted(URL_SAFE_NO_PAD.encode(state)),
            accepted: secrets.iter().map(mac_keys).collect(),
        }
    }

    /// The name of a realm in the directory. Only who has the secret can compute it from the realm.
    pub fn realm_key(&self, realm: &[u8; 32]) -> RealmKey {
        RealmKey::from_bytes(short_hash(&self.realm, realm))
    }

    /// The name of the denial of a realm in the directory.
    pub fn denial_key(&self, realm: &[u8; 32]) -> DenialKey {
        DenialKey::from_bytes(short_hash(&self.denial, realm))
    }

    /// Hides the realm of a denial, or reveals one that was hidden. A node cannot compute the realm from the
    /// name.
    ///
    /// Name and mask are an encryption with a synthetic initialization vector, as in RFC 5297: the text is
    /// the same whenever the same realm is written, and shows nothing else to who has no key.
    pub(crate) fn mask_realm(&self, key: &DenialKey, realm: &[u8; 32]) -> [u8; 32] {
        let mask = self.denial_mask.clone().chain_update(key.as_bytes());
        let mut masked: [u8; 32] = mask.finalize().into_bytes().into();
        for (byte, plain) in masked.iter_mut().zip(realm) {
            *byte ^= plain;
        }
        masked
    }

    /// The secret that seals MCP state where the configuration has no `state_key`.
    pub fn state_secret(&self) -> Secret {
        self.state.clone()
    }

    /// Makes the MAC of these fields. Only the last one may contain a NUL.
    pub(crate) fn mac(&self, mac_use: MacUse, fields: &[&str]) -> String {
        let mac = self.accepted[0].of(mac_use, fields).finalize();
        URL_SAFE_NO_PAD.encode(&mac.into_bytes()[..MAC_BYTES])
    }

    /// Returns whether a MAC was made of these fields with an accepted secret, in constant time.
    pub(crate) fn is_mac(&self, mac_use: MacUse, fields: &[&str], mac: &str) -> bool {
        let Ok(mac) = URL_SAFE_NO_PAD.decode(mac) else {
            return false;
        };
        // A shorter MAC is also a left part, but can be guessed.
        mac.len() == MAC_BYTES
            && (self.accepted.iter())
                .any(|keys| keys.of(mac_use, fields).verify_truncated_left(&mac).is_ok())
    }
}

impl MacKeys {
    fn of(&self, mac_use: MacUse, fields: &[&str]) -> HmacSha256 {
        let mut mac = match mac_use {
            MacUse::Record => self.record.clone(),
            MacUse::PeerHeader => self.peer.clone(),
            MacUse::PeerAnswer => self.answer.clone(),
        };
        for (index, field) in fields.iter().enumerate() {
            if index > 0 {
                mac.update(b"\0");
            }
            mac.update(field.as_bytes());
        }
        mac
    }
}

fn short_hash(key: &HmacSha256, realm: &[u8; 32]) -> [u8; 20] {
    let hash = key.clone().chain_update(realm).finalize();
    let mut short = [0; 20];
    short.copy_from_slice(&hash.into_bytes()[..20]);
    short
}

fn derive(secret: &Secret, label: &str) -> HmacSha256 {
    keyed(secret.expose().as_bytes()).chain_update(label)
}

fn derived_key(secret: &Secret, label: &str) -> HmacSha256 {
    keyed(&derive(secret, label).finalize().into_bytes())
}

fn keyed(key: &[u8]) -> HmacSha256 {
    HmacSha256::new_from_slice(key).expect("HMAC takes keys of any length")
}

impl fmt::Debug for ClusterKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClusterKeys(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: &str) -> Secret {
        Secret::from_trusted(text.repeat(32))
    }

    const FIELDS: &[&str] = &["realms", "key", "value"];

    #[test]
    fn accepts_the_macs_of_both_secrets_and_signs_with_the_first() {
        let old = ClusterKeys::new(&[secret("a")], None);
        let both = ClusterKeys::new(&[secret("b"), secret("a")], Some(&secret("a")));
        let new = ClusterKeys::new(&[secret("b")], Some(&secret("a")));
        let of_old = old.mac(MacUse::Record, FIELDS);
        let of_both = both.mac(MacUse::Record, FIELDS);
        assert!(both.is_mac(MacUse::Record, FIELDS, &of_old));
        assert!(new.is_mac(MacUse::Record, FIELDS, &of_both));
        assert!(!old.is_mac(MacUse::Record, FIELDS, &of_both));
        assert!(!new.is_mac(MacUse::Record, FIELDS, &of_old));
    }

    #[test]
    fn names_and_sealed_state_survive_a_new_secret() {
        let old = ClusterKeys::new(&[secret("a")], None);
        let new = ClusterKeys::new(&[secret("b"), secret("a")], Some(&secret("a")));
        assert_eq!(old.realm_key(&[7; 32]), new.realm_key(&[7; 32]));
        let key = old.denial_key(&[7; 32]);
        assert_eq!(key, new.denial_key(&[7; 32]));
        let masked = old.mask_realm(&key, &[7; 32]);
        assert_eq!(new.mask_realm(&key, &masked), [7; 32]);
        assert_eq!(old.state_secret(), new.state_secret());
        let other = ClusterKeys::new(&[secret("b")], None);
        assert_ne!(old.realm_key(&[7; 32]), other.realm_key(&[7; 32]));
        assert_ne!(old.realm_key(&[7; 32]), old.realm_key(&[8; 32]));
    }

    #[test]
    fn rejects_a_mac_of_other_fields_of_another_use_or_length() {
        let keys = ClusterKeys::new(&[secret("a")], None);
        let mac = keys.mac(MacUse::Record, FIELDS);
        assert!(keys.is_mac(MacUse::Record, FIELDS, &mac));
        assert!(!keys.is_mac(MacUse::PeerHeader, FIELDS, &mac));
        assert!(!keys.is_mac(MacUse::Record, &["realms", "keyv", "alue"], &mac));
        let bytes = URL_SAFE_NO_PAD.decode(&mac).unwrap();
        let short = URL_SAFE_NO_PAD.encode(&bytes[..4]);
        assert!(!keys.is_mac(MacUse::Record, FIELDS, &short));
        assert!(!keys.is_mac(MacUse::Record, FIELDS, ""));
        assert!(!keys.is_mac(MacUse::Record, FIELDS, "?"));
    }

    /// Nodes of two versions have to agree on the keys: other values would need a `v2` of all records. These
    /// come from Python's `hmac`.
    #[test]
    fn derives_the_same_keys_in_every_version() {
        let keys = ClusterKeys::new(&[secret("a")], None);
        let denial = keys.denial_key(&[7; 32]);
        assert_eq!(
            [
                keys.realm_key(&[7; 32]).to_string(),
                denial.to_string(),
                URL_SAFE_NO_PAD.encode(keys.mask_realm(&denial, &[7; 32])),
                keys.mac(MacUse::Record, FIELDS),
                keys.mac(MacUse::PeerHeader, FIELDS),
                keys.mac(MacUse::PeerAnswer, FIELDS),
                keys.state_secret().expose().to_owned(),
            ],
            [
                "YHFISU7JJOOAFUQ5KN2Q7RPXFTB55PUN",
                "LHQ2URL7U6A72ZD7TR72D6HGBZJN574G",
                "aoHo5Zi10XzbMmV3udSFSPtwCXKV8DzwDJDtiwzeZhY",
                "QXU2zOIZMCq9Qgqz0kL1kw",
                "XaeB_kDxNBD_G7cXh7G30w",
                "lFrMKDmfYt_GzY5Isew-ZQ",
                "rBzXNwuZuH1_lRZIOBWbn89pk9VDMsY5piAE_6EnLTw"
            ]
        );
    }

    #[test]
    fn debug_shows_no_key() {
        let keys = ClusterKeys::new(&[secret("a")], None);
        assert_eq!(format!("{keys:?}"), "ClusterKeys(…)");
    }
}
