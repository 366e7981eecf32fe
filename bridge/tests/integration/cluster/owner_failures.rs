//! Owners that do not own the realm any more, die or cannot be reached.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use bridge_cluster::NodeId;
use serde_json::json;
use tokio::net::TcpListener;

use super::exchange::{RawRequest, RawResponse};
use super::kit::*;
use super::stand_in::{StandIn, announce};
use crate::kit::*;

fn not_owner() -> Response {
    (
        StatusCode::MISDIRECTED_REQUEST,
        [("mcp-web-not-owner", "1")],
    )
        .into_response()
}

pub(super) fn call(padding: usize) -> RawRequest {
    let body = json!({ "toolName": "echo", "toolInput": { "text": "x".repeat(padding) } });
    let call = RawRequest::new("POST", "/tool-call").token(TOKEN);
    call.body(body.to_string())
}

/// Starts a bridge that owns the realm, with a page, and writes that another node owns it.
async fn owned_elsewhere(bridges: &Bridges, stand_in: &StandIn) -> (Page, NodeId) {
    let owner = &bridges.nodes[0];
    let page = Page::with_tools(owner, "s", &[echo_tool()]).await;
    let node = stand_in.view.node_of(owner).await;
    let address = stand_in.address.to_string();
    stand_in
        .view
        .replace_owner(TOKEN, stand_in.view.own, &address)
        .await;
    (page, node.id)
}

#[tokio::test]
async fn a_request_with_a_short_body_is_repeated_at_the_owner() {
    let bridges = Bridges::start(2).await;
    let (owner, edge) = bridges.owner_and_edge();
    let node = bridges.directory().await.node_of(owner).await;
    let (id, address) = (node.id, node.address);
    // The record changes between the look-up and the request.
    let stand_in = StandIn::start(&bridges, move |view, _| {
        let address = address.clone();
        async move {
            view.replace_owner(TOKEN, id, &address).await;
            not_owner()
        }
    })
    .await;
    let (mut page, _) = owned_elsewhere(&bridges, &stand_in).await;
    let request = call(10);
    let (answer, ()) = tokio::join!(request.send(edge.local_addr()), page.echo_call());
    assert_eq!(answer.code(), 200, "{answer:?}");
    assert_eq!(stand_in.received(), 1);
    assert_eq!(forwards(edge, "misdirected").await, 1.0);
    assert_eq!(forwards(edge, "ok").await, 1.0);
}

#[tokio::test]
async fn a_request_whose_body_was_not_kept_has_not_run() {
    let bridges = Bridges::start(2).await;
    let edge = &bridges.nodes[1];
    let stand_in = StandIn::start(&bridges, |_, _| async { not_owner() }).await;
    stand_in.claim().await;
    for request in [call(70_000), call(10).chunked()] {
        let before = stand_in.received();
        let answer = request.send(edge.local_addr()).await;
        assert_refusal(&answer, 503, "ClusterUnavailable", "has not run");
        assert_eq!(stand_in.received() - before, 1);
    }
    // With a short body it is sent a few times, but not forever.
    let before = stand_in.received();
    let answer = call(10).send(edge.local_addr()).await;
    assert_refusal(&answer, 503, "ClusterUnavailable", "has not run");
    assert_eq!(stand_in.received() - before, 3);
}

fn assert_refusal(answer: &RawResponse, status: u16, code: &str, text: &str) {
    assert_eq!(answer.code(), status, "{answer:?}");
    assert!(answer.body.contains(code), "{answer:?}");
    assert!(answer.body.contains(text), "{answer:?}");
}

/// Only a bridge that says so does not own the realm.
#[tokio::test]
async fn a_response_with_status_421_of_something_else_is_passed_on() {
    let bridges = Bridges::start(1).await;
    let edge = &bridges.nodes[0];
    let stand_in = StandIn::start(&bridges, |_, _| async {
        let headers = [
            ("connection", "x-of-the-connection"),
            ("x-of-the-connection", "1"),
            ("x-of-the-response", "2"),
        ];
        (StatusCode::MISDIRECTED_REQUEST, headers, "other").into_response()
    })
    .await;
    stand_in.claim().await;
    let answer = call(10).send(edge.local_addr()).await;
    assert_eq!((answer.code(), answer.body.as_str()), (421, "other"));
    let headers = answer.headers.join("\n");
    assert!(headers.contains("x-of-the-response: 2"), "{headers}");
    assert!(!headers.contains("x-of-the-connection"), "{headers}");
}

/// The bridge does not repeat it: the request may have run.
#[tokio::test]
async fn a_request_whose_owner_dies_may_have_run() {
    let bridges = Bridges::start(1).await;
    let edge = &bridges.nodes[0];
    let view = bridges.directory().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let received = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&received);
    let server = tokio::spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut head = [0; 14];
            tokio::io::AsyncReadExt::read_exact(&mut socket, &mut head)
                .await
                .unwrap();
            if head != *b"GET /_cluster/" {
                counted.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    announce(&bridges, &view, address).await;
    view.claim_for(TOKEN, view.own, &address.to_string()).await;
    for request in [
        call(10),
        call(70_000),
        RawRequest::new("GET", "/tools").token(TOKEN),
    ] {
        let before = received.load(Ordering::Relaxed);
        let answer = request.send(edge.local_addr()).await;
        assert_refusal(&answer, 502, "NodeLost", "may have run");
        assert_eq!(received.load(Ordering::Relaxed) - before, 1);
    }
    assert_eq!(forwards(edge, "lost").await, 3.0);
    server.abort();
}
