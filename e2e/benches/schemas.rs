//! The cost of validating arguments and results of ten tools, as the bridge does it and as it would
//! be if each text was parsed.
//!
//! Run it with `cargo bench -p e2e --bench schemas`.
#![allow(clippy::unwrap_used)]

use std::hint::black_box;

use bridge_schema::value_count::{self, MAX_VALUES};
use bridge_schema::{Effort, TextVerdict, Validator};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use serde_json::{Value, json};

/// A tool's schema with arguments or a result.
struct Case {
    name: &'static str,
    schema: Value,
    value: Value,
}

fn validation(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("validation of text");
    for case in tools().into_iter().chain(large()) {
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
    validator
        .try_validate(&value, Effort::Full)
        .unwrap()
        .is_ok()
}

/// Ten schemas in the form of those of well-known servers and of the demo.
fn tools() -> Vec<Case> {
    [github(), stripe(), servers(), demo()]
        .into_iter()
        .flatten()
        .collect()
}

/// The arguments of tools of GitHub's server.
fn github() -> Vec<Case> {
    let text = json!({"type": "string", "description": "A text"});
    let issue = json!({
        "type": "object",
        "properties": {
            "owner": text, "repo": text, "title": text, "body": text,
            "assignees": {"type": "array", "items": text},
            "labels": {"type": "array", "items": text},
            "milestone": {"type": "number"},
        },
        "required": ["owner", "repo", "title"],
    });
    let search = json!({
        "type": "object",
        "properties": {
            "query": text, "owner": text, "repo": text,
            "sort": {"type": "string", "enum": ["comments", "reactions", "created", "updated"]},
            "order": {"type": "string", "enum": ["asc", "desc"]},
            "page": {"type": "number", "minimum": 1},
            "perPage": {"type": "number", "minimum": 1, "maximum": 100},
        },
        "required": ["query"],
    });
    let file = json!({
        "type": "object",
        "properties": {"path": text, "content": text},
        "required": ["path", "content"],
        "additionalProperties": false,
    });
    let push = json!({
        "type": "object",
        "properties": {"owner": text, "repo": text, "branch": text, "message": text,
            "files": {"type": "array", "items": file}},
        "required": ["owner", "repo", "branch", "files", "message"],
    });
    let lines = "fn main() {\n    println!(\"Hello\");\n}\n".repeat(20);
    vec![
        Case {
            name: "github: create an issue",
            schema: issue,
            value: json!({"owner": "mcp-web", "repo": "mcp-web", "title": "A page is slow",
                "body": "It takes two seconds.\nThe table has 1,000 rows.",
                "labels": ["bug", "performance"], "assignees": ["anna"]}),
        },
        Case {
            name: "github: search issues",
            schema: search,
            value: json!({"query": "is:open label:bug", "owner": "mcp-web", "repo": "mcp-web",
                "sort": "updated", "order": "desc", "page": 1, "perPage": 30}),
        },
        Case {
            name: "github: push files",
            schema: push,
            value: json!({"owner": "mcp-web", "repo": "mcp-web", "branch": "main",
                "message": "Add examples", "files": [
                    {"path": "examples/a.rs", "content": lines},
                    {"path": "examples/b.rs", "content": lines}]}),
        },
    ]
}

/// The arguments of tools of Stripe's server.
fn stripe() -> Vec<Case> {
    let id = json!({"type": "string", "description": "An id"});
    let list = json!({
        "type": "object",
        "properties": {
            "customer": {"type": "string", "pattern": "^cus_[A-Za-z0-9]+$"},
            "limit": {"type": "integer", "minimum": 1, "maximum": 100},
            "status": {"anyOf": [{"type": "string", "enum": ["draft", "open", "paid", "void"]},
                {"type": "null"}]},
        },
        "additionalProperties": false,
    });
    let refund = json!({
        "type": "object",
        "properties": {
            "payment_intent": id,
            "amount": {"type": "integer", "exclusiveMinimum": 0},
            "reason": {"type": "string",
                "enum": ["duplicate", "fraudulent", "requested_by_customer"]},
            "metadata": {"type": "object", "additionalProperties": {"type": "string"}},
        },
        "required": ["payment_intent"],
        "additionalProperties": false,
    });
    vec![
        Case {
            name: "stripe: list invoices",
            schema: list,
            value: json!({"customer": "cus_Nffrtt4Hfi3Vw8", "limit": 25, "status": null}),
        },
        Case {
            name: "stripe: create a refund",
            schema: refund,
            value: json!({"payment_intent": "pi_3MtwBwLkdIwHu7ix28a3tqPa", "amount": 1099,
                "reason": "requested_by_customer",
                "metadata": {"order": "A-1007", "agent": "support"}}),
        },
    ]
}

/// A tool of the server for files, and one of the server that has everything.
fn servers() -> Vec<Case> {
    let edit = json!({
        "type": "object",
        "properties": {"oldText": {"type": "string"}, "newText": {"type": "string"}},
        "required": ["oldText", "newText"],
        "additionalProperties": false,
    });
    let edits = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "edits": {"type": "array", "items": edit},
            "dryRun": {"type": "boolean", "default": false},
        },
        "required": ["path", "edits"],
        "additionalProperties": false,
    });
    let weather = json!({
        "type": "object",
        "properties": {
            "temperature": {"type": "number", "description": "In degrees Celsius"},
            "conditions": {"type": "string"},
            "humidity": {"type": "number"},
        },
        "required": ["temperature", "conditions", "humidity"],
        "additionalProperties": false,
    });
    vec![
        Case {
            name: "filesystem: edit a file",
            schema: edits,
            value: json!({"path": "/srv/notes/today.md", "dryRun": true, "edits": [
                {"oldText": "- call \"Anna\"", "newText": "- call \"Anna\" at 10:00"},
                {"oldText": "# Monday\n", "newText": "# Tuesday\n"}]}),
        },
        Case {
            name: "everything: structured content",
            schema: weather,
            value: json!({"temperature": 21.5, "conditions": "Partly cloudy", "humidity": 65}),
        },
    ]
}

/// Tools of the demo: the arguments of two, and the result of one.
fn demo() -> Vec<Case> {
    let update = json!({
        "type": "object",
        "properties": {
            "id": {"type": "string", "minLength": 1},
            "title": {"type": "string", "minLength": 1, "maxLength": 120},
            "note": {"type": "string", "maxLength": 2000},
            "due": {"type": "string", "pattern": "^(\\d{4}-\\d{2}-\\d{2})?$"},
        },
        "required": ["id"],
        "additionalProperties": false,
    });
    let plan = json!({
        "type": "object",
        "properties": {
            "today": {"type": "array", "items": {"type": "string"}, "minItems": 1,
                "maxItems": 20, "uniqueItems": true},
            "reason": {"type": "string", "maxLength": 600},
        },
        "required": ["today"],
        "additionalProperties": false,
    });
    vec![
        Case {
            name: "demo: update a card",
            schema: update,
            value: json!({"id": "c17", "title": "Write the report", "due": "2026-07-28"}),
        },
        Case {
            name: "demo: plan a day",
            schema: plan,
            value: json!({"today": ["c17", "c3", "c22", "c4"],
                "reason": "The report is due tomorrow, and the others wait for it."}),
        },
        Case {
            name: "demo: list cards, 1 KB",
            schema: cards(),
            value: board(1_000),
        },
    ]
}

/// Larger results of the demo.
fn large() -> Vec<Case> {
    [
        ("demo: list cards, 100 KB", 100_000),
        ("demo: list cards, 1 MB", 1_000_000),
    ]
    .map(|(name, bytes)| Case {
        name,
        schema: cards(),
        value: board(bytes),
    })
    .into()
}

fn cards() -> Value {
    let card = json!({
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "title": {"type": "string"},
            "column": {"type": "string", "enum": ["todo", "doing", "done"]},
            "position": {"type": "integer"},
            "label": {"type": "string"},
            "due": {"type": "string"},
            "done": {"type": "boolean"},
        },
        "required": ["id", "title", "column"],
    });
    json!({
        "type": "object",
        "properties": {"cards": {"type": "array", "items": card}},
        "required": ["cards"],
        "additionalProperties": false,
    })
}

/// A result of about this size.
fn board(bytes: usize) -> Value {
    let card = |n: usize| {
        json!({"id": format!("c{n}"), "title": format!("Card number {n}"), "column": "todo",
            "position": n, "label": "work", "due": "", "done": n.is_multiple_of(2)})
    };
    let one = card(10_000).to_string().len();
    let cards: Vec<_> = (0..bytes.div_ceil(one)).map(card).collect();
    json!({ "cards": cards })
}

criterion_group!(benches, validation);
criterion_main!(benches);
