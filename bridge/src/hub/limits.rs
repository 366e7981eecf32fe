//! The limits of realms, of pages' messages and of definitions, from the configuration.

use bridge_realm::PageMessageLimits;
use bridge_realm::definition::DefinitionLimits;
use bridge_realm::realm::{QueryLimits, RealmLimits};

use crate::config::Config;

/// The limits of each realm.
pub(crate) fn realm_limits(config: &Config) -> RealmLimits {
    RealmLimits {
        sessions: config.page_limits.max_sessions,
        session_limit_policy: config.tabs.session_limit_policy,
        max_session_duration: config.page_timings.max_session_duration,
        duplicate_names: config.tabs.duplicate_names,
        ambiguous_calls: config.tabs.ambiguous_calls,
        reject_conflicts: config.compatibility.compat.is_some(),
        catalogue_ttl: config.page_timings.catalogue_ttl,
        catalogue_bytes: config.page_limits.catalogue_bytes_per_token(),
        definitions_per_session: config.page_limits.max_definitions,
        definition_bytes_per_session: config.page_limits.max_definition_bytes,
        calls: config.calls.max_calls,
        clients: config.mcp_sessions.max_clients,
        subscriptions_per_client: config.mcp_sessions.max_subscriptions,
        receipt_timeout: config.page_timings.call_receipt,
        input_timeout: config.calls.input_timeout,
        page_grace: config.page_timings.page_grace,
        page_return: config.page_timings.page_return,
        heartbeat_interval: config.page_timings.heartbeat,
        queries: QueryLimits {
            has_agent: config.agent.is_configured(),
            max_queries: config.agent.max_queries,
            timeout: config.agent.query_timeout,
            attach_timeout: config.page_timings.query_attach,
            cancel_timeout: config.agent.agent_timeout,
            max_tool_call_bytes: config.agent.max_query_bytes,
            query_ids_are_credentials: config.query_ids_are_credentials(),
        },
        notify_every_change: config.compatibility.compat.is_some(),
    }
}

/// The limits of definitions, as far as they apply before a realm receives them.
pub(crate) fn definition_limits(config: &Config) -> DefinitionLimits {
    DefinitionLimits {
        max_bytes: config.page_limits.max_definition_bytes,
    }
}

/// The limits of a page's messages.
pub(crate) fn page_message_limits(config: &Config) -> PageMessageLimits {
    PageMessageLimits {
        max_definitions: config.page_limits.max_definitions,
        max_result_bytes: config.results.max_result_bytes,
        max_message_bytes: config.max_message_bytes(),
        heartbeat: config.page_timings.heartbeat,
    }
}
