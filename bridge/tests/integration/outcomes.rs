//! Metrics and the audit log say what the client of a call got, and who was refused what.

use bridge::{Audit, Config, Results, ServerHandle};
use bridge_output::CapturedLog;
use serde_json::json;

use crate::kit::*;
use crate::metrics::{config_with_metrics, scrape};
use crate::shares::{GREEDY, OTHER, config_with_addresses, connect_page, leave_answer_unread};

/// The number of tool calls with this outcome and code.
async fn calls(bridge: &ServerHandle, outcome: &str, code: &str) -> f64 {
    let labels = format!("kind=\"tool\",outcome=\"{outcome}\",code=\"{code}\"");
    let series = scrape(bridge).await;
    let name = format!("mcp_web_calls_total{{{labels}}}");
    series.get(&name).copied().unwrap_or_default()
}

#[tokio::test]
async fn a_call_counts_as_what_its_client_got() {
    let (log, _guard) = CapturedLog::start();
    let mut config = Config {
        results: Results {
            max_unread_bytes: 30_000_000,
            ..Results::default()
        },
        monitoring: config_with_metrics().monitoring,
        ..config_with_addresses()
    };
    config.monitoring.audit = Audit::Calls;
    let bridge = start_bridge_with(config).await;
    let mut page = connect_page(&bridge, TOKEN, GREEDY).await;
    page.register(&[echo_tool()]).await;
    let text = "x".repeat(9_000_000);
    let unread = leave_answer_unread(&bridge, &mut page, &text).await;

    let client = McpClient::connect_from(&bridge, TOKEN, OTHER).await;
    let call = client.call("echo", json!({}));
    let (answer, _) = tokio::join!(call, page.serve_call(json!(text)));
    assert_eq!(
        error_code(&answer["result"]),
        Some("ResultTooLarge"),
        "{answer}"
    );
    assert_eq!(calls(&bridge, "failed", "ResultTooLarge").await, 1.0);
    assert_eq!(calls(&bridge, "ok", "").await, 0.0);
    let lines = log.text();
    let line = |part: &str| {
        let found = lines.lines().find(|line| line.contains(part));
        found
            .unwrap_or_else(|| panic!("{part} in {lines}"))
            .to_owned()
    };
    // The client is refused, and the page is the one for whose share it counts.
    let who = format!("address={OTHER} page_address={GREEDY} route=\"answer\"");
    let refused = line("kind=\"max_unread_bytes\"");
    assert!(refused.contains(&who), "{refused}");
    let audit = line(" audit: call ");
    let who = format!("address={OTHER} session=\"s\" page_address={GREEDY} kind=\"tool\"");
    assert!(audit.contains(&who), "{audit}");
    let outcome = "outcome=\"failed\" code=\"ResultTooLarge\"";
    assert!(audit.contains(outcome), "{audit}");

    drop(unread);
    let undelivered = async {
        while calls(&bridge, "undelivered", "").await < 1.0 {
            poll_pause().await;
        }
    };
    with_deadline("undelivered answer", undelivered).await;
    let lines = log.text();
    assert!(
        lines.contains("name=\"echo\" outcome=\"undelivered\" ms="),
        "{lines}"
    );
    client.assert_echo(&mut page).await;
    assert_eq!(calls(&bridge, "ok", "").await, 1.0);
}
