//! What is sent has the shape of the examples in the providers' documentation.

use std::collections::BTreeSet;

use e2e::{Format, MockProvider, Turn};
use serde_json::{Value, json};

use super::{first_request, send};

/// A kind of event and where in it there is what.
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
        (
            Format::Ollama,
            include_str!("../documented/ollama-text.txt"),
            text(),
        ),
        (
            Format::Ollama,
            include_str!("../documented/ollama-call.txt"),
            call(),
        ),
    ];
    for (format, example, turn) in examples {
        let provider = MockProvider::start(turn).await;
        let answer = send(&provider, format, &first_request(format, "Hello")).await;
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
            // Of a shortened example.
            let is_usage = |place: &&&String| place.contains("usage");
            let added: Vec<_> = added
                .into_iter()
                .filter(|place| !is_usage(&place))
                .collect();
            assert_eq!(added, [""; 0], "{sent:?} beside {documented:?}");
        }
    }
}

/// The events of a stream but for `ping`, which may come at any time; one of several of the same
/// kind that follow each other.
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
    let mut places = BTreeSet::new();
    collect_paths("", data, &mut places);
    let words = [
        &data["type"],
        &data["delta"]["type"],
        &data["content_block"]["type"],
        &data["delta"]["stop_reason"],
        &data["object"],
        &data["choices"][0]["finish_reason"],
        &data["candidates"][0]["finishReason"],
        &data["done_reason"],
    ];
    let words: Vec<&str> = words.into_iter().filter_map(Value::as_str).collect();
    EventShape {
        kind: format!("{name} {}", words.join(" ")),
        paths: places,
    }
}

/// The places in a value, with the kind of what is there.
fn collect_paths(at: &str, value: &Value, places: &mut BTreeSet<String>) {
    match value {
        // A model's arguments are its own.
        Value::Object(_) if at.ends_with("args") || at.ends_with("arguments") => {
            places.insert(format!("{at}: object"));
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                collect_paths(&format!("{at}.{name}"), value, places);
            }
        }
        Value::Array(elements) => {
            places.insert(format!("{at}: array"));
            for value in elements {
                collect_paths(&format!("{at}[]"), value, places);
            }
        }
        Value::String(_) => drop(places.insert(format!("{at}: string"))),
        Value::Number(_) => drop(places.insert(format!("{at}: number"))),
        Value::Bool(_) => drop(places.insert(format!("{at}: boolean"))),
        Value::Null => drop(places.insert(format!("{at}: null"))),
    }
}
