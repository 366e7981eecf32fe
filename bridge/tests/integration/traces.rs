//! Spans of calls, and the traces that they belong to.

use bridge::{BridgeTraces, Config, ServerHandle};
use bridge_protocol::ToolCall;
use bridge_traces::attributes::{
    CALL_OUTCOME, CALL_RECEIVED, ERROR_TYPE, GEN_AI_TOOL_NAME, JSONRPC_REQUEST_ID, MCP_METHOD_NAME,
    MCP_PROTOCOL_VERSION,
};
use bridge_traces::testing::{CollectorAnswer, ReceivedSpan, TraceCollector};
use serde_json::{Value, json};

use crate::kit::*;
use crate::metrics::{config_with_metrics, scrape};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";
const VALID: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// A valid context of another trace.
const OTHER: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

fn traced(collector: &TraceCollector, config: Config) -> Config {
    Config {
        traces: BridgeTraces {
            otlp_endpoint: Some(collector.url().parse().unwrap()),
            ..BridgeTraces::default()
        },
        ..config
    }
}

async fn start_traced(collector: &TraceCollector) -> ServerHandle {
    start_bridge_with(traced(collector, test_config())).await
}

/// Calls `echo` with these members of `_meta` and this header, and returns the call of the page.
async fn call_echo(
    bridge: &ServerHandle,
    page: &mut Page,
    meta: Value,
    header: Option<&str>,
) -> ToolCall {
    let params = json!({ "name": "echo", "arguments": { "n": 1 }, "_meta": meta });
    let request = StatelessClient::new(bridge).build("tools/call", params);
    let request = match header {
        Some(header) => request.header("traceparent", header),
        None => request,
    };
    let response = with_deadline("response", request.send());
    let (response, call) = tokio::join!(response, page.serve_call(json!({ "n": 1 })));
    let response = rpc_response(response.unwrap()).await;
    assert_eq!(response["result"]["structuredContent"], json!({ "n": 1 }));
    call
}

fn traceparent(call: &ToolCall) -> &str {
    &call.context.trace.as_ref().unwrap().traceparent
}

/// Returns the only span with a name.
fn only<'a>(spans: &'a [ReceivedSpan], name: &str) -> &'a ReceivedSpan {
    let mut named = spans.iter().filter(|span| span.name == name);
    let span = named
        .next()
        .unwrap_or_else(|| panic!("no {name} in {spans:#?}"));
    assert_eq!(named.next(), None);
    span
}

#[tokio::test]
async fn a_call_joins_the_trace_of_its_client_and_passes_it_to_the_page() {
    let collector = TraceCollector::start().await;
    let bridge = start_traced(&collector).await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let meta = json!({ "traceparent": VALID, "tracestate": "vendor=1", "baggage": "user=ann" });
    let call = call_echo(&bridge, &mut page, meta, Some(OTHER)).await;
    bridge.shutdown().await;

    let spans = collector.spans();
    assert_eq!(spans.len(), 2, "{spans:#?}");
    let (request, of_page) = (
        only(&spans, "tools/call echo"),
        only(&spans, "tool-call echo"),
    );
    assert_eq!((&*request.trace, &*request.parent), (TRACE, PARENT));
    assert_eq!((&*of_page.trace, &of_page.parent), (TRACE, &request.id));
    assert_eq!((request.kind, of_page.kind), ("SERVER", "CLIENT"));
    assert_eq!(request.service, "mcp-web-bridge");
    for (key, value) in [
        (MCP_METHOD_NAME, "tools/call"),
        (MCP_PROTOCOL_VERSION, STATELESS_REVISION),
        (GEN_AI_TOOL_NAME, "echo"),
        (JSONRPC_REQUEST_ID, "1"),
        (CALL_OUTCOME, "ok"),
    ] {
        assert_eq!(request.attributes[key], value);
    }
    assert_eq!(of_page.events, [CALL_RECEIVED]);
    assert!(!spans.iter().any(|span| span.is_error));
    let trace = call.context.trace.unwrap();
    assert_eq!(trace.traceparent, format!("00-{TRACE}-{}-01", of_page.id));
    assert_eq!(trace.tracestate.as_deref(), Some("vendor=1"));
    assert_eq!(trace.baggage.as_deref(), Some("user=ann"));
    let text = format!("{spans:?}");
    for content in [TOKEN, "structuredContent", "user=ann"] {
        assert!(!text.contains(content), "{content} in {text}");
    }
}

#[tokio::test]
async fn hostile_contexts_are_ignored_and_the_call_succeeds() {
    let collector = TraceCollector::start().await;
    let bridge = start_traced(&collector).await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let long = format!("{VALID}{}", "-0".repeat(50_000));
    for hostile in [
        json!(null),
        json!(7),
        json!({}),
        json!([VALID]),
        json!(""),
        json!("00-0-0-0"),
        json!(VALID.to_uppercase()),
        json!(VALID.replacen("00", "ff", 1)),
        json!(format!("{VALID}\r\nx: y")),
        json!(long),
    ] {
        let meta = json!({ "traceparent": hostile, "tracestate": hostile, "baggage": hostile });
        let call = call_echo(&bridge, &mut page, meta.clone(), None).await;
        let new = traceparent(&call);
        assert!(
            new.starts_with("00-") && !new.contains(TRACE),
            "{hostile}: {new}"
        );
        // The context of the transport counts if there is no other.
        let call = call_echo(&bridge, &mut page, meta, Some(VALID)).await;
        assert!(traceparent(&call).contains(TRACE), "{hostile}");
        assert_eq!(call.context.trace.as_ref().unwrap().tracestate, None);
        let call = call_echo(&bridge, &mut page, json!({}), Some("00-0")).await;
        assert!(!traceparent(&call).contains(TRACE), "{hostile}");
    }
    bridge.shutdown().await;
    assert!(!collector.spans().is_empty());
}

#[tokio::test]
async fn without_an_endpoint_no_trace_reaches_the_page() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let meta = json!({ "traceparent": VALID });
    let call = call_echo(&bridge, &mut page, meta, Some(VALID)).await;
    assert_eq!(call.context.trace, None);
}

#[tokio::test]
async fn failures_have_their_codes_and_plain_http_its_own_span() {
    let collector = TraceCollector::start().await;
    let bridge = start_traced(&collector).await;
    let (mut page, client) = connect_page_and_client(&bridge).await;
    let failed = client.call("echo", json!({ "n": "one" })).await;
    assert_eq!(error_code(&failed["result"]), Some("InvalidArguments"));
    let (status, _) = post_tool_call(&bridge, "missing", json!({})).await;
    assert_eq!(status, 404);
    assert_echo(&bridge, &mut page).await;
    // A client that disconnects cancels its call.
    let call = post_tool_call(&bridge, "echo", json!({ "n": 2 }));
    let call = tokio::select! {
        call = page.recv_call() => call,
        _ = call => panic!("the page has not answered"),
    };
    page.expect_cancel(&call).await;
    bridge.shutdown().await;

    let spans = collector.spans();
    let of_mcp = only(&spans, "tools/call echo");
    assert_eq!(of_mcp.attributes[ERROR_TYPE], "InvalidArguments");
    let of_http: Vec<_> = spans
        .iter()
        .filter(|it| it.name == "POST /tool-call")
        .collect();
    let errors: Vec<_> = of_http
        .iter()
        .map(|it| it.attributes.get(ERROR_TYPE))
        .collect();
    let errors: Vec<_> = errors
        .into_iter()
        .map(|it| it.map(String::as_str))
        .collect();
    assert_eq!(errors, [Some("ToolNotFound"), None, Some("cancelled")]);
    assert!(
        of_http.iter().all(|it| it.parent.is_empty()),
        "{of_http:#?}"
    );
    let of_page: Vec<_> = spans
        .iter()
        .filter(|it| it.name == "tool-call echo")
        .collect();
    assert_eq!(of_page.len(), 2, "{of_page:#?}");
    assert_eq!(of_page[1].attributes[ERROR_TYPE], "CallCancelled");
}

#[tokio::test]
async fn a_collector_that_does_not_answer_delays_no_call_and_is_counted() {
    let collector = TraceCollector::start_with(CollectorAnswer::Refuse(429)).await;
    let mut config = traced(&collector, config_with_metrics());
    config.traces.max_queued_spans = 2;
    let bridge = start_bridge_with(config).await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let count = async |outcome: &str| {
        let name = format!("mcp_web_trace_spans_total{{outcome=\"{outcome}\"}}");
        scrape(&bridge).await[&name]
    };
    let calls = async {
        while count("dropped").await == 0.0 || count("failed").await == 0.0 {
            assert_echo(&bridge, &mut page).await;
        }
    };
    with_deadline("spans that are dropped", calls).await;
    assert_eq!(count("sent").await, 0.0);
    bridge.shutdown().await;
}
