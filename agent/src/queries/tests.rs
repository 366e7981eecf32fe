//! Tests of queries with a real bridge, and a model that panics.

use std::sync::Arc;

use agent_tools::AgentFailure;
use bridge_edge::http_client;
use bridge_protocol::{ErrorCode, Query, QueryId};
use bridge_settings::Secret;
use futures_util::stream::BoxStream;
use raw_page::Page;
use reqwest::Url;
use serde_json::{Value, json};

use super::*;
use crate::bridge::{AgentBridge, BridgeId};
use crate::model::{Model, ModelEvent, TurnRequest};

const TOKEN: &str = "token-of-the-test-page-0123456789";

/// A model that panics.
#[derive(Debug)]
struct PanickingModel;

impl Model for PanickingModel {
    fn label(&self) -> &str {
        "faulty"
    }

    fn name(&self) -> &str {
        "faulty"
    }

    fn reads_media(&self, _: &str) -> bool {
        false
    }

    fn turn(&self, _: TurnRequest) -> BoxStream<'static, Result<ModelEvent, AgentFailure>> {
        panic!("a fault, as this test wants it")
    }
}

/// Opens a query at a bridge, as the agent does for a frontend. Returns the token of the query, and
/// the connection of its page.
async fn open_query_at_bridge(bridge: &bridge::ServerHandle, id: &QueryId) -> (Secret, Page) {
    let page = Page::connect_to(bridge.local_addr(), "page", TOKEN).await;
    let url: Url = format!("{}/query/{id}", bridge.url()).parse().unwrap();
    let http = http_client::build(&url).unwrap();
    let response = http.put(url).bearer_auth(TOKEN).json(&json!({})).send();
    let response: Value = response.await.unwrap().json().await.unwrap();
    let token = response["token"].as_str().unwrap();
    (Secret::from_trusted(token.to_owned()), page)
}

#[tokio::test]
async fn a_panic_fails_the_query_and_releases_its_permit() {
    let config = bridge::Config {
        network: bridge::Network {
            bind: ([127, 0, 0, 1], 0).into(),
            ..bridge::Network::default()
        },
        ..bridge::Config::default()
    };
    let server = bridge::serve(config, bridge::MountedApp::default())
        .await
        .unwrap();
    let id = QueryId::from("5f0c9a52-7d0e-4b3f-9c52-0d0b6a1f8e11");
    let (token, _page) = open_query_at_bridge(&server, &id).await;
    let bridge = AgentBridge::new(server.url().parse().unwrap()).unwrap();
    let queries = RunningQueries::new(QueriesConfig::for_test(bridge, Arc::new(PanickingModel), 1));
    let queries = Arc::new(queries);
    let message: Query = serde_json::from_value(json!({ "uuid": id, "prompt": "hello" })).unwrap();
    let (writer, mut receiver) = StreamWriter::channel();
    let permit = queries
        .acquire(&id, QueryOwner::bridge(BridgeId::default()))
        .unwrap();
    let body = Arc::new(BodyMemory::new(1)).begin(BodyOwner::Bridge);
    let query = AcceptedQuery::new(message, token, None, body).unwrap();
    let is_direct = false;
    permit.spawn(query, EventTarget::Stream { writer, is_direct });
    let mut events: Vec<Value> = Vec::new();
    while let Some(event) = receiver.recv().await {
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
    let failure = queries
        .acquire(&id, QueryOwner::bridge(BridgeId::default()))
        .unwrap_err();
    assert_eq!(failure.code, ErrorCode::AgentUnavailable);
}
