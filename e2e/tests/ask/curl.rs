//! The agent asked by itself, as `curl -N -X PUT` does.

use e2e::{Script, Turn, within};
use reqwest::{Client, Response};
use serde_json::{Value, json};

use crate::asking::Asking;

/// A client of the agent's own routes.
pub(crate) fn client() -> Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().no_proxy().build().unwrap()
}

/// Asks the agent itself, as `curl -N -X PUT` does.
pub(crate) async fn put(
    asking: &Asking,
    bearer: &str,
    token: Option<&str>,
    body: &Value,
) -> Response {
    let url = format!("{}/query", asking.place.url());
    let mut request = client().put(url).bearer_auth(bearer).json(body);
    request = request.header("accept", "text/event-stream");
    if let Some(token) = token {
        request = request.header("mcp-web-query-token", token);
    }
    within("the agent's answer", request.send()).await.unwrap()
}

/// The events of a stream.
pub(crate) async fn events(answer: Response) -> Vec<Value> {
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.headers()["content-type"], "text/event-stream");
    let text = within("the whole stream", answer.text()).await.unwrap();
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|data| serde_json::from_str(data).unwrap())
        .collect()
}

/// A call, then an answer.
pub(crate) fn script() -> Script {
    Script::new([
        Turn::calling("echo", json!({ "n": 1 })),
        Turn::saying("Done."),
    ])
}
