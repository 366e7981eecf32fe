//! A bridge, a page of it that has asked, and the tools as the agent sees them.

use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use bridge::{Config, ServerHandle};
use bridge_protocol::Query;
use bridge_service::Secret;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use super::page::Page;
use crate::agent_loop::tests::fake_model::FakeModel;
use crate::agent_loop::{Answer, answer};
use crate::bridge::{BridgeClient, BridgeTools};
use crate::config::Limits;
use crate::failure::Failure;

pub(super) const UUID: &str = "5f0c9a52-7d0e-4b3f-9c52-0d0b6a1f8e11";

pub(super) struct TestBed {
    pub(super) bridge_server: ServerHandle,
    pub(super) page: Page,
    pub(super) bridge: BridgeClient,
    pub(super) tools: BridgeTools,
    pub(super) token: Secret,
    pub(super) query: Query,
    _agent: AbortOnDropHandle<()>,
}

/// Waits for something that must come.
pub(super) async fn with_deadline<F: Future>(what: &str, future: F) -> F::Output {
    let within = Duration::from_secs(20);
    let came = tokio::time::timeout(within, future).await;
    came.unwrap_or_else(|_| panic!("{what}: nothing within {within:?}"))
}

impl TestBed {
    /// A page with these tools has asked `prompt` and, beside it, `more`.
    pub(super) async fn with_query(tools: &[Value], more: Value) -> Self {
        let (agent, mut tokens, handle) = spawn_fake_agent().await;
        let mut config = Config {
            bind: ([127, 0, 0, 1], 0).into(),
            ..Config::default()
        };
        config.agent.agent_url = Some(agent.parse().unwrap());
        let running = bridge::serve(config, bridge::App::default()).await.unwrap();
        let mut page = Page::connect(&running, tools).await;
        let mut query = json!({ "type": "query", "uuid": UUID, "prompt": "Do it", "context": [] });
        let fields = query.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        page.send(query.clone()).await;
        let token = with_deadline("the query", tokens.recv()).await.unwrap();
        page.recv_kind("query_accepted").await;
        let asked: Query = serde_json::from_value(query).unwrap();
        let bridge = BridgeClient::new(running.url().parse().unwrap()).unwrap();
        Self {
            tools: BridgeTools::connect(&bridge, &token, &asked.uuid)
                .await
                .unwrap(),
            bridge_server: running,
            page,
            bridge,
            token,
            query: asked,
            _agent: handle,
        }
    }

    /// Answers while the page does its part; with it what was said, as JSON.
    pub(super) async fn answer(
        &mut self,
        model: &FakeModel,
        limits: &Limits,
        play: impl AsyncFnOnce(&mut Page),
    ) -> (Result<Answer, Failure>, Vec<Value>) {
        let (say, mut said) = mpsc::channel(4);
        let (asked, tools) = (self.query.clone(), &self.tools);
        // The channel ends with this block.
        let answering = async move { answer(asked, tools, model, limits, &say).await };
        let hearing = async {
            let mut all = Vec::new();
            while let Some(content) = said.recv().await {
                all.push(serde_json::from_str(content.to_raw().get()).unwrap());
            }
            all
        };
        let together = async { tokio::join!(answering, hearing, play(&mut self.page)) };
        let (answer, said, ()) = with_deadline("an answer", together).await;
        (answer, said)
    }
}

/// Takes every query, in the way of mcp-web 0.1, and tells its token.
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
