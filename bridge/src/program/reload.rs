//! Loads the settings of a running program again: after SIGHUP, and when one of their files has changed.

mod table;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bridge_auth::JwtSettings;
use bridge_edge::{FileWatch, ServiceState, notify_service_manager};
use bridge_output::{LogFilter, replace_log_filter};
use bridge_settings::LoadedSettings;
use tokio::time::sleep;

use crate::config::{BridgeFileTables, Config};
use crate::counters::ReloadOutcome;
use crate::server::{LiveSettings, ServerHandle};
use table::reloadable;

/// The pause after a reload that has failed: what it needs, such as the server of the keys, may be there
/// then.
const RETRY_INTERVAL: Duration = Duration::from_secs(30);

/// The settings that a program has loaded.
pub(super) struct ProgramLoad {
    pub(super) loaded: LoadedSettings<BridgeFileTables>,
    pub(super) bridge: Config,
    pub(super) log: LogFilter,
}

/// Loads the settings of the program again, from the same arguments and the same environment.
pub(super) type LoadAgain = Box<dyn Fn() -> Result<ProgramLoad, String> + Send + Sync>;

/// The settings that the program was started with, and how they are loaded again.
pub(super) struct SettingsSource {
    pub(super) load: LoadAgain,
    pub(super) loaded: LoadedSettings<BridgeFileTables>,
}

impl fmt::Debug for SettingsSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SettingsSource")
    }
}

/// Why the settings are loaded again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReloadCause {
    /// The start: a file may have changed after it was loaded and before it was watched.
    Start,
    /// SIGHUP.
    Signal,
    /// A file has changed, or may be right by now.
    File,
}

/// Loads settings again, and replaces those of a running bridge.
pub(super) struct Reloader {
    load: LoadAgain,
    /// The settings of the start, which apply until a restart if they cannot be replaced.
    started: Arc<LoadedSettings<BridgeFileTables>>,
    /// The settings of the last reload that has succeeded.
    latest: Arc<LoadedSettings<BridgeFileTables>>,
    /// The settings in use.
    config: Config,
    live: LiveSettings,
    files: FileWatch,
    /// Whether the settings were loaded again since the files are watched.
    has_reloaded: bool,
    /// Why the last reload has failed.
    last_errors: Vec<String>,
    awaiting_restart: Vec<String>,
}

impl Reloader {
    /// Watches the files of the settings of a bridge. `config` is the configuration that it was started
    /// with.
    pub(super) fn start(source: SettingsSource, mut config: Config, server: &ServerHandle) -> Self {
        config.network.bind = server.local_addr();
        let SettingsSource { load, loaded } = source;
        let loaded = Arc::new(loaded);
        Self {
            files: FileWatch::start(watched_files(&loaded, &config)),
            load,
            latest: Arc::clone(&loaded),
            started: loaded,
            config,
            live: server.live_settings().clone(),
            has_reloaded: false,
            last_errors: Vec::new(),
            awaiting_restart: Vec::new(),
        }
    }

    /// Waits until a file of the settings has changed, or until a reload that has failed is to be
    /// repeated. Returns at once after the start. This method is cancel safe.
    pub(super) async fn file_changed(&mut self) -> ReloadCause {
        if !self.has_reloaded {
            return ReloadCause::Start;
        }
        let has_failed = !self.last_errors.is_empty();
        tokio::select! {
            () = self.files.changed() => {}
            () = sleep(RETRY_INTERVAL), if has_failed => {}
        }
        ReloadCause::File
    }

    /// Loads the settings, the certificate and the credential for the agent again. The former one of each
    /// that is invalid stays in use. An error is logged once if the same one is found again because of a
    /// file.
    pub(super) async fn reload(&mut self, cause: ReloadCause) {
        self.has_reloaded = true;
        let is_start = cause == ReloadCause::Start;
        if !is_start {
            notify_service_manager(ServiceState::Reloading);
        }
        // None waits for another to be right: a token is revoked also while a certificate is written.
        let certificate = self.live.reload_certificates();
        let credential = self.live.reload_agent_credential();
        let settings = self.try_reload().await;
        let has_changed = settings == Ok(ReloadOutcome::Changed) || matches!(certificate, Ok(true));
        let failures = [
            (settings.err(), "settings stay"),
            (
                certificate.err().map(|it| it.to_string()),
                "certificate stays",
            ),
            (
                credential.err().map(|it| it.to_string()),
                "credential for the agent stays",
            ),
        ];
        let errors = failures.into_iter().filter_map(|(error, former)| {
            let error = error?;
            Some(format!("the former {former} in use: {error}"))
        });
        let errors: Vec<_> = errors.collect();
        for error in &errors {
            if cause == ReloadCause::Signal || !self.last_errors.contains(error) {
                tracing::error!("{error}");
            }
        }
        let outcome = match (errors.is_empty(), has_changed) {
            (false, _) => ReloadOutcome::Failed,
            (true, true) => ReloadOutcome::Changed,
            (true, false) => ReloadOutcome::Unchanged,
        };
        self.last_errors = errors;
        if !is_start || outcome != ReloadOutcome::Unchanged {
            self.live.counters().count(outcome);
        }
        if !is_start {
            notify_service_manager(ServiceState::Ready);
        }
        if cause == ReloadCause::Signal {
            if outcome == ReloadOutcome::Unchanged {
                tracing::info!("the settings are loaded again, and have not changed");
            }
            self.live.refetch_keys();
        }
    }

    async fn try_reload(&mut self) -> Result<ReloadOutcome, String> {
        let ProgramLoad {
            loaded,
            bridge,
            log,
        } = (self.load)()?;
        let changed = loaded.changed_settings(&self.latest);
        let mut config = self.config.clone();
        for name in &changed {
            if let Some(replace) = reloadable(name) {
                replace(&mut config, &bridge);
            }
        }
        config.identity.issuers.clone_from(&bridge.identity.issuers);
        let access = self.live.replace(&config).await;
        let access = access.map_err(|error| error.to_string())?;
        let mut replaced = changed;
        replaced.retain(|name| reloadable(name).is_some());
        if replaced.iter().any(|name| name == "log") {
            replace_log_filter(log);
        }
        self.warn_of_restart(&loaded);
        self.files.set_paths(watched_files(&loaded, &config));
        self.config = config;
        self.latest = Arc::new(loaded);
        if replaced.is_empty() && !access.has_changed_tokens {
            return Ok(ReloadOutcome::Unchanged);
        }
        tracing::info!(
            settings = replaced.join(", "),
            added_tokens = access.added_tokens,
            removed_tokens = access.removed_tokens,
            closed = access.closed_realms,
            "new settings are in use"
        );
        Ok(ReloadOutcome::Changed)
    }

    /// Warns of the settings that have changed since the start and cannot be replaced.
    fn warn_of_restart(&mut self, loaded: &LoadedSettings<BridgeFileTables>) {
        let mut names = loaded.changed_settings(&self.started);
        names.retain(|name| reloadable(name).is_none());
        let clients = |loaded: &LoadedSettings<BridgeFileTables>| {
            let tables = loaded.tables().map(|(clients, _)| clients);
            format!("{tables:?}")
        };
        if clients(loaded) != clients(&self.started) {
            names.push("clients".to_owned());
        }
        for name in &names {
            if !self.awaiting_restart.contains(name) {
                tracing::warn!("`{name}` has changed in the settings, which needs a restart");
            }
        }
        self.awaiting_restart = names;
    }
}

/// The files that the settings are loaded from.
fn watched_files(loaded: &LoadedSettings<BridgeFileTables>, config: &Config) -> Vec<PathBuf> {
    let issuers = config.identity.jwt_settings();
    let keys = issuers.iter().flat_map(JwtSettings::files);
    let tokens = config.tokens.token_file.clone();
    let (tls, cluster) = (&config.tls, &config.cluster);
    let tls = [
        &tls.tls_cert,
        &tls.tls_key,
        &cluster.cluster_tls_cert,
        &cluster.cluster_tls_key,
        &cluster.cluster_tls_ca,
    ];
    loaded
        .file_path()
        .into_iter()
        .chain(tokens)
        .chain(tls.into_iter().flatten().cloned())
        .chain(config.agent.agent_token_file.clone())
        .chain(keys.map(ToOwned::to_owned))
        .collect()
}
