//! Which realms this bridge serves, if it is one of several.

use std::sync::{OnceLock, Weak};
use std::time::Instant;

use bridge_auth::RealmId;
use bridge_realm::realm::Refusal;

/// Knows which realms are served here.
pub(crate) trait RealmOwnership: Send + Sync {
    /// Checks that a realm is served here. The caller holds its lock, so an implementation must neither
    /// block nor call the hub.
    fn check(&self, realm: RealmId) -> Result<(), Refusal>;

    /// When a realm came here from another bridge, if it did. Its pages may not be back yet.
    fn taken_over(&self, realm: RealmId) -> Option<Instant>;

    /// The name of this bridge among the others.
    fn node(&self) -> String;

    /// The bridge itself did not run for a while.
    fn on_stall(&self);
}

/// The port to what decides which realms are served here. Until it is set, all are.
#[derive(Debug, Default)]
pub(crate) struct Ownership(OnceLock<Weak<dyn RealmOwnership>>);

impl Ownership {
    /// Serves only the realms that belong here from now on.
    pub(crate) fn set(&self, ownership: Weak<dyn RealmOwnership>) {
        let _ = self.0.set(ownership);
    }

    /// The name of this bridge, if there are several.
    pub(crate) fn node(&self) -> Option<String> {
        let ownership = self.0.get().and_then(Weak::upgrade)?;
        Some(ownership.node())
    }

    /// When a realm came here from another bridge, if it did.
    pub(crate) fn taken_over(&self, realm: RealmId) -> Option<Instant> {
        self.0.get()?.upgrade()?.taken_over(realm)
    }

    /// Checks, with the lock of a realm, that it is served here.
    pub(super) fn check(&self, realm: RealmId) -> Result<(), Refusal> {
        match self.0.get().and_then(Weak::upgrade) {
            Some(ownership) => ownership.check(realm),
            None => Ok(()),
        }
    }

    pub(super) fn on_stall(&self) {
        if let Some(ownership) = self.0.get().and_then(Weak::upgrade) {
            ownership.on_stall();
        }
    }
}
