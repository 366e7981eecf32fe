//! A person asks the AI in a page of mcp-web 0.1, and an agent built for it answers with the tools of
//! the page.

use axum::extract::State;
use axum::http::{Method, Uri};
use axum::{Json, Router};
use e2e::{Browser, PlainHttp, StaticSite, TestBed, with_deadline};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// An agent that takes every query and leaves the work to the test.
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
        let (sender, heard) = mpsc::unbounded_channel();
        let router = Router::new().fallback(record_request).with_state(sender);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self {
            url,
            requests: heard,
            server,
        }
    }

    async fn next(&mut self) -> (Method, String, Value) {
        with_deadline("a request to the agent", self.requests.recv())
            .await
            .unwrap()
    }
}

type RequestSender = mpsc::UnboundedSender<(Method, String, Value)>;

async fn record_request(
    State(heard): State<RequestSender>,
    method: Method,
    uri: Uri,
    body: Option<Json<Value>>,
) {
    let body = body.map(|Json(body)| body).unwrap_or_default();
    heard.send((method, uri.path().to_owned(), body)).unwrap();
}

/// One call of the agent, for its query.
async fn call(world: &TestBed, uuid: &str, tool: &str, arguments: Value) -> Value {
    let params = json!({ "name": tool, "arguments": arguments, "_meta": { "queryId": uuid } });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let answer = PlainHttp::post_json(&world.url(), &body).await;
    answer["result"].clone()
}

async fn shows(browser: &Browser, text: &str) {
    let shown = format!(
        "document.querySelector('#answer').textContent === {}",
        json!(text)
    );
    browser.wait_for(&shown).await;
}

#[tokio::test]
async fn a_button_asks_an_agent_that_calls_two_tools_tells_how_it_goes_and_completes() {
    let mut agent = Agent::start().await;
    let world = TestBed::bridge_with(&["--compat", "mcp-web", "--agent-url", &agent.url]).await;
    let site = StaticSite::start().await;
    let browser = Browser::open().await;
    browser.goto(&site.v1_page(&world)).await;
    browser.wait_for("globalThis.app?.isConnected").await;

    let ask = "document.querySelector('#ask').click()";
    browser.eval(ask, json!(null)).await;
    let (method, path, asked) = agent.next().await;
    let uuid = asked["uuid"].as_str().unwrap().to_owned();
    assert_eq!((method, path), (Method::PUT, format!("/query/{uuid}")));
    assert_eq!(asked["context"][0]["value"], json!(["Bread", "Milk"]));
    shows(&browser, "Thinking …").await;

    let report = async |what: &str, body: Value| {
        let url = format!("{}/query/{uuid}/{what}", world.url());
        let method = match what {
            "progress" => Method::POST,
            _ => Method::PUT,
        };
        let answer = PlainHttp::send_json(method, &url, &body).await;
        assert_eq!(answer, json!({ "success": true }), "{what}");
    };
    report("progress", json!({ "message": "Reading the list" })).await;
    shows(&browser, "Reading the list").await;
    let listed = call(&world, &uuid, "list_items", json!({})).await;
    assert!(listed.to_string().contains("Bread"), "{listed}");
    let refused = call(&world, &uuid, "forget_me", json!({})).await;
    assert!(refused.to_string().contains("ToolNotAllowed"), "{refused}");
    let added = call(&world, &uuid, "add_item", json!({ "text": "Butter" })).await;
    assert!(added.get("isError").is_none(), "{added}");
    browser
        .wait_for("document.querySelector('ul').innerText.includes('Butter')")
        .await;
    report("complete", json!({ "message": "Butter was missing" })).await;
    shows(&browser, "Butter was missing").await;

    let told = browser.eval("return told", json!(null)).await;
    let types: Vec<_> = told
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
    assert_eq!(told[2]["toolCalls"], calls);

    // The person asks again, and no longer wants to know.
    browser.eval(ask, json!(null)).await;
    let (_, path, _) = agent.next().await;
    shows(&browser, "Thinking …").await;
    browser.eval("cancel('enough')", json!(null)).await;
    assert_eq!(agent.next().await, (Method::DELETE, path, json!(null)));
    assert_eq!(browser.console().await, [""; 0], "the console is quiet");
}
