//! The agent that answers the page's questions: one in this process, unless the bridge has another.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, OnceLock};

use agent::{ModelSettings, Provider, Secret};
use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use http::header::CACHE_CONTROL;
use serde::Serialize;

use crate::AgentSettings;

/// The environment variables that hold providers' keys.
const KEY_VARIABLES: [&str; 3] = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"];

/// An agent that is bound to its address but does not serve yet, or no agent if the bridge uses
/// another one, with the information about it for the page.
#[derive(Debug)]
pub struct AgentHost {
    local_agent: Option<agent::BoundServer>,
    info: AgentInfo,
}

/// The response to `GET /demo/agent`: the agent that answers the page's questions.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentInfo {
    /// Provider and model, as the page displays them. Unknown until the agent serves.
    #[serde(serialize_with = "serialize_label")]
    label: Arc<OnceLock<String>>,
    /// Whether the agent understands questions, and not only lines with tools.
    language_model: bool,
}

impl AgentHost {
    /// Uses the agent at this URL, which another process of the demo runs with these settings.
    pub fn shared(
        AgentSettings(agent): &AgentSettings,
        url: bridge::AgentUrl,
        bridge: &mut bridge::Config,
    ) -> Self {
        let label = OnceLock::from(format!("The agent at {url}"));
        bridge.agent.agent_url = vec![url];
        Self {
            local_agent: None,
            info: AgentInfo::new(label, is_language_model(choose_provider(&agent.model))),
        }
    }

    /// Binds the agent to an address and configures the bridge to use it, with a credential for
    /// this run. If the bridge already has an agent, its configuration stays unchanged.
    ///
    /// # Errors
    ///
    /// Returns an [`agent::StartError`] if the model cannot be used with its configuration.
    pub async fn bind(
        agent: AgentSettings,
        bridge: &mut bridge::Config,
    ) -> Result<Self, agent::StartError> {
        let external_label = match &bridge.agent.agent_url[..] {
            [] => (bridge.agent.run_agent).then(|| "The agent beside the bridge".to_owned()),
            [url] => Some(format!("The agent at {url}")),
            urls => Some(format!("One of {} agents", urls.len())),
        };
        if let Some(label) = external_label {
            return Ok(Self {
                local_agent: None,
                info: AgentInfo::new(OnceLock::from(label), true),
            });
        }
        let provider = choose_provider(&agent.0.model);
        let credential = Secret::random();
        let local_agent = bind_agent(agent, credential.clone()).await?;
        bridge.agent.agent_token = Some(credential);
        bridge
            .agent
            .agent_url
            .extend(local_agent.url().parse().ok());
        Ok(Self {
            local_agent: Some(local_agent),
            info: AgentInfo::new(OnceLock::new(), is_language_model(provider)),
        })
    }

    /// Returns the information about the agent. All clones get the label when the agent serves.
    pub fn info(&self) -> AgentInfo {
        self.info.clone()
    }

    /// Starts to answer the questions of this bridge's pages. Returns `None` if another agent does.
    ///
    /// # Errors
    ///
    /// Returns an [`agent::StartError`] if the agent cannot send requests to the bridge's address.
    pub fn serve(
        self,
        bridge: &bridge::ServerHandle,
    ) -> Result<Option<agent::ServerHandle>, agent::StartError> {
        let Some(local_agent) = self.local_agent else {
            return Ok(None);
        };
        let bridge_url = format!("http://{}", reachable_address(bridge.local_addr()));
        let server = local_agent.serve(&bridge_url)?;
        self.info
            .label
            .get_or_init(|| server.model_label().to_owned());
        Ok(Some(server))
    }
}

impl AgentInfo {
    fn new(label: OnceLock<String>, language_model: bool) -> Self {
        Self {
            label: Arc::new(label),
            language_model,
        }
    }

    /// Serves the information at `/demo/agent`.
    pub(crate) fn routes(self) -> Router {
        let handler = async |State(info): State<Self>| ([(CACHE_CONTROL, "no-store")], Json(info));
        Router::new()
            .route("/demo/agent", get(handler))
            .with_state(self)
    }
}

fn serialize_label<S: serde::Serializer>(
    label: &Arc<OnceLock<String>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(label.get().map_or("The agent", String::as_str))
}

/// Binds an agent to an address. It requires this credential of its bridge.
///
/// # Errors
///
/// Returns an [`agent::StartError`] if the model cannot be used with its configuration.
pub async fn bind_agent(
    AgentSettings(mut agent): AgentSettings,
    credential: Secret,
) -> Result<agent::BoundServer, agent::StartError> {
    agent.model.provider = choose_provider(&agent.model);
    agent.bind = (Ipv4Addr::LOCALHOST, 0).into();
    agent.token = Some(credential);
    agent::bind(agent).await
}

fn is_language_model(provider: Option<Provider>) -> bool {
    provider != Some(Provider::Commands)
}

/// Chooses the provider `commands`, which needs no model, if neither settings nor environment name
/// a model. The demo works without one, and the page shows that.
fn choose_provider(model: &ModelSettings) -> Option<Provider> {
    let has_model = model.provider.is_some()
        || model.base_url.is_some()
        || model.api_key_file.is_some()
        || KEY_VARIABLES
            .iter()
            .any(|name| std::env::var_os(name).is_some_and(|key| !key.is_empty()));
    if has_model {
        model.provider
    } else {
        Some(Provider::Commands)
    }
}

/// Replaces an unspecified address, which no request can be sent to, with the loopback address.
fn reachable_address(address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        (Ipv4Addr::LOCALHOST, address.port()).into()
    } else {
        address
    }
}
