//! The credential for an agent on this machine, for when the operator has set none.

use bridge_edge::http_client;
use bridge_edge::shared_credential::{self, SharedCredentialError};

use crate::config::Config;

/// Warns if the credential for the agent crosses the network without encryption.
pub(crate) fn warn_of_exposed_credential(config: &Config) {
    let url = config.agent.agent_url.as_ref();
    let url = url.and_then(|url| url.as_str().parse().ok());
    if config.agent.has_credential() && url.is_some_and(|url| http_client::exposes_tokens(&url)) {
        tracing::warn!(
            "`agent_url` sends `agent_token` and the tokens of queries over http:// to another \
             machine, and whoever can read that network can use them: use https://"
        );
    }
}

/// Sets `agent_token` to the credential that the bridge and the agent of one user share, if the
/// agent is on this machine and no credential is configured. Agents of mcp-web 0.1 do not support
/// it.
pub(crate) fn fill_in_credential(config: &mut Config) {
    let url = config.agent.agent_url.as_ref();
    let url = url.and_then(|url| url.as_str().parse().ok());
    let is_local = url.is_some_and(|url| http_client::is_loopback(&url));
    if config.agent.has_credential() || config.compatibility.compat.is_some() || !is_local {
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
