//! The credential for agents on this machine, for when the operator has set none.

use bridge_edge::http_client;
use bridge_edge::shared_credential::{self, SharedCredentialError};

use crate::config::{AgentUrl, Config};

/// Warns if the credential for an agent crosses the network without encryption.
pub(crate) fn warn_of_exposed_credential(config: &Config) {
    let is_exposed = |url: &AgentUrl| {
        let url = url.as_str().parse();
        url.is_ok_and(|url| http_client::exposes_tokens(&url))
    };
    if config.agent.has_credential() && config.agent.agent_url.iter().any(is_exposed) {
        tracing::warn!(
            "`agent_url` sends `agent_token` and the tokens of queries over http:// to another \
             machine, and whoever can read that network can use them: use https://"
        );
    }
}

/// Sets `agent_token` to the credential that the bridge and the agents of one user share, if all
/// agents are on this machine and no credential is configured. Agents of mcp-web 0.1 do not support
/// it.
pub(crate) fn fill_in_credential(config: &mut Config) {
    let is_local = |url: &AgentUrl| {
        let url = url.as_str().parse();
        url.is_ok_and(|url| http_client::is_loopback(&url))
    };
    let urls = &config.agent.agent_url;
    let are_local = !urls.is_empty() && urls.iter().all(is_local);
    if config.agent.has_credential() || config.compatibility.compat.is_some() || !are_local {
        return;
    }
    match shared_credential::load_or_create() {
        Ok(secret) => config.agent.agent_token = Some(secret),
        Err(SharedCredentialError::NoDirectory) => {}
        Err(error) => {
            tracing::warn!("{error}; set `agent_token` (MCP_WEB_AGENT_TOKEN) for both instead")
        }
    }
}
