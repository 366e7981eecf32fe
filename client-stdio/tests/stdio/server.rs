//! A test server in place of the bridge: an MCP server over Streamable HTTP.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::serve::ListenerExt;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, JsonObject,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, SubscriptionFilter,
    Tool,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::transport::streamable_http_server::session::SessionManager;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{RoleServer, ServerHandler};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::{broadcast, mpsc};

use crate::client::{DEADLINE, TOKEN};

/// The timeout for events that must happen immediately. It is far below every delay and timeout of
/// the binary.
pub(crate) const IMMEDIATE_TIMEOUT: Duration = Duration::from_millis(1500);

/// An event of the handler.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ServerEvent {
    Called {
        tool: String,
        client: String,
        session: Option<String>,
    },
    Cancelled {
        tool: String,
    },
    ListenOpened,
    ListenCancelled,
}

/// A server on a separate runtime. Dropping it closes all connections, like a killed process.
pub(crate) struct Server {
    runtime: Option<Runtime>,
    pub(crate) address: SocketAddr,
    events: mpsc::UnboundedReceiver<ServerEvent>,
    list_changes: broadcast::Sender<()>,
    sessions: Arc<LocalSessionManager>,
}

/// Returns a port that was free a moment ago.
pub(crate) async fn free_port() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    listener.local_addr().unwrap()
}

pub(crate) fn url(address: SocketAddr) -> String {
    format!("http://{address}/mcp")
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::start_on(free_port().await).await
    }

    /// Starts on a port that another server may not have released yet.
    pub(crate) async fn start_on(address: SocketAddr) -> Self {
        let (events_sender, events) = mpsc::unbounded_channel();
        let (list_changes, _) = broadcast::channel(16);
        let sessions = Arc::new(LocalSessionManager::default());
        let handler = Handler {
            events: events_sender,
            list_changes: list_changes.clone(),
        };
        let service = StreamableHttpService::new(
            move || Ok(handler.clone()),
            sessions.clone(),
            StreamableHttpServerConfig::default(),
        );
        let application = axum::Router::new()
            .route_service("/mcp", service)
            .layer(axum::middleware::from_fn_with_state(TOKEN, authenticate));
        let runtime = Runtime::new().unwrap();
        let serving = runtime.spawn(async move {
            let listener = bind(address)
                .await
                .tap_io(|socket| socket.set_nodelay(true).unwrap());
            tokio::spawn(async move { axum::serve(listener, application).await });
        });
        serving.await.unwrap();
        Self {
            runtime: Some(runtime),
            address,
            events,
            list_changes,
            sessions,
        }
    }

    pub(crate) fn url(&self) -> String {
        url(self.address)
    }

    pub(crate) async fn next_event(&mut self) -> ServerEvent {
        tokio::time::timeout(DEADLINE, self.events.recv())
            .await
            .expect("an event in time")
            .unwrap()
    }

    /// Waits until a listen is open. Other events are dropped.
    pub(crate) async fn wait_for_listen(&mut self) {
        while self.next_event().await != ServerEvent::ListenOpened {}
    }

    pub(crate) fn has_no_more_events(&mut self) -> bool {
        self.events.try_recv().is_err()
    }

    /// Sends `list_changed` on every open listen.
    pub(crate) fn change_list(&self) {
        self.list_changes.send(()).unwrap();
    }

    /// Removes all MCP sessions, as if they had expired.
    pub(crate) async fn expire_sessions(&self) {
        let ids: Vec<_> = self
            .sessions
            .sessions
            .read()
            .await
            .keys()
            .cloned()
            .collect();
        assert!(!ids.is_empty());
        for id in ids {
            self.sessions.close_session(&id).await.unwrap();
        }
    }

    pub(crate) async fn session_count(&self) -> usize {
        self.sessions.sessions.read().await.len()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Binds a port that another server may not have released yet.
pub(crate) async fn bind(address: SocketAddr) -> TcpListener {
    let binding = async {
        loop {
            match TcpListener::bind(address).await {
                Ok(listener) => return listener,
                Err(_) => tokio::task::yield_now().await,
            }
        }
    };
    tokio::time::timeout(DEADLINE, binding)
        .await
        .expect("the port becomes free")
}

async fn authenticate(State(token): State<&'static str>, request: Request, next: Next) -> Response {
    let header = request.headers().get(header::AUTHORIZATION);
    if header.is_some_and(|header| header == &format!("Bearer {token}")) {
        return next.run(request).await;
    }
    (
        StatusCode::UNAUTHORIZED,
        [(header::WWW_AUTHENTICATE, "Bearer")],
    )
        .into_response()
}

#[derive(Clone)]
struct Handler {
    events: mpsc::UnboundedSender<ServerEvent>,
    list_changes: broadcast::Sender<()>,
}

impl Handler {
    fn record(&self, event: ServerEvent) {
        // The test may have ended.
        let _ = self.events.send(event);
    }
}

fn client_name(context: &RequestContext<RoleServer>) -> String {
    let info = context.meta.client_info();
    let info = info.or_else(|| {
        context
            .peer
            .peer_info()
            .map(|info| info.client_info.clone())
    });
    info.map(|info| info.name).unwrap_or_default()
}

fn session_header(context: &RequestContext<RoleServer>) -> Option<String> {
    let parts = context.extensions.get::<http::request::Parts>()?;
    Some(
        parts
            .headers
            .get("mcp-web-session")?
            .to_str()
            .unwrap()
            .to_owned(),
    )
}

fn text(text: impl Into<String>) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(
            ServerCapabilities::builder()
                .enable_tools()
                .enable_tool_list_changed()
                .build(),
        )
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let names = ["echo", "wait", "big", "announce", "ask"];
        let tools = names.map(|name| Tool::new(name, name, JsonObject::new()));
        Ok(ListToolsResult::with_all_items(tools.to_vec()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let tool = request.name.to_string();
        let (client, session) = (client_name(&context), session_header(&context));
        self.record(ServerEvent::Called {
            tool: tool.clone(),
            client,
            session,
        });
        let argument = |name: &str| {
            request
                .arguments
                .as_ref()
                .and_then(|all| all.get(name))
                .cloned()
        };
        Ok(match tool.as_str() {
            "echo" => text(argument("text").unwrap().as_str().unwrap()),
            "big" => text(
                "\"".repeat(usize::try_from(argument("bytes").unwrap().as_u64().unwrap()).unwrap()),
            ),
            "announce" => {
                context.peer.notify_tool_list_changed().await.unwrap();
                text("announced")
            }
            #[expect(deprecated, reason = "the smallest request that a server can send")]
            "ask" => match context.peer.list_roots().await {
                Ok(roots) => text(roots.roots[0].uri.clone()),
                Err(error) => CallToolResult::error(vec![ContentBlock::text(error.to_string())]),
            },
            _ => {
                context.ct.cancelled().await;
                self.record(ServerEvent::Cancelled { tool });
                text("cancelled")
            }
        }
        .into())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.list_changes.subscribe();
        self.record(ServerEvent::ListenOpened);
        loop {
            tokio::select! {
                () = context.cancelled() => {
                    self.record(ServerEvent::ListenCancelled);
                    return Ok(());
                }
                Ok(()) = changes.recv() => context.sink().notify_tool_list_changed().await.unwrap(),
            }
        }
    }
}
