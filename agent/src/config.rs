//! The settings of an agent, from flags, the environment, a file, and defaults.

mod bridge_url;
mod bridges;
mod budgets;
mod conversations;
mod limits;
mod secrets;
mod traces;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use bridge_edge::LOOPBACK;
use bridge_settings::Secret;
use bridge_settings::parse_credential;
use bridge_settings::values::{parse_count, parse_duration_or_zero};
use clap::Args;

pub use bridge_url::BridgeUrl;
pub use bridges::BridgeEntry;
use bridges::CredentialSettings;
pub(crate) use bridges::{BridgeTables, DEFAULT_BRIDGE_NAME};
pub(crate) use budgets::Usd;
pub use budgets::{BudgetSettings, RoleBudget};
pub use conversations::ConversationSettings;
pub use limits::AgentLimits;
pub use secrets::SecretSettings;
pub use traces::AgentTraces;

use crate::model::ModelSettings;

/// Settings of an agent.
///
/// Each has a flag, an environment variable and a default; the flag takes precedence. Durations are
/// written `5s`, `250ms`, `2m`; sizes are whole numbers of bytes.
///
/// The field, the key in the file, the flag and the variable have one name: `max_queries`,
/// `max_queries = 8`, `--max-queries`, `MCP_WEB_AGENT_MAX_QUERIES`.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Agent")]
pub struct Config {
    /// Address to listen on. With 127.0.0.1, the agent also listens on the same port of [::1] if that
    /// is free. An address that is not a loopback address needs `token` or `token_file`.
    #[arg(long, env = "MCP_WEB_AGENT_BIND", value_name = "ADDR:PORT", default_value_t = DEFAULT_BIND)]
    pub bind: SocketAddr,

    /// File with the certificate of the agent in PEM, followed by those of its issuers. With it, the
    /// agent serves https:// only.
    #[arg(long, env = "MCP_WEB_AGENT_TLS_CERT", value_name = "PATH")]
    pub tls_cert: Option<PathBuf>,

    /// File with the private key of `tls_cert` in PEM, without a passphrase.
    #[arg(long, env = "MCP_WEB_AGENT_TLS_KEY", value_name = "PATH")]
    pub tls_key: Option<PathBuf>,

    /// URL of the bridge that the pages are connected to. The agent calls their tools through it. An
    /// agent of several bridges has a table [[bridges]] for each in its configuration file instead.
    #[arg(long, env = "MCP_WEB_AGENT_BRIDGE_URL", value_name = "URL", default_value = DEFAULT_BRIDGE)]
    pub bridge_url: BridgeUrl,

    /// Service credential that the bridge must send as `Authorization: Bearer …`, at least 16
    /// characters: the bridge's `agent_token`. If neither has one, bridge and agent of one user
    /// share the file `mcp-web/agent-token` in the user's configuration directory, which the first
    /// of them creates.
    #[arg(
        long,
        env = "MCP_WEB_AGENT_TOKEN",
        value_name = "SECRET",
        value_parser = parse_credential,
        hide_env_values = true
    )]
    pub token: Option<Secret>,

    /// File with the service credential. If it has several lines, each is a valid credential, so that
    /// bridge and agent can change it one after the other. It is read again when it changes.
    #[arg(
        long,
        env = "MCP_WEB_AGENT_TOKEN_FILE",
        value_name = "PATH",
        conflicts_with = "token"
    )]
    pub token_file: Option<PathBuf>,

    /// Bridges whose queries the agent answers, instead of that of `bridge_url`: the tables
    /// `[[bridges]]` of the configuration file.
    #[arg(skip)]
    pub bridges: Vec<BridgeEntry>,

    /// Token with which `GET /metrics` may be read, at least 32 characters. Without one, there is no
    /// such route. It is valid for nothing else.
    #[arg(
        long,
        env = "MCP_WEB_AGENT_METRICS_TOKEN",
        value_name = "SECRET",
        hide_env_values = true
    )]
    pub metrics_token: Option<Secret>,

    /// Origins of pages that may send queries to the agent directly, with the token of their
    /// session: `https://app.example.com`, `http://10.0.0.5:*`, or `loopback` for localhost,
    /// 127.0.0.1 and [::1] on any port. Without any, no page in a browser can. Pages that send
    /// queries through the bridge need none.
    #[arg(
        long,
        env = "MCP_WEB_AGENT_ALLOWED_ORIGINS",
        value_name = "ORIGIN,…",
        value_delimiter = ','
    )]
    pub allowed_origins: Vec<String>,

    /// Accepted values of the `Host` header: `agent.example.com`, `10.0.0.5:3003`, or `loopback`.
    #[arg(
        long,
        env = "MCP_WEB_AGENT_ALLOWED_HOSTS",
        value_name = "HOST,…",
        value_delimiter = ',',
        default_value = LOOPBACK
    )]
    pub allowed_hosts: Vec<String>,

    /// Maximum number of queries that are answered at the same time. One more is refused with 429.
    #[arg(long, env = "MCP_WEB_AGENT_MAX_QUERIES", value_name = "N", default_value_t = 512, value_parser = parse_count)]
    pub max_queries: usize,

    /// Maximum size of a query in bytes: prompt, context, schemas and attachments, as base64. A larger
    /// one is refused with 413. The bridge takes queries of the same size by default.
    #[arg(long, env = "MCP_WEB_AGENT_MAX_BODY_BYTES", value_name = "BYTES",
        default_value_t = 16 * 1024 * 1024, value_parser = parse_count)]
    pub max_body_bytes: usize,

    /// Maximum size of all queries that are received or answered, in bytes. One user or one
    /// frontend has an eighth of it, all frontends together have half. One more is refused with 429.
    #[arg(long, env = "MCP_WEB_AGENT_MAX_ALL_BODY_BYTES", value_name = "BYTES",
        default_value_t = 256 * 1024 * 1024, value_parser = parse_count)]
    pub max_all_body_bytes: usize,

    /// Maximum number of open connections; each query that is answered uses one. One more waits.
    #[arg(long, env = "MCP_WEB_AGENT_MAX_CONNECTIONS", value_name = "N", default_value_t = 2048, value_parser = parse_count)]
    pub max_connections: usize,

    /// Text for the system prompt of every query: what the app is for, its terms, how to answer.
    #[arg(long, env = "MCP_WEB_AGENT_SYSTEM", value_name = "TEXT")]
    pub system: Option<String>,

    /// File with the text for the system prompt, in UTF-8, instead of `system`.
    #[arg(long, env = "MCP_WEB_AGENT_SYSTEM_FILE", value_name = "PATH")]
    pub system_file: Option<PathBuf>,

    /// TOML file with the sources of tools that the agent has beside those of pages, and the profiles
    /// that grant them: see docs/agent-tools.md. Without it, queries have the tools of their page only.
    #[arg(long, env = "MCP_WEB_AGENT_TOOLS_FILE", value_name = "PATH")]
    pub tools_file: Option<PathBuf>,

    /// File to which a line of JSON is appended for each call of a tool: who, what, and how it ended.
    /// While it cannot be written, calls of sources are refused.
    #[arg(long, env = "MCP_WEB_AGENT_AUDIT_FILE", value_name = "PATH")]
    pub audit_file: Option<PathBuf>,

    /// Maximum number of calls of one source that run at the same time. One more waits.
    #[arg(long, env = "MCP_WEB_AGENT_MAX_SOURCE_CALLS", value_name = "N", default_value_t = 32, value_parser = parse_count)]
    pub max_source_calls: usize,

    /// Maximum number of calls of one source that run at the same time for one user. One more waits.
    #[arg(long, env = "MCP_WEB_AGENT_MAX_SOURCE_CALLS_PER_USER", value_name = "N", default_value_t = 4, value_parser = parse_count)]
    pub max_source_calls_per_user: usize,

    /// How long SIGTERM waits for running queries before it ends them. Meanwhile new ones are refused.
    #[arg(long, env = "MCP_WEB_AGENT_DRAIN_TIMEOUT", value_name = "TIME", default_value = "30s", value_parser = parse_duration_or_zero)]
    pub drain_timeout: Duration,

    /// Program that calls [`run_hidden_command`](crate::run_hidden_command), which is usually the
    /// running one. With it, MCP servers of `tools_file` end when the agent was killed, and each
    /// call of a database of SQLite runs in a separate process. Without it, such a call runs in
    /// this process: some statements continue after their time, and their memory is shared with
    /// conversations. `mcp-web agent` uses itself.
    #[arg(skip)]
    pub own_program: Option<PathBuf>,

    /// Settings of the model that answers.
    #[command(flatten)]
    pub model: ModelSettings,

    /// Limits of one query.
    #[command(flatten)]
    pub limits: AgentLimits,

    /// Limits of the costs of queries in a day.
    #[command(flatten)]
    pub budgets: BudgetSettings,

    /// Where secrets are stored.
    #[command(flatten)]
    pub secrets: SecretSettings,

    /// Limits of conversations, and where they are stored.
    #[command(flatten)]
    pub conversations: ConversationSettings,

    /// Where traces are sent.
    #[command(flatten)]
    pub traces: AgentTraces,
}

const DEFAULT_BIND: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 3003);

const DEFAULT_BRIDGE: &str = "http://127.0.0.1:3001";

impl Default for Config {
    /// The defaults, independent of the environment. They name no model.
    fn default() -> Self {
        #[allow(
            clippy::unwrap_used,
            reason = "a constant, which the test below parses"
        )]
        let bridge_url = DEFAULT_BRIDGE.parse().unwrap();
        Self {
            bind: DEFAULT_BIND,
            tls_cert: None,
            tls_key: None,
            bridge_url,
            token: None,
            token_file: None,
            bridges: Vec::new(),
            metrics_token: None,
            allowed_origins: Vec::new(),
            allowed_hosts: vec![LOOPBACK.to_owned()],
            max_queries: 512,
            max_body_bytes: 16 * 1024 * 1024,
            max_all_body_bytes: 256 * 1024 * 1024,
            max_connections: 2048,
            system: None,
            system_file: None,
            tools_file: None,
            audit_file: None,
            own_program: None,
            max_source_calls: 32,
            max_source_calls_per_user: 4,
            drain_timeout: Duration::from_secs(30),
            model: ModelSettings::default(),
            limits: AgentLimits::default(),
            budgets: BudgetSettings::default(),
            secrets: SecretSettings::default(),
            conversations: ConversationSettings::default(),
            traces: AgentTraces::default(),
        }
    }
}

impl Config {
    /// Returns the bridges, at least one.
    ///
    /// # Errors
    ///
    /// When the settings of one bridge stand beside `[[bridges]]`, or two bridges have the same name.
    pub(crate) fn bridge_entries(&self) -> Result<Vec<BridgeEntry>, String> {
        if self.bridges.is_empty() {
            return Ok(vec![BridgeEntry {
                name: DEFAULT_BRIDGE_NAME.to_owned(),
                url: self.bridge_url.clone(),
                credential: self.token.clone(),
                credential_file: self.token_file.clone(),
                allowed_origins: self.allowed_origins.clone(),
                max_queries: None,
            }]);
        }
        let own_settings = [
            ("token", "credential", self.token.is_some()),
            ("token_file", "credential_file", self.token_file.is_some()),
            (
                "bridge_url",
                "url",
                DEFAULT_BRIDGE.parse::<BridgeUrl>().as_ref() != Ok(&self.bridge_url),
            ),
            (
                "allowed_origins",
                "allowed_origins",
                !self.allowed_origins.is_empty(),
            ),
        ];
        if let Some((setting, key, _)) = own_settings.iter().find(|(.., is_set)| *is_set) {
            return Err(format!(
                "`{setting}` is set beside [[bridges]]: write it as `{key}` into the table of its \
                 bridge; a bridge with the name `{DEFAULT_BRIDGE_NAME}` keeps the conversations of \
                 an agent that had no [[bridges]]"
            ));
        }
        for (index, bridge) in self.bridges.iter().enumerate() {
            if self.bridges[..index]
                .iter()
                .any(|it| it.name == bridge.name)
            {
                let name = &bridge.name;
                return Err(format!(
                    "two [[bridges]] have the name `{name}`: users of both would be the same"
                ));
            }
        }
        Ok(self.bridges.clone())
    }

    /// Returns the names of the settings with credentials.
    pub(crate) fn credential_settings(&self) -> CredentialSettings {
        let (secret, file) = if self.bridges.is_empty() {
            ("token", "token_file")
        } else {
            ("credential", "credential_file")
        };
        CredentialSettings { secret, file }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        config: Config,
    }

    #[test]
    fn the_defaults_of_the_flags_are_those_of_the_library() {
        // clap reads the environment variables of the machine: none of these is set in tests.
        let Program { config } = Program::try_parse_from(["agent"]).unwrap();
        assert_eq!(format!("{config:?}"), format!("{:?}", Config::default()));
    }
}
