//! Who answers what the page asks: an agent in this process, unless the bridge has one elsewhere.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, OnceLock};

use agent::{ModelSettings, Provider};
use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use http::header::CACHE_CONTROL;
use serde::Serialize;
use uuid::Uuid;

use crate::AgentSettings;

/// The variables that hold providers' keys.
const KEY_VARIABLES: [&str; 3] = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"];

/// An agent that has its address, and what the page is told of it.
#[derive(Debug)]
pub struct AgentHost {
    local_agent: Option<agent::BoundServer>,
    info: AgentInfo,
}

/// What the page is told of who answers.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentInfo {
    /// Provider and model, for people. Known once the agent answers.
    #[serde(serialize_with = "words")]
    label: Arc<OnceLock<String>>,
    /// Whether it understands questions, not only lines with tools.
    language_model: bool,
}

impl AgentHost {
    /// Takes an address for the agent and has the bridge ask there, with a credential for this run.
    /// A bridge that has an agent already keeps it.
    ///
    /// # Errors
    ///
    /// [`agent::StartError`] when the model cannot be used as it is configured.
    pub async fn bind(
        AgentSettings(mut agent): AgentSettings,
        bridge: &mut bridge::Config,
    ) -> Result<Self, agent::StartError> {
        let elsewhere = match &bridge.agent.agent_url {
            Some(url) => Some(format!("The agent at {url}")),
            None => (bridge.agent.run_agent).then(|| "The agent beside the bridge".to_owned()),
        };
        if let Some(label) = elsewhere {
            let about = AgentInfo::new(OnceLock::from(label), true);
            return Ok(Self {
                local_agent: None,
                info: about,
            });
        }
        let provider = choose_provider(&agent.model);
        let about = AgentInfo::new(OnceLock::new(), provider != Some(Provider::Commands));
        agent.model.provider = provider;
        agent.bind = (Ipv4Addr::LOCALHOST, 0).into();
        let credential = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
        agent.token = credential.parse().ok();
        let own = agent::bind(agent).await?;
        bridge.agent.agent_token = credential.parse().ok();
        bridge.agent.agent_url = own.url().parse().ok();
        let own = Some(own);
        Ok(Self {
            local_agent: own,
            info: about,
        })
    }

    /// What the page is told.
    pub fn info(&self) -> AgentInfo {
        self.info.clone()
    }

    /// Answers what the pages of this bridge ask, from now on.
    ///
    /// # Errors
    ///
    /// [`agent::StartError`] when the bridge has no address that can be asked.
    pub fn serve(
        self,
        bridge: &bridge::ServerHandle,
    ) -> Result<Option<agent::ServerHandle>, agent::StartError> {
        let Some(own) = self.local_agent else {
            return Ok(None);
        };
        let running = own.serve(&format!(
            "http://{}",
            reachable_address(bridge.local_addr())
        ))?;
        self.info
            .label
            .get_or_init(|| running.model_label().to_owned());
        Ok(Some(running))
    }
}

impl AgentInfo {
    fn new(label: OnceLock<String>, language_model: bool) -> Self {
        let label = Arc::new(label);
        Self {
            label,
            language_model,
        }
    }

    pub(crate) fn routes(self) -> Router {
        let about = async |State(about): State<Self>| ([(CACHE_CONTROL, "no-store")], Json(about));
        Router::new()
            .route("/demo/agent", get(about))
            .with_state(self)
    }
}

fn words<S: serde::Serializer>(
    label: &Arc<OnceLock<String>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(label.get().map_or("The agent", String::as_str))
}

/// Without anything that says which model, none: the demo works all the same, and says so.
fn choose_provider(model: &ModelSettings) -> Option<Provider> {
    let is_said = model.provider.is_some()
        || model.base_url.is_some()
        || model.api_key_file.is_some()
        || KEY_VARIABLES
            .iter()
            .any(|key| std::env::var_os(key).is_some_and(|key| !key.is_empty()));
    match is_said {
        true => model.provider,
        false => Some(Provider::Commands),
    }
}

/// An address that stands for all of this machine's is none to ask at.
fn reachable_address(address: SocketAddr) -> SocketAddr {
    match address.ip().is_unspecified() {
        true => (Ipv4Addr::LOCALHOST, address.port()).into(),
        false => address,
    }
}
