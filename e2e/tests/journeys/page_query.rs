//! A page sends queries to an agent with `mcpWeb.query()`: the SDK in a browser, a real bridge, and
//! an agent whose stream of events the test controls.

use std::convert::Infallible;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::IntoResponse;
use axum::routing::put;
use axum::{Json, Router};
use e2e::{Browser, PlainHttp, StaticSite, TestBed, with_deadline};
use futures_util::stream;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// An agent that accepts every query, and leaves the answer to the test.
struct Agent {
    url: String,
    queries: mpsc::UnboundedReceiver<ReceivedQuery>,
    cancels: mpsc::UnboundedReceiver<String>,
    server: JoinHandle<()>,
}

/// A query that the agent has received. If it is dropped, its stream breaks off.
struct ReceivedQuery {
    query: Value,
    token: String,
    events: mpsc::Sender<String>,
}

#[derive(Clone)]
struct AgentState {
    queries: mpsc::UnboundedSender<ReceivedQuery>,
    cancels: mpsc::UnboundedSender<String>,
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Agent {
    async fn start() -> Self {
        let (query_sender, queries) = mpsc::unbounded_channel();
        let (cancel_sender, cancels) = mpsc::unbounded_channel();
        let router = Router::new()
            .route("/query/{uuid}", put(accept_query).delete(record_cancel))
            .with_state(AgentState {
                queries: query_sender,
                cancels: cancel_sender,
            });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self {
            url,
            queries,
            cancels,
            server,
        }
    }

    /// Opens a bridge with this agent, and the app in a browser that records the page's sockets.
    async fn open(&self, site: &StaticSite) -> (TestBed, Browser) {
        let bed = TestBed::bridge_with(&["--agent-url", &self.url]).await;
        let browser = Browser::open().await;
        let sockets = "globalThis.sockets = [];
            globalThis.WebSocket = class extends WebSocket {
              constructor(...address) { super(...address); sockets.push(this); }
            };";
        let on_new_document = "Page.addScriptToEvaluateOnNewDocument";
        browser
            .devtools(on_new_document, json!({ "source": sockets }))
            .await;
        browser.goto(&site.app(&bed)).await;
        browser.wait_for("journey.ready").await;
        (bed, browser)
    }

    async fn next_query(&mut self) -> ReceivedQuery {
        with_deadline("a query", self.queries.recv()).await.unwrap()
    }
}

impl ReceivedQuery {
    fn uuid(&self) -> &str {
        self.query["uuid"].as_str().unwrap()
    }

    async fn send_event(&self, kind: &str, fields: Value) {
        let mut message = json!({ "type": kind, "uuid": self.uuid() });
        let fields = fields.as_object().unwrap().clone();
        message.as_object_mut().unwrap().extend(fields);
        let event = format!("event: {kind}\ndata: {message}\n\n");
        self.events.send(event).await.unwrap();
    }

    async fn accept(&self) {
        self.send_event("query_accepted", json!({})).await;
    }

    async fn progress(&self, content: Value) {
        self.send_event("query_progress", json!({ "content": content }))
            .await;
    }

    async fn text(&self, text: &str) {
        self.progress(json!({ "type": "text", "text": text })).await;
    }

    async fn complete(&self, result: &str) {
        let fields = json!({ "result": result, "toolCalls": [] });
        self.send_event("query_complete", fields).await;
    }

    /// Calls a tool as the agent does, with the token of the query.
    async fn call(&self, bed: &TestBed, tool: &str, input: Value) -> Value {
        let http = PlainHttp::new(bed).with_token(&self.token);
        with_deadline("an answer", http.call(tool, input))
            .await
            .unwrap()
    }
}

async fn accept_query(
    State(state): State<AgentState>,
    headers: HeaderMap,
    Json(query): Json<Value>,
) -> impl IntoResponse {
    let (events, event_receiver) = mpsc::channel(64);
    let token = headers["mcp-web-query-token"].to_str().unwrap().to_owned();
    let received = ReceivedQuery {
        query,
        token,
        events,
    };
    state.queries.send(received).unwrap();
    let body = stream::unfold(
        event_receiver,
        async |mut events: mpsc::Receiver<String>| {
            let event = events.recv().await?;
            Some((Ok::<_, Infallible>(event), events))
        },
    );
    (
        [("content-type", "text/event-stream")],
        Body::from_stream(body),
    )
}

async fn record_cancel(State(state): State<AgentState>, Path(uuid): Path<String>) {
    // The send fails if the test has already ended.
    let _ = state.cancels.send(uuid);
}

/// Sends a query from the page, and records its events in `journey.query`, `.events` and `.failed`.
async fn start_query(browser: &Browser, options: Value) {
    let query = "journey.query = journey.mcpWeb.query(args);";
    browser
        .eval(&format!("{query}{RECORD_EVENTS}"), options)
        .await;
}

const RECORD_EVENTS: &str = "journey.events = [];
    (async () => {
for await (const event of journey.query) journey.events.push(event);
    })().catch((error) => { journey.failed = error; });";

/// Waits until the page has received exactly these pieces of text.
async fn wait_for_texts(browser: &Browser, texts: Value) {
    let texts = json!(texts.to_string());
    let received = "JSON.stringify(journey.events.map(({ text }) => text))";
    browser.wait_for(&format!("{received} === {texts}")).await;
}

async fn result(browser: &Browser) -> Value {
    browser
        .eval("return journey.query.result", json!(null))
        .await
}

#[tokio::test]
async fn agent_events_reach_the_page_in_order() {
    let (mut agent, site) = (Agent::start().await, StaticSite::start().await);
    let (bed, browser) = agent.open(&site).await;
    let context = json!([
        { "name": "ids", "value": [7], "schema": { "type": "array" } },
        { "tool": "echo", "arguments": { "id": 1 } },
    ]);
    let options =
        json!({ "prompt": "Echo 7", "context": context, "tools": ["echo"], "restrictTools": true });
    start_query(&browser, options).await;

    let received = agent.next_query().await;
    let context = received.query["context"].as_array().unwrap();
    assert_eq!(context[0]["value"], json!([7]));
    assert_eq!(
        (&context[1]["value"], &context[1]["type"]),
        (&json!({ "id": 1 }), &json!("tool"))
    );
    assert_eq!(received.query["tools"][0]["inputSchema"]["type"], "object");
    received.accept().await;
    browser.wait_for("journey.query.state === 'running'").await;
    let started =
        json!({ "type": "tool-started", "id": "1", "tool": "echo", "arguments": { "id": 7 } });
    received.progress(started).await;
    let echoed = received.call(&bed, "echo", json!({ "id": 7 })).await;
    assert_eq!(echoed["structuredContent"], json!({ "id": 7 }));
    let rejected = received.call(&bed, "large", json!({ "bytes": 9 })).await;
    assert!(
        rejected.to_string().contains("ToolNotAllowed"),
        "{rejected}"
    );
    let finished = json!({ "type": "tool-finished", "id": "1", "tool": "echo", "isError": false });
    received.progress(finished).await;
    received.text("Se").await;
    received.text("ven").await;
    received.progress(json!({ "percent": 99 })).await;
    received.complete("Seven").await;

    let result = result(&browser).await;
    assert_eq!(result["text"], "Seven");
    assert_eq!(result["toolCalls"][0]["arguments"], json!({ "id": 7 }));
    let recorded = "return [journey.events.map(({ type }) => type), journey.echoed, \
        journey.mcpWeb.openQueries]";
    let types = ["tool-started", "tool-finished", "text", "text", "progress"];
    assert_eq!(
        browser.eval(recorded, json!(null)).await,
        json!([types, [1, 7], []])
    );
    assert_eq!(browser.console().await, [""; 0], "the console is empty");
}

#[tokio::test]
async fn a_reloaded_page_resumes_its_query_but_a_copied_tab_does_not() {
    let (mut agent, site) = (Agent::start().await, StaticSite::start().await);
    let (bed, browser) = agent.open(&site).await;
    start_query(&browser, json!({ "prompt": "Count" })).await;
    let received = agent.next_query().await;
    received.accept().await;
    received.text("one").await;
    wait_for_texts(&browser, json!(["one"])).await;

    browser.reload().await;
    received.text("two").await;
    browser.wait_for("journey.ready").await;
    browser
        .eval("globalThis.copy = open(location.href)", json!(null))
        .await;
    browser.wait_for("copy.journey?.ready").await;
    let open = "return [journey.mcpWeb.openQueries, copy.journey.mcpWeb.openQueries]";
    assert_eq!(
        browser.eval(open, json!(null)).await,
        json!([[received.uuid()], []])
    );

    let attach = "journey.query = journey.mcpWeb.attachQuery(args);";
    browser
        .eval(&format!("{attach}{RECORD_EVENTS}"), json!(received.uuid()))
        .await;
    wait_for_texts(&browser, json!(["one", "two"])).await;
    let echoed = received.call(&bed, "echo", json!({ "id": 3 })).await;
    assert_eq!(echoed["structuredContent"], json!({ "id": 3 }));
    received.text("three").await;
    received.complete("Three").await;
    assert_eq!(result(&browser).await["text"], "Three");
    wait_for_texts(&browser, json!(["one", "two", "three"])).await;
    let open = browser.eval("return journey.mcpWeb.openQueries", json!(null));
    assert_eq!(open.await, json!([]));
}

#[tokio::test]
async fn a_query_that_ends_during_a_reload_reports_its_end_to_the_next_document() {
    let (mut agent, site) = (Agent::start().await, StaticSite::start().await);
    let (bed, browser) = agent.open(&site).await;
    start_query(&browser, json!({ "prompt": "Count" })).await;
    let received = agent.next_query().await;
    received.accept().await;
    browser.wait_for("journey.query.state === 'running'").await;

    browser.goto("about:blank").await;
    received.text("one").await;
    received.complete("One").await;
    with_deadline("the end of the stream", received.events.closed()).await;
    browser.goto(&site.app(&bed)).await;
    browser.wait_for("journey.ready").await;

    let attach = "const [uuid] = journey.mcpWeb.openQueries;
        journey.query = journey.mcpWeb.attachQuery(uuid);";
    browser
        .eval(&format!("{attach}{RECORD_EVENTS}"), json!(null))
        .await;
    assert_eq!(result(&browser).await["text"], "One");
    wait_for_texts(&browser, json!(["one"])).await;
}

#[tokio::test]
async fn a_reconnect_loses_and_repeats_no_events() {
    let (mut agent, site) = (Agent::start().await, StaticSite::start().await);
    let (_world, browser) = agent.open(&site).await;
    start_query(&browser, json!({ "prompt": "Count" })).await;
    let received = agent.next_query().await;
    received.accept().await;
    received.text("one").await;
    wait_for_texts(&browser, json!(["one"])).await;

    let close_socket = "sockets.at(-1).close(4000)";
    browser.eval(close_socket, json!(null)).await;
    received.text("two").await;
    let is_reconnected = "sockets.length > 1 && journey.mcpWeb.status.state === 'connected'";
    browser.wait_for(is_reconnected).await;
    received.text("three").await;
    received.complete("Three").await;
    assert_eq!(result(&browser).await["text"], "Three");
    wait_for_texts(&browser, json!(["one", "two", "three"])).await;
    assert!(agent.queries.try_recv().is_err(), "no query was sent twice");
}

#[tokio::test]
async fn a_cancel_reaches_the_agent_and_ends_its_calls() {
    let (mut agent, site) = (Agent::start().await, StaticSite::start().await);
    let (bed, browser) = agent.open(&site).await;
    start_query(&browser, json!({ "prompt": "Hang" })).await;
    let received = agent.next_query().await;
    received.accept().await;
    let cancels = async {
        browser.wait_for("journey.started === 1").await;
        browser
            .eval("journey.query.cancel('enough')", json!(null))
            .await;
    };
    let (result, ()) = tokio::join!(received.call(&bed, "hang", json!({})), cancels);
    assert!(result.to_string().contains("error"), "{result}");
    browser.wait_for("journey.aborted === 1").await;
    let cancelled = with_deadline("the agent to be notified", agent.cancels.recv()).await;
    assert_eq!(cancelled.as_deref(), Some(received.uuid()));
    with_deadline("the end of the stream", received.events.closed()).await;
    browser
        .wait_for(
            "journey.failed?.code === 'QueryCancelled' && journey.failed.message === 'enough'",
        )
        .await;
}

#[tokio::test]
async fn failures_have_a_code_and_a_remedy() {
    let (mut agent, site) = (Agent::start().await, StaticSite::start().await);
    let (_world, browser) = agent.open(&site).await;
    start_query(&browser, json!({ "prompt": "Fail" })).await;
    let received = agent.next_query().await;
    received.accept().await;
    let failure = json!({ "error": "the key is rejected", "reason": "set another", "code": "ModelUnauthorized" });
    received.send_event("query_failure", failure).await;
    browser
        .wait_for("journey.failed?.code === 'ModelUnauthorized' && journey.failed.remedy === 'set another'")
        .await;

    start_query(&browser, json!({ "prompt": "Break off" })).await;
    let received = agent.next_query().await;
    received.accept().await;
    received.text("Half").await;
    wait_for_texts(&browser, json!(["Half"])).await;
    drop(received);
    browser
        .wait_for("journey.failed?.code === 'AgentUnavailable' && journey.query.state === 'failed'")
        .await;
}
