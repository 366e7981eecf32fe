//! The mock's streams have the shape of the examples in the providers' documentation.

use std::collections::BTreeSet;

use e2e::{Format, MockProvider, Turn};
use serde_json::{Value, json};

use super::{first_request, send};

/// The kind of an event, and the paths and types of its values.
#[derive(Debug, PartialEq)]
struct EventShape {
    kind: String,
    paths: BTreeSet<String>,
}

#[tokio::test]
async fn each_stream_has_the_shape_of_its_documented_example() {
    let text = || Turn::from_text("Hello").text("!");
    let call = || Turn::from_call("get_weather", json!({ "location": "San Francisco, CA" }));
    let examples = [
        (
            Format::Anthropic,
            include_str!("../documented/anthropic-text.txt"),
            text(),
        ),
        (
            Format::Anthropic,
            include_str!("../documented/anthropic-call.txt"),
            text().call("get_weather", json!({ "location": "San Francisco, CA" })),
        ),
        (
            Format::Anthropic,
            include_str!("../documented/anthropic-thinking.txt"),
            Turn::default()
                .thinking("Let me solve this")
                .text("27 * 453 = 12,231"),
        ),
        (
            Format::OpenAi,
            include_str!("../documented/openai-text.txt"),
            text(),
        ),
        (
            Format::OpenAi,
            include_str!("../documented/openai-call.txt"),
            call(),
        ),
        (
            Format::Gemini,
            include_str!("../documented/gemini-text.txt"),
            Turn::default(),
        ),
        (
            Format::Gemini,
            include_str!("../documented/gemini-call.txt"),
            call(),
        ),
    ];
    for (format, example, turn) in examples {
        let provider = MockProvider::start(turn).await;
        let mut request = first_request(format, "Hello");
        if example.contains("thinking_delta") {
            request["thinking"] = json!({ "type": "adaptive" });
        }
        let answer = send(&provider, format, &request).await;
        assert_eq!(answer.status(), 200);
        let sent = event_shapes(&answer.text().await.unwrap());
        let documented = event_shapes(example);
        let kinds = |shapes: &[EventShape]| -> Vec<String> {
            shapes.iter().map(|shape| shape.kind.clone()).collect()
        };
        assert_eq!(kinds(&sent), kinds(&documented), "{example}");
        for (sent, documented) in sent.iter().zip(&documented) {
            let missing: Vec<_> = documented.paths.difference(&sent.paths).collect();
            assert_eq!(missing, [""; 0], "{sent:?} beside {documented:?}");
            let added: Vec<_> = sent.paths.difference(&documented.paths).collect();
            // The examples omit some of the usage.
            let is_usage = |path: &&&String| path.contains("usage");
            let added: Vec<_> = added.into_iter().filter(|path| !is_usage(&path)).collect();
            assert_eq!(added, [""; 0], "{sent:?} beside {documented:?}");
        }
    }
}

/// Returns the shapes of a stream's events without `ping`, which may come at any time. Of
/// consecutive events with the same shape, only the first one is included.
fn event_shapes(stream: &str) -> Vec<EventShape> {
    let mut shapes: Vec<EventShape> = Vec::new();
    let mut name = "";
    for line in stream.lines().filter(|line| !line.starts_with('#')) {
        if let Some(event) = line.strip_prefix("event: ") {
            name = event;
            continue;
        }
        let data = line.strip_prefix("data: ").unwrap_or(line);
        if data.is_empty() || name == "ping" {
            continue;
        }
        let shape = match serde_json::from_str::<Value>(data) {
            Ok(data) => event_shape(name, &data),
            Err(_) => EventShape {
                kind: data.to_owned(),
                paths: BTreeSet::new(),
            },
        };
        if shapes.last() != Some(&shape) {
            shapes.push(shape);
        }
    }
    shapes
}

fn event_shape(name: &str, data: &Value) -> EventShape {
    let mut paths = BTreeSet::new();
    collect_paths("", data, &mut paths);
    let kinds = [
        &data["type"],
        &data["delta"]["type"],
        &data["content_block"]["type"],
        &data["delta"]["stop_reason"],
        &data["object"],
        &data["choices"][0]["finish_reason"],
        &data["candidates"][0]["finishReason"],
        &data["done_reason"],
    ];
    let kinds: Vec<&str> = kinds.into_iter().filter_map(Value::as_str).collect();
    EventShape {
        kind: format!("{name} {}", kinds.join(" ")),
        paths,
    }
}

/// Collects the paths in a value, with the type of the value at each.
fn collect_paths(path: &str, value: &Value, paths: &mut BTreeSet<String>) {
    match value {
        // The arguments of a call are arbitrary.
        Value::Object(_) if path.ends_with("args") || path.ends_with("arguments") => {
            paths.insert(format!("{path}: object"));
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                collect_paths(&format!("{path}.{name}"), value, paths);
            }
        }
        Value::Array(elements) => {
            paths.insert(format!("{path}: array"));
            for value in elements {
                collect_paths(&format!("{path}[]"), value, paths);
            }
        }
        Value::String(_) => drop(paths.insert(format!("{path}: string"))),
        Value::Number(_) => drop(paths.insert(format!("{path}: number"))),
        Value::Bool(_) => drop(paths.insert(format!("{path}: boolean"))),
        Value::Null => drop(paths.insert(format!("{path}: null"))),
    }
}
