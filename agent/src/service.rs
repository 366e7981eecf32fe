//! Starts and stops an agent.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use agent_sources::{SourceEntry, ToolsFile};
use agent_tools::mcp::{self, LoadedServers};
use agent_tools::{AuditLog, Metrics, Records, SourceLimits, Sources};
use bridge_edge::connections::Listener;
use bridge_edge::{HostOriginPolicy, TokenHash};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::agent_loop::{MAX_SYSTEM_BYTES, SystemPrompts};
use crate::agui::SuspendedRuns;
use crate::bridge::AgentBridge;
use crate::config::{BridgeUrl, BudgetSettings, Config};
use crate::conversations::ConversationStore;
use crate::credential::{self, CredentialError};
use crate::http::{self, AgentState};
use crate::model::{self, Model, ModelSettings};
use crate::queries::{BodyMemory, QueriesConfig, RunningQueries};
use crate::spending;

/// How long queries and connections may take to end after [`ServerHandle::shutdown`].
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// Why an agent cannot start. The message describes what to change.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// No model is configured, or the configured model cannot be used.
    #[error("{0}")]
    Model(String),
    /// There is a budget, and the price of this model is not known.
    #[error(
        "a daily budget is set, but the price of the model `{0}` is not known: write `\"{0}\" = [2.0, \
         0.2, 10.0]` below `[prices]` into the file of `model_rules` (US dollars for a million tokens \
         of input, of input from the provider's cache, and of output; zeros if it costs nothing), or \
         remove the budgets"
    )]
    Price(String),
    /// The address is not a loopback address, and the operator has not set a credential.
    #[error(
        "{0} can be reached from other machines, but no credential is set: set `token` \
         (MCP_WEB_AGENT_TOKEN) or `token_file`, and the same as `agent_token` of the bridge, or bind \
         to 127.0.0.1"
    )]
    Unauthenticated(SocketAddr),
    /// The credential cannot be used.
    #[error("{0}")]
    Credential(#[from] CredentialError),
    /// `allowed_hosts` is empty, or an entry of `allowed_hosts` or `allowed_origins` is malformed.
    #[error("{0}")]
    Policy(String),
    /// `system_file` cannot be read, `system` is also set, or the text is too long.
    #[error("{0}")]
    System(String),
    /// `conversations_file` cannot be used.
    #[error("{0}")]
    Conversations(String),
    /// `tools_file`, `audit_file` or `secrets_file` cannot be used.
    #[error("{0}")]
    Tools(String),
    /// The address of the bridge cannot be used.
    #[error("`bridge_url` cannot be used: {0}")]
    Bridge(String),
    /// The address is in use, or does not belong to this machine.
    #[error("cannot listen on {address}: {error}. Is another agent running? Choose another `bind`")]
    Bind {
        /// The configured address.
        address: SocketAddr,
        /// The error of the operating system.
        error: io::Error,
    },
}

/// An agent that is bound to its address and does not serve yet. Its bridge may need the address
/// before it starts.
#[derive(Debug)]
pub struct BoundServer {
    config: Config,
    policy: HostOriginPolicy,
    credential: TokenHash,
    system_prompts: SystemPrompts,
    sources: Sources,
    metrics: Arc<Metrics>,
    profile_models: HashMap<String, Arc<dyn Model>>,
    conversations: ConversationStore,
    model: Arc<dyn Model>,
    listener: Listener,
    address: SocketAddr,
}

/// Binds an address, and checks everything that does not need the bridge.
///
/// # Errors
///
/// Returns [`StartError`] when no model is configured, the configuration is unsafe or invalid, or
/// the address is in use.
///
/// # Examples
///
/// ```
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let model = agent::ModelSettings { provider: Some(agent::Provider::Commands),
/// ..Default::default() }; let config = agent::Config { bind: ([127, 0, 0, 1], 0).into(), token:
/// Some(agent::Secret::random()), model, ..Default::default() }; let bound =
/// agent::bind(config).await.unwrap(); let agent = bound.serve("http://127.0.0.1:3001").unwrap();
/// assert!(agent.url().ends_with("/query")); agent.shutdown().await;
/// # });
/// ```
pub async fn bind(config: Config) -> Result<BoundServer, StartError> {
    let model = load_model(&config.model)?;
    let policy = load_policy(&config)?;
    let credential = credential::load(config.token.as_ref(), config.token_file.as_deref())?;
    let bind_error = |error| StartError::Bind {
        address: config.bind,
        error,
    };
    let tools_file = load_tools_file(&config)?;
    let system_prompts = load_system_prompts(&config, &tools_file)?;
    let profile_models = load_profile_models(&config.model, &tools_file)?;
    check_budgets(&config.budgets, &model, &profile_models)?;
    let metrics = Arc::new(Metrics::new());
    let conversations = ConversationStore::open(&config.conversations);
    let conversations =
        conversations.map_err(|error| StartError::Conversations(error.to_string()))?;
    let listener = Listener::bind(config.bind).map_err(bind_error)?;
    let address = listener.local_addr().map_err(bind_error)?;
    let sources = open_sources(&config, tools_file, Arc::clone(&metrics))?;
    Ok(BoundServer {
        credential: TokenHash::from_token(credential.expose()),
        system_prompts,
        sources,
        metrics,
        profile_models,
        conversations,
        config,
        policy,
        model,
        listener,
        address,
    })
}

/// A configuration with which an agent can start.
pub(crate) struct CheckedConfig {
    pub(crate) model: Arc<dyn Model>,
    /// None of them is started.
    pub(crate) sources: Sources,
}

impl CheckedConfig {
    /// Makes the checks of [`bind`] that need no port and create no file: neither that of the audit nor
    /// that of conversations is opened.
    pub(crate) fn new(config: &Config) -> Result<Self, StartError> {
        let model = load_model(&config.model)?;
        load_policy(config)?;
        if has_credential(config) {
            credential::load(config.token.as_ref(), config.token_file.as_deref())?;
        }
        let tools_file = load_tools_file(config)?;
        load_system_prompts(config, &tools_file)?;
        let profile_models = load_profile_models(&config.model, &tools_file)?;
        check_budgets(&config.budgets, &model, &profile_models)?;
        let without_audit = Config {
            audit_file: None,
            ..config.clone()
        };
        let sources = open_sources(&without_audit, tools_file, Arc::new(Metrics::new()))?;
        Ok(Self { model, sources })
    }
}

fn has_credential(config: &Config) -> bool {
    config.token.is_some() || config.token_file.is_some()
}

/// Returns which hosts and origins may send requests, if the address may be reached by them.
fn load_policy(config: &Config) -> Result<HostOriginPolicy, StartError> {
    let policy = HostOriginPolicy::new("agent", &config.allowed_hosts, &config.allowed_origins)
        .map_err(StartError::Policy)?
        .without_own_origin();
    if !has_credential(config) && !config.bind.ip().is_loopback() {
        return Err(StartError::Unauthenticated(config.bind));
    }
    Ok(policy)
}

fn load_model(settings: &ModelSettings) -> Result<Arc<dyn Model>, StartError> {
    model::from_settings(settings).map_err(|failure| {
        let remedy = failure.remedy.map(|remedy| format!(": {remedy}"));
        StartError::Model(format!("{}{}", failure.message, remedy.unwrap_or_default()))
    })
}

/// Returns the models of the profiles that name one.
fn load_profile_models(
    settings: &ModelSettings,
    tools_file: &ToolsFile,
) -> Result<HashMap<String, Arc<dyn Model>>, StartError> {
    let profiles = tools_file.profiles.iter();
    let with_model = profiles.filter_map(|profile| Some((&profile.name, profile.model.as_ref()?)));
    let models = with_model.map(|(name, model)| {
        let settings = ModelSettings {
            model: Some(model.clone()),
            ..settings.clone()
        };
        Ok((name.clone(), load_model(&settings)?))
    });
    models.collect()
}

/// Checks that budgets count each model, and logs a warning if they do not count each user.
fn check_budgets(
    budgets: &BudgetSettings,
    model: &Arc<dyn Model>,
    profile_models: &HashMap<String, Arc<dyn Model>>,
) -> Result<(), StartError> {
    if !budgets.has_any() {
        return Ok(());
    }
    if let Some(warning) = budgets.warning() {
        tracing::warn!("{warning}");
    }
    let today = spending::today();
    let mut models = profile_models.values().chain([model]);
    match models.find(|model| model.price(today).is_none()) {
        Some(model) => Err(StartError::Price(model.name().to_owned())),
        None => Ok(()),
    }
}

/// Loads the file of `tools_file`, and logs warnings about it.
pub(crate) fn load_tools_file(config: &Config) -> Result<ToolsFile, StartError> {
    let Some(path) = &config.tools_file else {
        return Ok(ToolsFile::default());
    };
    let file = ToolsFile::load(path);
    let file = file.map_err(|error| StartError::Tools(format!("`tools_file` {error}")))?;
    for warning in file.warnings() {
        tracing::warn!("{warning}");
    }
    Ok(file)
}

/// Creates the sources. None of them is started.
fn open_sources(
    config: &Config,
    file: ToolsFile,
    metrics: Arc<Metrics>,
) -> Result<Sources, StartError> {
    let audit = match &config.audit_file {
        Some(path) => AuditLog::open(path.clone()).map_err(|error| {
            let path = path.display();
            StartError::Tools(format!("`audit_file` {path} cannot be written: {error}"))
        })?,
        None => AuditLog::default(),
    };
    let secrets = config.secrets.open_if_set().map_err(StartError::Tools)?;
    let own_program = config.own_program.as_deref();
    let builtin = file.sources.iter().map(|entry| {
        let source = entry
            .settings
            .open(&entry.name, secrets.as_ref(), own_program);
        source.map_err(|problem| {
            let SourceEntry { name, location, .. } = entry;
            StartError::Tools(format!(
                "`tools_file` {location}: the source `{name}`: {problem}"
            ))
        })
    });
    let mut sources = builtin.collect::<Result<Vec<_>, _>>()?;
    let mut servers = LoadedServers::default();
    if let Some(path) = &file.servers_file {
        let loaded = mcp::load_servers(path, own_program, secrets.as_ref());
        servers = loaded.map_err(StartError::Tools)?;
    }
    sources.extend(servers.sources);
    let limits = SourceLimits {
        max_calls: config.max_source_calls,
        max_calls_per_user: config.max_source_calls_per_user,
    };
    let records = Records {
        audit,
        metrics,
        secrets,
    };
    let sources = Sources::new(sources, servers.unused, file.profiles, limits, records);
    let sources = sources.map_err(StartError::Tools)?;
    for warning in sources.pattern_warnings() {
        tracing::warn!("{warning}");
    }
    Ok(sources)
}

/// Returns the system prompts with the texts of the operator.
///
/// # Errors
///
/// Returns [`StartError::System`] when a text cannot be read, is too long, or is set twice.
pub(crate) fn load_system_prompts(
    config: &Config,
    tools_file: &ToolsFile,
) -> Result<SystemPrompts, StartError> {
    let (source, text) = match (&config.system, &config.system_file) {
        (Some(_), Some(_)) => {
            let error = "`system` and `system_file` are both set: set one of them";
            return Err(StartError::System(error.to_owned()));
        }
        (Some(text), None) => ("`system`".to_owned(), Some(text.clone())),
        (None, Some(path)) => {
            let source = format!("`system_file` {}", path.display());
            let text = std::fs::read_to_string(path)
                .map_err(|error| StartError::System(format!("{source} cannot be read: {error}")))?;
            (source, Some(text))
        }
        (None, None) => (String::new(), None),
    };
    check_system_length(&source, text.as_deref())?;
    let profiles = tools_file.profiles.iter();
    let profiles = profiles.filter_map(|it| Some((it.name.as_str(), it.system.as_deref()?)));
    for (name, text) in profiles.clone() {
        check_system_length(&format!("`system` of the profile `{name}`"), Some(text))?;
    }
    Ok(SystemPrompts::new(text.as_deref(), profiles))
}

fn check_system_length(source: &str, text: Option<&str>) -> Result<(), StartError> {
    let bytes = text.map_or(0, str::len);
    if bytes <= MAX_SYSTEM_BYTES {
        return Ok(());
    }
    Err(StartError::System(format!(
        "{source} has {bytes} bytes, and at most {MAX_SYSTEM_BYTES} are allowed: every turn of every \
         query sends it"
    )))
}

impl BoundServer {
    /// Returns the address that the agent will listen on, with the actual port if port 0 was
    /// configured.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Returns the URL of the agent: the value of the bridge's `agent_url`.
    pub fn url(&self) -> String {
        url(self.address)
    }

    /// Starts to answer queries with the pages of the bridge at `bridge_url`, which need not run
    /// yet.
    ///
    /// # Errors
    ///
    /// Returns [`StartError::Bridge`] when `bridge_url` is not an `http://` or `https://` URL.
    pub fn serve(self, bridge_url: &str) -> Result<ServerHandle, StartError> {
        let url: BridgeUrl = bridge_url.parse().map_err(StartError::Bridge)?;
        let bridge = AgentBridge::new(url.url().clone());
        let bridge = bridge.map_err(|failure| StartError::Bridge(failure.message))?;
        let Self { config, model, .. } = self;
        let label = model.label().to_owned();
        let suspended_runs = Arc::new(SuspendedRuns::new(config.limits.query_timeout));
        let queries = RunningQueries::new(QueriesConfig {
            bridge,
            model,
            system_prompts: self.system_prompts,
            profile_models: self.profile_models,
            sources: Arc::new(self.sources),
            metrics: self.metrics,
            limits: config.limits,
            budgets: config.budgets,
            max_queries: config.max_queries,
            conversations: self.conversations,
        });
        let queries = Arc::new(queries);
        let state = AgentState {
            queries: Arc::clone(&queries),
            credential: self.credential,
            policy: Arc::new(self.policy),
            max_body_bytes: config.max_body_bytes,
            body_memory: Arc::new(BodyMemory::new(config.max_all_body_bytes)),
            suspended_runs,
        };
        let stopping = CancellationToken::new();
        let server = tokio::spawn(http::serve(
            self.listener,
            state,
            config.max_connections,
            stopping.clone(),
        ));
        Ok(ServerHandle {
            address: self.address,
            label,
            queries,
            stopping,
            server,
        })
    }
}

/// A running agent. Dropping the handle leaves it running until the runtime ends.
#[derive(Debug)]
pub struct ServerHandle {
    address: SocketAddr,
    label: String,
    queries: Arc<RunningQueries>,
    stopping: CancellationToken,
    server: JoinHandle<()>,
}

impl ServerHandle {
    /// Returns the address that the agent listens on.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Returns the URL to which bridges and frontends send queries.
    pub fn url(&self) -> String {
        url(self.address)
    }

    /// Returns provider and model, as a label for people.
    pub fn model_label(&self) -> &str {
        &self.label
    }

    /// Stops the agent gracefully: its queries fail with `AgentUnavailable`, which their readers
    /// are sent. This takes no longer than 5 s.
    pub async fn shutdown(self) {
        self.stopping.cancel();
        let mut server = self.server;
        let stopped = timeout(SHUTDOWN_TIMEOUT, async {
            self.queries.stop().await;
            let _ = (&mut server).await;
        });
        if stopped.await.is_err() {
            server.abort();
        }
    }
}

fn url(address: SocketAddr) -> String {
    format!("http://{address}/query")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Provider;

    #[test]
    fn a_budget_needs_the_price_of_each_model() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            Some(path)
        };
        let free = write("free.toml", "prices = { \"qwen*\" = [0, 0, 0] }");
        let profile = write("tools.toml", "[profiles.staff]\nmodel = 'llama'\n");
        let budget = || BudgetSettings {
            daily_total_budget: Some(1.0),
            ..BudgetSettings::default()
        };
        let ollama = (Provider::Ollama, Some("qwen3"));
        for ((provider, model), model_rules, tools_file, budgets, unpriced) in [
            (ollama, None, None, budget(), Some("qwen3")),
            (ollama, None, None, BudgetSettings::default(), None),
            (ollama, free.clone(), None, budget(), None),
            (ollama, free, profile, budget(), Some("llama")),
            ((Provider::Commands, None), None, None, budget(), None),
        ] {
            let config = Config {
                model: ModelSettings {
                    provider: Some(provider),
                    model: model.map(str::to_owned),
                    model_rules,
                    ..ModelSettings::default()
                },
                tools_file,
                budgets,
                ..Config::default()
            };
            let message = CheckedConfig::new(&config).err().map(|it| it.to_string());
            match (message, unpriced) {
                (None, None) => {}
                (Some(message), Some(model)) => {
                    let remedy = format!("write `\"{model}\" = [2.0, 0.2, 10.0]` below `[prices]`");
                    assert!(message.contains(&remedy), "{message}");
                }
                other => panic!("{config:?}: {other:?}"),
            }
        }
    }
}
