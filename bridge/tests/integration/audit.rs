//! The audit log: one line for each call that has ended.

use std::time::Duration;

use bridge::{Audit, Config, Profile, Secret};
use bridge_output::CapturedLog;
use bridge_protocol::invisible::is_invisible;
use serde_json::{Value, json};

use crate::compat::kit::compat_config;
use crate::kit::*;

const METRICS_TOKEN: &str = "metrics-token-of-the-operator-0123456789";

const GUIDE: &str = include_str!("../../../docs/operating.md");

fn audited(audit: Audit, mut config: Config) -> Config {
    config.monitoring.audit = audit;
    config
}

/// The lines of the audit log, from their first field on.
pub(crate) fn lines(log: &str) -> Vec<&str> {
    let lines = log.lines().filter_map(|line| line.split_once(" audit: "));
    lines.map(|(_, line)| line).collect()
}

/// The value of a field in a line, without its quotes.
pub(crate) fn field<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(&format!(" {name}="))?;
    Some(match rest.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next().unwrap(),
        None => rest.split(' ').next().unwrap(),
    })
}

/// The kind, name, outcome and code of each call in the log.
fn outcomes(log: &str) -> Vec<(&str, &str, &str, Option<&str>)> {
    let fields = |line| {
        let required = |name| field(line, name).unwrap_or_else(|| panic!("no {name}: {line}"));
        let code = field(line, "code");
        (
            required("kind"),
            required("name"),
            required("outcome"),
            code,
        )
    };
    lines(log).into_iter().map(fields).collect()
}

#[tokio::test]
async fn calls_are_not_logged_unless_this_is_configured() {
    let (log, _guard) = CapturedLog::start();
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    assert_echo(&bridge, &mut page).await;
    let text = log.text();
    assert!(text.contains("page connected"), "the log was captured");
    assert!(!text.contains(" audit: "), "{text}");
}

#[tokio::test]
async fn a_line_names_caller_tool_and_page_and_has_arguments_only_if_configured() {
    for audit in [Audit::Calls, Audit::CallsWithArguments] {
        let (log, _guard) = CapturedLog::start();
        let bridge = start_bridge_with(audited(audit, test_config())).await;
        let (mut page, client) = connect_page_and_client(&bridge).await;
        client.assert_echo(&mut page).await;
        let text = log.text();
        let lines = lines(&text);
        assert_eq!(lines.len(), 1, "{lines:?}");
        for (name, value) in [
            ("client", Some(CLIENT_NAME)),
            ("subject", None),
            ("transport", Some("mcp")),
            ("address", Some("127.0.0.1")),
            ("session", Some("s")),
            ("page_address", Some("127.0.0.1")),
            ("kind", Some("tool")),
            ("name", Some("echo")),
            ("outcome", Some("ok")),
            ("code", None),
        ] {
            assert_eq!(field(lines[0], name), value, "{name}: {}", lines[0]);
        }
        assert_eq!(field(lines[0], "realm").map(str::len), Some(8));
        let ms: u64 = field(lines[0], "ms").unwrap().parse().unwrap();
        assert!(ms < 20_000);
        let arguments = lines[0].contains(r#"arguments="{\"n\":1}""#);
        assert_eq!(
            arguments,
            audit == Audit::CallsWithArguments,
            "{}",
            lines[0]
        );
        assert!(!text.contains(TOKEN), "{text}");
    }
}

#[tokio::test]
async fn every_character_of_a_line_is_visible() {
    let (log, _guard) = CapturedLog::start();
    let bridge = start_bridge_with(audited(Audit::CallsWithArguments, test_config())).await;
    let hidden = "a\u{202e}\u{200b}\u{fe01}\u{3164}\u{2800}\u{e0041}";
    post_tool_call(&bridge, hidden, json!({ hidden: hidden })).await;
    let text = log.text();
    let line = lines(&text)[0];
    assert!(!line.contains(is_invisible), "{line}");
    let name = r"a\u{202e}\u{200b}\u{fe01}\u{3164}\u{2800}\u{e0041}";
    assert_eq!(field(line, "name"), Some(name));
    let arguments = r"a\\u202e\\u200b\\ufe01\\u3164\\u2800\\udb40\\udc41";
    assert_eq!(line.matches(arguments).count(), 2, "{line}");
}

#[tokio::test]
async fn each_outcome_is_logged() {
    let (log, _guard) = CapturedLog::start();
    let mut config = audited(Audit::Calls, test_config());
    config.calls.max_calls = 1;
    let bridge = start_bridge_with(config).await;
    let (mut page, client) = connect_page_and_client(&bridge).await;
    post_tool_call(&bridge, "echo", json!({ "n": "one" })).await;
    post_tool_call(&bridge, "missing", json!({})).await;
    let call = json!({ "name": "echo", "arguments": { "n": 1 } });
    let _open = client
        .post(&rpc_request(5, "tools/call", call.clone()))
        .await;
    page.recv_call().await;
    post_tool_call(&bridge, "echo", json!({ "n": 2 })).await;
    client.cancel_request(5).await;
    page.recv_call_cancel().await;
    let eliciting = StatelessClient::with_capabilities(&bridge, json!({ "elicitation": {} }));
    let handler = async {
        let call = page.recv_call().await;
        let request = json!({ "key": "k", "method": "elicitation/create", "params": {
            "message": "?", "requestedSchema": { "type": "object", "properties": {} } } });
        let id = call.request_id.as_str();
        page.send_json(json!({ "type": "client-requests", "requestId": id,
            "requests": [request] }))
            .await;
    };
    tokio::join!(eliciting.request("tools/call", call), handler);
    let text = log.text();
    assert_eq!(
        outcomes(&text),
        [
            ("tool", "echo", "failed", Some("InvalidArguments")),
            ("tool", "missing", "failed", Some("ToolNotFound")),
            ("tool", "echo", "failed", Some("CallLimitExceeded")),
            ("tool", "echo", "cancelled", None),
            ("tool", "echo", "input_required", None),
        ]
    );
    assert_eq!(field(lines(&text)[0], "transport"), Some("http"));
    let refusal = "refused kind=\"max_calls\" address=127.0.0.1 route=\"/tool-call\"";
    assert!(text.contains(refusal), "{text}");
}

#[tokio::test]
async fn a_call_with_a_handle_is_logged_again_when_it_ends() {
    let (log, _guard) = CapturedLog::start();
    let profile = Profile {
        patience: Some(Duration::from_millis(100)),
        ..Profile::default()
    };
    let mut config = Config {
        profiles: test_client_profile(profile),
        ..audited(Audit::Calls, test_config())
    };
    config.monitoring.metrics_token = Some(Secret::from_trusted(METRICS_TOKEN.to_owned()));
    let bridge = start_bridge_with(config).await;
    let (mut page, client) = connect_page_and_client(&bridge).await;
    let (answer, call) = tokio::join!(client.call("echo", json!({ "n": 1 })), page.recv_call());
    let handle = &answer["result"]["_meta"]["mcp-web/handle"];
    page.respond(&call, json!({ "n": 1 })).await;
    client.call("get_result", json!({ "handle": handle })).await;
    assert_eq!(
        outcomes(&log.text()),
        [
            ("tool", "echo", "background", None),
            ("background", "echo", "ok", None),
            ("tool", "get_result", "ok", None),
        ]
    );
    let series = crate::metrics::scrape(&bridge).await;
    let calls = |kind: &str, outcome: &str| {
        let labels = format!("kind=\"{kind}\",outcome=\"{outcome}\",code=\"\"");
        series[&format!("mcp_web_calls_total{{{labels}}}")]
    };
    assert_eq!(calls("tool", "background"), 1.0);
    assert_eq!(calls("background", "ok"), 1.0);
}

#[tokio::test]
async fn calls_of_clients_of_mcp_web_0_1_are_logged() {
    let (log, _guard) = CapturedLog::start();
    let bridge = start_bridge_with(audited(Audit::CallsWithArguments, compat_config())).await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let call = rpc_request(
        1,
        "tools/call",
        json!({ "name": "echo", "arguments": { "n": 1 } }),
    );
    let request = http_client().post(bridge.url()).bearer_auth(TOKEN);
    let (answer, ()) = tokio::join!(request.json(&call).send(), page.echo_call());
    let answer: Value = answer.unwrap().json().await.unwrap();
    assert_eq!(answer["id"], 1, "{answer}");
    let text = log.text();
    assert_eq!(outcomes(&text), [("tool", "echo", "ok", None)]);
    let line = lines(&text)[0];
    assert_eq!(field(line, "session"), Some("s"));
    assert!(line.ends_with(r#"arguments="{\"n\":1}""#), "{line}");
    assert!(!text.contains(TOKEN), "{text}");
}

#[test]
fn the_guide_shows_a_line_with_all_fields() {
    let line = GUIDE.lines().find(|line| line.contains(" audit: call "));
    let line = line.expect("an example");
    for name in [
        "realm",
        "subject",
        "client",
        "transport",
        "address",
        "session",
        "page_address",
        "kind",
        "name",
        "outcome",
        "code",
        "ms",
        "arguments",
    ] {
        assert!(field(line, name).is_some(), "{name}");
    }
}
