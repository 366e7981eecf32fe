//! The configuration of the bridge: flags, environment variables, a file, and defaults. Each group
//! of settings has a file, where its flags, defaults and parsers are. The doc comments of the fields
//! are the text of `--help`.

mod admin;
mod agent;
mod bridge_info;
mod calls;
mod cgroup;
mod client_name;
mod client_profiles;
mod client_tables;
mod cluster;
mod compat;
mod file_tables;
mod host;
mod http_timeouts;
mod identity;
mod issuer_tables;
mod mcp_sessions;
mod memory;
mod monitoring;
mod network;
mod page_limits;
mod page_timings;
mod result_text_limit;
mod results;
mod shared_limits;
mod state;
mod tabs;
mod tls;
mod tokens;
mod traces;

use bridge_edge::LOOPBACK;
use bridge_protocol::limits;
use bridge_settings::LoadedSettings;
use clap::Parser;

pub use admin::AdminSettings;
pub use agent::{Agent, AgentUrl};
pub use bridge_info::BridgeInfo;
pub use calls::CallSettings;
#[cfg(test)]
pub(crate) use cgroup::CgroupLimit;
pub use client_profiles::{ClientProfile, Profile, Profiles};
pub use cluster::Cluster;
pub use compat::{Compat, Compatibility};
pub(crate) use file_tables::{BridgeFileTables, to_toml};
pub(crate) use host::HostResources;
pub use http_timeouts::HttpTimeouts;
pub use identity::Identity;
pub use mcp_sessions::McpSessionLimits;
pub use memory::Memory;
use memory::StoredLimits;
pub use monitoring::{Audit, Monitoring};
pub use network::Network;
pub use page_limits::PageLimits;
pub use page_timings::PageTimings;
pub(crate) use result_text_limit::{TextLimit, TextLimitRule, TextUnit};
pub use results::Results;
use shared_limits::ConfiguredLimits;
pub(crate) use shared_limits::{SharedLimits, max_open_connections};
pub use state::StateSettings;
pub use tabs::Tabs;
pub use tls::TlsSettings;
pub use tokens::Tokens;
pub use traces::BridgeTraces;

/// Settings of a bridge.
///
/// Each has a flag, an environment variable and a default. The flag takes precedence. Durations are
/// written `5s`, `250ms`, `2m`; sizes are whole numbers of bytes.
#[derive(Clone, Debug, Default, Parser)]
pub struct Config {
    /// Where the bridge listens, and who may connect from where.
    #[command(flatten)]
    pub network: Network,

    /// Encryption without a proxy.
    #[command(flatten)]
    pub tls: TlsSettings,

    /// How long clients may take for requests and responses.
    #[command(flatten)]
    pub http_timeouts: HttpTimeouts,

    /// How much memory is used.
    #[command(flatten)]
    pub memory: Memory,

    /// Opaque tokens, and how many can be used.
    #[command(flatten)]
    pub tokens: Tokens,

    /// Signed tokens: who may connect with them.
    #[command(flatten)]
    pub identity: Identity,

    /// The name and description that clients see.
    #[command(flatten)]
    pub info: BridgeInfo,

    /// MCP sessions and listening clients.
    #[command(flatten)]
    pub mcp_sessions: McpSessionLimits,

    /// Calls: their number, timeouts and progress.
    #[command(flatten)]
    pub calls: CallSettings,

    /// Keys and files that outlive the process of the bridge.
    #[command(flatten)]
    pub state: StateSettings,

    /// Results: their sizes, and how many are stored.
    #[command(flatten)]
    pub results: Results,

    /// How long pages may take.
    #[command(flatten)]
    pub page_timings: PageTimings,

    /// Maximum sizes, numbers and rates of pages.
    #[command(flatten)]
    pub page_limits: PageLimits,

    /// Many tabs of one token.
    #[command(flatten)]
    pub tabs: Tabs,

    /// The agent, and the queries of pages.
    #[command(flatten)]
    pub agent: Agent,

    /// Metrics and the audit log.
    #[command(flatten)]
    pub monitoring: Monitoring,

    /// Traces.
    #[command(flatten)]
    pub traces: BridgeTraces,

    /// Several bridges that serve as one.
    #[command(flatten)]
    pub cluster: Cluster,

    /// Administration of the running bridge.
    #[command(flatten)]
    pub admin: AdminSettings,

    /// Compatibility with other projects.
    #[command(flatten)]
    pub compatibility: Compatibility,

    /// The limits of AI clients.
    #[arg(skip)]
    pub profiles: Profiles,
}

impl Config {
    /// Adds the tables of the configuration file to the settings.
    pub(crate) fn add_tables(&mut self, loaded: &LoadedSettings<BridgeFileTables>) {
        if let Some((clients, issuers)) = loaded.tables() {
            self.profiles = clients.profiles();
            self.identity.issuers = issuers.issuers().cloned().collect();
        }
    }

    /// Whether the bridge accepts any token and any loopback origin, as that of mcp-web 0.1 does. It
    /// never does so if other machines could connect.
    pub(crate) fn allows_compat_anonymous_access(&self) -> bool {
        self.compatibility.compat == Some(Compat::McpWeb) && self.network.is_loopback_only()
    }

    /// The origins that may connect.
    pub(crate) fn effective_origins(&self) -> Vec<String> {
        let loopback = self
            .allows_compat_anonymous_access()
            .then(|| LOOPBACK.to_owned());
        let allowed = self.network.allowed_origins.iter().cloned();
        allowed.chain(loopback).collect()
    }

    /// Returns the limits that all clients share, which follow from the host where they are not set.
    pub(crate) fn shared_limits(&self, host: &HostResources) -> SharedLimits {
        let configured = ConfiguredLimits {
            connections: self.network.max_connections,
            pending_pages: self.page_limits.max_pending_pages,
            realms: self.tokens.max_realms,
            catalogues: self.page_limits.max_catalogues,
            mcp_sessions: self.mcp_sessions.max_mcp_sessions,
        };
        let max_memory_bytes = self.memory.max_bytes(host);
        if self.cluster.is_enabled() {
            return SharedLimits::new(configured, max_memory_bytes, &host.shared_with_peers());
        }
        SharedLimits::new(configured, max_memory_bytes, host)
    }

    /// Lowers the limits of what is stored to their parts of the memory, and returns what is left for
    /// requests and messages, in bytes.
    pub(crate) fn divide_memory(&mut self, host: &HostResources) -> usize {
        let stored = StoredLimits {
            unread: &mut self.results.max_unread_bytes,
            kept: &mut self.results.max_kept_bytes,
            replay: &mut self.mcp_sessions.max_replay_bytes,
            catalogue: &mut self.page_limits.max_catalogue_bytes,
        };
        Memory::divide(self.memory.max_bytes(host), stored)
    }

    /// Whether the uuid of a query of an mcp-web 0.1 page is enough to report on it, without a token.
    pub(crate) fn query_ids_are_credentials(&self) -> bool {
        self.allows_compat_anonymous_access()
    }

    /// The largest message from and to a page: it contains a tool result, a request of a client, or the answer
    /// of an agent together with the tool calls that it made.
    pub(crate) fn max_message_bytes(&self) -> usize {
        let max_request_bytes = self.network.max_request_bytes;
        let answer = max_request_bytes.saturating_add(self.agent.max_query_bytes);
        let longest = self.results.max_result_bytes.max(answer);
        let message = longest.saturating_add(limits::ENVELOPE_BYTES);
        message.max(limits::MAX_FRAME_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flag_defaults_equal_config_default() {
        // clap reads environment variables too: tests run without any of them.
        let parsed = Config::try_parse_from(["bridge"]).unwrap();
        assert_eq!(format!("{parsed:?}"), format!("{:?}", Config::default()));
    }

    #[test]
    fn page_messages_have_room_for_the_largest_request() {
        let mut config = Config::default();
        assert_eq!(config.max_message_bytes(), limits::MAX_FRAME_BYTES);
        config.network.max_request_bytes = 100 * 1024 * 1024;
        assert!(config.max_message_bytes() > config.network.max_request_bytes);
        config.network.max_request_bytes = usize::MAX;
        assert_eq!(config.max_message_bytes(), usize::MAX);
    }

    #[test]
    fn an_invalid_value_names_the_flag_and_the_allowed_values() {
        let long_icon = format!("https://{}", "x".repeat(64 * 1024));
        let cases = [
            (["--max-sessions", "0"], "whole numbers from 1 up"),
            (["--call-timeout", "soon"], "250ms, 5s, 2m"),
            (["--call-timeout", "300000000years"], "up to 366days"),
            (["--page-grace", "367days"], "up to 366days"),
            (["--max-result-bytes", "9999999999"], "allowed are 1 to"),
            (["--bind", "localhost"], "socket address"),
            (["--icon", "icon.png"], "data:image/"),
            (["--icon", &long_icon], "at most 65536 bytes"),
        ];
        for (arguments, allowed) in cases {
            let error = Config::try_parse_from(std::iter::once("bridge").chain(arguments))
                .unwrap_err()
                .to_string();
            assert!(
                error.contains(arguments[0]) && error.contains(allowed),
                "{error}"
            );
        }
    }
}
