//! Finds out whether the program at an address may get the token of the client, and starts a bridge there
//! if none runs.

use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bridge_edge::service_manager::SERVICE_MANAGER_VARIABLES;
use bridge_edge::shared_credential::SharedCredentialError;
use client_stdio::{AddressHolder, LocalBridge, LocalBridgeError, Url};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep};

use super::COMMAND;
use super::folder::StartedBridgeFolder;
use super::proof::{ROUTE, challenge, is_proof, proof};

/// How long a bridge may take to start, also if another client starts it. Codex waits for 10 s.
const START_TIMEOUT: Duration = Duration::from_secs(8);

/// The time between two looks at a bridge that starts.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

/// The variables that a bridge must not inherit: those of the client, among which is its token.
const CLIENT_VARIABLES: [&str; 2] = ["AUTH_TOKEN", "MCP_SERVER_URL"];

/// The beginning of the names of settings. Those of a bridge are meant for that of an operator.
const SETTING_PREFIX: &str = "MCP_WEB_";

/// The bridge at one port.
pub(crate) struct BridgeStarter {
    url: Url,
    port: u16,
    idle_timeout: Duration,
    folder: Option<StartedBridgeFolder>,
    /// Whether the last bridge was one that a person has started. It may come back.
    was_of_person: AtomicBool,
}

/// The program at the address.
pub(crate) enum Holder {
    Nothing,
    /// The bridge that a client of this user has started.
    Started,
    /// A bridge that a person has started.
    OfPerson,
}

/// A bridge that was started and has not answered.
struct Starting {
    process: Child,
    /// Where its part of the log begins.
    log_start: u64,
}

impl LocalBridge for BridgeStarter {
    fn ensure(&self) -> Pin<Box<dyn Future<Output = Result<(), LocalBridgeError>> + Send + '_>> {
        Box::pin(self.run())
    }
}

impl BridgeStarter {
    /// Returns the bridge at this port of 127.0.0.1, to which the URL leads.
    pub(crate) fn new(url: Url, port: u16, idle_timeout: Duration) -> Self {
        Self {
            url,
            port,
            idle_timeout,
            folder: StartedBridgeFolder::of_port(port),
            was_of_person: AtomicBool::new(false),
        }
    }

    async fn run(&self) -> Result<(), LocalBridgeError> {
        let deadline = Instant::now() + START_TIMEOUT;
        let (mut lock, mut starting) = (None, None);
        let mut last_reason = "it did not answer in time".to_owned();
        loop {
            match self.holder().await? {
                Holder::Started => {
                    self.was_of_person.store(false, Ordering::Relaxed);
                    return Ok(());
                }
                Holder::OfPerson => {
                    self.was_of_person.store(true, Ordering::Relaxed);
                    return Ok(());
                }
                // The person who restarts it needs the port.
                Holder::Nothing if self.was_of_person.load(Ordering::Relaxed) => {
                    return Err(LocalBridgeError::Absent);
                }
                Holder::Nothing => {}
            }
            if Instant::now() >= deadline {
                return Err(self.failed(last_reason));
            }
            let Some(folder) = &self.folder else {
                let error = SharedCredentialError::NoDirectory;
                return Err(self.failed(error));
            };
            match &mut starting {
                _ if lock.is_none() => {
                    folder
                        .load_or_create_secret()
                        .map_err(|error| self.failed(error))?;
                    lock = folder.try_lock().map_err(|error| {
                        self.failed(format_args!("{}: {error}", folder.path().display()))
                    })?;
                    if lock.is_some() {
                        // The former holder of the lock may have started it meanwhile.
                        continue;
                    }
                }
                None => {
                    let spawned = self.spawn(folder);
                    starting = Some(spawned.map_err(|error| self.failed(error))?);
                }
                Some(running) => {
                    if let Some(reason) = self.temporary_failure(folder, running)? {
                        last_reason = reason;
                        starting = None;
                    }
                }
            }
            sleep(LOOK_INTERVAL).await;
        }
    }

    /// Finds out which program has the address.
    pub(crate) async fn holder(&self) -> Result<Holder, LocalBridgeError> {
        let challenge = challenge();
        let route = format!("{ROUTE}/{challenge}");
        let answer = match AddressHolder::find(&self.url, &route).await {
            AddressHolder::Nothing => return Ok(Holder::Nothing),
            AddressHolder::OtherProgram(reason) => return Err(self.other_program(&reason)),
            AddressHolder::Bridge { route_answer, .. } => route_answer.filter(|it| is_proof(it)),
        };
        let Some(answer) = answer else {
            return Ok(Holder::OfPerson);
        };
        let folder = self.folder.as_ref();
        let secret = folder.and_then(|folder| folder.load_secret().ok().flatten());
        if secret.is_some_and(|secret| answer == proof(&secret, &challenge)) {
            return Ok(Holder::Started);
        }
        let url = &self.url;
        Err(LocalBridgeError::Failed(format!(
            "the bridge at {url} was started for another user of this machine, and did not get the token: \
             start one at another port with `mcp-web bridge --bind 127.0.0.1:PORT`, and set \
             MCP_SERVER_URL to it"
        )))
    }

    fn other_program(&self, reason: &str) -> LocalBridgeError {
        LocalBridgeError::Failed(format!(
            "another program has the address {url}, and did not get the token ({reason}): \
             `mcp-web doctor` names it. End it, or start a bridge at another port and set MCP_SERVER_URL \
             to it",
            url = self.url
        ))
    }

    fn failed(&self, reason: impl std::fmt::Display) -> LocalBridgeError {
        LocalBridgeError::Failed(format!(
            "no bridge at {url}, and it could not be started: {reason}. Start one with `mcp-web bridge`, \
             and retry",
            url = self.url
        ))
    }

    /// Returns why a bridge has ended, if its start must be repeated: the former bridge still ends, or another
    /// program has just taken the port, which is asked next.
    fn temporary_failure(
        &self,
        folder: &StartedBridgeFolder,
        starting: &mut Starting,
    ) -> Result<Option<String>, LocalBridgeError> {
        let status = starting.process.try_wait();
        let Some(status) = status.map_err(|error| self.failed(error))? else {
            return Ok(None);
        };
        let reason = folder.last_error(starting.log_start).unwrap_or_default();
        if status.code() == Some(bridge::EXIT_RETRY.into()) {
            return Ok(Some(reason));
        }
        let log = folder.log().display().to_string();
        Err(self.failed(format_args!(
            "the bridge has ended with {status}: {reason} (its log is {log})"
        )))
    }

    /// Starts the bridge, with the settings of one that only this machine can reach.
    fn spawn(&self, folder: &StartedBridgeFolder) -> io::Result<Starting> {
        let (log, log_start) = folder.open_log()?;
        let mut command = Command::new(own_program()?);
        command
            .arg(COMMAND)
            .arg("--bind")
            .arg(format!("127.0.0.1:{}", self.port))
            .arg("--folder")
            .arg(folder.path())
            .arg("--state-dir")
            .arg(folder.state())
            .arg("--stop-when-idle")
            .arg(format!("{}ms", self.idle_timeout.as_millis()))
            // The folder of the client may be removed, or be on a disk that is.
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        let settings = std::env::vars_os().map(|(name, _)| name);
        let settings = settings.filter(|name| is_setting(name));
        for name in settings {
            command.env_remove(name);
        }
        for name in CLIENT_VARIABLES.iter().chain(&SERVICE_MANAGER_VARIABLES) {
            command.env_remove(name);
        }
        #[cfg(windows)]
        {
            const DETACHED_PROCESS: u32 = 0x8;
            const CREATE_NEW_PROCESS_GROUP: u32 = 0x200;
            command.creation_flags(DETACHED_PROCESS | CREATE_NEW_PROCESS_GROUP);
        }
        let process = command.spawn()?;
        Ok(Starting { process, log_start })
    }
}

/// Windows does not distinguish the case of names.
fn is_setting(variable: &OsStr) -> bool {
    let name = variable.to_string_lossy().to_ascii_uppercase();
    name.starts_with(SETTING_PREFIX)
}

/// Returns the path of this program, or of the one that has replaced it since it started: Linux then adds a
/// word to the path.
fn own_program() -> io::Result<PathBuf> {
    let path = std::env::current_exe()?;
    let text = path.to_string_lossy();
    let replaced = text.strip_suffix(" (deleted)").map(PathBuf::from);
    Ok(replaced.filter(|it| it.is_file()).unwrap_or(path.clone()))
}
