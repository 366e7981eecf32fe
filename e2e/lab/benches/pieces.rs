//! The cost of the parts of a call, without sockets: decoding and encoding messages, a call
//! in the realm, listing the tools, the spans of a trace, and validating texts as the bridge does it, and
//! as it would be if each text was parsed.
//!
//! Run it with `cargo bench -p lab`. `cargo xtask bench` measures whole calls.
#![allow(clippy::unwrap_used)]

use std::hint::black_box;
use std::time::Duration;

use bridge::in_memory::{InMemoryBridge, new_bridge};
use bridge::{Config, PageLimits};
use bridge_protocol::{CallResponse, Kind, PageToBridge};
use bridge_schema::value_count::{self, MAX_VALUES};
use bridge_schema::{Effort, TextVerdict, Validator};
use bridge_traces::attributes::GEN_AI_TOOL_NAME;
use bridge_traces::{SpanRole, TraceSettings, Traces};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

const NOW: Duration = Duration::from_secs(1);
const TOOLS: usize = 10;

/// Returns a result of about this size: rows like those of a table.
fn rows(bytes: usize) -> Box<RawValue> {
    let row = |n: usize| json!({ "id": n, "title": format!("Card number {n}"), "done": n.is_multiple_of(2) });
    let one = row(100_000).to_string().len();
    let rows: Vec<_> = (0..bytes.div_ceil(one)).map(row).collect();
    to_raw_value(&json!({ "rows": rows })).unwrap()
}

fn codec(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("codec");
    let received = r#"{"type":"call-received","requestId":"5c1f0b62-17"}"#;
    group.bench_function("read call-received", |bencher| {
        bencher.iter(|| PageToBridge::decode(black_box(received)).unwrap());
    });
    for (name, bytes) in [("1 KB", 1_000), ("100 KB", 100_000), ("1 MB", 1_000_000)] {
        let response = PageToBridge::CallResponse(CallResponse {
            request_id: "5c1f0b62-17".into(),
            result: Some(rows(bytes)),
            content: None,
            structured_content: None,
            meta: None,
        });
        let text = response.encode();
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(BenchmarkId::new("read call-response", name), |bencher| {
            bencher.iter(|| PageToBridge::decode(black_box(&text)).unwrap());
        });
    }
    group.finish();
}

fn definition(page: usize, tool: usize) -> Value {
    json!({
        "name": format!("tool_{page}_{tool}"),
        "description": "Moves a card of the board to another column and says where it is now.",
        "inputSchema": {
            "type": "object",
            "properties": { "id": { "type": "string" }, "column": { "enum": ["todo", "doing", "done"] } },
            "required": ["id", "column"],
            "additionalProperties": false,
        },
    })
}

/// Creates a bridge with this many pages of one token, each with its own tools.
fn bridge_with(pages: usize) -> InMemoryBridge {
    let config = Config {
        page_limits: PageLimits {
            max_sessions: pages,
            ..PageLimits::default()
        },
        ..Config::default()
    };
    let mut bridge = new_bridge(&config, "bench", 0, |_| Some(None));
    for page in 0..pages {
        let connection = page as u64;
        bridge.connection_opened(connection, &session(page));
        let authenticate = json!({ "type": "authenticate", "authToken": "token", "protocol": 2 });
        bridge.frame_arrived(connection, &authenticate.to_string(), NOW);
        let items: Vec<_> = (0..TOOLS)
            .map(|tool| json!({ "kind": "tool", "definition": definition(page, tool) }))
            .collect();
        let register = json!({ "type": "register", "registrationId": "r", "items": items });
        bridge.frame_arrived(connection, &register.to_string(), NOW);
    }
    assert_eq!(bridge.listed(Kind::Tool).len(), pages * TOOLS);
    bridge
}

fn session(page: usize) -> String {
    format!("session-{page}")
}

/// Measures one realm. Realms do not affect each other, so others are not needed.
fn realm(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("realm");
    for pages in [1, 256] {
        let mut bridge = bridge_with(pages);
        let last = (
            session(pages - 1),
            format!("tool_{}_{}", pages - 1, TOOLS - 1),
        );
        group.bench_function(BenchmarkId::new("list the tools", pages), |bencher| {
            bencher.iter(|| black_box(&bridge).listed(Kind::Tool));
        });
        let connection = pages as u64 - 1;
        group.bench_function(
            BenchmarkId::new("a call, without sockets", pages),
            |bencher| {
                bencher.iter(|| {
                    let timeout = Duration::from_secs(60);
                    let (call, _) = bridge.call(&last.0, &last.1, timeout, NOW).unwrap();
                    let call = call.as_str();
                    let received = format!(r#"{{"type":"call-received","requestId":"{call}"}}"#);
                    bridge.frame_arrived(connection, &received, NOW);
                    let answer = format!(
                        r#"{{"type":"call-response","requestId":"{call}","result":{{"ok":true}}}}"#
                    );
                    assert!(!bridge.frame_arrived(connection, &answer, NOW).is_empty());
                });
            },
        );
    }
    group.finish();
}

/// A schema of arguments or results, and a value that is valid under it.
struct Case {
    name: &'static str,
    schema: Value,
    value: Value,
}

fn cases() -> [Case; 3] {
    let text = json!({ "type": "string", "description": "A text" });
    let issue = json!({
        "type": "object",
        "properties": { "owner": text, "repo": text, "title": text,
            "labels": { "type": "array", "items": text }, "milestone": { "type": "number" } },
        "required": ["owner", "repo", "title"],
    });
    let row = json!({ "type": "object", "properties": { "id": { "type": "integer" },
        "title": { "type": "string" }, "done": { "type": "boolean" } }, "required": ["id"] });
    let table =
        json!({ "type": "object", "properties": { "rows": { "type": "array", "items": row } } });
    let case = |name, schema: &Value, value| Case {
        name,
        schema: schema.clone(),
        value,
    };
    let rows = |bytes| serde_json::from_str(rows(bytes).get()).unwrap();
    let arguments = json!({ "owner": "mcp-web", "repo": "mcp-web", "title": "A page is slow",
        "labels": ["bug", "performance"] });
    [
        case("create an issue", &issue, arguments),
        case("rows, 1 KB", &table, rows(1_000)),
        case("rows, 100 KB", &table, rows(100_000)),
    ]
}

fn validation(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("validation of text");
    for case in cases() {
        let validator = Validator::new(case.schema).unwrap();
        let text = case.value.to_string();
        let verdict = validator.text_verdict(&text, Effort::Full);
        assert_eq!(verdict, Some(TextVerdict::Valid), "{}", case.name);
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(BenchmarkId::new("without parsing", case.name), |bencher| {
            bencher.iter(|| {
                let outcome = validator.try_validate_text(black_box(&text), Effort::Full);
                assert!(outcome.unwrap().is_ok());
            });
        });
        group.bench_function(BenchmarkId::new("parsed", case.name), |bencher| {
            bencher.iter(|| assert!(is_valid_when_parsed(&validator, black_box(&text))));
        });
    }
    group.finish();
}

/// Parses a text and validates the value.
fn is_valid_when_parsed(validator: &Validator, text: &str) -> bool {
    if value_count::exceeds(text, MAX_VALUES) {
        return false;
    }
    let value: Value = serde_json::from_str(text).unwrap();
    let outcome = validator.try_validate(&value, Effort::Full);
    outcome.unwrap().is_ok()
}

/// The two spans of a call: without traces, in a trace that is not recorded, and recorded. Nothing
/// listens at the endpoint, so that most spans are dropped at the full queue.
fn traces(criterion: &mut Criterion) {
    let runtime = Runtime::new().unwrap();
    let _entered = runtime.enter();
    let mut group = criterion.benchmark_group("traces");
    let endpoint = Some("http://127.0.0.1:9");
    for (name, endpoint, trace_ratio) in [
        ("off", None, 1.0),
        ("not recorded", endpoint, 0.0),
        ("recorded", endpoint, 1.0),
    ] {
        let settings = TraceSettings {
            otlp_endpoint: endpoint.map(|url| url.parse().unwrap()),
            trace_ratio,
            ..TraceSettings::default()
        };
        let traces = Traces::start(&settings, "lab", "0").unwrap();
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let scope = black_box(&traces).scope(|| None);
                let request = scope.begin(SpanRole::Server, || "tools/call tool_1".to_owned());
                request.set_text(GEN_AI_TOOL_NAME, black_box("tool_1"));
                let page = request.begin(SpanRole::Client, || "tool-call tool_1".to_owned());
                black_box(page.trace_context())
            });
        });
    }
    group.finish();
}

criterion_group!(benches, codec, realm, traces, validation);
criterion_main!(benches);
