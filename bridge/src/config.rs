//! The configuration of the bridge: flags, environment variables, a file, and defaults. The doc comments of
//! the fields are the text of `--help`.

mod agent;
mod clients;
mod compat;
mod http_timeouts;
mod identity;
mod machine_memory;
mod memory;
mod monitoring;
mod page_limits;
mod page_timings;
mod parsers;
mod print;
mod profiles;
mod results;
mod tabs;
mod text_limit;
mod token_file;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use bridge_protocol::limits;
use bridge_settings::values;
use clap::Parser;

use bridge_edge::host_origin::is_loopback_entry;

pub use agent::{Agent, AgentUrl};
use bridge_edge::TrustedProxy;
use bridge_settings::Secret;
pub(crate) use clients::ClientTables;
pub use compat::Compat;
pub use http_timeouts::HttpTimeouts;
pub use identity::Identity;
pub use memory::Memory;
use memory::StoredLimits;
pub use monitoring::{Audit, Monitoring};
pub use page_limits::PageLimits;
pub use page_timings::PageTimings;
use parsers::{parse_icon, parse_result_bytes};
pub(crate) use print::{profiles, to_toml};
pub use profiles::{ClientProfile, Profile, Profiles};
pub use results::Results;
pub use tabs::Tabs;
pub(crate) use text_limit::{TextLimit, TextLimitRule, TextUnit};

/// The entry of a list of origins or hosts that stands for `localhost`, `127.0.0.1` and `[::1]` on any port.
pub(crate) const LOOPBACK: &str = "loopback";

/// Settings of a bridge.
///
/// Each has a flag, an environment variable and a default; the flag wins. Durations are written
/// `5s`, `250ms`, `2m`; sizes are whole numbers of bytes.
#[derive(Clone, Debug, Parser)]
#[command(next_help_heading = "Bridge")]
pub struct Config {
    /// Address to listen on. Another address than a loopback one needs configured tokens.
    #[arg(long, env = "MCP_WEB_BIND", value_name = "ADDR:PORT", default_value_t = DEFAULT_BIND)]
    pub bind: SocketAddr,

    /// Tokens that are valid, separated by commas. Without any, a page may open a realm with a
    /// token of its own making.
    #[arg(
        long = "tokens",
        env = "MCP_WEB_TOKENS",
        value_name = "TOKEN,…",
        value_delimiter = ',',
        hide_env_values = true
    )]
    pub tokens: Vec<String>,

    /// File with valid tokens, one a line; lines that begin with # are comments.
    #[arg(long, env = "MCP_WEB_TOKEN_FILE", value_name = "PATH")]
    pub token_file: Option<PathBuf>,

    /// Accept the token as `?token=` as well. URLs end up in logs and histories.
    #[arg(long, env = "MCP_WEB_ALLOW_TOKEN_IN_URL")]
    pub allow_token_in_url: bool,

    /// Origins of pages that may connect: `https://app.example.com`, `http://10.0.0.5:*`, or
    /// `loopback` for localhost, 127.0.0.1 and [::1] on any port.
    #[arg(
        long,
        env = "MCP_WEB_ALLOWED_ORIGINS",
        value_name = "ORIGIN,…",
        value_delimiter = ',',
        default_value = LOOPBACK
    )]
    pub allowed_origins: Vec<String>,

    /// Values of the `Host` header that are accepted: `bridge.example.com`, `10.0.0.5:3001`, or
    /// `loopback`.
    #[arg(
        long,
        env = "MCP_WEB_ALLOWED_HOSTS",
        value_name = "HOST,…",
        value_delimiter = ',',
        default_value = LOOPBACK
    )]
    pub allowed_hosts: Vec<String>,

    /// Proxies whose `X-Forwarded-For` or `Forwarded` names the address of their client, under
    /// which its share of a limit is counted: addresses and networks, such as `10.0.0.0/8`.
    #[arg(
        long,
        env = "MCP_WEB_TRUSTED_PROXIES",
        value_name = "ADDRESS,…",
        value_delimiter = ','
    )]
    pub trusted_proxies: Vec<TrustedProxy>,

    /// Name that MCP clients see.
    #[arg(
        long,
        env = "MCP_WEB_NAME",
        value_name = "NAME",
        default_value = "mcp-web"
    )]
    pub name: String,

    /// What this bridge is for, in a sentence that MCP clients may show.
    #[arg(
        long,
        env = "MCP_WEB_DESCRIPTION",
        value_name = "TEXT",
        default_value = DEFAULT_DESCRIPTION
    )]
    pub description: String,

    /// Icon that MCP clients may show: an `https:` or `http:` address, or a `data:image/…` URI of at
    /// most 64 KiB.
    #[arg(long, env = "MCP_WEB_ICON", value_name = "URI", value_parser = parse_icon)]
    pub icon: Option<String>,

    /// Largest HTTP request body, in bytes.
    #[arg(long, env = "MCP_WEB_MAX_REQUEST_BYTES", value_name = "BYTES",
        default_value_t = 4 * 1024 * 1024, value_parser = values::parse_count)]
    pub max_request_bytes: usize,

    /// Connections that are open at the same time, those of pages included.
    #[arg(long, env = "MCP_WEB_MAX_CONNECTIONS", value_name = "N", default_value_t = 20_000, value_parser = values::parse_count)]
    pub max_connections: usize,

    /// Largest tool result, in bytes of JSON. Larger messages than 256 KiB travel in parts.
    #[arg(long, env = "MCP_WEB_MAX_RESULT_BYTES", value_name = "BYTES",
        default_value_t = limits::MAX_RESULT_BYTES, value_parser = parse_result_bytes)]
    pub max_result_bytes: usize,

    /// Tokens that pages can use at the same time, and tokens that clients can wait with.
    #[arg(long, env = "MCP_WEB_MAX_REALMS", value_name = "N", default_value_t = 1_000, value_parser = values::parse_count)]
    pub max_realms: usize,

    /// Calls in flight per token.
    #[arg(long, env = "MCP_WEB_MAX_CALLS", value_name = "N", default_value_t = 256, value_parser = values::parse_count)]
    pub max_calls: usize,

    /// MCP sessions and listening clients per token.
    #[arg(long, env = "MCP_WEB_MAX_CLIENTS", value_name = "N", default_value_t = 64, value_parser = values::parse_count)]
    pub max_clients: usize,

    /// Resources that one MCP client can be subscribed to.
    #[arg(long, env = "MCP_WEB_MAX_SUBSCRIPTIONS", value_name = "N", default_value_t = 256, value_parser = values::parse_count)]
    pub max_subscriptions: usize,

    /// MCP sessions in all. Each costs about 100 KiB.
    #[arg(long, env = "MCP_WEB_MAX_MCP_SESSIONS", value_name = "N", default_value_t = 1_000, value_parser = values::parse_count)]
    pub max_mcp_sessions: usize,

    /// What is kept of answers that a client may have lost with its stream, in bytes, for all MCP
    /// sessions together; one stream keeps an eighth of it. Over it the session that holds most
    /// loses its oldest.
    #[arg(long, env = "MCP_WEB_MAX_REPLAY_BYTES", value_name = "BYTES",
        default_value_t = 64 * 1024 * 1024, value_parser = values::parse_count)]
    pub max_replay_bytes: usize,

    /// An MCP session without any request or open stream ends after this.
    #[arg(long, env = "MCP_WEB_MCP_SESSION_IDLE", value_name = "TIME", default_value = "1h", value_parser = values::parse_duration)]
    pub mcp_session_idle: Duration,

    /// A call that the page has not answered fails after this.
    #[arg(long, env = "MCP_WEB_CALL_TIMEOUT", value_name = "TIME", default_value = "2m", value_parser = values::parse_duration)]
    pub call_timeout: Duration,

    /// How long a call waits for what its handler asks the client: the person's input, the model's
    /// answer. That time does not count as the call's own.
    #[arg(long, env = "MCP_WEB_INPUT_TIMEOUT", value_name = "TIME", default_value = "10m", value_parser = values::parse_duration)]
    pub input_timeout: Duration,

    /// Secret that seals the state which clients of MCP 2026-07-28 carry between the rounds of a
    /// call: at least 32 characters. Without one, a new one is made at each start, and calls that
    /// wait for input do not survive a restart either way.
    #[arg(
        long,
        env = "MCP_WEB_STATE_KEY",
        value_name = "SECRET",
        hide_env_values = true
    )]
    pub state_key: Option<Secret>,

    /// Serve clients as another bridge did: `mcp-web` is the TypeScript project's 0.1, and every path
    /// speaks its MCP then, with its lists, results and errors. Its pages are served without this
    /// too. On a loopback address, with loopback `allowed_hosts` only, any token (also as `?token=`)
    /// and any loopback origin may connect, as there.
    #[arg(long, env = "MCP_WEB_COMPAT", value_enum, value_name = "PROJECT")]
    pub compat: Option<Compat>,

    /// How long clients may take for requests and responses.
    #[command(flatten)]
    pub http_timeouts: HttpTimeouts,

    /// How much memory is used.
    #[command(flatten)]
    pub memory: Memory,

    /// Who may connect with which signed tokens.
    #[command(flatten)]
    pub identity: Identity,

    /// How long pages may take.
    #[command(flatten)]
    pub page_timings: PageTimings,

    /// How much pages may have.
    #[command(flatten)]
    pub page_limits: PageLimits,

    /// Many tabs of one token.
    #[command(flatten)]
    pub tabs: Tabs,

    /// Long calls and large results.
    #[command(flatten)]
    pub results: Results,

    /// The agent, and what pages ask it.
    #[command(flatten)]
    pub agent: Agent,

    /// What operators see of the bridge.
    #[command(flatten)]
    pub monitoring: Monitoring,

    /// What each AI client can take.
    #[arg(skip)]
    pub profiles: Profiles,
}

const DEFAULT_DESCRIPTION: &str = "Lets AI clients use web apps through the apps' own tools.";

const DEFAULT_BIND: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 3001);

impl Default for Config {
    /// The defaults, whatever the environment says.
    fn default() -> Self {
        Self {
            bind: DEFAULT_BIND,
            tokens: Vec::new(),
            token_file: None,
            allow_token_in_url: false,
            allowed_origins: vec![LOOPBACK.to_owned()],
            allowed_hosts: vec![LOOPBACK.to_owned()],
            trusted_proxies: Vec::new(),
            name: "mcp-web".to_owned(),
            description: DEFAULT_DESCRIPTION.to_owned(),
            icon: None,
            max_request_bytes: 4 * 1024 * 1024,
            max_connections: 20_000,
            max_result_bytes: limits::MAX_RESULT_BYTES,
            max_realms: 1_000,
            max_calls: 256,
            max_clients: 64,
            max_subscriptions: 256,
            max_mcp_sessions: 1_000,
            max_replay_bytes: 64 * 1024 * 1024,
            mcp_session_idle: Duration::from_secs(3600),
            call_timeout: Duration::from_secs(120),
            input_timeout: Duration::from_secs(600),
            state_key: None,
            compat: None,
            http_timeouts: HttpTimeouts::default(),
            identity: Identity::default(),
            page_timings: PageTimings::default(),
            page_limits: PageLimits::default(),
            tabs: Tabs::default(),
            results: Results::default(),
            agent: Agent::default(),
            memory: Memory::default(),
            monitoring: Monitoring::default(),
            profiles: Profiles::default(),
        }
    }
}

impl Config {
    /// The name, description, version and icon of the bridge, as clients see them.
    pub(crate) fn bridge_info(&self) -> serde_json::Value {
        let mut info = serde_json::json!({
            "name": self.name,
            "description": self.description,
            "version": env!("CARGO_PKG_VERSION"),
        });
        if let Some(icon) = &self.icon {
            info["icon"] = icon.as_str().into();
            info["icons"] = serde_json::json!([{ "src": icon }]);
        }
        info
    }

    /// Whether the bridge accepts any token and any loopback origin, as that of mcp-web 0.1. It does not if
    /// other machines could connect: on another address, or through a proxy under another host name.
    pub(crate) fn allows_compat_anonymous_access(&self) -> bool {
        self.compat == Some(Compat::McpWeb)
            && self.bind.ip().is_loopback()
            && self
                .allowed_hosts
                .iter()
                .all(|host| is_loopback_entry(host))
    }

    /// The origins that may connect.
    pub(crate) fn effective_origins(&self) -> Vec<String> {
        let loopback = self
            .allows_compat_anonymous_access()
            .then(|| LOOPBACK.to_owned());
        self.allowed_origins
            .iter()
            .cloned()
            .chain(loopback)
            .collect()
    }

    /// Lowers the limits of what is stored to their parts of the memory, and returns what is left for
    /// requests and messages, in bytes.
    pub(crate) fn divide_memory(&mut self) -> usize {
        self.memory.divide(StoredLimits {
            unread: &mut self.results.max_unread_bytes,
            kept: &mut self.results.max_kept_bytes,
            replay: &mut self.max_replay_bytes,
            catalogue: &mut self.page_limits.max_catalogue_bytes,
        })
    }

    /// Whether the uuid of a query of an mcp-web 0.1 page is enough to report on it, without a token.
    pub(crate) fn query_ids_are_credentials(&self) -> bool {
        self.allows_compat_anonymous_access()
    }

    /// The largest message from and to a page: it contains a tool result, a request of a client, or the answer
    /// of an agent together with the tool calls that it made.
    pub(crate) fn max_message_bytes(&self) -> usize {
        let answer = self
            .max_request_bytes
            .saturating_add(self.agent.max_query_bytes);
        let longest = self.max_result_bytes.max(answer);
        let message = longest.saturating_add(limits::ENVELOPE_BYTES);
        message.max(limits::MAX_FRAME_BYTES)
    }

    /// The configured tokens, from the list and from the file.
    pub(crate) fn load_tokens(&self) -> std::io::Result<Vec<String>> {
        let mut tokens = self.tokens.clone();
        if let Some(path) = &self.token_file {
            tokens.extend(token_file::read(path)?);
        }
        Ok(tokens)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flag_defaults_equal_config_default() {
        // clap reads environment variables too: tests run without any of them.
        let parsed = Config::try_parse_from(["mcp-web-bridge"]).unwrap();
        assert_eq!(format!("{parsed:?}"), format!("{:?}", Config::default()));
    }

    #[test]
    fn page_messages_have_room_for_the_largest_request() {
        let mut config = Config::default();
        assert_eq!(config.max_message_bytes(), limits::MAX_FRAME_BYTES);
        config.max_request_bytes = 100 * 1024 * 1024;
        assert!(config.max_message_bytes() > config.max_request_bytes);
        config.max_request_bytes = usize::MAX;
        assert_eq!(config.max_message_bytes(), usize::MAX);
    }

    #[test]
    fn an_invalid_value_names_the_flag_and_what_is_allowed() {
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
            let error = Config::try_parse_from(std::iter::once("mcp-web-bridge").chain(arguments))
                .unwrap_err()
                .to_string();
            assert!(
                error.contains(arguments[0]) && error.contains(allowed),
                "{error}"
            );
        }
    }
}
