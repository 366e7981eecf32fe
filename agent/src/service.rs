//! Starts and stops an agent.

mod bridge_access;
mod reload;
mod start_error;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use agent_sources::{SourceEntry, ToolsFile};
use agent_tools::mcp::{self, LoadedServers};
use agent_tools::{AuditLog, Metrics, Records, SourceLimits, Sources};
use bridge_edge::HostOriginPolicy;
use bridge_edge::connections::{Listener, TlsAcceptor, TlsError};
use bridge_settings::warning_if_open_to_all;
use bridge_traces::Traces;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::agent_loop::{MAX_SYSTEM_BYTES, SystemPrompts};
use crate::agui::SuspendedRuns;
use crate::bridge::watch_credentials;
use crate::config::{BudgetSettings, Config};
use crate::conversations::ConversationStore;
use crate::credential::CredentialError;
use crate::http::{self, AgentState};
use crate::model::{self, Model, ModelSettings};
use crate::queries::{
    AGENT_NAME, BodyMemory, QueriesConfig, QuerySetup, RunningQueries, SetupSource,
};
use crate::spending;
use bridge_access::{LoadedBridge, connect_bridges, has_credential, load_bridges, load_policy};
pub use start_error::StartError;

/// The version of the agent in traces.
const AGENT_VERSION: &str = env!("CARGO_PKG_VERSION");

/// How long queries and connections may take to end after [`ServerHandle::shutdown`].
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// An agent that is bound to its address and does not serve yet. Its bridge may need the address
/// before it starts.
#[derive(Debug)]
pub struct BoundServer {
    config: Config,
    policy: HostOriginPolicy,
    bridges: Vec<LoadedBridge>,
    setup: QuerySetup,
    metrics: Arc<Metrics>,
    conversations: ConversationStore,
    traces: Traces,
    model: Arc<dyn Model>,
    listener: Listener,
    address: SocketAddr,
    tls: Option<TlsAcceptor>,
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
    bind_on(None, config)
}

/// Uses sockets of the service manager, or else `bind`.
pub(crate) fn bind_on(
    passed: Option<Listener>,
    mut config: Config,
) -> Result<BoundServer, StartError> {
    if let Some(passed) = &passed {
        // It decides who can connect, and so whether a credential is needed.
        config.bind = passed.local_addr().map_err(StartError::PassedSockets)?;
    }
    let model = load_model(&config.model)?;
    let entries = config.bridge_entries().map_err(StartError::Bridges)?;
    let policy = load_policy(&config, &entries)?;
    let bridges = load_bridges(&config, entries)?;
    let bind_error = |error| StartError::Bind {
        address: config.bind,
        error,
    };
    let metrics = Arc::new(Metrics::new());
    let setup = load_setup(&config, &model, &metrics)?;
    let conversations = ConversationStore::open(&config.conversations);
    let conversations =
        conversations.map_err(|error| StartError::Conversations(error.to_string()))?;
    let traces = Traces::start(&config.traces.settings(), AGENT_NAME, AGENT_VERSION);
    let traces = traces.map_err(StartError::Traces)?;
    let tls = load_tls(&config)?;
    let listener = match passed {
        Some(passed) => passed,
        None => Listener::bind(config.bind).map_err(bind_error)?,
    };
    let listener = listener.with_tls(tls.clone());
    let address = listener.local_addr().map_err(bind_error)?;
    Ok(BoundServer {
        bridges,
        setup,
        metrics,
        conversations,
        traces,
        config,
        policy,
        model,
        listener,
        address,
        tls,
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
        let mut entries = config.bridge_entries().map_err(StartError::Bridges)?;
        load_policy(config, &entries)?;
        load_tls(config)?;
        // The file that bridge and agent share would be created.
        entries.retain(has_credential);
        let bridges = load_bridges(config, entries)?;
        connect_bridges(config, bridges)?;
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

/// Loads the sources, profiles and prompts of queries. None of the sources is started.
fn load_setup(
    config: &Config,
    model: &Arc<dyn Model>,
    metrics: &Arc<Metrics>,
) -> Result<QuerySetup, StartError> {
    // Before the files are loaded: if one changes in between, it has changed afterwards.
    let mut source = SetupSource::load(config);
    let tools_file = load_tools_file(config)?;
    if let Some(path) = &tools_file.servers_file {
        source.add_file(path);
        // Its pins, which `mcp sync` writes beside it.
        source.add_file(&path.with_extension("pins.json"));
    }
    let system_prompts = load_system_prompts(config, &tools_file)?;
    let profile_models = load_profile_models(&config.model, &tools_file)?;
    check_budgets(&config.budgets, model, &profile_models)?;
    let sources = open_sources(config, tools_file, Arc::clone(metrics))?;
    Ok(QuerySetup::new(
        sources,
        system_prompts,
        profile_models,
        source,
    ))
}

fn load_tls(config: &Config) -> Result<Option<TlsAcceptor>, TlsError> {
    if let Some(warning) = config.tls_key.as_deref().and_then(warning_if_open_to_all) {
        tracing::warn!("{warning}");
    }
    TlsAcceptor::from_settings(config.tls_cert.as_deref(), config.tls_key.as_deref())
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
    let bridges = config.bridge_entries().unwrap_or_default();
    let bridges: Vec<&str> = bridges.iter().map(|it| &*it.name).collect();
    let profiles = file.profiles.iter();
    let of_bridges = profiles.filter_map(|it| it.bridge_warning(&bridges));
    for warning in file.warnings().into_iter().chain(of_bridges) {
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
        url(self.address, self.tls.as_ref())
    }

    /// Starts to answer queries with the pages of the bridge at `bridge_url`, which need not run
    /// yet. It takes the place of that of the configuration.
    ///
    /// # Errors
    ///
    /// Returns [`StartError::Bridge`] when `bridge_url` is not an `http://` or `https://` URL, or the
    /// configuration has several bridges.
    pub fn serve(mut self, bridge_url: &str) -> Result<ServerHandle, StartError> {
        let [only] = &self.bridges[..] else {
            let message = "the configuration has several bridges: call `serve_configured`";
            return Err(StartError::Bridge(message.to_owned()));
        };
        let name = only.entry.name.clone();
        self.set_bridge_url(&name, bridge_url)?;
        self.serve_configured()
    }

    /// Sets the URL of a bridge of the configuration, which may need the address of the agent before it
    /// starts.
    ///
    /// # Errors
    ///
    /// Returns [`StartError::Bridge`] when `url` is not an `http://` or `https://` URL, or there is no
    /// bridge of this name.
    pub fn set_bridge_url(&mut self, name: &str, url: &str) -> Result<(), StartError> {
        let mut bridges = self.bridges.iter_mut();
        let named = bridges.find(|bridge| bridge.entry.name == name);
        let named = named.ok_or_else(|| StartError::Bridge(format!("no bridge is {name:?}")))?;
        named.entry.url = url.parse().map_err(StartError::Bridge)?;
        Ok(())
    }

    /// Starts to answer queries with the pages of the bridges of the configuration, which need not run
    /// yet.
    ///
    /// # Errors
    ///
    /// Returns [`StartError::Credential`] when the credential of a bridge is also that of another one,
    /// or `metrics_token`.
    pub fn serve_configured(self) -> Result<ServerHandle, StartError> {
        let Self { config, model, .. } = self;
        let bridges = Arc::new(connect_bridges(&config, self.bridges)?);
        let label = model.label().to_owned();
        let suspended_runs = Arc::new(SuspendedRuns::new(config.limits.query_timeout));
        let queries = RunningQueries::new(QueriesConfig {
            bridges: Arc::clone(&bridges),
            model,
            setup: self.setup,
            metrics: self.metrics,
            limits: config.limits,
            budgets: config.budgets,
            max_queries: config.max_queries,
            conversations: self.conversations,
            traces: self.traces,
        });
        let queries = Arc::new(queries);
        let policy = Arc::new(self.policy);
        let state = AgentState {
            queries: Arc::clone(&queries),
            policy: Arc::clone(&policy),
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
        let watching = watch_credentials(bridges);
        Ok(ServerHandle {
            address: self.address,
            label,
            policy,
            queries,
            stopping,
            server,
            _credential_watch: AbortOnDropHandle::new(tokio::spawn(watching)),
            tls: self.tls,
        })
    }
}

/// A running agent. Dropping the handle leaves it running until the runtime ends, without reading the
/// files with credentials again.
#[derive(Debug)]
pub struct ServerHandle {
    address: SocketAddr,
    label: String,
    policy: Arc<HostOriginPolicy>,
    queries: Arc<RunningQueries>,
    stopping: CancellationToken,
    server: JoinHandle<()>,
    _credential_watch: AbortOnDropHandle<()>,
    tls: Option<TlsAcceptor>,
}

impl ServerHandle {
    /// Returns the address that the agent listens on.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Returns the URL to which bridges and frontends send queries.
    pub fn url(&self) -> String {
        url(self.address, self.tls.as_ref())
    }

    /// Returns the certificate with which the agent encrypts, if it does.
    pub fn tls(&self) -> Option<&TlsAcceptor> {
        self.tls.as_ref()
    }

    /// Returns provider and model, as a label for people.
    pub fn model_label(&self) -> &str {
        &self.label
    }

    /// Loads the files with credentials again, which otherwise happens within seconds after they have
    /// changed. Blocks while it reads them.
    ///
    /// # Errors
    ///
    /// Returns the first error. A file that cannot be used changes nothing: its former credentials stay
    /// valid.
    pub fn reload_credentials(&self) -> Result<(), CredentialError> {
        self.queries.bridges.reload()
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

fn url(address: SocketAddr, tls: Option<&TlsAcceptor>) -> String {
    let scheme = if tls.is_some() { "https" } else { "http" };
    format!("{scheme}://{address}/query")
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
