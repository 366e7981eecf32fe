//! An MCP server as a source of tools.
//!
//! - [`connection`] is a connection to it, and [`activity`] knows whether it is idle. [`process`]
//!   is the process of a server over stdio, with its [`process_transport`] and its [`stderr_tail`].
//!   [`counting_writer`] knows whether a call was sent. [`process_slots`] bounds the processes of
//!   all servers.
//! - [`mcp_http_client`] reads the responses of a server over HTTP.
//! - [`message_limit`] ends a connection whose server sends too much, and [`late_discovery`] opens
//!   one to a server that is slow to start.
//! - [`connect_errors`] describes why a connection cannot be made ([`open_error`]).
//! - [`listing`] reads the definitions of its tools, and [`tool_table`] decides which may be
//!   called.
//! - [`user_variables`] has the values of variables, and the secrets of a user.
//!
//! A connection is opened at its first use, once for all callers that wait, and closed when it was
//! idle for some time. Each is held by a task, which ends with it.

mod activity;
mod connect_errors;
mod connection;
mod counting_writer;
mod late_discovery;
mod list_changes;
mod listing;
mod mcp_http_client;
mod message_limit;
mod open_error;
mod process;
mod process_slots;
mod process_transport;
mod stderr_tail;
#[cfg(test)]
mod tests;
mod tool_table;
mod user_variables;

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent_secrets::SecretStore;
use bridge_edge::http_client;
use bridge_protocol::ErrorCode;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::{HeaderName, HeaderValue};
use serde_json::{Map, Value};
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use url::Url;

use crate::failure::AgentFailure;
use crate::name_patterns::NamePatterns;
use crate::servers_file::Variables;
use crate::shared_attempt::SharedAttempt;
use crate::timeouts::{IDLE_TIMEOUT, LIST_TIMEOUT, LISTING_INTERVAL, START_TIMEOUT};
use crate::{
    CallOutput, CallStatus, ServerDefinition, ServerTool, ServerTransport, SourceContext,
    SourceMeta, SourceState, SourceTool, ToolSource,
};
use connection::{CallError, Connection, Target};
pub use listing::{Listed, UnusableTool};
use open_error::OpenError;
pub use process::GUARD_ARGUMENT;
use process::ProcessSettings;
pub use process_slots::ProcessSlots;
use tool_table::ToolTable;
use user_variables::{SecretUser, UserVariables};

/// The number of known users from which on those without a connection are forgotten.
const PRUNE_AT_USERS: usize = 256;

/// The code of a start that failed because all slots were in use.
const NO_ROOM: ErrorCode = ErrorCode::QueryLimitExceeded;

/// The settings from which a server is created.
pub(crate) struct UpstreamSettings {
    /// The name in the file of servers.
    pub(crate) name: String,
    pub(crate) definition: ServerDefinition,
    /// The pinned definitions, if there are any.
    pub(crate) pinned: Option<Vec<ServerTool>>,
    pub(crate) slots: Arc<ProcessSlots>,
    /// The program that ends servers when the agent was killed, if there is one.
    pub(crate) guard: Option<PathBuf>,
    pub(crate) variables: Arc<dyn Variables>,
    pub(crate) secrets: Option<Arc<SecretStore>>,
}

/// An MCP server as a source of tools.
#[derive(Debug)]
pub struct Upstream(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    meta: SourceMeta,
    definition: ServerDefinition,
    variables: Arc<dyn Variables>,
    secrets: Option<Arc<SecretStore>>,
    idle_timeout: Duration,
    is_per_user: bool,
    guard: Option<PathBuf>,
    slots: Arc<ProcessSlots>,
    connections: Mutex<Connections>,
    tools: ToolTable,
    tasks: TaskTracker,
    stopping: CancellationToken,
}

/// Returns the name of the source that is the server of this name.
pub(crate) fn source_name(server: &str) -> String {
    format!("mcp-{server}")
}

/// The connections of a server by user, or the one that all share.
type Connections = HashMap<Option<String>, Arc<SharedAttempt<Arc<Connection>>>>;

impl Upstream {
    /// Checks the settings of a server. It is not started.
    pub(super) fn new(settings: UpstreamSettings) -> Result<Self, String> {
        let definition = settings.definition;
        let policy = definition.policy.clone();
        let allow = policy.allow.as_deref();
        let allow = allow.map(|it| NamePatterns::parse("x-policy.tools.allow", it));
        let tools = ToolTable::new(
            &settings.name,
            settings.pinned,
            allow.transpose()?,
            policy.timeout,
            policy.is_per_user,
        );
        let inner = Inner {
            meta: SourceMeta {
                name: source_name(&settings.name),
                kind: "mcp",
            },
            definition,
            variables: settings.variables,
            secrets: settings.secrets,
            idle_timeout: policy.idle.unwrap_or(IDLE_TIMEOUT),
            is_per_user: policy.is_per_user,
            guard: settings.guard,
            slots: settings.slots,
            connections: Mutex::default(),
            tools,
            tasks: TaskTracker::new(),
            stopping: CancellationToken::new(),
        };
        inner.transport(SecretUser::Unchecked)?;
        Ok(Self(Arc::new(inner)))
    }

    /// Connects, and returns the definitions of all tools that the server lists.
    pub async fn list_tools(&self) -> Result<Listed, AgentFailure> {
        let connection = self.0.connection(None).await?;
        listing::list(connection.peer()).await.map_err(unavailable)
    }
}

impl Inner {
    /// Returns the connection of a user, or the shared one.
    async fn connection(
        self: &Arc<Self>,
        user: Option<&str>,
    ) -> Result<Arc<Connection>, AgentFailure> {
        let user = user.filter(|_| self.is_per_user).map(str::to_owned);
        let attempt = self.attempt(&user);
        if let Some(connection) = attempt.value() {
            if !connection.is_closed() {
                return Ok(connection);
            }
            drop_closed(&attempt, &connection);
        }
        let inner = Arc::clone(self);
        let result = attempt.get(move || inner.connect(user).boxed()).await;
        if matches!(&result, Err(failure) if failure.code == NO_ROOM) {
            // The server did not fail: all slots are in use.
            attempt.forget_failure(NO_ROOM);
        }
        result
    }

    fn attempt(&self, user: &Option<String>) -> Arc<SharedAttempt<Arc<Connection>>> {
        let mut connections = self.connections();
        if connections.len() > PRUNE_AT_USERS {
            connections.retain(|_, attempt| !attempt.is_idle());
        }
        Arc::clone(connections.entry(user.clone()).or_default())
    }

    /// Opens a connection, and a task that holds it.
    async fn connect(
        self: Arc<Self>,
        user: Option<String>,
    ) -> Result<Arc<Connection>, AgentFailure> {
        if self.stopping.is_cancelled() {
            return Err(unavailable("the agent is shutting down".to_owned()));
        }
        let opened = self.open(user.as_deref()).await;
        let (connection, listed) = opened.map_err(|error| self.open_failure(error))?;
        connection.set_tools(self.tools.update(&listed));
        // It is idle from now on: listing its tools may have taken longer than it may be idle.
        drop(connection.activity().begin_call());
        let task = hold_connection(Arc::clone(&self), user, Arc::clone(&connection));
        self.tasks.spawn(task);
        Ok(connection)
    }

    /// Creates the failure of a connection, and logs it if nothing else does.
    fn open_failure(&self, error: OpenError) -> AgentFailure {
        let failure = open_failure(error);
        // A server whose tools are known is started by its first call, others as sources.
        if self.tools.is_known() {
            tracing::warn!(
                source = self.meta.name,
                error = failure.log_message.as_ref().unwrap_or(&failure.message),
                "an MCP server cannot be used"
            );
        }
        failure
    }

    /// Connects, and lists the tools. Dropping the future ends what it has started.
    async fn open(&self, user: Option<&str>) -> Result<(Arc<Connection>, Listed), OpenError> {
        let deadline = Instant::now() + START_TIMEOUT;
        let target = self.target(user.map_or(SecretUser::Shared, SecretUser::User))?;
        let is_of_user = user.is_some();
        let (slots, tasks) = (&self.slots, &self.tasks);
        let connection = Connection::open(target, is_of_user, slots, tasks, deadline).await?;
        let listed = timeout_at(deadline, listing::list(connection.peer())).await;
        let listed = listed.unwrap_or_else(|_| {
            Err(format!(
                "it has not listed its tools within {START_TIMEOUT:?}"
            ))
        });
        let listed = listed.map_err(|error| connection.open_error(error))?;
        Ok((connection, listed))
    }

    /// Returns how to reach the server, with the values of its variables.
    fn transport(&self, user: SecretUser<'_>) -> Result<ServerTransport, String> {
        let variables = UserVariables {
            variables: &*self.variables,
            secrets: self.secrets.as_ref(),
            user,
        };
        let expanded = self.definition.expand(&variables);
        expanded.map_err(|error| error.to_string())
    }

    fn target(&self, user: SecretUser<'_>) -> Result<Target, String> {
        match self.transport(user)? {
            ServerTransport::Stdio {
                command,
                args,
                env,
                cwd,
            } => Ok(Target::Process(ProcessSettings {
                command,
                arguments: args,
                variables: env,
                folder: cwd,
                guard: self.guard.clone(),
            })),
            ServerTransport::Http { url, headers } => {
                let header = |(name, value): (&String, &String)| {
                    let mut value = HeaderValue::from_str(value).ok()?;
                    value.set_sensitive(true);
                    Some((HeaderName::try_from(name).ok()?, value))
                };
                let headers: Option<Vec<_>> = headers.iter().map(header).collect();
                let parsed = Url::parse(&url).map_err(|error| format!("its URL: {error}"))?;
                Ok(Target::Http {
                    url,
                    headers: headers.ok_or("one of its `headers` is malformed")?,
                    client: http_client::build(&parsed)?,
                })
            }
        }
    }

    async fn call(
        self: Arc<Self>,
        tool: &str,
        arguments: Map<String, Value>,
        user: &str,
    ) -> CallOutput {
        let is_repeatable = self.tools.is_repeatable(tool);
        let mut is_first = true;
        loop {
            let connection = match self.connection(Some(user)).await {
                Ok(connection) => connection,
                Err(failure) => return unavailable_output(&self.meta, &failure.message),
            };
            // It may have another definition than when it was offered.
            if !connection.has_tool(tool) {
                let reason = format!("it has no `{tool}`, or not the one that was looked at");
                return unavailable_output(&self.meta, &reason);
            }
            match connection.call(tool, arguments.clone()).await {
                Ok(output) => return output,
                Err(CallError::NotSent) if is_first => {}
                Err(CallError::Ended) if is_first && is_repeatable => {}
                Err(CallError::NotSent) => return unavailable_output(&self.meta, "it has ended"),
                Err(CallError::Ended) => {
                    let reason = "it has ended during the call, which may have happened";
                    return unavailable_output(&self.meta, reason);
                }
                Err(CallError::Malformed) => {
                    return CallOutput::from_error("the server's response does not fit the call");
                }
            }
            is_first = false;
        }
    }

    fn connections(&self) -> MutexGuard<'_, Connections> {
        self.connections
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Forgets a connection that is closed or closes, unless there is another one. One that has ended soon
/// after its start, without an answer to a call, counts as a failure.
fn drop_closed(attempt: &SharedAttempt<Arc<Connection>>, connection: &Arc<Connection>) {
    let is_current = |it: &Arc<Connection>| Arc::ptr_eq(it, connection);
    let failure = (!connection.was_usable()).then(|| unavailable("it has ended".to_owned()));
    attempt.replace_if(is_current, failure);
}

/// Holds a connection until it is idle, or must close.
async fn hold_connection(inner: Arc<Inner>, user: Option<String>, connection: Arc<Connection>) {
    let holding = keep_listing(&inner, &connection);
    let activity = connection.activity();
    let has_ended = tokio::select! {
        () = inner.stopping.cancelled() => false,
        () = activity.stopping() => false,
        () = connection.ended() => true,
        () = activity.idle_for(inner.idle_timeout) => false,
        () = holding => false,
    };
    activity.stop();
    let attempt = inner.connections().get(&user).cloned();
    if let Some(attempt) = attempt {
        if has_ended {
            drop_closed(&attempt, &connection);
        } else {
            attempt.replace_if(|it| Arc::ptr_eq(it, &connection), None);
        }
    }
    connection.close().await;
}

/// Lists the tools again whenever the server reports that they have changed. Ends if it does not
/// list them.
async fn keep_listing(inner: &Inner, connection: &Connection) {
    let mut changes = connection.list_changes();
    loop {
        changes.next().await;
        match timeout(LIST_TIMEOUT, listing::list(connection.peer())).await {
            Ok(Ok(listed)) => connection.set_tools(inner.tools.update(&listed)),
            Ok(Err(error)) => {
                tracing::warn!(
                    server = inner.meta.name,
                    error,
                    "its tools cannot be listed"
                );
                return;
            }
            Err(_) => {
                tracing::warn!(server = inner.meta.name, "it does not list its tools");
                return;
            }
        }
        sleep(LISTING_INTERVAL).await;
    }
}

impl ToolSource for Upstream {
    fn meta(&self) -> &SourceMeta {
        &self.0.meta
    }

    fn start(&self) -> BoxFuture<'_, Result<(), AgentFailure>> {
        async {
            if !self.0.tools.is_known() {
                self.0.connection(None).await?;
            }
            Ok(())
        }
        .boxed()
    }

    fn tools(&self) -> Arc<[SourceTool]> {
        self.0.tools.offered()
    }

    fn has_known_tools(&self) -> bool {
        self.0.tools.is_known()
    }

    fn state(&self) -> Option<SourceState> {
        let connections = self.0.connections();
        let is_open = |attempt: &Arc<SharedAttempt<Arc<Connection>>>| {
            attempt.value().is_some_and(|it| !it.is_closed())
        };
        Some(if connections.values().any(is_open) {
            SourceState::Running
        } else if connections.values().any(|attempt| attempt.has_failed()) {
            SourceState::Failed
        } else {
            SourceState::Idle
        })
    }

    fn process_ids(&self) -> Vec<u32> {
        let connections = self.0.connections();
        let open = connections.values().filter_map(|attempt| attempt.value());
        open.filter_map(|it| it.process_id()).collect()
    }

    fn call<'a>(
        &'a self,
        tool: &'a str,
        arguments: Map<String, Value>,
        context: &'a SourceContext,
    ) -> BoxFuture<'a, CallOutput> {
        Arc::clone(&self.0)
            .call(tool, arguments, &context.user)
            .boxed()
    }

    fn prompt(&self) -> Option<Cow<'_, str>> {
        // The instructions of a server are not for the system prompt.
        None
    }

    fn stop(&self) -> BoxFuture<'_, ()> {
        async {
            self.0.stopping.cancel();
            self.0.tasks.close();
            self.0.tasks.wait().await;
        }
        .boxed()
    }
}

/// Creates the failure of a connection. The log has the remedy. The words of the server may contain
/// secrets, and only commands of the operator show them.
fn open_failure(error: OpenError) -> AgentFailure {
    let code = if error.is_room_missing {
        NO_ROOM
    } else {
        ErrorCode::AgentUnavailable
    };
    let log_message = match error.remedy {
        Some(remedy) => format!("{}: {remedy}", error.reason),
        None => error.reason.clone(),
    };
    let failure = AgentFailure::new(code, error.reason).with_log_message(log_message);
    // The words of the server are more specific than the general remedy.
    match (error.words.as_str(), error.remedy) {
        ("", None) => failure,
        ("", Some(remedy)) => failure.with_remedy(remedy),
        (words, _) => failure.with_remedy(format!("it has written: {words}")),
    }
}

fn unavailable(reason: String) -> AgentFailure {
    AgentFailure::new(ErrorCode::AgentUnavailable, reason)
}

fn unavailable_output(meta: &SourceMeta, reason: &str) -> CallOutput {
    let name = &meta.name;
    let reason =
        format!("The source `{name}` cannot be used at the moment: {reason}. Continue without it.");
    CallOutput::failed(CallStatus::Unavailable, reason)
}
