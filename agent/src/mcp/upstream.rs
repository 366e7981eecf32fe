//! An MCP server as a source of tools.
//!
//! - [`connection`] is a connection to it, [`process`] the process of a server over stdio, and
//!   [`activity`] what says whether it is idle. [`counting_writer`] knows whether a call was sent. [`process_slots`] bounds the processes of all servers.
//! - [`listing`] reads the definitions of its tools.
//!
//! A connection is opened when it is needed first, once for all who wait, and closed when it was idle
//! for some time. Each is held by a task, which ends with it.

mod activity;
mod connection;
mod counting_writer;
mod http_errors;
mod listing;
mod process;
mod process_slots;
mod stderr_tail;
#[cfg(test)]
mod tests;
mod user_variables;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bridge_protocol::ErrorCode;
use bridge_service::http_client;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::{HeaderName, HeaderValue};
use serde_json::{Map, Value};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use url::Url;

use crate::failure::Failure;
use crate::secrets::SecretStore;
use crate::tools::{
    CallContext, CallOutcome, CallOutput, NamePatterns, PinDifference, ServerDefinition,
    ServerTransport, SharedAttempt, Source, SourceMeta, SourceTool, ToolDefinition, Variables,
};
use connection::{CallError, Connection, OpenError, Target};
pub(crate) use process::GUARD_ARGUMENT;
use process::ProcessSettings;
pub(crate) use process_slots::ProcessSlots;
use user_variables::{SecretUser, UserVariables};

/// The time without calls after which a connection is closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(600);

/// The shortest time between two listings of the tools of a connection.
const LISTING_INTERVAL: Duration = Duration::from_secs(1);

/// The number of users whose connections are known before those without one are forgotten.
const PRUNE_AT_USERS: usize = 256;

/// How long connecting to a server may take, until it has listed its tools.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

/// What a server is created from.
pub(crate) struct UpstreamSettings {
    /// The name in the file of servers.
    pub(crate) name: String,
    pub(crate) definition: ServerDefinition,
    /// The definitions that the operator has looked at, if there are any.
    pub(crate) pinned: Option<Vec<ToolDefinition>>,
    pub(crate) slots: Arc<ProcessSlots>,
    /// The program that ends servers when the agent was killed, if there is one.
    pub(crate) guard: Option<PathBuf>,
    pub(crate) variables: Arc<dyn Variables>,
    pub(crate) secrets: Option<Arc<SecretStore>>,
}

/// An MCP server as a source of tools.
#[derive(Debug)]
pub(crate) struct Upstream(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    meta: SourceMeta,
    definition: ServerDefinition,
    variables: Arc<dyn Variables>,
    secrets: Option<Arc<SecretStore>>,
    allow: Option<NamePatterns>,
    call_timeout: Option<Duration>,
    idle_timeout: Duration,
    is_per_user: bool,
    guard: Option<PathBuf>,
    slots: Arc<ProcessSlots>,
    connections: Mutex<Connections>,
    tools: Mutex<Tools>,
    tasks: TaskTracker,
    stopping: CancellationToken,
}

/// The connections of a server by user, or the one that all share.
type Connections = HashMap<Option<String>, Arc<SharedAttempt<Arc<Connection>>>>;

#[derive(Debug)]
struct Tools {
    /// The definitions to which the tools must be equal; at first `None`, without pins.
    expected: Option<Vec<ToolDefinition>>,
    current: Arc<[SourceTool]>,
    repeatable: HashSet<String>,
}

impl Upstream {
    /// Checks the settings of a server. It is not started.
    pub(crate) fn new(settings: UpstreamSettings) -> Result<Self, String> {
        let definition = settings.definition;
        let policy = definition.policy.clone();
        let allow = policy.allow.as_deref();
        let allow = allow.map(|it| NamePatterns::parse("x-policy.tools.allow", it));
        let inner = Inner {
            meta: SourceMeta {
                name: format!("mcp-{}", settings.name),
                kind: "mcp",
            },
            definition,
            variables: settings.variables,
            secrets: settings.secrets,
            allow: allow.transpose()?,
            call_timeout: policy.timeout,
            idle_timeout: policy.idle.unwrap_or(IDLE_TIMEOUT),
            is_per_user: policy.is_per_user,
            guard: settings.guard,
            slots: settings.slots,
            connections: Mutex::default(),
            tools: Mutex::new(Tools {
                expected: settings.pinned.clone(),
                current: Arc::default(),
                repeatable: HashSet::new(),
            }),
            tasks: TaskTracker::new(),
            stopping: CancellationToken::new(),
        };
        inner.transport(SecretUser::Unchecked)?;
        // Pinned tools can be offered before the server runs.
        if let Some(pinned) = settings.pinned {
            inner.set_tools(pinned);
        }
        Ok(Self(Arc::new(inner)))
    }

    /// Connects, and returns the definitions of all tools that the server lists.
    pub(crate) async fn list_tools(&self) -> Result<Vec<ToolDefinition>, Failure> {
        let connection = self.0.connection(None).await?;
        listing::list(connection.peer()).await.map_err(unavailable)
    }
}

impl Inner {
    /// Returns the connection of a user, or the shared one.
    async fn connection(self: &Arc<Self>, user: Option<&str>) -> Result<Arc<Connection>, Failure> {
        let user = user.filter(|_| self.is_per_user).map(str::to_owned);
        let attempt = self.attempt(&user);
        if let Some(connection) = attempt.value()
            && connection.is_closed()
        {
            if connection.was_usable() {
                attempt.reset();
            } else {
                // A server that ends at once is not started again and again.
                attempt.fail(unavailable("it has ended".to_owned()));
            }
        }
        let inner = Arc::clone(self);
        attempt.get(move || inner.connect(user).boxed()).await
    }

    fn attempt(&self, user: &Option<String>) -> Arc<SharedAttempt<Arc<Connection>>> {
        let mut connections = self.connections();
        if connections.len() > PRUNE_AT_USERS {
            connections.retain(|_, attempt| !attempt.is_idle());
        }
        Arc::clone(connections.entry(user.clone()).or_default())
    }

    /// Opens a connection, and a task that holds it.
    async fn connect(self: Arc<Self>, user: Option<String>) -> Result<Arc<Connection>, Failure> {
        if self.stopping.is_cancelled() {
            return Err(unavailable("the agent is shutting down".to_owned()));
        }
        let opening = timeout(CONNECT_TIMEOUT, self.open(user.as_deref()));
        let opened = opening.await.unwrap_or_else(|_| {
            let reason = format!("it has not answered within {CONNECT_TIMEOUT:?}");
            Err(OpenError::from(reason))
        });
        let (connection, listed) = opened.map_err(open_failure)?;
        self.update_tools(listed);
        let task = hold_connection(Arc::clone(&self), user, Arc::clone(&connection));
        self.tasks.spawn(task);
        Ok(connection)
    }

    /// Connects, and lists the tools. Dropping the future ends what it has started.
    async fn open(
        &self,
        user: Option<&str>,
    ) -> Result<(Arc<Connection>, Vec<ToolDefinition>), OpenError> {
        let target = self.target(user.map_or(SecretUser::Shared, SecretUser::User))?;
        let connection = Connection::open(target, &self.slots, &self.tasks).await?;
        let listed = listing::list(connection.peer()).await;
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

    /// Uses what a server lists now, as far as it is what is expected.
    fn update_tools(&self, listed: Vec<ToolDefinition>) {
        let expected = {
            let mut tools = self.lock_tools();
            tools.expected.get_or_insert_with(|| listed.clone()).clone()
        };
        let difference = PinDifference::new(&expected, &listed);
        if !difference.is_empty() {
            let changed: Vec<_> = difference.changed.iter().map(|(it, _)| &it.name).collect();
            tracing::warn!(
                server = self.meta.name,
                added = ?difference.added,
                removed = ?difference.removed,
                ?changed,
                "tools of a server are not those that were looked at, and are off: see \
                 `mcp-web-agent mcp sync`"
            );
        }
        let is_expected = |tool: &ToolDefinition| expected.contains(tool);
        self.set_tools(listed.into_iter().filter(is_expected).collect());
    }

    /// Offers these tools, unless the same are offered already.
    fn set_tools(&self, definitions: Vec<ToolDefinition>) {
        let is_allowed = |tool: &&ToolDefinition| {
            self.allow
                .as_ref()
                .is_none_or(|allow| allow.is_match(&tool.name))
        };
        let allowed: Vec<_> = definitions.iter().filter(is_allowed).collect();
        let source_tools = allowed.iter().filter_map(|tool| {
            let source_tool = tool.to_source_tool(self.call_timeout);
            let source_tool = source_tool.inspect_err(|error| {
                tracing::warn!(
                    server = self.meta.name,
                    tool = tool.name,
                    error,
                    "a tool is off"
                );
            });
            source_tool.ok()
        });
        let source_tools: Vec<_> = source_tools.collect();
        let is_repeatable = |tool: &&&ToolDefinition| tool.annotations.is_repeatable();
        let repeatable = allowed.iter().filter(is_repeatable);
        let repeatable = repeatable.map(|tool| tool.name.clone()).collect();
        let mut tools = self.lock_tools();
        tools.repeatable = repeatable;
        if !same_tools(&tools.current, &source_tools) {
            tools.current = source_tools.into();
        }
    }

    async fn call(
        self: Arc<Self>,
        tool: &str,
        arguments: Map<String, Value>,
        user: &str,
    ) -> CallOutput {
        let is_repeatable = self.lock_tools().repeatable.contains(tool);
        let mut is_first = true;
        loop {
            let connection = match self.connection(Some(user)).await {
                Ok(connection) => connection,
                Err(failure) => return unavailable_output(&self.meta, &failure.message),
            };
            // It may have another definition than when it was offered.
            if !self.lock_tools().current.iter().any(|it| it.name == tool) {
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

    /// Forgets a connection that is being closed, unless there is another one.
    fn forget(&self, user: &Option<String>, connection: &Arc<Connection>) {
        let attempt = self.connections().get(user).cloned();
        let Some(attempt) = attempt else {
            return;
        };
        if attempt
            .value()
            .is_some_and(|it| Arc::ptr_eq(&it, connection))
        {
            attempt.reset();
        }
    }

    fn connections(&self) -> MutexGuard<'_, Connections> {
        self.connections
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_tools(&self) -> MutexGuard<'_, Tools> {
        self.tools.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Holds a connection until it is idle, or has to close.
async fn hold_connection(inner: Arc<Inner>, user: Option<String>, connection: Arc<Connection>) {
    let activity = connection.activity();
    loop {
        tokio::select! {
            () = inner.stopping.cancelled() => break,
            () = activity.stopping() => break,
            // The next call finds it closed, and counts it as a failure.
            () = connection.ended() => {
                connection.close().await;
                return;
            }
            () = activity.idle_for(inner.idle_timeout) => break,
            () = connection.tools_changed() => {}
        }
        // Reached only when the tools have changed.
        if let Ok(listed) = listing::list(connection.peer()).await {
            inner.update_tools(listed);
        }
        tokio::select! {
            () = inner.stopping.cancelled() => break,
            () = sleep(LISTING_INTERVAL) => {}
        }
    }
    inner.forget(&user, &connection);
    connection.close().await;
}

impl Source for Upstream {
    fn meta(&self) -> &SourceMeta {
        &self.0.meta
    }

    fn start(&self) -> BoxFuture<'_, Result<(), Failure>> {
        async {
            if self.0.lock_tools().expected.is_none() {
                self.0.connection(None).await?;
            }
            Ok(())
        }
        .boxed()
    }

    fn tools(&self) -> Arc<[SourceTool]> {
        Arc::clone(&self.0.lock_tools().current)
    }

    fn call<'a>(
        &'a self,
        tool: &'a str,
        arguments: Map<String, Value>,
        context: &'a CallContext,
    ) -> BoxFuture<'a, CallOutput> {
        Arc::clone(&self.0)
            .call(tool, arguments, &context.user)
            .boxed()
    }

    fn prompt(&self) -> Option<Cow<'_, str>> {
        // What a server says of itself is not for the system prompt.
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

fn same_tools(current: &[SourceTool], new: &[SourceTool]) -> bool {
    current.len() == new.len()
        && current.iter().zip(new).all(|(a, b)| {
            let schemas = [a, b].map(|tool| tool.arguments.schema());
            (&a.name, &a.description, a.class, schemas[0])
                == (&b.name, &b.description, b.class, schemas[1])
        })
}

/// Creates the failure of a connection. What the server has written is its remedy: it may have secrets,
/// and only commands of the operator show it.
fn open_failure(error: OpenError) -> Failure {
    let failure = unavailable(error.reason);
    match error.stderr.as_str() {
        "" => failure,
        text => failure.with_remedy(format!("it has written: {text}")),
    }
}

fn unavailable(reason: String) -> Failure {
    Failure::new(ErrorCode::AgentUnavailable, reason)
}

fn unavailable_output(meta: &SourceMeta, reason: &str) -> CallOutput {
    let name = &meta.name;
    let reason =
        format!("The source `{name}` cannot be used at the moment: {reason}. Go on without it.");
    CallOutput::failed(CallOutcome::Unavailable, reason)
}
