//! The agent asked by itself, as `curl -N -X PUT` does.

use e2e::{Script, Turn, with_deadline};
use reqwest::{Client, Response};
use serde_json::{Value, json};

use crate::test_bed::QueryTestBed;

/// A client of the agent's own routes.
pub(crate) fn client() -> Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().no_proxy().build().unwrap()
}

/// Asks the agent itself, as `curl -N -X PUT` does.
pub(crate) async fn put_query(
    asking: &QueryTestBed,
    bearer: &str,
    token: Option<&str>,
    body: &Value,
) -> Response {
    let url = format!("{}/query", asking.endpoint.url());
    let mut request = client().put(url).bearer_auth(bearer).json(body);
    request = request.header("accept", "text/event-stream");
    if let Some(token) = token {
        request = request.header("mcp-web-query-token", token);
    }
    with_deadline("the agent's answer", request.send())
        .await
        .unwrap()
}

/// The events of a stream.
pub(crate) async fn events(answer: Response) -> Vec<Value> {
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.headers()["content-type"], "text/event-stream");
    let text = with_deadline("the whole stream", answer.text())
        .await
        .unwrap();
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|data| serde_json::from_str(data).unwrap())
        .collect()
}

/// A call, then an answer.
pub(crate) fn script() -> Script {
    Script::new([
        Turn::from_call("echo", json!({ "n": 1 })),
        Turn::from_text("Done."),
    ])
}
