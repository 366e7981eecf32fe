//! Waits for pages that were there before: that of a query while it is reloaded, those of a realm that was
//! taken over from another bridge, and those of a client that was connected before a restart. Its MCP
//! session was restored, or its requests have [a header](bridge_protocol::RECONNECTED_HEADER). A call also
//! waits for the items of a page that has connected just now.

use std::time::Duration;

use bridge_auth::RealmId;
use bridge_protocol::{Kind, SessionId};
use bridge_realm::realm::{CallFailure, Realm, SessionTarget};
use tokio::time::{Instant, timeout_at};

use super::CallOptions;
use crate::hub::Hub;

/// How long a request waits for its page. A page of a bridge that starts again within a second is back
/// within two, see the backoff of the SDK.
const PAGES_AWAITED: Duration = Duration::from_secs(3);

/// How long after the start of the bridge, or after the takeover of a realm, requests wait for pages. A
/// visible page tries to connect at least every 15 s.
const PAGES_RETURN_WITHIN: Duration = Duration::from_secs(20);

/// How long after a takeover a request waits that any page can serve. The first one is soon back.
const ANY_PAGE_RETURNS_WITHIN: Duration = Duration::from_secs(3);

/// Returns until when a request that begins now waits for pages, if at all. `is_from_before` means that
/// its client was connected before a restart.
pub(crate) fn pages_awaited_until(
    hub: &Hub,
    realm: RealmId,
    is_from_before: bool,
) -> Option<Instant> {
    let are_awaited = is_from_before && hub.age() < PAGES_RETURN_WITHIN
        || since_takeover(hub, realm).is_some_and(|age| age < PAGES_RETURN_WITHIN);
    are_awaited.then(|| Instant::now() + PAGES_AWAITED)
}

/// Returns until when a call waits for the items of the latest page, if that has registered none yet.
fn registration_awaited_until(hub: &Hub, realm: RealmId) -> Option<Instant> {
    let connected = hub.with_realm(realm, Realm::unregistered_since)??;
    let until = Instant::from_std(connected + PAGES_AWAITED);
    (Instant::now() < until).then_some(until)
}

fn since_takeover(hub: &Hub, realm: RealmId) -> Option<Duration> {
    let taken_over = hub.ownership.taken_over(realm)?;
    Some(
        Instant::now()
            .into_std()
            .saturating_duration_since(taken_over),
    )
}

/// Waits until the condition holds. It is checked again after each event. Without a next event, does not
/// wait.
pub(super) async fn wait_until<E: Future<Output = ()>>(
    mut next_event: impl FnMut() -> Option<E>,
    mut condition: impl FnMut() -> bool,
) {
    loop {
        // Created before the state is checked, so that no event in between is missed.
        let event = next_event();
        if condition() {
            return;
        }
        match event {
            Some(event) => event.await,
            None => return,
        }
    }
}

/// Waits until the condition holds for a realm or the bridge stops, at most until this time. Without
/// one, does not wait.
async fn wait_for_realm(
    hub: &Hub,
    realm: RealmId,
    until: Option<Instant>,
    mut condition: impl FnMut(&Realm) -> bool,
) {
    let Some(until) = until else { return };
    let holds = || hub.is_stopping() || hub.with_realm(realm, &mut condition) == Some(true);
    let _ = timeout_at(until, wait_until(|| hub.next_registration(realm), holds)).await;
}

/// Waits until a page has registered anything, at most until this time. Some users have no page that could
/// come back.
pub(crate) async fn wait_for_any_page(hub: &Hub, realm: RealmId, until: Option<Instant>) {
    if since_takeover(hub, realm).is_some_and(|age| age >= ANY_PAGE_RETURNS_WITHIN) {
        return;
    }
    wait_for_realm(hub, realm, until, Realm::has_registered_page).await;
}

/// Waits until the page with this bare id has registered. Some clients send the id of their conversation
/// in its place, so that half of the time is left for a page with the item.
pub(crate) async fn wait_for_bare_session(
    hub: &Hub,
    realm: RealmId,
    until: Option<Instant>,
    session: &SessionId,
) {
    let until = until.map(|until| until - PAGES_AWAITED / 2);
    wait_for_session(hub, realm, until, session).await;
}

/// Waits until a page has a tool of this name, at most until this time.
pub(crate) async fn wait_for_tool(hub: &Hub, realm: RealmId, until: Option<Instant>, tool: &str) {
    wait_for_realm(hub, realm, until, |realm| {
        realm.has_item(Kind::Tool, tool, &SessionTarget::Any)
    })
    .await;
}

/// Waits until the page with this id or name has registered, at most until this time.
pub(crate) async fn wait_for_session(
    hub: &Hub,
    realm: RealmId,
    until: Option<Instant>,
    session: &SessionId,
) {
    wait_for_realm(hub, realm, until, |realm| realm.has_registered(session)).await;
}

impl CallOptions<'_> {
    /// Waits until a page has this item, if pages are awaited or one is about to register its items.
    ///
    /// # Errors
    ///
    /// When the bridge stops meanwhile.
    pub(super) async fn wait_for_item(
        &self,
        hub: &Hub,
        (kind, name): (Kind, &str),
        target: &SessionTarget,
    ) -> Result<(), CallFailure> {
        let awaited_until = || registration_awaited_until(hub, self.realm);
        let until = self.pages_awaited_until.or_else(awaited_until);
        wait_for_realm(hub, self.realm, until, |realm| {
            realm.has_item(kind, name, target)
        })
        .await;
        match until {
            Some(_) if hub.is_stopping() => Err(CallFailure::bridge_stopping()),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;
    use std::sync::Arc;

    use bridge_realm::realm::Refusal;
    use serde_json::json;

    use super::*;
    use crate::agent_queries::AgentQueries;
    use crate::config::Config;
    use crate::hub::RealmOwnership;

    fn hub() -> Arc<Hub> {
        let mut config = Config::default();
        config.calls.max_calls = 2;
        Hub::new(config, |_, _| Ok(()), Arc::<AgentQueries>::default())
    }

    /// Connects a client, so that there is a realm.
    fn connect_client(hub: &Hub) -> RealmId {
        let realm = RealmId::from_token("token");
        let client =
            json!({ "id": 0, "name": "n", "version": "1", "protocolVersion": "2025-11-25" });
        let client = serde_json::from_value(client).unwrap();
        let address = IpAddr::from([127, 0, 0, 1]).into();
        hub.client_connected(realm, address, client).unwrap();
        realm
    }

    async fn wait(hub: &Hub, realm: RealmId) -> Duration {
        let begun = Instant::now();
        wait_for_any_page(hub, realm, pages_awaited_until(hub, realm, true)).await;
        begun.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn each_request_waits_from_its_own_beginning_soon_after_the_start() {
        let hub = hub();
        let realm = connect_client(&hub);
        let waits = PAGES_RETURN_WITHIN.as_secs() / PAGES_AWAITED.as_secs() + 1;
        for _ in 0..waits {
            assert_eq!(wait(&hub, realm).await, PAGES_AWAITED);
        }
        assert_eq!(wait(&hub, realm).await, Duration::ZERO, "not later");
    }

    /// Several bridges, of which this one has taken all realms over at this time.
    struct TakenOver(std::time::Instant);

    impl RealmOwnership for TakenOver {
        fn check(&self, _realm: RealmId) -> Result<(), Refusal> {
            Ok(())
        }

        fn taken_over(&self, _realm: RealmId) -> Option<std::time::Instant> {
            Some(self.0)
        }

        fn node(&self) -> String {
            "node".to_owned()
        }

        fn on_stall(&self) {}
    }

    #[tokio::test(start_paused = true)]
    async fn each_request_waits_soon_after_its_realm_was_taken_over() {
        let hub = hub();
        let realm = connect_client(&hub);
        tokio::time::advance(PAGES_RETURN_WITHIN).await;
        assert_eq!(pages_awaited_until(&hub, realm, false), None);
        let taken_over = Arc::new(TakenOver(Instant::now().into_std()));
        let ownership = Arc::downgrade(&taken_over);
        hub.ownership.set(ownership);
        let begun = Instant::now();
        let until = pages_awaited_until(&hub, realm, false);
        wait_for_tool(&hub, realm, until, "add").await;
        assert_eq!(begun.elapsed(), PAGES_AWAITED);
        let until = pages_awaited_until(&hub, realm, false);
        wait_for_any_page(&hub, realm, until).await;
        assert_eq!(
            begun.elapsed(),
            PAGES_AWAITED,
            "the first page would be back"
        );
        tokio::time::advance(PAGES_RETURN_WITHIN - PAGES_AWAITED - Duration::from_millis(1)).await;
        assert!(pages_awaited_until(&hub, realm, false).is_some());
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(pages_awaited_until(&hub, realm, false), None, "not later");
    }

    #[tokio::test(start_paused = true)]
    async fn a_limited_number_of_requests_of_a_realm_waits() {
        let hub = hub();
        let realm = connect_client(&hub);
        let wait = || wait(&hub, realm);
        let waited = tokio::join!(wait(), wait(), wait(), wait());
        let zero = Duration::ZERO;
        assert_eq!(waited, (PAGES_AWAITED, PAGES_AWAITED, zero, zero));
        assert_eq!(wait().await, PAGES_AWAITED, "their places are free");
    }

    #[tokio::test(start_paused = true)]
    async fn a_bare_session_leaves_half_of_the_time_for_an_item() {
        let hub = hub();
        let realm = connect_client(&hub);
        let begun = Instant::now();
        let until = pages_awaited_until(&hub, realm, true);
        wait_for_bare_session(&hub, realm, until, &"conversation".into()).await;
        assert_eq!(begun.elapsed(), PAGES_AWAITED / 2);
        wait_for_tool(&hub, realm, until, "add").await;
        assert_eq!(begun.elapsed(), PAGES_AWAITED);
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_ends_when_the_bridge_stops() {
        let hub = hub();
        let realm = connect_client(&hub);
        let stop = async { hub.stop() };
        let (waited, ()) = tokio::join!(wait(&hub, realm), stop);
        assert_eq!(waited, Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_waits_for_a_realm_that_does_not_exist_yet() {
        let hub = hub();
        let realm = RealmId::from_token("other");
        assert_eq!(wait(&hub, realm).await, PAGES_AWAITED);
    }
}
