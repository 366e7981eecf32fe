//! A connection to an MCP server: its MCP client, and its process if it has one.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use rmcp::model::{CallToolResponse, ClientCapabilities, ClientConfig, Implementation};
use rmcp::service::{
    ClientLifecycleMode, ClientServiceExt, NotificationContext, Peer, RunningService,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::common::client_side_sse::NeverRetry;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientHandler, RoleClient, ServiceError};
use serde_json::{Map, Value};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::activity::Activity;
use super::connect_errors::{
    CHECK_COMMAND, CHECK_SERVER, http_error, process_error, silence_error,
};
use super::counting_writer::CountingWriter;
use super::late_discovery::{DISCOVERED_VERSION, InitializeTiming, LateDiscovery};
use super::list_changes::{ListChangeSignal, ListChanges};
use super::mcp_http_client::McpHttpClient;
use super::message_limit::MessageLimit;
use super::open_error::OpenError;
use super::process::{ProcessSettings, ServerProcess};
use super::process_slots::{ProcessSlots, no_room};
use super::process_transport::ProcessTransport;
use crate::CallOutput;
use crate::mcp::call_params::traced_call;
use crate::mcp::call_result::call_output;
use crate::timeouts::HTTP_CLOSE_TIMEOUT;

/// The maximum size of a message of a server, in bytes: the largest picture that models read, in
/// base64, and 1 MiB.
const MAX_MESSAGE_BYTES: usize = 6 * 1024 * 1024;

/// The number of calls in succession without an answer after which a server is started again.
const MAX_UNANSWERED_CALLS: u32 = 3;

/// The time after which a server that has ended is started again at once.
const USABLE_AFTER: Duration = Duration::from_secs(5);

/// Maximum length of the end of stderr in a failure, in characters.
const MAX_STDERR_CHARS: usize = 500;

type Service = RunningService<RoleClient, NotificationHandler>;

/// A connection to an MCP server.
#[derive(Debug)]
pub(super) struct Connection {
    peer: Peer<RoleClient>,
    /// `None` when the connection is closed.
    service: Mutex<Option<Service>>,
    process: Option<ServerProcess>,
    /// The number of bytes that were written to the process.
    written: Arc<AtomicU64>,
    activity: Arc<Activity>,
    list_change: Arc<ListChangeSignal>,
    /// Is cancelled when no more messages are received.
    closed: CancellationToken,
    opened_at: Instant,
    has_answered: AtomicBool,
    /// The calls in succession that have had no answer.
    unanswered: AtomicU32,
    /// The names of the tools that may be called.
    tools: Mutex<HashSet<String>>,
}

/// How to reach a server.
pub(super) enum Target {
    Process(ProcessSettings),
    Http {
        url: String,
        headers: Vec<(HeaderName, HeaderValue)>,
        client: reqwest::Client,
    },
}

/// Why a call has no result.
#[derive(Debug)]
pub(super) enum CallError {
    /// The connection was closed before the call was sent.
    NotSent,
    /// The connection has ended during the call.
    Ended,
    /// The server's response is not one.
    Malformed,
}

impl Connection {
    /// Returns the id of the process of the server, while it runs.
    pub(super) fn process_id(&self) -> Option<u32> {
        self.process.as_ref()?.id()
    }

    /// Connects to a server.
    pub(super) async fn open(
        target: Target,
        is_of_user: bool,
        slots: &ProcessSlots,
        tasks: &TaskTracker,
        deadline: Instant,
    ) -> Result<Arc<Self>, OpenError> {
        let (list_change, closed) = (Arc::<ListChangeSignal>::default(), CancellationToken::new());
        let handler = NotificationHandler {
            list_change: Arc::clone(&list_change),
        };
        let (service, process) = match target {
            Target::Process(settings) => {
                let slot = slots.acquire(is_of_user).await.ok_or_else(|| OpenError {
                    is_room_missing: true,
                    ..no_room().into()
                })?;
                let (process, streams) = ServerProcess::start(&settings, slot, tasks)?;
                let (stdin, written) = CountingWriter::new(streams.stdin);
                let transport = ProcessTransport::new(streams.stdout, stdin, MAX_MESSAGE_BYTES);
                let transport =
                    MessageLimit::new(transport, Arc::clone(&list_change), closed.clone());
                let transport = LateDiscovery::new(transport, InitializeTiming::AtOnce);
                let connecting = handler.serve_with_lifecycle(transport, lifecycle());
                let connected = match timeout_at(deadline, connecting).await {
                    Ok(connected) => connected.map_err(|error| process_error(&error)),
                    Err(_) => Err(silence_error(CHECK_COMMAND)),
                };
                let service = connected.map_err(|it| it.with_words(&stderr_end(&process)))?;
                (service, Some((process, written)))
            }
            Target::Http {
                url,
                headers,
                client,
            } => {
                let mut config = StreamableHttpClientTransportConfig::with_uri(url)
                    .custom_headers(headers.into_iter().collect())
                    .max_concurrent_requests(usize::MAX);
                config.retry_config = Arc::new(NeverRetry::default());
                let client = McpHttpClient::new(client, MAX_MESSAGE_BYTES);
                let transport = StreamableHttpClientTransport::with_client(client, config);
                let transport =
                    MessageLimit::new(transport, Arc::clone(&list_change), closed.clone());
                let transport = LateDiscovery::new(transport, InitializeTiming::AfterResponse);
                let connecting = handler.serve_with_lifecycle(transport, lifecycle());
                let service = match timeout_at(deadline, connecting).await {
                    Ok(connected) => connected.map_err(|error| http_error(&error))?,
                    Err(_) => return Err(silence_error(CHECK_SERVER)),
                };
                (service, None)
            }
        };
        let (process, written) = process.unzip();
        let connection = Arc::new(Self {
            peer: service.peer().clone(),
            service: Mutex::new(Some(service)),
            process,
            written: written.unwrap_or_default(),
            activity: Arc::new(Activity::new()),
            list_change,
            closed,
            opened_at: Instant::now(),
            has_answered: AtomicBool::new(false),
            unanswered: AtomicU32::new(0),
            tools: Mutex::default(),
        });
        if connection.process.is_some() {
            slots.add(&connection.activity, is_of_user);
        }
        Ok(connection)
    }

    pub(super) fn peer(&self) -> &Peer<RoleClient> {
        &self.peer
    }

    /// Calls a tool. Dropping the future cancels the call at the server.
    pub(super) async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Result<CallOutput, CallError> {
        let _active = self.activity.begin_call();
        if self.is_closed() {
            return Err(CallError::NotSent);
        }
        let unanswered = UnansweredCall::begin(self);
        let params = traced_call(tool, arguments, false);
        let written = self.written();
        let result = tokio::select! {
            biased;
            result = self.peer.call_tool_once(params) => result,
            () = self.ended() => Err(ServiceError::TransportClosed),
        };
        if matches!(result, Ok(_) | Err(ServiceError::McpError(_))) {
            self.has_answered.store(true, Ordering::Relaxed);
            unanswered.end();
        }
        match result {
            Ok(CallToolResponse::Complete(result)) => Ok(call_output(&result)),
            Ok(_) => Ok(CallOutput::from_error(
                "the tool wants to ask the user or to continue later, which an agent does not support",
            )),
            Err(ServiceError::McpError(error)) => Ok(CallOutput::from_error(error.message)),
            Err(ServiceError::TransportClosed | ServiceError::TransportSend(_)) => {
                let is_sent = self.process.is_none() || self.written() > written;
                Err(if is_sent {
                    CallError::Ended
                } else {
                    CallError::NotSent
                })
            }
            Err(_) => Err(CallError::Malformed),
        }
    }

    /// Sets the names of the tools that may be called.
    pub(super) fn set_tools(&self, names: HashSet<String>) {
        *self.tools.lock().unwrap_or_else(PoisonError::into_inner) = names;
    }

    pub(super) fn has_tool(&self, name: &str) -> bool {
        let tools = self.tools.lock().unwrap_or_else(PoisonError::into_inner);
        tools.contains(name)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.activity.is_stopping()
            || self.closed.is_cancelled()
            || self.peer.is_transport_closed()
            || self.lock_service().is_none()
    }

    /// Returns whether a call was answered, or the server has run for some time.
    pub(super) fn was_usable(&self) -> bool {
        self.has_answered.load(Ordering::Relaxed) || self.opened_at.elapsed() >= USABLE_AFTER
    }

    pub(super) fn activity(&self) -> &Activity {
        &self.activity
    }

    /// Waits until the process of the server has ended, or no more messages of it are received.
    pub(super) async fn ended(&self) {
        match &self.process {
            Some(process) => tokio::select! {
                () = process.exited() => {}
                () = self.closed.cancelled() => {}
            },
            None => self.closed.cancelled().await,
        }
    }

    /// Returns the changes of the server's list of tools.
    pub(super) fn list_changes(&self) -> ListChanges {
        ListChanges::new(&self.peer, &self.list_change)
    }

    /// Closes the connection, and ends the process.
    pub(super) async fn close(&self) {
        self.activity.stop();
        let service = self.lock_service().take();
        if let Some(mut service) = service {
            let _ = service.close_with_timeout(HTTP_CLOSE_TIMEOUT).await;
        }
        if let Some(process) = &self.process {
            process.stop();
            process.exited().await;
        }
    }

    /// Adds the end of what the server has written to stderr to the reason of a failure.
    pub(super) fn open_error(&self, reason: String) -> OpenError {
        let stderr = self.process.as_ref().map(stderr_end);
        OpenError::new(reason).with_words(&stderr.unwrap_or_default())
    }

    fn written(&self) -> u64 {
        self.written.load(Ordering::SeqCst)
    }

    fn lock_service(&self) -> MutexGuard<'_, Option<Service>> {
        self.service.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call that has no answer yet. A server that answers none of several is closed, and started again by
/// the next call.
struct UnansweredCall<'a>(&'a Connection);

impl<'a> UnansweredCall<'a> {
    fn begin(connection: &'a Connection) -> Self {
        Self(connection)
    }

    fn end(self) {
        self.0.unanswered.store(0, Ordering::Relaxed);
        std::mem::forget(self);
    }
}

impl Drop for UnansweredCall<'_> {
    fn drop(&mut self) {
        let connection = self.0;
        if connection.unanswered.fetch_add(1, Ordering::Relaxed) + 1 >= MAX_UNANSWERED_CALLS {
            connection.activity.stop();
        }
    }
}

/// The newest version of MCP that both sides have, also of servers that only know `initialize`.
pub(super) fn lifecycle() -> ClientLifecycleMode {
    ClientLifecycleMode::Auto {
        preferred_versions: vec![DISCOVERED_VERSION],
        legacy_version: None,
    }
}

/// Returns the last lines of stderr.
fn stderr_end(process: &ServerProcess) -> String {
    let text = process.stderr_text();
    let text = text.trim();
    let start = text.char_indices().rev().nth(MAX_STDERR_CHARS - 1);
    let Some((start, _)) = start else {
        return text.to_owned();
    };
    let end = &text[start..];
    let line = end.find('\n').map_or(end, |line| &end[line + 1..]);
    line.to_owned()
}

/// Receives the notifications of a server. It declares no capabilities, because it cannot answer
/// requests of a server.
#[derive(Debug, Default)]
pub(super) struct NotificationHandler {
    list_change: Arc<ListChangeSignal>,
}

impl ClientHandler for NotificationHandler {
    fn get_info(&self) -> ClientConfig {
        let name = Implementation::new("mcp-web-agent", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), name)
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.list_change.notify();
    }
}
