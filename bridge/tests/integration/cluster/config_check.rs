//! `--check-config` of one of several bridges: it asks NATS and the others, and changes nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use axum::http::StatusCode;
use axum::response::IntoResponse;
use bridge_cluster::{NatsServer, ReservedPort};

use super::kit::*;
use super::stand_in::StandIn;
use crate::kit::*;
use crate::metrics::scrape;

/// The exit code of the program, and what it prints.
struct Checked {
    code: Option<i32>,
    output: String,
}

impl Checked {
    fn assert(&self, code: i32, texts: &[&str]) {
        assert_eq!(self.code, Some(code), "{}", self.output);
        for text in texts {
            assert!(self.output.contains(text), "{text}: {}", self.output);
        }
    }
}

/// Checks a configuration with this secret, and further arguments.
async fn check_with(nats: &str, secret: &str, arguments: &[&str]) -> Checked {
    let mut program = bridge_program();
    program.args(["--check-config", "--cluster", nats]);
    program.args(["--cluster-bind=127.0.0.1:0", "--cluster-secret", secret]);
    let output = program.args(arguments).output();
    let output = with_deadline("the check", output).await.unwrap();
    let printed = [output.stdout, output.stderr].concat();
    Checked {
        code: output.status.code(),
        output: String::from_utf8(printed).unwrap(),
    }
}

async fn check(nats: &NatsServer, arguments: &[&str]) -> Checked {
    check_with(&nats.url(), CLUSTER_SECRET, arguments).await
}

#[tokio::test]
async fn bridges_that_run_are_found_and_not_disturbed() {
    let bridges = Bridges::start(2).await;
    let view = bridges.directory().await;
    let checked = check(&bridges.nats, &[]).await;
    checked.assert(0, &["configuration is good", ", 2 bridges"]);
    for bridge in &bridges.nodes {
        let node = view.node_of(bridge).await;
        let line = format!("{} at {}, serving", node.id.short(), node.address);
        checked.assert(0, &[&line]);
        let metrics = scrape(bridge).await;
        assert_eq!(metrics["mcp_web_cluster_nodes{state=\"serving\"}"], 1.0);
        assert_eq!(
            metrics["mcp_web_refusals_total{kind=\"cluster_peer\"}"],
            0.0
        );
    }
}

#[tokio::test]
async fn settings_that_differ_from_those_of_other_bridges_are_named() {
    let bridges = Bridges::start(1).await;
    let tokens = ["--tokens", TOKEN];
    let checked = check(&bridges.nats, &tokens).await;
    checked.assert(
        0,
        &["with 1 warning", "has other tokens, keys or allow lists"],
    );
    let key = "0123456789abcdef0123456789abcdef";
    let checked = check(&bridges.nats, &["--state-key", key]).await;
    checked.assert(2, &["`state_key`", "set both alike and restart"]);
    let checked = check(&bridges.nats, &["--public-url", "https://other.example"]).await;
    checked.assert(2, &["`public_url`", "set both alike and restart"]);
    let other = "another-secret-of-the-cluster-0123456789";
    let checked = check_with(&bridges.nats.url(), other, &[]).await;
    checked.assert(2, &["was not written with `cluster_secret`"]);
    assert!(!checked.output.contains(other), "{}", checked.output);
}

#[tokio::test]
async fn a_login_that_nats_refuses_is_an_error() {
    let nats = NatsServer::start_with("authorization { user: bridge, password: hush }");
    let checked = check(&nats, &[]).await;
    checked.assert(2, &["NATS has refused the login", "cluster_nats_user"]);
    let login = [
        "--cluster-nats-user",
        "bridge",
        "--cluster-nats-password",
        "hush",
    ];
    let checked = check(&nats, &login).await;
    checked.assert(0, &["configuration is good", ", 0 bridges"]);
}

#[tokio::test]
async fn a_server_that_does_not_run_is_a_warning() {
    let checked = check_with("nats://127.0.0.1:1", CLUSTER_SECRET, &[]).await;
    checked.assert(
        0,
        &[
            "with 1 warning",
            "nats://127.0.0.1:1: cannot connect to NATS",
        ],
    );
}

#[tokio::test]
async fn a_bridge_that_cannot_be_reached_is_a_warning() {
    let bridges = Bridges::start(1).await;
    let view = bridges.directory().await;
    let unused = ReservedPort::reserve();
    let address = unused.address().to_string();
    let like = view.node_of(&bridges.nodes[0]).await;
    view.announce(&address, &like).await;
    let checked = check(&bridges.nats, &[]).await;
    checked.assert(0, &[&address, "cannot be connected to"]);
}

#[tokio::test]
async fn clocks_and_listeners_that_do_not_fit_are_named() {
    let bridges = Bridges::start(1).await;
    let (status, ahead) = (Arc::new(AtomicU16::new(421)), Arc::new(AtomicU64::new(0)));
    let of_handler = (Arc::clone(&status), Arc::clone(&ahead));
    let _stand_in = StandIn::start(&bridges, move |_, _| {
        let (status, ahead) = (&of_handler.0, &of_handler.1);
        let status = StatusCode::from_u16(status.load(Ordering::Relaxed)).unwrap();
        let date = SystemTime::now() + Duration::from_secs(ahead.load(Ordering::Relaxed));
        let name = match status {
            StatusCode::UNAUTHORIZED => "mcp-web-node-refused",
            _ => "mcp-web-not-owner",
        };
        let date = httpdate::fmt_http_date(date);
        async move { (status, [(name, "1"), ("date", &date)]).into_response() }
    })
    .await;
    for (answer, seconds, code, text) in [
        (421, 0, 0, "configuration is good"),
        (421, 20, 0, "configuration is good"),
        (421, 60, 0, "synchronize both"),
        (401, 400, 2, "refuses the requests of this one"),
        (200, 0, 2, "something else listens there"),
    ] {
        status.store(answer, Ordering::Relaxed);
        ahead.store(seconds, Ordering::Relaxed);
        check(&bridges.nats, &[]).await.assert(code, &[text]);
    }
}
