//! The catalogue of a realm goes to the bridge that serves the realm next.

use bridge_auth::RealmId;
use bridge_edge::ClientAddress;
use bridge_realm::realm::{ClosedApp, Refusal};

use super::Hub;
use crate::budget::{PageParty, RealmClass};

impl Hub {
    /// The apps in the catalogue of a realm, and the address that the realm counts for. Returns `None` when
    /// the catalogue is empty.
    pub(crate) fn closed_apps(&self, realm: RealmId) -> Option<(ClientAddress, Vec<ClosedApp>)> {
        let entry = self.realms.get(&realm)?;
        if !entry.realm.has_catalogue() {
            return None;
        }
        let apps = entry.realm.closed_apps(self.now());
        Some((entry.permit.party().address, apps))
    }

    /// Adds apps to the catalogue of a realm, which count for this address.
    ///
    /// # Errors
    ///
    /// When the realm is not served here, or its principal is denied.
    pub(crate) fn closed_apps_handed_over(
        &self,
        realm: RealmId,
        address: ClientAddress,
        apps: Vec<ClosedApp>,
    ) -> Result<(), Refusal> {
        let party = PageParty::new(address, None);
        let added = self.apply_or_create(realm, RealmClass::CatalogueOnly, &party, |entry, now| {
            self.check_admission(realm)?;
            let apps = apps.into_iter();
            let effects = apps.flat_map(|app| entry.realm.closed_app_handed_over(app, now));
            Ok(((), effects.collect()))
        });
        self.remove_if_empty(realm);
        // Without a place for one more catalogue, its apps are not listed.
        added.unwrap_or(Ok(()))
    }
}
