//! A bridge, a page that has sent a query, and the tools as the agent sees them.

use std::sync::LazyLock;

use agent_tools::testing::no_sources;
use agent_tools::{AgentFailure, SourceAccess};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use bridge::{Config, Network, ServerHandle};
use bridge_protocol::{Query, QueryContent};
use bridge_settings::Secret;
use raw_page::{Page, with_deadline};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use super::fake_model::FakeModel;
use crate::agent_loop::{ClientResult, FinalAnswer, QueryInput, QueryState, answer};
use crate::bridge::AgentBridge;
use crate::bridge::AllowedTools;
use crate::config::AgentLimits;
use crate::model::ModelTool;

pub(super) const UUID: &str = "5f0c9a52-7d0e-4b3f-9c52-0d0b6a1f8e11";

const TOKEN: &str = "token-of-the-page-of-the-tests";

/// The system prompt.
pub(super) const SYSTEM: &str = "You work inside a web app.";

/// A bridge, a page that has sent a query, and the connection of the agent to its tools.
pub(super) struct TestBed {
    pub(super) bridge_server: ServerHandle,
    pub(super) page: Page,
    pub(super) bridge: AgentBridge,
    pub(super) tools: AllowedTools,
    pub(super) token: Secret,
    pub(super) query: Query,
    /// The sources that the query may use.
    pub(super) sources: SourceAccess,
    /// Whether the person approves calls.
    pub(super) approves: bool,
    /// The tools that the client runs: it answers each call with this result.
    pub(super) client_tools: Vec<ModelTool>,
    pub(super) client_result: ClientResult,
    _agent: AbortOnDropHandle<()>,
}

/// The access of queries without sources.
static NO_SOURCES: LazyLock<SourceAccess> = LazyLock::new(no_sources);

/// Returns the input of a query, with the system prompt of the tests.
pub(super) fn query_input<'a>(
    query: &'a Query,
    tools: &'a AllowedTools,
    model: &'a FakeModel,
    limits: &'a AgentLimits,
    progress: &'a mpsc::Sender<QueryContent>,
    state: &'a QueryState,
) -> QueryInput<'a> {
    QueryInput {
        query,
        page_tools: tools,
        sources: &NO_SOURCES,
        model,
        system: SYSTEM,
        limits,
        progress,
        state,
        conversation: &[],
        caller: None,
        client_tools: &[],
    }
}

impl TestBed {
    /// Starts a bridge, and a page with these tools that sends a query with the fields in `more`.
    pub(super) async fn with_query(tools: &[Value], more: Value) -> Self {
        let (agent_url, mut tokens, agent) = spawn_fake_agent().await;
        let mut config = Config {
            network: Network {
                bind: ([127, 0, 0, 1], 0).into(),
                ..Network::default()
            },
            ..Config::default()
        };
        config.agent.agent_url = vec![agent_url.parse().unwrap()];
        let bridge_server = bridge::serve(config, bridge::MountedApp::default())
            .await
            .unwrap();
        let mut page = Page::connect_to(bridge_server.local_addr(), "asks", TOKEN).await;
        assert_eq!(page.register(tools).await.errors, []);
        let mut query = json!({ "type": "query", "uuid": UUID, "prompt": "Do it", "context": [] });
        let fields = query.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        page.send_json(query.clone()).await;
        let token = with_deadline("the query", tokens.recv()).await.unwrap();
        page.recv_type("query_accepted").await;
        let query: Query = serde_json::from_value(query).unwrap();
        let bridge = AgentBridge::new(bridge_server.url().parse().unwrap()).unwrap();
        Self {
            tools: AllowedTools::connect(&bridge, &token, &query.uuid)
                .await
                .unwrap(),
            bridge_server,
            page,
            bridge,
            token,
            query,
            sources: no_sources(),
            approves: true,
            client_tools: Vec::new(),
            client_result: ClientResult::not_made(),
            _agent: agent,
        }
    }

    /// Answers the query while the page runs `play`. Also returns the progress, as JSON.
    pub(super) async fn answer(
        &mut self,
        model: &FakeModel,
        limits: &AgentLimits,
        play: impl AsyncFnOnce(&mut Page),
    ) -> (Result<FinalAnswer, AgentFailure>, Vec<Value>) {
        let (sender, mut receiver) = mpsc::channel(4);
        let (query, tools, sources) = (self.query.clone(), &self.tools, &self.sources);
        let (client_tools, client_result) = (&*self.client_tools, &self.client_result);
        let (state, is_approved) = (&QueryState::new(), self.approves);
        // The sender is dropped at the end of this block, which ends the progress.
        let answering = async move {
            let input = query_input(&query, tools, model, limits, &sender, state);
            let input = QueryInput {
                sources,
                client_tools,
                ..input
            };
            answer(input).await
        };
        let receiving = async {
            let mut progress = Vec::new();
            while let Some(content) = receiver.recv().await {
                match &content {
                    QueryContent::ApprovalRequested { id, .. } => {
                        assert!(state.approvals.reply(id, is_approved));
                    }
                    QueryContent::ToolStarted { id, .. } if state.client_calls.is_open(id) => {
                        assert!(state.client_calls.reply(id, client_result.clone()));
                    }
                    _ => {}
                }
                progress.push(serde_json::from_str(content.to_raw().get()).unwrap());
            }
            progress
        };
        let all = async { tokio::join!(answering, receiving, play(&mut self.page)) };
        let (answer, progress, ()) = with_deadline("an answer", all).await;
        (answer, progress)
    }
}

/// Starts an agent that accepts every query, as agents of mcp-web 0.1 do, and sends its token to
/// the channel.
async fn spawn_fake_agent() -> (String, mpsc::Receiver<Secret>, AbortOnDropHandle<()>) {
    let (sender, tokens) = mpsc::channel(1);
    let router = axum::Router::new()
        .fallback(accept_query)
        .with_state(sender);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    (address, tokens, AbortOnDropHandle::new(serving))
}

async fn accept_query(State(tokens): State<mpsc::Sender<Secret>>, request: Request) -> StatusCode {
    if let Some(token) = request.headers().get("mcp-web-query-token") {
        let token = token.to_str().unwrap().to_owned();
        tokens.send(Secret::from_trusted(token)).await.unwrap();
    }
    StatusCode::OK
}

/// Runs no actions, for tests in which no tool of the page is called.
pub(super) async fn no_page_actions(_: &mut Page) {}
