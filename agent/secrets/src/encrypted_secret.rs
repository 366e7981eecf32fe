//! An entry of the file of secrets: its value is encrypted, and bound to its name and its user.

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::checks::{is_valid_name, is_valid_user};
use super::cipher::{AUTHENTICATION_TAG_BYTES, Ciphertext};
use super::error::SecretsError;
use super::limits::MAX_SECRET_BYTES;
use super::master_key::MasterKey;
use super::secret_text::SecretText;

/// The version of the format. Every value is also bound to it.
pub(super) const FORMAT: u32 = 1;

/// The first part of the data to which the value of a secret is bound.
const CONTEXT: &[u8] = b"mcp-web-agent secrets: value";

/// The last second of the year 9999. Later dates cannot be formatted.
const MAX_UNIX_SECONDS: u64 = 253_402_300_799;

/// An entry of the file of secrets.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EncryptedSecret {
    pub(super) name: String,
    /// The user whose secret it is; `None` if all users share it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) user: Option<String>,
    /// When the value was set, in seconds since 1970 in UTC.
    set_at: u64,
    pub(super) value: Ciphertext,
}

impl EncryptedSecret {
    pub(super) fn encrypt(
        name: &str,
        user: Option<&str>,
        set_at: SystemTime,
        value: &str,
        key: &MasterKey,
    ) -> Result<Self, SecretsError> {
        let since_1970 = set_at.duration_since(SystemTime::UNIX_EPOCH);
        let mut secret = Self {
            name: name.to_owned(),
            user: user.map(str::to_owned),
            set_at: since_1970.map_or(0, |it| it.as_secs().min(MAX_UNIX_SECONDS)),
            value: Ciphertext::default(),
        };
        secret.value = key
            .encrypt(value.as_bytes(), &secret.associated_data())
            .map_err(SecretsError::NoRandomness)?;
        Ok(secret)
    }

    /// Decrypts the value. Returns `None` if the secret was changed after it was encrypted.
    pub(super) fn decrypt(&self, key: &MasterKey) -> Option<SecretText> {
        let bytes = key.decrypt(&self.value, &self.associated_data())?;
        SecretText::from_utf8(bytes)
    }

    /// Returns the key by which secrets are sorted: a name and a user have one secret.
    pub(super) fn owner(&self) -> (&str, Option<&str>) {
        (&self.name, self.user.as_deref())
    }

    pub(super) fn set_at(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(self.set_at)
    }

    /// Returns whether everything but the value has the form that this module writes.
    pub(super) fn is_well_formed(&self) -> bool {
        is_valid_name(&self.name)
            && self.user.as_deref().is_none_or(is_valid_user)
            && self.set_at <= MAX_UNIX_SECONDS
            && self.value.ciphertext.len() <= MAX_SECRET_BYTES + AUTHENTICATION_TAG_BYTES
    }

    /// Returns the data to which the value is bound. Each part is preceded by its length, so that
    /// no two secrets have the same data.
    pub(super) fn associated_data(&self) -> Vec<u8> {
        let mut data = Vec::new();
        push_part(&mut data, CONTEXT);
        push_part(&mut data, &FORMAT.to_be_bytes());
        push_part(&mut data, &self.set_at.to_be_bytes());
        push_part(&mut data, self.name.as_bytes());
        if let Some(user) = &self.user {
            push_part(&mut data, user.as_bytes());
        }
        data
    }
}

/// Appends a part with its length before it.
pub(super) fn push_part(data: &mut Vec<u8>, part: &[u8]) {
    data.extend_from_slice(&(part.len() as u64).to_be_bytes());
    data.extend_from_slice(part);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Changes something that the value is bound to.
    type Change = fn(&mut EncryptedSecret);

    fn encrypt(name: &str, user: Option<&str>, key: &MasterKey) -> EncryptedSecret {
        let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        EncryptedSecret::encrypt(name, user, at, "hush-hush", key).unwrap()
    }

    fn new_key() -> MasterKey {
        let folder = tempfile::tempdir().unwrap();
        MasterKey::generate(&folder.path().join("key")).unwrap()
    }

    #[test]
    fn a_value_is_bound_to_all_other_fields_of_its_entry() {
        let key = new_key();
        let secret = encrypt("a", Some("ada"), &key);
        assert_eq!(secret.decrypt(&key).unwrap().expose(), "hush-hush");
        let changes: [Change; 6] = [
            |it| it.name = "b".to_owned(),
            |it| it.user = None,
            |it| it.user = Some("bob".to_owned()),
            |it| (it.name, it.user) = ("aada".to_owned(), None),
            |it| it.set_at += 1,
            |it| it.value.nonce[23] ^= 1,
        ];
        for (index, change) in changes.iter().enumerate() {
            let mut changed = secret.clone();
            change(&mut changed);
            assert!(changed.decrypt(&key).is_none(), "{index}");
        }
        assert!(secret.decrypt(&new_key()).is_none());
    }

    #[test]
    fn the_values_of_two_entries_cannot_be_swapped() {
        let key = new_key();
        let mut one = encrypt("a", Some("ada"), &key);
        let mut other = encrypt("a", Some("bob"), &key);
        std::mem::swap(&mut one.value, &mut other.value);
        assert!(one.decrypt(&key).is_none() && other.decrypt(&key).is_none());
    }

    #[test]
    fn no_two_secrets_have_the_same_associated_data() {
        let key = new_key();
        let data = |name, user| encrypt(name, user, &key).associated_data();
        assert_ne!(data("a", Some("b")), data("ab", Some("")));
        assert_ne!(data("a", Some("")), data("a", None));
        assert_ne!(data("a", Some("bc")), data("ab", Some("c")));
    }

    #[test]
    fn times_outside_of_1970_to_9999_are_clamped() {
        let key = new_key();
        let set = |at| EncryptedSecret::encrypt("a", None, at, "b", &key).unwrap();
        let before = set(SystemTime::UNIX_EPOCH - Duration::from_secs(1));
        assert_eq!(before.set_at(), SystemTime::UNIX_EPOCH);
        let after = set(SystemTime::UNIX_EPOCH + Duration::from_secs(MAX_UNIX_SECONDS + 1));
        assert_eq!(after.set_at, MAX_UNIX_SECONDS);
        assert!(after.is_well_formed());
    }
}
