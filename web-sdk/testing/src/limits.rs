//! The default limits of the bridge.

use std::time::Duration;

use bridge_protocol::limits;
use bridge_realm::PageMessageLimits;
use bridge_realm::policy::{AmbiguousCalls, DuplicateNames, SessionLimitPolicy};
use bridge_realm::realm::{QueryLimits, RealmLimits};

/// Time limit of a call, unless its tool sets another.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(120);

/// Maximum timeout that a tool may set.
pub const MAX_CALL_TIMEOUT: Duration = Duration::from_secs(3600);

/// Maximum size of the parameters of a request, in bytes.
pub const MAX_REQUEST_BYTES: usize = 4 * 1024 * 1024;

/// The interval between heartbeats: pages in memory have no connection that could be dead.
const HEARTBEAT: Duration = Duration::from_secs(24 * 3600);

/// The limits of the realm.
pub fn realm_limits() -> RealmLimits {
    RealmLimits {
        sessions: 64,
        session_limit_policy: SessionLimitPolicy::Reject,
        max_session_duration: Duration::ZERO,
        duplicate_names: DuplicateNames::Number,
        ambiguous_calls: AmbiguousCalls::Ask,
        reject_conflicts: false,
        // A tool whose page is gone is an error in a test.
        catalogue_ttl: Duration::ZERO,
        catalogue_bytes: 0,
        definitions_per_session: 512,
        definition_bytes_per_session: 1024 * 1024,
        calls: 256,
        clients: 64,
        subscriptions_per_client: 256,
        receipt_timeout: limits::RECEIPT_TIMEOUT,
        input_timeout: Duration::from_secs(600),
        page_grace: limits::PAGE_GRACE,
        page_return: limits::PAGE_RETURN,
        heartbeat_interval: HEARTBEAT,
        queries: QueryLimits {
            has_agent: false,
            max_queries: 0,
            timeout: Duration::from_secs(600),
            attach_timeout: Duration::from_secs(30),
            cancel_timeout: Duration::from_secs(10),
            max_tool_call_bytes: 0,
            query_ids_are_credentials: false,
        },
        notify_every_change: false,
    }
}

/// The limits of a page's messages.
pub fn page_message_limits() -> PageMessageLimits {
    PageMessageLimits {
        max_definitions: 512,
        max_result_bytes: limits::MAX_RESULT_BYTES,
        max_message_bytes: limits::MAX_FRAME_BYTES,
        heartbeat: HEARTBEAT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_the_defaults_of_the_bridge_except_those_of_sockets_and_agents() {
        let (realm, pages) = bridge::in_memory::limits(&bridge::Config::default());
        let own = realm_limits();
        let expected = RealmLimits {
            catalogue_ttl: own.catalogue_ttl,
            catalogue_bytes: own.catalogue_bytes,
            heartbeat_interval: own.heartbeat_interval,
            queries: own.queries,
            ..realm
        };
        assert_eq!(format!("{own:?}"), format!("{expected:?}"));
        assert_eq!(
            MAX_REQUEST_BYTES,
            bridge::Config::default().network.max_request_bytes
        );
        let own = page_message_limits();
        let expected = PageMessageLimits {
            heartbeat: own.heartbeat,
            ..pages
        };
        assert_eq!(format!("{own:?}"), format!("{expected:?}"));
    }
}
