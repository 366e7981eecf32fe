//! Waits for pages that were there before: that of a query while it is reloaded, and those of a client
//! whose MCP session was restored after a restart.

use bridge_auth::RealmId;
use bridge_realm::realm::{Realm, RoutingError};
use tokio::time::{Instant, timeout_at};

use super::CallOptions;
use crate::hub::Hub;

/// Waits until the condition holds. It is checked again after each event.
pub(super) async fn wait_until<E: Future<Output = ()>>(
    mut next_event: impl FnMut() -> E,
    mut condition: impl FnMut() -> bool,
) {
    loop {
        // Created before the state is checked, so that no event in between is missed.
        let event = next_event();
        if condition() {
            return;
        }
        event.await;
    }
}

/// Waits until the condition holds for a realm, at most until this time. Without one, or after it, does
/// not wait.
async fn wait_for_realm(
    hub: &Hub,
    realm: RealmId,
    until: Option<Instant>,
    mut condition: impl FnMut(&Realm) -> bool,
) {
    let Some(until) = until.filter(|until| *until > Instant::now()) else {
        return;
    };
    let holds = || hub.with_realm(realm, &mut condition) == Some(true);
    let _ = timeout_at(until, wait_until(|| hub.next_event(realm), holds)).await;
}

/// Waits until a page has registered anything, at most until this time.
pub(crate) async fn wait_for_any_page(hub: &Hub, realm: RealmId, until: Option<Instant>) {
    wait_for_realm(hub, realm, until, Realm::has_registered_page).await;
}

impl CallOptions<'_> {
    /// Waits until a page is found, if pages are awaited. `route` finds it.
    pub(super) async fn wait_for_route<T>(
        &self,
        hub: &Hub,
        route: impl Fn(&Realm) -> Result<T, RoutingError>,
    ) {
        let is_found = |realm: &Realm| !route(realm).is_err_and(|error| error.is_transient());
        wait_for_realm(hub, self.realm, self.pages_awaited_until, is_found).await;
    }
}
