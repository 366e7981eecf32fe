//! One trace through client, bridge, page, agent, its model and a database of PostgreSQL.

use std::collections::BTreeMap;

use agent::AgentTraces;
use agent_sources::PostgresServer;
use bridge::BridgeTraces;
use bridge_traces::attributes::{
    CALL_RECEIVED, DB_NAMESPACE, DB_OPERATION_NAME, DB_SYSTEM_NAME, ERROR_TYPE,
    GEN_AI_PROVIDER_NAME, GEN_AI_REQUEST_MODEL, GEN_AI_RESPONSE_FINISH_REASONS,
    GEN_AI_USAGE_INPUT_TOKENS, MCP_METHOD_NAME, SERVER_PORT, SOURCE,
};
use bridge_traces::testing::{ReceivedSpan, TraceCollector};
use reqwest::RequestBuilder;
use serde_json::{Value, json};

use crate::kit::*;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CLIENT_SPAN: &str = "00f067aa0ba902b7";

const SCHEMA: &str = "CREATE TABLE orders (item text); INSERT INTO orders VALUES ('secret tea');
    CREATE ROLE agent LOGIN PASSWORD 'hunter2'; GRANT SELECT ON orders TO agent;";

/// The guide, which shows the trace.
const GUIDE: &str = include_str!("../../../docs/operating.md");

/// Creates a call of a tool by an MCP client that is within a trace.
fn traced_call(bed: &TestBed, tool: &str) -> RequestBuilder {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
        "traceparent": format!("00-{TRACE}-{CLIENT_SPAN}-01"),
        "baggage": "user=ann",
    });
    let params = json!({ "name": tool, "arguments": {}, "_meta": meta });
    let request = http_client().post(format!("{}/mcp", bed.bridge.url()));
    let request = request
        .bearer_auth(TOKEN)
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call")
        .header("mcp-name", tool);
    let id = "request-of-the-client";
    request.json(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }))
}

/// Answers the call `plan` by asking the agent within its trace, as a handler does with `ctx.trace`.
async fn serve_plan(page: &mut Page, prompt: &str) {
    let plan = page.recv_call().await;
    assert_eq!(plan.tool_name, "plan");
    let trace = serde_json::to_value(&plan.context.trace).unwrap();
    let query = json!({ "type": "query", "uuid": UUID, "prompt": prompt, "context": [],
        "trace": trace });
    page.send_json(query).await;
    let card = page.recv_call().await;
    assert_eq!(card.tool_name, "add_card");
    let trace = card.context.trace.as_ref().unwrap();
    assert!(trace.traceparent.contains(TRACE), "{trace:?}");
    assert_eq!(trace.baggage.as_deref(), Some("user=ann"));
    page.respond(&card, json!({ "id": "secret-card" })).await;
    loop {
        let event = page.recv_type("query_").await;
        match event["type"].as_str().unwrap() {
            "query_accepted" | "query_progress" => {}
            "query_complete" => break,
            _ => panic!("{event}"),
        }
    }
    page.respond(&plan, json!({ "done": true })).await;
}

/// Draws the spans as a tree: a line for each, below its parent.
fn draw(spans: &[ReceivedSpan], parent: &str, depth: usize, picture: &mut String) {
    for span in spans.iter().filter(|span| span.parent == parent) {
        let indent = "  ".repeat(depth);
        let service = span.service.trim_start_matches("mcp-web-");
        picture.push_str(&format!(
            "{indent}{} {} {}\n",
            service, span.kind, span.name
        ));
        draw(spans, &span.id, depth + 1, picture);
    }
}

#[tokio::test]
async fn one_trace_goes_through_client_bridge_page_agent_and_database() {
    let server = PostgresServer::start();
    let admin = server.admin("postgres").await;
    admin.batch_execute("CREATE DATABASE shop").await.unwrap();
    server
        .admin("shop")
        .await
        .batch_execute(SCHEMA)
        .await
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let url = server.url("agent", "127.0.0.1", "shop");
    let tools = format!(
        "[sources.shop]\ntype = 'database'\nurl = '{url}'\npassword = 'hunter2'\n\
         tables = ['orders']\n\n\
         [profiles.all]\nallow = ['shop-*']\ngrant = ['read']\nself_made = true\n"
    );
    let tools_file = folder.path().join("tools.toml");
    std::fs::write(&tools_file, tools).unwrap();

    let collector = TraceCollector::start().await;
    let settings = agent::Config {
        tools_file: Some(tools_file),
        traces: AgentTraces {
            otlp_endpoint: Some(collector.url().parse().unwrap()),
            ..AgentTraces::default()
        },
        ..settings()
    };
    let traces = BridgeTraces {
        otlp_endpoint: Some(collector.url().parse().unwrap()),
        ..BridgeTraces::default()
    };
    let bed = TestBed::start_traced(settings, traces).await;
    let mut page = bed.connect_page().await;
    let prompt = "/add_card {\"title\": \"secret milk\"}\n\n\
        /shop-query {\"sql\": \"SELECT item FROM orders WHERE item <> 'secret literal'\"}";
    let call = status_and_body(traced_call(&bed, "plan"));
    let ((status, answer), ()) = tokio::join!(call, serve_plan(&mut page, prompt));
    assert_eq!(status, 200, "{answer}");
    bed.wait_for_running(0).await;
    bed.agent.shutdown().await;
    bed.bridge.shutdown().await;

    let mut spans = collector.spans();
    spans.retain(|span| span.trace == TRACE);
    // Siblings are drawn in the order of their names.
    spans.sort_by(|a, b| a.name.cmp(&b.name));
    let mut picture = String::new();
    draw(&spans, CLIENT_SPAN, 0, &mut picture);
    let expected = GUIDE.split("```text\nbridge SERVER").nth(1).unwrap();
    let expected = expected.split("```").next().unwrap();
    assert_eq!(picture, format!("bridge SERVER{expected}"));

    let named: BTreeMap<&str, &ReceivedSpan> = spans
        .iter()
        .map(|span| (span.name.as_str(), span))
        .collect();
    assert!(spans.iter().all(|span| !span.is_error), "{spans:#?}");
    assert_eq!(named["tool-call add_card"].events, [CALL_RECEIVED]);
    for (name, key, value) in [
        ("chat commands", GEN_AI_PROVIDER_NAME, "commands"),
        ("chat commands", GEN_AI_REQUEST_MODEL, "commands"),
        ("chat commands", GEN_AI_RESPONSE_FINISH_REASONS, "stop"),
        ("chat commands", GEN_AI_USAGE_INPUT_TOKENS, "0"),
        ("execute_tool add_card", MCP_METHOD_NAME, "tools/call"),
        ("execute_tool shop-query", SOURCE, "shop"),
        ("SELECT shop", DB_SYSTEM_NAME, "postgresql"),
        ("SELECT shop", DB_NAMESPACE, "shop"),
        ("SELECT shop", DB_OPERATION_NAME, "SELECT"),
        ("SELECT shop", SERVER_PORT, &server.port().to_string()),
    ] {
        let attributes = &named[name].attributes;
        assert_eq!(
            attributes.get(key).map(String::as_str),
            Some(value),
            "{name} {key}"
        );
    }
    let text = format!("{spans:?}");
    for content in [
        "secret",
        "hunter2",
        "user=ann",
        TOKEN,
        CREDENTIAL,
        UUID,
        "mcp-web-query-",
    ] {
        assert!(!text.contains(content), "{content} in {text}");
    }
}

#[tokio::test]
async fn a_frontend_brings_its_trace_in_headers_and_hostile_ones_are_ignored() {
    let collector = TraceCollector::start().await;
    let settings = agent::Config {
        traces: AgentTraces {
            otlp_endpoint: Some(collector.url().parse().unwrap()),
            ..AgentTraces::default()
        },
        ..settings()
    };
    let bed = TestBed::start_with(settings).await;
    let _page = bed.connect_page().await;
    let valid = format!("00-{TRACE}-{CLIENT_SPAN}-01");
    let ask = async |uuid: &str, traceparent: &str| -> Value {
        let request = bed.put(uuid, &prompt("/missing"));
        let request = streaming(request).bearer_auth(TOKEN);
        let request = request.header("traceparent", traceparent);
        EventStream::open(request).await.last().await
    };
    for (uuid, traceparent) in [("of-trace", valid.as_str()), ("hostile", "00-0-0-00")] {
        let last = ask(uuid, traceparent).await;
        assert_eq!(last["type"], "query_complete", "{last}");
    }
    bed.wait_for_running(0).await;
    bed.agent.shutdown().await;
    let spans = collector.spans();
    let queries = spans.iter().filter(|span| span.kind == "SERVER");
    let parents: Vec<_> = queries.map(|span| span.parent.as_str()).collect();
    assert_eq!(parents, [CLIENT_SPAN, ""]);
    let missing = spans
        .iter()
        .find(|span| span.name == "execute_tool missing")
        .unwrap();
    assert_eq!(missing.attributes[ERROR_TYPE], "unavailable");
}
