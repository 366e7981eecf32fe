//! The lines of the log about the lives of pages, MCP sessions, listeners and queries.

use std::time::Duration;

use bridge::PageTimings;
use bridge_output::CapturedLog;
use serde_json::json;

use crate::kit::mock_agent::{MockAgent, UUID};
use crate::kit::*;

/// Waits for a line with this beginning, and returns what follows it.
async fn line_after(log: &CapturedLog, beginning: &str) -> String {
    let beginning = format!(" INFO bridge::lifecycle: {beginning}");
    let find = async {
        loop {
            let text = log.text();
            let found = text.lines().find_map(|line| line.strip_prefix(&beginning));
            if let Some(rest) = found {
                return rest.to_owned();
            }
            poll_pause().await;
        }
    };
    with_deadline(&beginning, find).await
}

#[tokio::test]
async fn a_page_is_logged_from_its_connection_to_its_end() {
    let (log, _guard) = CapturedLog::start();
    let bridge = start_bridge_with(config_with_page_timings(PageTimings {
        page_grace: Duration::from_secs(3600),
        ..PageTimings::default()
    }))
    .await;
    let page = Page::with_app(&bridge, "s", "a \"board\"\n", &[echo_tool()]).await;
    let connected = line_after(&log, "page connected").await;
    assert!(connected.starts_with(" realm="), "{connected}");
    let fields = "address=127.0.0.1 session=\"s\" app=\"a \\\"board\\\"\\n\" \
                  origin=\"http://localhost:5173\" suppressed=0";
    assert!(connected.ends_with(fields), "{connected}");
    drop(page);
    let away = line_after(&log, "page away").await;
    let reason = "session=\"s\" reason=\"the page lost its connection\" connected_ms=";
    assert!(away.contains(reason), "{away}");
    let page = Page::connect(&bridge, "s", TOKEN).await;
    let back = line_after(&log, "page reconnected").await;
    assert!(back.contains("session=\"s\" away_ms="), "{back}");
    page.close().await;
    let gone = line_after(&log, "page gone").await;
    let reason = "session=\"s\" reason=\"the page was closed or left\" ms=";
    assert!(gone.contains(reason), "{gone}");
    let text = log.text();
    let lines = text.matches("bridge::lifecycle: page ").count();
    assert_eq!(lines, 4, "{text}");
    assert!(!text.contains(TOKEN), "{text}");
}

#[tokio::test]
async fn mcp_sessions_and_listeners_are_logged_with_their_clients() {
    let (log, _guard) = CapturedLog::start();
    let bridge = start_bridge().await;
    let client = McpClient::connect_as(&bridge, "an\u{202e}editor\n").await;
    let opened = line_after(&log, "MCP session opened").await;
    let fields = r#"address=127.0.0.1 client="an\u{202e}editor\n" mcp_session=""#;
    assert!(opened.contains(fields), "{opened}");
    let stream = client.listen().await;
    let listener = line_after(&log, "listener opened").await;
    drop(stream);
    let closed = line_after(&log, "listener closed").await;
    assert!(closed.contains(" ms="), "{closed}");
    assert_eq!(client.delete_session().await.status(), 204);
    let ended = line_after(&log, "MCP session ended").await;
    assert!(
        ended.contains(" reason=\"its client ended it\" ms="),
        "{ended}"
    );
    // The lines of a session have the same id, which is not the one that the client sends.
    let id = |line: &str| line.split_once("mcp_session=").unwrap().1[..10].to_owned();
    for line in [&listener, &closed, &ended] {
        assert_eq!(id(line), id(&opened), "{line}");
    }
    let text = log.text();
    assert!(
        !text.contains(&client.session) && !text.contains("rmcp"),
        "{text}"
    );
}

#[tokio::test]
async fn a_query_is_logged_with_its_outcome_and_its_tokens() {
    let (log, _guard) = CapturedLog::start();
    let mut agent = MockAgent::start().await;
    let bridge = start_bridge_with(agent.config()).await;
    let mut page = Page::with_tools(&bridge, "asks", &[echo_tool()]).await;
    let query = json!({ "type": "query", "uuid": UUID, "prompt": "a secret?", "context": [] });
    page.send_json(query).await;
    let events = agent.next_request().await.respond_with_stream().await;
    let begun = line_after(&log, "query begun").await;
    let fields = format!("address=127.0.0.1 session=\"asks\" query=\"{UUID}\" suppressed=0");
    assert!(begun.ends_with(&fields), "{begun}");
    let tokens = json!({ "input": 7, "output": 3, "cached": 0, "thinking": 0 });
    let usage = json!({ "models": { "one": tokens, "two": tokens }, "milliseconds": 5 });
    let complete = json!({ "result": "done", "usage": usage });
    events.send_event("query_complete", complete).await;
    let ended = line_after(&log, "query ended").await;
    assert!(
        ended.contains(&format!("query=\"{UUID}\" outcome=\"ok\" ms=")),
        "{ended}"
    );
    assert!(
        ended.ends_with(" input_tokens=14 output_tokens=6 suppressed=0"),
        "{ended}"
    );
    assert!(!log.text().contains("a secret?"));
}
