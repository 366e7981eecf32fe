//! A client that sends queries to the agent directly.

use e2e::{Script, Turn, with_deadline};
use reqwest::{Client, Response};
use serde_json::{Value, json};

use crate::test_bed::QueryTestBed;

/// Creates an HTTP client for the agent's own routes.
pub(crate) fn client() -> Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().no_proxy().build().unwrap()
}

/// Sends a query to the agent, like `curl -N -X PUT`.
pub(crate) async fn put_query(
    bed: &QueryTestBed,
    bearer: &str,
    token: Option<&str>,
    body: &Value,
) -> Response {
    let url = format!("{}/query", bed.endpoint.url());
    let mut request = client().put(url).bearer_auth(bearer).json(body);
    request = request.header("accept", "text/event-stream");
    if let Some(token) = token {
        request = request.header("mcp-web-query-token", token);
    }
    with_deadline("the agent's answer", request.send())
        .await
        .unwrap()
}

/// Reads the events of a stream to its end.
pub(crate) async fn read_events(answer: Response) -> Vec<Value> {
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.headers()["content-type"], "text/event-stream");
    let text = with_deadline("the whole stream", answer.text())
        .await
        .unwrap();
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|data| serde_json::from_str(data).unwrap())
        .collect()
}

/// Creates a script with a call, and then an answer.
pub(crate) fn script() -> Script {
    Script::new([
        Turn::from_call("echo", json!({ "n": 1 })),
        Turn::from_text("Done."),
    ])
}
