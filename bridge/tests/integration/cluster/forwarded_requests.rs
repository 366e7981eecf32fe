//! Requests as the owner of a realm receives them from another bridge, and what that one keeps.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use bridge::ServerHandle;
use bridge_cluster::PeerHeader;
use serde_json::json;

use super::exchange::RawRequest;
use super::kit::*;
use super::owner_failures::call;
use super::stand_in::StandIn;
use crate::kit::*;
use crate::metrics::scrape;

/// The node of the test compares what arrives with what the client has sent.
#[tokio::test]
async fn headers_that_only_a_bridge_may_send_are_replaced() {
    let bridges = Bridges::start_with(1, |_, config| {
        config.network.trusted_proxies = vec!["127.0.0.1".parse().unwrap()];
    })
    .await;
    let edge = &bridges.nodes[0];
    let stand_in = StandIn::start(&bridges, |view, request: Request| async move {
        let headers = request.headers();
        let path = request.uri().path_and_query().unwrap().as_str();
        let peer = headers["mcp-web-peer"].to_str().unwrap();
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .as_secs();
        let method = request.method().as_str();
        let peer = PeerHeader::verify(peer, &view.keys, method, path, view.own, now).unwrap();
        let names: Vec<_> = headers.keys().map(|name| name.as_str()).collect();
        let answer = json!({ "client": peer.client, "realm": peer.realm == Some(view.realm(TOKEN)),
            "names": names, "host": headers["host"].to_str().unwrap(), "path": path,
            "peers": headers.get_all("mcp-web-peer").iter().count() });
        axum::Json(answer).into_response()
    })
    .await;
    stand_in.claim().await;
    let request = call(10)
        .header("mcp-web-peer", "v1 forged")
        .header("x-forwarded-for", "192.0.2.66")
        .header("x-forwarded-proto", "https")
        .header("forwarded", "for=192.0.2.1")
        .header("keep-alive", "timeout=5")
        .header("te", "trailers")
        .header("x-own", "1");
    let request = RawRequest {
        path: "/tools/../%2e%2e\\x?a=%20&b='c'|{d}".to_owned(),
        ..request
    };
    let answer = request.send(edge.local_addr()).await;
    let answer: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
    let expected = json!({ "client": "192.0.2.66", "realm": true, "host": "localhost",
        "path": "/tools/../%2e%2e\\x?a=%20&b='c'|{d}", "peers": 1,
        "names": answer["names"] });
    assert_eq!(answer, expected);
    let mut names: Vec<_> = answer["names"].as_array().unwrap().iter().collect();
    names.sort_unstable_by_key(|name| name.as_str());
    let expected = [
        "authorization",
        "content-length",
        "host",
        "mcp-web-peer",
        "x-own",
        "x-request-id",
    ];
    assert_eq!(names, expected);
}

#[tokio::test]
async fn a_body_that_is_kept_counts_for_the_memory() {
    const KEPT: usize = 60_000;
    let bridges = Bridges::start(1).await;
    let edge = &bridges.nodes[0];
    let (arrived, mut arrivals) = tokio::sync::mpsc::unbounded_channel();
    let release = Arc::new(tokio::sync::Notify::new());
    let released = Arc::clone(&release);
    let stand_in = StandIn::start(&bridges, move |_, _| {
        let (arrived, released) = (arrived.clone(), Arc::clone(&released));
        async move {
            arrived.send(()).unwrap();
            released.notified().await;
            StatusCode::OK.into_response()
        }
    })
    .await;
    stand_in.claim().await;
    let before = memory(edge).await;
    let request = call(KEPT);
    let sent = request.send(edge.local_addr());
    let measured = async {
        with_deadline("request", arrivals.recv()).await.unwrap();
        let during = memory(edge).await;
        release.notify_one();
        during
    };
    let (answer, during) = tokio::join!(sent, measured);
    assert_eq!(answer.code(), 200, "{answer:?}");
    assert!(during - before >= KEPT as f64, "{before}, {during}");
    wait_for_metrics(edge, "the end of the body", |it| it[MEMORY] <= before).await;
}

async fn memory(bridge: &ServerHandle) -> f64 {
    scrape(bridge).await[MEMORY]
}
