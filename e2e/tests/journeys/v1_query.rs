//! A user asks the AI in a page of mcp-web 0.1, and an agent for mcp-web 0.1 answers with the tools
//! of the page.

use axum::extract::State;
use axum::http::{Method, Uri};
use axum::{Json, Router};
use e2e::{Browser, PlainHttp, StaticSite, TestBed, with_deadline};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// An agent that accepts every query, and leaves the answer to the test.
struct Agent {
    url: String,
    requests: mpsc::UnboundedReceiver<(Method, String, Value)>,
    server: JoinHandle<()>,
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Agent {
    async fn start() -> Self {
        let (sender, requests) = mpsc::unbounded_channel();
        let router = Router::new().fallback(record_request).with_state(sender);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self {
            url,
            requests,
            server,
        }
    }

    async fn next_request(&mut self) -> (Method, String, Value) {
        with_deadline("a request to the agent", self.requests.recv())
            .await
            .unwrap()
    }
}

type RequestSender = mpsc::UnboundedSender<(Method, String, Value)>;

async fn record_request(
    State(sender): State<RequestSender>,
    method: Method,
    uri: Uri,
    body: Option<Json<Value>>,
) {
    let body = body.map(|Json(body)| body).unwrap_or_default();
    sender.send((method, uri.path().to_owned(), body)).unwrap();
}

/// Calls a tool as the agent does, for its query.
async fn call(bed: &TestBed, uuid: &str, tool: &str, arguments: Value) -> Value {
    let params = json!({ "name": tool, "arguments": arguments, "_meta": { "queryId": uuid } });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let answer = PlainHttp::post_json(&bed.url(), &body).await;
    answer["result"].clone()
}

async fn wait_for_text(browser: &Browser, text: &str) {
    let is_answer = format!(
        "document.querySelector('#answer').textContent === {}",
        json!(text)
    );
    browser.wait_for(&is_answer).await;
}

#[tokio::test]
async fn a_query_calls_two_tools_reports_progress_and_completes() {
    let mut agent = Agent::start().await;
    let bed = TestBed::bridge_with(&["--compat", "mcp-web", "--agent-url", &agent.url]).await;
    let site = StaticSite::start().await;
    let browser = Browser::open().await;
    browser.goto(&site.v1_page(&bed)).await;
    browser.wait_for("globalThis.app?.isConnected").await;

    let ask = "document.querySelector('#ask').click()";
    browser.eval(ask, json!(null)).await;
    let (method, path, query) = agent.next_request().await;
    let uuid = query["uuid"].as_str().unwrap().to_owned();
    assert_eq!((method, path), (Method::PUT, format!("/query/{uuid}")));
    assert_eq!(query["context"][0]["value"], json!(["Bread", "Milk"]));
    wait_for_text(&browser, "Thinking …").await;

    let report = async |what: &str, body: Value| {
        let url = format!("{}/query/{uuid}/{what}", bed.url());
        let method = match what {
            "progress" => Method::POST,
            _ => Method::PUT,
        };
        let answer = PlainHttp::send_json(method, &url, &body).await;
        assert_eq!(answer, json!({ "success": true }), "{what}");
    };
    report("progress", json!({ "message": "Reading the list" })).await;
    wait_for_text(&browser, "Reading the list").await;
    let listed = call(&bed, &uuid, "list_items", json!({})).await;
    assert!(listed.to_string().contains("Bread"), "{listed}");
    let rejected = call(&bed, &uuid, "forget_me", json!({})).await;
    assert!(
        rejected.to_string().contains("ToolNotAllowed"),
        "{rejected}"
    );
    let added = call(&bed, &uuid, "add_item", json!({ "text": "Butter" })).await;
    assert!(added.get("isError").is_none(), "{added}");
    browser
        .wait_for("document.querySelector('ul').innerText.includes('Butter')")
        .await;
    report("complete", json!({ "message": "Butter was missing" })).await;
    wait_for_text(&browser, "Butter was missing").await;

    let events = browser.eval("return events", json!(null)).await;
    let types: Vec<_> = events
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["type"])
        .collect();
    assert_eq!(
        types,
        ["query_accepted", "query_progress", "query_complete"]
    );
    let calls = json!([
        { "tool": "list_items", "arguments": {}, "result": ["Bread", "Milk"] },
        { "tool": "add_item", "arguments": { "text": "Butter" }, "result": { "count": 3 } },
    ]);
    assert_eq!(events[2]["toolCalls"], calls);

    // The user asks again, and then cancels.
    browser.eval(ask, json!(null)).await;
    let (_, path, _) = agent.next_request().await;
    wait_for_text(&browser, "Thinking …").await;
    browser.eval("cancel('enough')", json!(null)).await;
    assert_eq!(
        agent.next_request().await,
        (Method::DELETE, path, json!(null))
    );
    assert_eq!(browser.console().await, [""; 0], "the console is empty");
}
