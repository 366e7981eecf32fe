//! Loads the settings of the running program again: after SIGHUP, and when one of their files has changed.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use bridge_edge::connections::TlsAcceptor;
use bridge_edge::{FileWatch, ServiceState, notify_service_manager};
use bridge_output::replace_log_filter;
use bridge_settings::LoadedSettings;
use tokio::time::sleep;

use super::arguments::{Arguments, load_arguments};
use crate::config::{BridgeTables, Config};
use crate::service::{ServerHandle, StartError};

/// The pause after a reload that has failed: a file that only the new settings name is not watched yet, and
/// may be right by then.
const RETRY_INTERVAL: Duration = Duration::from_secs(30);

/// Copies one setting into a configuration from another one.
type Replace = fn(&mut Config, &Config);

/// The settings that a reload replaces, besides the contents of files. `docs/agent.md` lists them as well.
const RELOADABLE: &[(&str, Replace)] = &[
    ("allowed_hosts", |to, from| {
        to.allowed_hosts.clone_from(&from.allowed_hosts);
    }),
    ("allowed_origins", |to, from| {
        to.allowed_origins.clone_from(&from.allowed_origins);
    }),
    ("system", |to, from| to.system.clone_from(&from.system)),
    ("system_file", |to, from| {
        to.system_file.clone_from(&from.system_file);
    }),
    ("tools_file", |to, from| {
        to.tools_file.clone_from(&from.tools_file);
    }),
    ("max_source_calls", |to, from| {
        to.max_source_calls = from.max_source_calls;
    }),
    ("max_source_calls_per_user", |to, from| {
        to.max_source_calls_per_user = from.max_source_calls_per_user;
    }),
    // The filter of the log is not a part of the agent.
    ("log", |_, _| {}),
];

fn reloadable(name: &str) -> Option<Replace> {
    let row = RELOADABLE
        .iter()
        .find(|(reloadable, _)| *reloadable == name)?;
    Some(row.1)
}

/// Loads settings again, and replaces those of a running agent.
pub(super) struct Reloader {
    /// The arguments of the program.
    arguments: Vec<OsString>,
    /// The settings of the start, which apply until a restart if they cannot be replaced.
    started: LoadedSettings<BridgeTables>,
    /// The settings in use.
    config: Config,
    files: FileWatch,
    /// Why the last reload has failed.
    last_errors: Vec<String>,
    awaiting_restart: Vec<String>,
}

impl Reloader {
    /// Watches the files of the settings of an agent, which was started with this configuration. What has
    /// changed since it loaded them is loaded again.
    pub(super) fn start(
        arguments: Vec<OsString>,
        started: LoadedSettings<BridgeTables>,
        mut config: Config,
        server: &ServerHandle,
    ) -> Self {
        config.bind = server.local_addr();
        let mut reloader = Self {
            arguments,
            files: FileWatch::start(watched_files(&started, server)),
            started,
            config,
            last_errors: Vec::new(),
            awaiting_restart: Vec::new(),
        };
        reloader.reload_or_log(false, server);
        reloader
    }

    /// Waits until a file of the settings has changed, or until a reload that has failed is to be
    /// repeated. This method is cancel safe.
    pub(super) async fn file_changed(&mut self) {
        let has_failed = !self.last_errors.is_empty();
        tokio::select! {
            () = self.files.changed() => {}
            () = sleep(RETRY_INTERVAL), if has_failed => {}
        }
    }

    /// Loads the settings, the credentials and the certificate again. The former ones of each that is
    /// invalid stay in use. An error that was logged is logged again only after a signal.
    pub(super) fn reload(&mut self, is_requested: bool, server: &ServerHandle) {
        notify_service_manager(ServiceState::Reloading);
        self.reload_or_log(is_requested, server);
        notify_service_manager(ServiceState::Ready);
    }

    fn reload_or_log(&mut self, is_requested: bool, server: &ServerHandle) {
        // None waits for another to be right: a credential is revoked also while tools are written.
        let credentials = server.reload_credentials();
        let certificate = server.tls().map(TlsAcceptor::reload).transpose();
        let certificate = certificate.map_err(StartError::Tls);
        let settings = self.reload_settings(is_requested, server);
        let failures = [
            (settings.err(), "settings stay"),
            (
                credentials.err().map(|it| it.to_string()),
                "credentials stay",
            ),
            (
                certificate.err().map(|it| it.to_string()),
                "certificate stays",
            ),
        ];
        let errors = failures.into_iter().filter_map(|(error, former)| {
            let error = error?;
            Some(format!("the former {former} in use: {error}"))
        });
        let errors: Vec<_> = errors.collect();
        for error in &errors {
            if is_requested || !self.last_errors.contains(error) {
                tracing::error!("{error}");
            }
        }
        self.last_errors = errors;
    }

    fn reload_settings(&mut self, is_requested: bool, server: &ServerHandle) -> Result<(), String> {
        let loaded = load_arguments(&self.arguments).map_err(|error| error.to_string())?;
        let (Arguments { settings, log, .. }, loaded) = loaded;
        let mut config = self.config.clone();
        for (_, replace) in RELOADABLE {
            replace(&mut config, &settings);
        }
        for bridge in &mut config.bridges {
            let named = settings.bridges.iter().find(|it| it.name == bridge.name);
            if let Some(named) = named {
                bridge.allowed_origins.clone_from(&named.allowed_origins);
            }
        }
        let replaced = server.replace_settings(&config);
        let has_other_tools = replaced.map_err(|error| error.to_string())?;
        // Also if it is that of the start again.
        replace_log_filter(log);
        self.config = config;
        self.warn_of_restart(loaded.changed_settings(&self.started), &settings);
        self.files.set_paths(watched_files(&loaded, server));
        if is_requested || has_other_tools {
            tracing::info!(has_other_tools, "the settings are loaded again");
        }
        Ok(())
    }

    /// Warns of the settings that have changed since the start and cannot be replaced.
    fn warn_of_restart(&mut self, mut names: Vec<String>, settings: &Config) {
        names.retain(|name| reloadable(name).is_none());
        // Their origins were replaced.
        if settings.bridges != self.config.bridges {
            names.push("bridges".to_owned());
        }
        for name in &names {
            if !self.awaiting_restart.contains(name) {
                tracing::warn!("`{name}` has changed in the settings, which needs a restart");
            }
        }
        self.awaiting_restart = names;
    }
}

/// The files that the settings are loaded from. Those with credentials are watched by the agent itself.
fn watched_files(loaded: &LoadedSettings<BridgeTables>, server: &ServerHandle) -> Vec<PathBuf> {
    let tls = server.tls().map(TlsAcceptor::files).into_iter();
    loaded
        .file_path()
        .into_iter()
        .chain(server.setup_files())
        .chain(tls.flat_map(|files| [files.certificate.clone(), files.key.clone()]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GUIDE: &str = include_str!("../../../docs/agent.md");

    #[test]
    fn the_guide_lists_the_settings_that_a_reload_replaces() {
        let (_, list) = GUIDE.split_once("A reload replaces ").unwrap();
        let (list, _) = list.split_once(". ").unwrap();
        let listed: Vec<_> = list.split('`').skip(1).step_by(2).collect();
        let names: Vec<_> = RELOADABLE.iter().map(|(name, _)| *name).collect();
        assert_eq!(listed, names);
    }
}
