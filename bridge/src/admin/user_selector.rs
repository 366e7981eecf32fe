//! The users that an operator names.

use bridge_auth::RealmId;
use bridge_realm::realm::Realm;

use super::administration::Administration;
use super::messages::UserSelector;

/// The shortest beginning of a hash that names a realm: what logs print.
pub(super) const MIN_HASH_DIGITS: usize = 8;

/// How many digits of a hash are listed. No two tokens can be found whose hashes begin with the same ones.
const LISTED_HASH_DIGITS: usize = 32;

/// How many realms an error lists.
const MAX_LISTED_REALMS: usize = 5;

/// Returns the name of a realm in lists and messages.
pub(super) fn realm_name(realm: RealmId) -> String {
    let mut name = realm.to_hex();
    name.truncate(LISTED_HASH_DIGITS);
    name
}

impl Administration {
    /// Returns the realms that a selector names, in their order.
    ///
    /// # Errors
    ///
    /// When the selector is not valid.
    pub(super) fn select(&self, user: &UserSelector) -> Result<Vec<RealmId>, String> {
        match (&user.subject, &user.realm) {
            (Some(_), Some(_)) => Err("give a subject or a realm, not both".to_owned()),
            (Some(subject), None) => self.realms_of_subject(subject, user.issuer.as_deref()),
            (None, Some(hash)) => self.realms_with_hash(hash),
            (None, None) => Ok(self.hub.all_realms()),
        }
    }

    /// Returns the one realm that a selector names.
    ///
    /// # Errors
    ///
    /// When there are several, or none.
    pub(super) fn select_one(&self, user: &UserSelector) -> Result<RealmId, String> {
        if user.subject.is_none() && user.realm.is_none() {
            return Err("name the user: a subject, --realm or --token-stdin".to_owned());
        }
        only_one(&self.select(user)?)
    }

    /// Returns the realm of this user, or of any user, for which the predicate holds.
    ///
    /// # Errors
    ///
    /// When there are several, or none.
    pub(super) fn find(
        &self,
        user: &UserSelector,
        predicate: impl Fn(&Realm) -> bool,
    ) -> Result<RealmId, String> {
        let mut realms = self.select(user)?;
        realms.retain(|realm| self.hub.with_realm(*realm, &predicate) == Some(true));
        only_one(&realms)
    }

    fn realms_of_subject(
        &self,
        subject: &str,
        issuer: Option<&str>,
    ) -> Result<Vec<RealmId>, String> {
        let issuers = match issuer {
            Some(issuer) => vec![issuer.to_owned()],
            None => self.authenticator.issuers(),
        };
        if issuers.is_empty() {
            return Err(
                "no issuer of signed tokens is configured, so users have no subjects: use --realm or \
                 --token-stdin"
                    .to_owned(),
            );
        }
        let realms = issuers.into_iter();
        let mut realms: Vec<_> = realms
            .map(|issuer| RealmId::from_subject(&issuer, subject))
            .collect();
        realms.sort_unstable();
        Ok(realms)
    }

    /// Returns the realms whose hash begins with these digits. All digits also name a realm that is not
    /// in use.
    fn realms_with_hash(&self, hash: &str) -> Result<Vec<RealmId>, String> {
        if let Some(realm) = RealmId::from_hex(hash) {
            return Ok(vec![realm]);
        }
        let hash = hash.to_ascii_lowercase();
        if hash.len() < MIN_HASH_DIGITS || !hash.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(format!(
                "--realm takes at least {MIN_HASH_DIGITS} hexadecimal digits of a realm, as logs and lists \
                 print them, or the SHA-256 of a token"
            ));
        }
        let denials = self.denials.list().denials();
        let mut realms = self.hub.all_realms();
        realms.extend(denials.into_iter().map(|(realm, _)| realm));
        realms.retain(|realm| realm.to_hex().starts_with(&hash));
        realms.sort_unstable();
        realms.dedup();
        Ok(realms)
    }
}

/// Returns the only realm of a list.
///
/// # Errors
///
/// When there are several, or none.
pub(super) fn only_one(realms: &[RealmId]) -> Result<RealmId, String> {
    match realms {
        [realm] => Ok(*realm),
        [] => Err(
            "nothing fits: see the lists. A realm that is not in use at this bridge needs all 64 digits of its \
             hash"
                .to_owned(),
        ),
        several => {
            let names = several.iter().take(MAX_LISTED_REALMS);
            let names: Vec<_> = names.map(|realm| realm_name(*realm)).collect();
            Err(format!(
                "{} realms fit, name one of them with --realm: {}",
                several.len(),
                names.join(", ")
            ))
        }
    }
}
