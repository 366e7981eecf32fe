//! Queries that nobody wants any more, and bridges that are gone.

use std::net::SocketAddr;

use bridge_protocol::{ErrorCode, QueryContent};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;

use super::world::UUID;
use super::{Script, World, calls, soon, tool};
use crate::answering::answer;
use crate::bridge::Bridge;
use crate::config::Limits;
use crate::failure::Failure;
use crate::model::Event;

#[tokio::test]
async fn dropped_it_cancels_its_calls_in_the_page() {
    let mut world = World::asking(&[tool("add")], json!({})).await;
    let model = Script::new([calls(&vec![("add", json!({})); 2])]);
    let limits = Limits::default();
    let (say, _said) = mpsc::channel(16);
    let calls = {
        let answering = answer(world.asked.clone(), &world.tools, &model, &limits, &say);
        let two = async { [world.page.call().await, world.page.call().await] };
        tokio::select! {
            answer = answering => panic!("{answer:?}"),
            calls = two => calls,
        }
    };
    let mut cancelled = Vec::new();
    for _ in &calls {
        cancelled.push(world.page.hear("call-cancel").await["requestId"].clone());
    }
    assert_ne!(cancelled[0], cancelled[1]);
    // The connection is as good as before.
    let listed = soon("the tools", world.tools.list()).await.unwrap();
    assert_eq!(listed.len(), 1);
}

#[tokio::test]
async fn dropped_it_drops_the_models_stream() {
    let world = World::asking(&[tool("add")], json!({})).await;
    let model = Script::new([vec![Ok(Event::Text("I".to_owned()))]]);
    let limits = Limits::default();
    let (say, mut said) = mpsc::channel(16);
    {
        let answering = answer(world.asked.clone(), &world.tools, &model, &limits, &say);
        let mut answering = std::pin::pin!(answering);
        tokio::select! {
            answer = &mut answering => panic!("{answer:?}"),
            first = soon("the first word", said.recv()) => {
                assert!(matches!(first, Some(QueryContent::Text { .. })), "{first:?}");
            }
        }
        assert_eq!(model.open(), 1);
    }
    assert_eq!(model.open(), 0);
}

#[tokio::test]
async fn a_bridge_that_goes_during_a_call_fails_the_query() {
    let world = World::asking(&[tool("add")], json!({})).await;
    let World {
        running,
        mut page,
        tools,
        asked,
        ..
    } = world;
    let model = Script::new([calls(&[("add", json!({}))])]);
    let limits = Limits::default();
    let (say, _said) = mpsc::channel(16);
    let mut answering = std::pin::pin!(answer(asked, &tools, &model, &limits, &say));
    tokio::select! {
        answer = &mut answering => panic!("{answer:?}"),
        _call = page.call() => {}
    }
    let ending = async { tokio::join!(answering, running.shutdown()) };
    let (answer, ()) = soon("the end", ending).await;
    assert_eq!(answer.unwrap_err().code, ErrorCode::BridgeUnavailable);
}

/// Passes on what is said to a bridge, until it is dropped.
async fn line_to(bridge: SocketAddr) -> (Bridge, AbortOnDropHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let passing = tokio::spawn(async move {
        let mut open = JoinSet::new();
        while let Ok((mut from, _)) = listener.accept().await {
            open.spawn(async move {
                let mut to = TcpStream::connect(bridge).await.unwrap();
                tokio::io::copy_bidirectional(&mut from, &mut to).await
            });
        }
    });
    let bridge = Bridge::new(url.parse().unwrap()).unwrap();
    (bridge, AbortOnDropHandle::new(passing))
}

#[tokio::test]
async fn a_line_to_the_bridge_that_breaks_during_a_call_fails_the_query_at_once() {
    let mut world = World::asking(&[tool("add")], json!({})).await;
    let (bridge, line) = line_to(world.running.local_addr()).await;
    let tools = bridge.tools(&world.token, &world.asked.uuid).await.unwrap();
    let model = Script::new([calls(&[("add", json!({}))])]);
    let limits = Limits::default();
    let (say, _said) = mpsc::channel(16);
    let answering = answer(world.asked.clone(), &tools, &model, &limits, &say);
    let mut answering = std::pin::pin!(answering);
    let call = tokio::select! {
        answer = &mut answering => panic!("{answer:?}"),
        call = world.page.call() => call,
    };
    drop(line);
    let failure = soon("the end", answering).await.unwrap_err();
    assert_eq!(failure.code, ErrorCode::BridgeUnavailable);
    world.page.cancelled(&call).await;
}

#[tokio::test]
async fn a_foreign_token_and_a_bridge_that_is_not_there_are_told_apart() {
    let world = World::asking(&[], json!({})).await;
    let foreign = "mcp-web-query-of-nobody-at-all-0123456789".parse().unwrap();
    let refused = world
        .bridge
        .tools(&foreign, &UUID.into())
        .await
        .unwrap_err();
    assert_eq!(refused.code, ErrorCode::BridgeUnavailable);
    assert!(refused.message.contains("refuses the token"), "{refused}");

    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", nobody.local_addr().unwrap());
    drop(nobody);
    let bridge = Bridge::new(url.parse().unwrap()).unwrap();
    let missing = bridge.tools(&foreign, &UUID.into()).await.unwrap_err();
    assert_eq!(missing.code, ErrorCode::BridgeUnavailable);
    assert!(missing.message.contains("cannot be reached"), "{missing}");
    for failure in [refused, missing] {
        assert!(!format!("{failure:?}").contains("of-nobody"), "{failure:?}");
    }
}

#[tokio::test]
async fn reports_reach_the_page_until_the_query_has_ended() {
    let mut world = World::asking(&[], json!({})).await;
    let reports = world.bridge.reports(&world.token, &world.asked.uuid);
    reports.progress("half").await.unwrap();
    let progress = world.page.hear("query_progress").await;
    assert_eq!(progress["content"], "half");
    reports.complete("whole").await.unwrap();
    let complete = world.page.hear("query_complete").await;
    assert_eq!(complete["result"], "whole");
    let late = reports.cancel(Some("late")).await.unwrap_err();
    assert_eq!(late.code, ErrorCode::QueryNotFound);
}

#[tokio::test]
async fn a_report_of_a_failure_keeps_its_code_and_its_remedy() {
    let mut world = World::asking(&[], json!({})).await;
    let reports = world.bridge.reports(&world.token, &world.asked.uuid);
    let failure = Failure::new(ErrorCode::ModelRefused, "no").with_remedy("else");
    reports.fail(&failure).await.unwrap();
    let told = world.page.hear("query_failure").await;
    assert_eq!(
        (&told["error"], &told["code"]),
        (&json!("no"), &json!("ModelRefused"))
    );
    assert_eq!(told["reason"], "else");
}
