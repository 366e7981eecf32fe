//! A fault of the agent itself is an end like others.

use futures_util::stream::BoxStream;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use super::*;
use crate::model::{Event, Request};

const TOKEN: &str = "token-of-the-test-page-0123456789";

/// A model with a fault.
#[derive(Debug)]
struct PanickingModel;

impl Model for PanickingModel {
    fn label(&self) -> &str {
        "faulty"
    }

    fn turn(&self, _: Request) -> BoxStream<'static, Result<Event, Failure>> {
        panic!("a fault, as this test wants it")
    }
}

/// The token of a query that a bridge has opened for a page.
async fn open_query_at_bridge(
    bridge: &bridge::ServerHandle,
    id: &QueryId,
) -> (Secret, impl Sized + use<>) {
    let url = format!("ws://{}/ws?session=page", bridge.local_addr());
    let (mut page, _) = tokio_tungstenite::connect_async(url).await.unwrap();
    let hello = json!({ "type": "authenticate", "protocol": 2, "authToken": TOKEN,
        "sessionId": "page" });
    page.send(Message::Text(hello.to_string().into()))
        .await
        .unwrap();
    page.next().await.unwrap().unwrap();
    let url: reqwest::Url = format!("{}/query/{id}", bridge.url()).parse().unwrap();
    let http = bridge_service::http_client::build(&url).unwrap();
    let opened = http.put(url).bearer_auth(TOKEN).json(&json!({})).send();
    let opened: Value = opened.await.unwrap().json().await.unwrap();
    let token = opened["token"].as_str().unwrap();
    (Secret::from_trusted(token.to_owned()), page)
}

#[tokio::test]
async fn a_panic_fails_the_query_and_releases_its_permit() {
    let config = bridge::Config {
        bind: ([127, 0, 0, 1], 0).into(),
        ..bridge::Config::default()
    };
    let bridge = bridge::serve(config, bridge::App::default()).await.unwrap();
    let id = QueryId::from("5f0c9a52-7d0e-4b3f-9c52-0d0b6a1f8e11");
    let (token, _page) = open_query_at_bridge(&bridge, &id).await;
    let reached = BridgeClient::new(bridge.url().parse().unwrap()).unwrap();
    let queries = Queries::new(reached, Arc::new(PanickingModel), Limits::default(), 1);
    let queries = Arc::new(queries);
    let message: bridge_protocol::Query =
        serde_json::from_value(json!({ "uuid": id, "prompt": "hello" })).unwrap();
    let (writer, mut told) = StreamWriter::channel();
    let place = queries.acquire(&id, QueryOwner::Bridge).unwrap();
    let query = AcceptedQuery {
        message,
        token,
        timeout: None,
    };
    let is_direct = false;
    place.spawn(query, EventTarget::Stream { writer, is_direct });
    let mut events: Vec<Value> = Vec::new();
    while let Some(event) = told.recv().await {
        events.push(serde_json::from_str(&event.encode()).unwrap());
    }
    let [accepted, failure] = events.as_slice() else {
        panic!("{events:?}");
    };
    assert_eq!(accepted["type"], "query_accepted");
    assert_eq!(
        (&failure["type"], &failure["code"]),
        (&json!("query_failure"), &json!("AgentFailed"))
    );
    queries.stop().await;
    assert_eq!(queries.running_count(), 0);
    let refused = queries.acquire(&id, QueryOwner::Bridge).unwrap_err();
    assert_eq!(refused.code, ErrorCode::AgentUnavailable);
}
