//! The settings of the agent that answers queries, and the limits of queries.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use http::Uri;

use bridge_edge::credential_file::{CredentialFileError, load_credentials};
use bridge_settings::{Secret, parse_credential, values};

/// Settings of the agent and of queries.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Agent")]
pub struct Agent {
    /// Agent that answers the queries of pages: `localhost:3003` means
    /// `http://localhost:3003/query`. Without one every query fails. Of several, each user always has
    /// the same one.
    #[arg(
        long,
        env = "MCP_WEB_AGENT_URL",
        value_name = "URL,…",
        value_delimiter = ','
    )]
    pub agent_url: Vec<AgentUrl>,

    /// Run the agent, `mcp-web agent`, for as long as the bridge runs. It gets a new credential at
    /// each start, and takes its settings from the environment (`ANTHROPIC_API_KEY`,
    /// `MCP_WEB_AGENT_…`).
    #[arg(long, env = "MCP_WEB_RUN_AGENT")]
    pub run_agent: bool,

    /// Program whose command `agent` `run_agent` runs, which is usually the running one. `mcp-web bridge`
    /// uses itself.
    #[arg(skip)]
    pub own_program: Option<PathBuf>,

    /// Credential that the bridge sends to the agent, as `Authorization: Bearer …`. Without one the
    /// program uses, for an agent on this machine, the one that both keep in `mcp-web/agent-token`
    /// of the user's configuration directory.
    #[arg(
        long,
        env = "MCP_WEB_AGENT_TOKEN",
        value_name = "SECRET",
        hide_env_values = true,
        value_parser = parse_credential
    )]
    pub agent_token: Option<Secret>,

    /// File with that credential, instead of `agent_token`. Of several lines, the bridge sends the first,
    /// and an agent with the same file accepts each.
    #[arg(
        long,
        env = "MCP_WEB_AGENT_TOKEN_FILE",
        value_name = "PATH",
        conflicts_with = "agent_token"
    )]
    pub agent_token_file: Option<PathBuf>,

    /// Timeout for the agent to accept a query, or the end of one.
    #[arg(long, env = "MCP_WEB_AGENT_TIMEOUT", value_name = "TIME", default_value = "30s", value_parser = values::parse_duration)]
    pub agent_timeout: Duration,

    /// An agent that streams its events and sends nothing at all for this long is lost, and its
    /// query fails. It should send comments between its events.
    #[arg(long, env = "MCP_WEB_AGENT_SILENCE", value_name = "TIME", default_value = "45s", value_parser = values::parse_duration)]
    pub agent_silence: Duration,

    /// Queries in flight per token.
    #[arg(long, env = "MCP_WEB_MAX_QUERIES", value_name = "N", default_value_t = 16, value_parser = values::parse_count)]
    pub max_queries: usize,

    /// A query that the agent has not completed fails after this.
    #[arg(long, env = "MCP_WEB_QUERY_TIMEOUT", value_name = "TIME", default_value = "10m", value_parser = values::parse_duration)]
    pub query_timeout: Duration,

    /// Bytes of tool calls in the report about the end of a query. Beyond it, the results of calls
    /// are left out.
    #[arg(long, env = "MCP_WEB_MAX_QUERY_BYTES", value_name = "BYTES",
        default_value_t = 4 * 1024 * 1024, value_parser = values::parse_count)]
    pub max_query_bytes: usize,
}

impl Agent {
    /// Whether queries can be sent to an agent.
    pub(crate) fn is_configured(&self) -> bool {
        !self.agent_url.is_empty() || self.run_agent
    }

    /// Whether the operator has set a credential for the agent.
    pub(crate) fn has_credential(&self) -> bool {
        self.agent_token.is_some() || self.agent_token_file.is_some()
    }

    /// Loads the credential that the operator has set, if there is one.
    pub(crate) fn load_credential(&self) -> Result<Option<Secret>, CredentialFileError> {
        let Some(path) = &self.agent_token_file else {
            return Ok(self.agent_token.clone());
        };
        // The agent accepts the others until the bridge has sent them for the last time.
        Ok(load_credentials(path)?.into_iter().next())
    }
}

impl Default for Agent {
    fn default() -> Self {
        Self {
            agent_url: Vec::new(),
            run_agent: false,
            own_program: None,
            agent_token: None,
            agent_token_file: None,
            agent_timeout: Duration::from_secs(30),
            agent_silence: Duration::from_secs(45),
            max_queries: 16,
            query_timeout: Duration::from_secs(600),
            max_query_bytes: 4 * 1024 * 1024,
        }
    }
}

/// The URL of an agent for queries: scheme, host and path, without a slash at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentUrl(String);

/// The path of an agent whose URL has none.
const DEFAULT_AGENT_PATH: &str = "/query";

impl AgentUrl {
    /// The URL.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AgentUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for AgentUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || {
            "allowed are http:// and https:// URLs such as http://localhost:3003/query, without \
             user, password, query and fragment; the credential is `agent_token`"
                .to_owned()
        };
        let whole = if text.contains("://") {
            text.to_owned()
        } else {
            format!("http://{text}")
        };
        if whole.contains(['@', '?', '#']) {
            return Err(wrong());
        }
        let uri: Uri = whole.parse().map_err(|_| wrong())?;
        let host = uri
            .authority()
            .filter(|authority| !authority.host().is_empty());
        let (Some(scheme @ ("http" | "https")), Some(host)) = (uri.scheme_str(), host) else {
            return Err(wrong());
        };
        let path = match uri.path().trim_end_matches('/') {
            "" => DEFAULT_AGENT_PATH,
            path => path,
        };
        Ok(Self(format!("{scheme}://{host}{path}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agent_url_gets_default_scheme_and_path() {
        for (written, meant) in [
            ("localhost:3003", "http://localhost:3003/query"),
            ("localhost", "http://localhost/query"),
            ("http://localhost:3003/", "http://localhost:3003/query"),
            ("https://a.example/ask/", "https://a.example/ask"),
            ("a.example/v1/ask", "http://a.example/v1/ask"),
            ("[::1]:3003", "http://[::1]:3003/query"),
            ("HTTP://a.example", "http://a.example/query"),
        ] {
            let url: AgentUrl = written.parse().unwrap();
            assert_eq!(url.as_str(), meant, "{written}");
        }
    }

    #[test]
    fn agent_url_with_credentials_or_without_host_is_rejected() {
        for bad in [
            "",
            "/query",
            "http://",
            "ftp://a.example",
            "http://user:secret@a.example/query",
            "http://a.example/query?key=secret",
            "http://a.example/#ask",
            "http://a b/",
        ] {
            let why = bad.parse::<AgentUrl>().unwrap_err();
            assert!(
                why.contains("agent_token") && !why.contains("secret"),
                "{why}"
            );
        }
    }
}
