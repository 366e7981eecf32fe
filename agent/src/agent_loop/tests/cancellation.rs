//! Queries that are cancelled, bridges that disappear, and reports.

use std::net::SocketAddr;

use agent_tools::AgentFailure;
use bridge_protocol::{ErrorCode, QueryContent};
use bridge_settings::Secret;
use serde_json::json;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;

use super::test_bed::{UUID, query_input};
use super::{FakeModel, TestBed, call_turn, tool_definition, with_deadline};
use crate::agent_loop::{QueryState, answer};
use crate::bridge::AllowedTools;
use crate::bridge::{AgentBridge, QueryReporter};
use crate::config::AgentLimits;
use crate::model::ModelEvent;

#[tokio::test]
async fn dropping_an_answer_cancels_its_calls_in_the_page() {
    let mut bed = TestBed::with_query(&[tool_definition("add")], json!({})).await;
    let model = FakeModel::new([call_turn(&vec![("add", json!({})); 2])]);
    let (limits, state) = (AgentLimits::default(), QueryState::new());
    let (sender, _progress) = mpsc::channel(16);
    let calls = {
        let answering = answer(query_input(
            &bed.query, &bed.tools, &model, &limits, &sender, &state,
        ));
        let two_calls = async { [bed.page.recv_call().await, bed.page.recv_call().await] };
        tokio::select! {
            answer = answering => panic!("{answer:?}"),
            calls = two_calls => calls,
        }
    };
    let mut cancelled = Vec::new();
    for _ in &calls {
        cancelled.push(bed.page.recv_type("call-cancel").await["requestId"].clone());
    }
    assert_ne!(cancelled[0], cancelled[1]);
    // The connection can still be used.
    let tools = with_deadline("the tools", bed.tools.list()).await.unwrap();
    assert_eq!(tools.len(), 1);
}

#[tokio::test]
async fn dropping_an_answer_drops_the_model_stream() {
    let bed = TestBed::with_query(&[tool_definition("add")], json!({})).await;
    let model = FakeModel::new([vec![Ok(ModelEvent::Text("I".to_owned()))]]);
    let (limits, state) = (AgentLimits::default(), QueryState::new());
    let (sender, mut progress) = mpsc::channel(16);
    {
        let answering = answer(query_input(
            &bed.query, &bed.tools, &model, &limits, &sender, &state,
        ));
        let mut answering = std::pin::pin!(answering);
        tokio::select! {
            answer = &mut answering => panic!("{answer:?}"),
            first = with_deadline("the first text", progress.recv()) => {
                assert!(matches!(first, Some(QueryContent::Text { .. })), "{first:?}");
            }
        }
        assert_eq!(model.open_streams(), 1);
    }
    assert_eq!(model.open_streams(), 0);
}

#[tokio::test]
async fn a_bridge_that_stops_during_a_call_fails_the_query() {
    let bed = TestBed::with_query(&[tool_definition("add")], json!({})).await;
    let TestBed {
        bridge_server,
        mut page,
        tools,
        query,
        ..
    } = bed;
    let model = FakeModel::new([call_turn(&[("add", json!({}))])]);
    let (limits, state) = (AgentLimits::default(), QueryState::new());
    let (sender, _progress) = mpsc::channel(16);
    let mut answering = std::pin::pin!(answer(query_input(
        &query, &tools, &model, &limits, &sender, &state
    )));
    tokio::select! {
        answer = &mut answering => panic!("{answer:?}"),
        _call = page.recv_call() => {}
    }
    let ending = async { tokio::join!(answering, bridge_server.shutdown()) };
    let (answer, ()) = with_deadline("the end", ending).await;
    assert_eq!(answer.unwrap_err().code, ErrorCode::BridgeUnavailable);
}

/// Starts a proxy to a bridge, which runs until its handle is dropped.
async fn spawn_proxy(bridge: SocketAddr) -> (AgentBridge, AbortOnDropHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let proxy = tokio::spawn(async move {
        let mut connections = JoinSet::new();
        while let Ok((mut client, _)) = listener.accept().await {
            connections.spawn(async move {
                let mut server = TcpStream::connect(bridge).await.unwrap();
                tokio::io::copy_bidirectional(&mut client, &mut server).await
            });
        }
    });
    let bridge = AgentBridge::new(url.parse().unwrap()).unwrap();
    (bridge, AbortOnDropHandle::new(proxy))
}

#[tokio::test]
async fn a_connection_to_the_bridge_that_breaks_during_a_call_fails_the_query_at_once() {
    let mut bed = TestBed::with_query(&[tool_definition("add")], json!({})).await;
    let (bridge, proxy) = spawn_proxy(bed.bridge_server.local_addr()).await;
    let tools = AllowedTools::connect(&bridge, &bed.token, &bed.query.uuid)
        .await
        .unwrap();
    let model = FakeModel::new([call_turn(&[("add", json!({}))])]);
    let (limits, state) = (AgentLimits::default(), QueryState::new());
    let (sender, _progress) = mpsc::channel(16);
    let answering = answer(query_input(
        &bed.query, &tools, &model, &limits, &sender, &state,
    ));
    let mut answering = std::pin::pin!(answering);
    let call = tokio::select! {
        answer = &mut answering => panic!("{answer:?}"),
        call = bed.page.recv_call() => call,
    };
    drop(proxy);
    let failure = with_deadline("the end", answering).await.unwrap_err();
    assert_eq!(failure.code, ErrorCode::BridgeUnavailable);
    bed.page.expect_cancel(&call).await;
}

#[tokio::test]
async fn a_foreign_token_and_an_unreachable_bridge_have_different_messages() {
    let bed = TestBed::with_query(&[], json!({})).await;
    let foreign = Secret::from_trusted("mcp-web-query-of-nobody-at-all-0123456789".to_owned());
    let refused = AllowedTools::connect(&bed.bridge, &foreign, &UUID.into())
        .await
        .unwrap_err();
    assert_eq!(refused.code, ErrorCode::BridgeUnavailable);
    assert!(refused.message.contains("refuses the token"), "{refused}");

    // A bound socket that does not listen refuses connections, and no other test gets its port.
    let closed = TcpSocket::new_v4().unwrap();
    closed.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let url = format!("http://{}", closed.local_addr().unwrap());
    let bridge = AgentBridge::new(url.parse().unwrap()).unwrap();
    let missing = AllowedTools::connect(&bridge, &foreign, &UUID.into())
        .await
        .unwrap_err();
    assert_eq!(missing.code, ErrorCode::BridgeUnavailable);
    assert!(missing.message.contains("cannot be reached"), "{missing}");
    for failure in [refused, missing] {
        assert!(!format!("{failure:?}").contains("of-nobody"), "{failure:?}");
    }
}

#[tokio::test]
async fn reports_reach_the_page_until_the_query_has_ended() {
    let mut bed = TestBed::with_query(&[], json!({})).await;
    let reporter = QueryReporter::new(&bed.bridge, &bed.token, &bed.query.uuid);
    reporter.progress("half").await.unwrap();
    let progress = bed.page.recv_type("query_progress").await;
    assert_eq!(progress["content"], "half");
    reporter.complete("whole").await.unwrap();
    let complete = bed.page.recv_type("query_complete").await;
    assert_eq!(complete["result"], "whole");
    let late = reporter.cancel(Some("late")).await.unwrap_err();
    assert_eq!(late.code, ErrorCode::QueryNotFound);
}

#[tokio::test]
async fn a_report_of_a_failure_keeps_its_code_and_its_remedy() {
    let mut bed = TestBed::with_query(&[], json!({})).await;
    let reporter = QueryReporter::new(&bed.bridge, &bed.token, &bed.query.uuid);
    let failure = AgentFailure::new(ErrorCode::ModelRefused, "no").with_remedy("else");
    reporter.fail(&failure).await.unwrap();
    let report = bed.page.recv_type("query_failure").await;
    assert_eq!(
        (&report["error"], &report["code"]),
        (&json!("no"), &json!("ModelRefused"))
    );
    assert_eq!(report["reason"], "else");
}
