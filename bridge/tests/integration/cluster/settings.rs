//! Settings of a cluster: those that all bridges must share, and those with which none starts.

use std::time::Duration;

use bridge::{Compat, Config, ServerHandle};
use bridge_output::CapturedLog;
use serde_json::json;

use super::kit::*;
use crate::kit::*;
use crate::metrics::scrape;

/// Whether a call at the second bridge reaches the page of the first.
async fn is_routed(bridges: &Bridges) -> bool {
    let (owner, edge) = bridges.owner_and_edge();
    let mut page = Page::with_tools(owner, "s", &[echo_tool()]).await;
    let call = post_tool_call(edge, "echo", json!({ "n": 1 }));
    tokio::select! {
        (status, answer) = call => {
            assert_eq!(status, 503, "{answer}");
            false
        }
        () = page.echo_call() => true,
    }
}

#[tokio::test]
async fn bridges_with_other_tokens_warn_and_still_serve_each_other() {
    let (log, _guard) = CapturedLog::start();
    let bridges = Bridges::start_with(2, |number, config| {
        config.tokens.tokens = vec![TOKEN.to_owned()];
        if number == 1 {
            config.tokens.tokens.push(OTHER_TOKEN.to_owned());
        }
    })
    .await;
    assert!(is_routed(&bridges).await);
    let warnings = log.text().matches("reload both within 10 minutes").count();
    assert_eq!(warnings, 2, "{}", log.text());
}

/// Starts a bridge beside one that is ready. It does not become ready, because it would answer that no page
/// is connected, and the other one stays ready.
async fn start_with_a_difference(bridges: &mut Bridges, change: impl FnOnce(&mut Config)) {
    let mut config = node_config(&bridges.nats);
    change(&mut config);
    let other = start_bridge_with(config).await;
    let url = format!("{}/readyz", other.url());
    let is_refused = async {
        loop {
            let answer = http_client().get(&url).send().await.unwrap();
            assert_eq!(answer.status(), 503);
            let text = answer.text().await.unwrap();
            if text.contains("differ from those of all others") {
                return;
            }
            poll_pause().await;
        }
    };
    with_deadline("the difference", is_refused).await;
    wait_until_ready(&bridges.nodes[0]).await;
    bridges.nodes.push(other);
}

#[tokio::test]
async fn bridges_with_another_state_key_do_not_serve_each_other() {
    let (log, _guard) = CapturedLog::start();
    let mut bridges = Bridges::start(1).await;
    start_with_a_difference(&mut bridges, |config| {
        config.state.state_key = Some(secret(&"1".repeat(32)));
    })
    .await;
    assert!(!is_routed(&bridges).await);
    let errors = log.text().matches("state_key").count();
    assert_eq!(errors, 2, "{}", log.text());
}

/// They do not even find each other: each one takes the other's records for forged.
#[tokio::test]
async fn bridges_with_another_secret_are_strangers() {
    let (log, _guard) = CapturedLog::start();
    let mut bridges = Bridges::start(1).await;
    start_with_a_difference(&mut bridges, |config| {
        config.cluster.cluster_secret = vec![secret(&"another secret".repeat(3))];
    })
    .await;
    let counter = "mcp_web_cluster_invalid_records_total";
    for bridge in &bridges.nodes {
        wait_for_metrics(bridge, "the record of the other", |it| it[counter] > 0.0).await;
        let nodes = scrape(bridge).await["mcp_web_cluster_nodes{state=\"serving\"}"];
        assert_eq!(nodes, 0.0);
    }
    assert!(log.text().contains("was not written with `cluster_secret`"));
}

/// The secret is changed on one bridge after another.
#[tokio::test]
async fn bridges_with_a_common_secret_serve_each_other() {
    let new = "the-new-secret-of-the-cluster-0123456789";
    let bridges = Bridges::start_with(2, |number, config| {
        config.cluster.cluster_realm_secret = Some(secret(CLUSTER_SECRET));
        config.cluster.cluster_secret = match number {
            0 => vec![secret(CLUSTER_SECRET), secret(new)],
            _ => vec![secret(new), secret(CLUSTER_SECRET)],
        };
    })
    .await;
    assert!(is_routed(&bridges).await);
}

#[tokio::test]
async fn settings_that_do_not_fit_a_cluster_prevent_a_start() {
    let change = |change: &dyn Fn(&mut Config)| {
        let mut config = test_config();
        config.cluster.cluster = vec!["nats://127.0.0.1:1".to_owned()];
        config.cluster.cluster_secret = vec![secret(CLUSTER_SECRET)];
        config.cluster.cluster_bind = Some(([127, 0, 0, 1], 0).into());
        change(&mut config);
        config
    };
    for (config, message) in [
        (
            change(&|it| it.cluster.cluster_secret.clear()),
            "`cluster_secret`",
        ),
        (
            change(&|it| it.cluster.cluster_bind = None),
            "`cluster_bind`",
        ),
        (
            change(&|it| it.cluster.cluster_bind = Some(([0, 0, 0, 0], 0).into())),
            "`cluster_address`",
        ),
        (
            change(&|it| it.cluster.cluster_bind = Some(([192, 0, 2, 1], 1).into())),
            "`cluster_tls_cert`",
        ),
        (
            change(&|it| it.compatibility.compat = Some(Compat::McpWeb)),
            "`compat` cannot be used with `cluster`",
        ),
        (
            change(&|it| it.agent.run_agent = true),
            "`run_agent` cannot be used with `cluster`",
        ),
        (
            change(&|it| {
                let missing = Some("/no/such/file.pem".into());
                it.cluster.cluster_tls_cert.clone_from(&missing);
                it.cluster.cluster_tls_key.clone_from(&missing);
                it.cluster.cluster_tls_ca = missing;
            }),
            "/no/such/file.pem",
        ),
    ] {
        let error = start_error(config).await.to_string();
        assert!(error.contains(message), "{error}");
    }
    // The directory need not be there, but the bridge is not ready.
    let bridge = start_bridge_with(change(&|_| {})).await;
    let ready = http_client().get(format!("{}/readyz", bridge.url()));
    assert_eq!(ready.send().await.unwrap().status(), 503);
    let alive = http_client().get(format!("{}/healthz", bridge.url()));
    assert_eq!(alive.send().await.unwrap().status(), 200);
}

#[test]
fn the_check_of_a_configuration_names_what_a_cluster_lacks() {
    for (arguments, code, text) in [
        (
            vec!["--cluster-bind=127.0.0.1:0"],
            Some(2),
            "`cluster_secret`",
        ),
        (
            vec!["--cluster-bind=127.0.0.1:0", "--cluster-secret=short"],
            Some(2),
            "32",
        ),
        (
            vec![
                "--cluster-bind=127.0.0.1:0",
                "--cluster-secret",
                CLUSTER_SECRET,
            ],
            Some(0),
            "",
        ),
    ] {
        let mut program = bridge_program().into_std();
        program
            .arg("--check-config")
            .arg("--cluster=nats://127.0.0.1:1");
        let output = program.args(&arguments).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), code, "{arguments:?}: {error}");
        assert!(error.contains(text), "{error}");
        assert!(!error.contains(CLUSTER_SECRET), "{error}");
    }
}

/// A bridge alone has neither the metrics nor the listener of a cluster.
#[tokio::test]
async fn without_servers_nothing_of_a_cluster_is_there() {
    let mut config = crate::metrics::config_with_metrics();
    let reserved = tokio::net::TcpSocket::new_v4().unwrap();
    reserved.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let address = reserved.local_addr().unwrap();
    config.cluster.cluster_bind = Some(address);
    config.cluster.cluster_lease = Duration::from_secs(3);
    let bridge: ServerHandle = start_bridge_with(config).await;
    let metrics = scrape(&bridge).await;
    assert!(
        !metrics
            .keys()
            .any(|name| name.starts_with("mcp_web_cluster"))
    );
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
    let status = get_json(&bridge, "/sessions").await;
    assert!(!status.to_string().contains("node"), "{status}");
}
