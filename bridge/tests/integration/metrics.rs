//! `GET /metrics`: its token, its metrics, and that the guide lists exactly these.

use std::collections::BTreeMap;

use bridge::{Config, Secret, ServerHandle};
use reqwest::Response;
use serde_json::json;

use crate::kit::{
    ConnectPage, Page, TOKEN, assert_echo, connect_page_and_client, echo_tool, error_code,
    http_client, poll_pause, post_tool_call, start_bridge, start_bridge_with, test_config,
    with_deadline,
};

pub(crate) const METRICS_TOKEN: &str = "metrics-token-of-the-operator-0123456789";

const GUIDE: &str = include_str!("../../../docs/operating.md");

pub(crate) fn config_with_metrics() -> Config {
    let mut config = test_config();
    config.monitoring.metrics_token = Some(Secret::from_trusted(METRICS_TOKEN.to_owned()));
    config
}

async fn get_metrics(bridge: &ServerHandle, token: Option<&str>) -> Response {
    let request = http_client().get(format!("{}/metrics", bridge.url()));
    let request = match token {
        Some(token) => request.bearer_auth(token),
        None => request,
    };
    with_deadline("metrics", request.send()).await.unwrap()
}

/// The values of all time series, by name and labels.
pub(crate) async fn scrape(bridge: &ServerHandle) -> BTreeMap<String, f64> {
    scrape_with(&http_client(), bridge).await
}

/// The values that this HTTP client receives.
pub(crate) async fn scrape_with(
    http: &reqwest::Client,
    bridge: &ServerHandle,
) -> BTreeMap<String, f64> {
    let request = http.get(format!("{}/metrics", bridge.url()));
    let response = request.bearer_auth(METRICS_TOKEN).send();
    let response = with_deadline("metrics", response).await.unwrap();
    assert_eq!(response.status(), 200);
    let text = response.text().await.unwrap();
    assert!(text.ends_with("# EOF\n"), "{text}");
    let series = text.lines().filter(|line| !line.starts_with('#'));
    let series = series.map(|line| {
        let (name, value) = line.rsplit_once(' ').unwrap();
        (name.to_owned(), value.parse().unwrap())
    });
    series.collect()
}

/// The names and types of all metrics.
async fn exported_metrics(bridge: &ServerHandle) -> Vec<(String, String)> {
    let text = get_metrics(bridge, Some(METRICS_TOKEN)).await;
    let text = text.text().await.unwrap();
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let exported = types.map(|line| {
        let (name, kind) = line.split_once(' ').unwrap();
        let suffix = match kind {
            "counter" => "_total",
            "info" => "_info",
            _ => "",
        };
        (format!("{name}{suffix}"), kind.to_owned())
    });
    exported.collect()
}

/// The names of all metrics.
pub(crate) async fn exported_names(bridge: &ServerHandle) -> Vec<String> {
    let metrics = exported_metrics(bridge).await.into_iter();
    metrics.map(|(name, _)| name).collect()
}

#[tokio::test]
async fn metrics_need_their_own_token_and_are_404_without_one() {
    let bridge = start_bridge().await;
    let response = get_metrics(&bridge, Some(METRICS_TOKEN)).await;
    assert_eq!(response.status(), 404);

    let bridge = start_bridge_with(config_with_metrics()).await;
    for (token, code) in [
        (None, "MissingAuthentication"),
        (Some(TOKEN), "InvalidAuthentication"),
        (Some(&METRICS_TOKEN[1..]), "InvalidAuthentication"),
    ] {
        let response = get_metrics(&bridge, token).await;
        assert_eq!(response.status(), 401);
        let body: serde_json::Value = response.json().await.unwrap();
        assert_eq!(body["error"], code, "{body}");
    }
    let response = get_metrics(&bridge, Some(METRICS_TOKEN)).await;
    assert_eq!(response.status(), 200);
    let content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert_eq!(response.headers()["content-type"], content_type);

    let request = http_client().get(format!("{}/metrics", bridge.url()));
    let request = request.header("host", "evil.example");
    let response = request.bearer_auth(METRICS_TOKEN).send().await.unwrap();
    assert_eq!(response.status(), 403);
}

#[tokio::test]
async fn guesses_of_the_metrics_token_are_limited_like_those_of_other_tokens() {
    let mut config = config_with_metrics();
    config.identity.max_refused_tokens = 3;
    let bridge = start_bridge_with(config).await;
    let wrong = Some(&METRICS_TOKEN[1..]);
    for _ in 0..3 {
        assert_eq!(get_metrics(&bridge, wrong).await.status(), 401);
    }
    assert_eq!(get_metrics(&bridge, wrong).await.status(), 429);
    let valid = get_metrics(&bridge, Some(METRICS_TOKEN)).await;
    assert_eq!(valid.status(), 200);
}

#[tokio::test]
async fn the_metrics_token_is_valid_for_nothing_else() {
    let bridge = start_bridge_with(config_with_metrics()).await;
    let request = http_client().get(format!("{}/sessions", bridge.url()));
    let response = request.bearer_auth(METRICS_TOKEN).send().await.unwrap();
    assert_eq!(response.status(), 401);

    let mut config = config_with_metrics();
    config.tokens.tokens = vec![METRICS_TOKEN.to_owned()];
    let Err(error) = bridge::serve(config, bridge::MountedApp::default()).await else {
        panic!("the bridge starts");
    };
    assert!(
        error.to_string().contains("`metrics_token` is also in"),
        "{error}"
    );
}

#[tokio::test]
async fn the_guide_lists_exactly_the_exported_metrics() {
    let section = GUIDE.split_once("\n## Metrics\n").unwrap().1;
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    let documented: Vec<_> = rows
        .map(|row| {
            let mut cells = row.trim_matches('|').split('|').map(str::trim);
            let name = cells.next().unwrap().trim_matches('`');
            (name.to_owned(), cells.next().unwrap().to_owned())
        })
        .collect();

    let bridge = start_bridge_with(config_with_metrics()).await;
    assert_eq!(documented, exported_metrics(&bridge).await);
}

#[tokio::test]
async fn calls_are_counted_by_outcome_and_code() {
    let bridge = start_bridge_with(config_with_metrics()).await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    assert_echo(&bridge, &mut page).await;
    let (_, failed) = post_tool_call(&bridge, "echo", json!({ "n": "one" })).await;
    assert_eq!(error_code(&failed), Some("InvalidArguments"));
    let (status, _) = post_tool_call(&bridge, "a-name-of-the-client", json!({})).await;
    assert_eq!(status, 404);

    let series = scrape(&bridge).await;
    let calls = |outcome: &str, code: &str| {
        let labels = format!("kind=\"tool\",outcome=\"{outcome}\",code=\"{code}\"");
        series
            .get(&format!("mcp_web_calls_total{{{labels}}}"))
            .copied()
    };
    assert_eq!(calls("ok", ""), Some(1.0));
    assert_eq!(calls("failed", "InvalidArguments"), Some(1.0));
    assert_eq!(calls("failed", "ToolNotFound"), Some(1.0));
    assert_eq!(calls("failed", "CallTimeout"), None);
    let durations = |name: &str| {
        let labels = "kind=\"tool\",outcome=\"failed\"";
        series[&format!("mcp_web_call_duration_seconds_{name}{{{labels}}}")]
    };
    assert_eq!(durations("count"), 2.0);
    assert!(durations("sum") > 0.0);
    let names: String = series.into_keys().collect();
    assert!(!names.contains("a-name-of-the-client"), "{names}");
}

#[tokio::test]
async fn gauges_show_the_state_at_the_time_of_the_scrape() {
    let bridge = start_bridge_with(config_with_metrics()).await;
    let gauges = [
        "mcp_web_realms{class=\"pages\"}",
        "mcp_web_sessions{state=\"connected\"}",
        "mcp_web_sessions{state=\"away\"}",
        "mcp_web_page_sockets{state=\"authenticated\"}",
        "mcp_web_page_sockets{state=\"pending\"}",
        "mcp_web_mcp_sessions",
        "mcp_web_running_calls",
    ];
    let values = async || {
        let series = scrape(&bridge).await;
        gauges.map(|name| series[name])
    };
    assert_eq!(values().await, [0.0; 7]);
    let (mut page, client) = connect_page_and_client(&bridge).await;
    let call = client.call("echo", json!({ "n": 1 }));
    let during = async {
        let call = page.recv_call().await;
        let values = values().await;
        page.respond(&call, json!({ "n": 1 })).await;
        values
    };
    let (_, during) = tokio::join!(call, during);
    assert_eq!(during, [1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0]);
    drop(page);
    let away = async {
        loop {
            let values = values().await;
            if values[1] == 0.0 {
                return values;
            }
            poll_pause().await;
        }
    };
    let away = with_deadline("session without connection", away).await;
    assert_eq!(away, [1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0]);
}

#[tokio::test]
async fn limits_queues_and_traffic_are_exported() {
    let mut config = config_with_metrics();
    config.tokens.max_realms = Some(1_000);
    let bridge = start_bridge_with(config).await;
    let before = scrape(&bridge).await;
    assert_eq!(before["mcp_web_limit{setting=\"max_realms\"}"], 1000.0);
    // This limit follows from the host.
    assert!(before["mcp_web_limit{setting=\"max_mcp_sessions\"}"] >= 64.0);
    assert_eq!(before["mcp_web_queue_length{queue=\"outboxes\"}"], 0.0);
    assert!(before.contains_key("mcp_web_queue_length{queue=\"cpu_pool\"}"));
    let (_, missing) = post_tool_call(&bridge, "x", json!({ "long": "x".repeat(100_000) })).await;
    assert_eq!(error_code(&missing), Some("NoSessionsFound"));
    let after = scrape(&bridge).await;
    let bytes = |direction| {
        let name = format!("mcp_web_traffic_bytes_total{{direction=\"{direction}\"}}");
        after[&name] - before[&name]
    };
    let received = bytes("received");
    assert!((100_000.0..110_000.0).contains(&received), "{received}");
    let sent = bytes("sent");
    assert!((1_000.0..100_000.0).contains(&sent), "{sent}");
}
