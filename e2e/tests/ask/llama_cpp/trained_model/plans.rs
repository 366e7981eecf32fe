//! Answers in the format of a schema.

use std::env;
use std::time::Instant;

use e2e::{Format, PageTool};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use super::{Arguments, TrainedTestBed, pieces, print_figures, result};
use crate::test_bed::{QueryEvents, query, query_tool};

/// The number of prompts that are sent, unless the variable `MCP_WEB_PLANS` sets it (at most 20). Each takes
/// eleven seconds of a processor.
const PLANS: usize = 2;

/// The number of prompts that are sent for a call of a tool, which takes up to three turns.
const PLANS_AS_CALLS: usize = 1;

/// The maximum output of a plan in tokens. One that complies with its schema has at most 120.
const MAX_PLAN_TOKENS: &str = "200";

static PROMPTS: [&str; 20] = [
    "Plan how to sort the board.",
    "Plan a day with two tasks.",
    "Plan the removal of old cards.",
    "Plan to add a card for milk.",
    "Plan what to do first.",
    "Plan the move of all cards to done.",
    "Plan a short meeting.",
    "Plan how to write a letter.",
    "Plan the cleaning of the kitchen.",
    "Plan a walk in the park.",
    "Plan how to paint a wall.",
    "Plan a birthday party.",
    "Plan the repair of a bicycle.",
    "Plan how to learn ten words.",
    "Plan a visit to the library.",
    "Plan how to plant a tree.",
    "Plan the shopping for dinner.",
    "Plan a phone call.",
    "Plan how to pack a bag.",
    "Plan the end of the week.",
];

/// The schema of a plan. Everything in it is bounded: only the grammar ends what this model writes.
pub(super) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "title": { "type": "string", "maxLength": 40 },
            "steps": steps(),
        },
        "required": ["title", "steps"],
        "additionalProperties": false,
    })
}

fn steps() -> Value {
    json!({
        "type": "array",
        "minItems": 1,
        "maxItems": 3,
        "items": {
            "type": "object",
            "properties": {
                "tool": { "enum": ["add_card", "move_card", "remove_card"] },
                "column": { "enum": ["todo", "doing", "done"] },
                "minutes": { "type": "integer", "minimum": 1, "maximum": 60 },
            },
            "required": ["tool", "column", "minutes"],
            "additionalProperties": false,
        },
    })
}

pub(super) fn raw(schema: &Value) -> Box<RawValue> {
    to_raw_value(schema).unwrap()
}

fn is_plan(value: &Value) -> bool {
    jsonschema::validator_for(&schema())
        .unwrap()
        .is_valid(value)
}

fn prompts(default: usize) -> &'static [&'static str] {
    let count = env::var("MCP_WEB_PLANS").map_or(default, |count| count.parse().unwrap());
    &PROMPTS[..count]
}

/// Asks for plans, and returns the events of each query.
async fn ask_for_plans(bed: &TrainedTestBed, prompts: &[&str]) -> Vec<QueryEvents> {
    let page = bed.page(vec![]).await;
    let mut answers = Vec::new();
    for (number, prompt) in prompts.iter().enumerate() {
        let mut query = query(&format!("q-{number}"), prompt);
        query.response_schema = Some(raw(&schema()));
        answers.push(QueryEvents::run(&page, query).await);
    }
    answers
}

#[tokio::test]
async fn plans_comply_with_their_schema() {
    let prompts = prompts(PLANS);
    let count = prompts.len();
    let (bed, tap) = TrainedTestBed::start_with_tap(Format::OpenAi, Arguments::default()).await;
    let started = Instant::now();
    let answers = ask_for_plans(&bed, prompts).await;
    let seconds = started.elapsed().as_secs_f64();
    for events in &answers {
        assert!(is_plan(result(events)), "{events:?}");
    }
    // Each plan is the first answer of the model.
    assert_eq!(tap.count("\"response_format\""), count);
    let started = Instant::now();
    let mut valid = 0;
    for prompt in prompts {
        valid += usize::from(is_plan(&answer_without_format(&bed, prompt).await));
    }
    let seconds_without = started.elapsed().as_secs_f64();
    print_figures(&format!(
        "writes {count} of {count} valid plans in the format of a schema ({seconds:.1} s), and {valid} \
         of {count} if the schema is only in the prompt ({seconds_without:.1} s)"
    ));
    bed.assert_idle_without_leaks().await;
}

/// Asks the server past the agent, with the schema as a part of the prompt.
async fn answer_without_format(bed: &TrainedTestBed, prompt: &str) -> Value {
    let schema = schema();
    let system = format!("Answer with one JSON object only, by this JSON schema: {schema}");
    let body = json!({
        "model": "mock",
        "messages": [
            { "role": "system", "content": system },
            { "role": "user", "content": prompt },
        ],
        "max_tokens": MAX_PLAN_TOKENS.parse::<u32>().unwrap(),
    });
    let answer = bed.server.post("/v1/chat/completions", &body).await;
    let text = &answer["choices"][0]["message"]["content"];
    let text = text.as_str().unwrap_or_else(|| panic!("{answer}"));
    serde_json::from_str(text).unwrap_or_default()
}

/// Without a format, a plan is the arguments of a tool that the model does not call by itself. Its
/// server forces the call: it reads the tools in this chat template.
#[tokio::test]
async fn plans_are_arguments_where_the_text_has_no_format() {
    let prompts = prompts(PLANS_AS_CALLS);
    let arguments = Arguments {
        server: &["--tools-in-prompt", "--context", "4096"],
        agent: &["--max-output-tokens", MAX_PLAN_TOKENS],
        ..Arguments::default()
    };
    let bed = TrainedTestBed::start(Format::Anthropic, arguments).await;
    let started = Instant::now();
    let answers = ask_for_plans(&bed, prompts).await;
    let seconds = started.elapsed().as_secs_f64();
    let plans = answers.iter().map(QueryEvents::last);
    let plans = plans.filter(|last| last["type"] == "query_complete");
    let plans: Vec<_> = plans.map(|last| &last["result"]).collect();
    assert!(plans.iter().all(|plan| is_plan(plan)), "{answers:?}");
    let (valid, count) = (plans.len(), prompts.len());
    print_figures(&format!(
        "writes {valid} of {count} valid plans as arguments of a tool ({seconds:.1} s)"
    ));
    bed.assert_idle_without_leaks().await;
}

#[tokio::test]
async fn any_language_is_streamed_whole() {
    // A character is up to four tokens of this model.
    let text = "Grüße für 5 € an 東京 😀";
    let bed = TrainedTestBed::start(Format::OpenAi, Arguments::default()).await;
    let page = bed.page(vec![]).await;
    let mut greeting = query("q-1", "Write the greeting.");
    greeting.response_schema = Some(raw(&json!({
        "type": "object",
        "properties": { "text": { "enum": [text] } },
        "required": ["text"],
        "additionalProperties": false,
    })));
    let events = QueryEvents::run(&page, greeting).await;
    let expected = json!({ "text": text });
    assert_eq!(result(&events), &expected, "{events:?}");
    let pieces = pieces(&events, "tool-arguments", "delta");
    assert!(pieces.len() > 1, "{events:?}");
    let streamed: Value = serde_json::from_str(&pieces.concat()).unwrap();
    assert_eq!(streamed, expected);
    bed.assert_idle_without_leaks().await;
}

/// Ends prose after its first words. The plan has none of these texts.
const FEW_WORDS: [&str; 32] = [
    "--stop", ".", "--stop", "!", "--stop", "?", "--stop", " a", "--stop", " is", "--stop", " the",
    "--stop", " to", "--stop", " The", "--stop", " of", "--stop", " and", "--stop", " you",
    "--stop", " user", "--stop", " person", "--stop", " request", "--stop", "'s", "--stop",
    "service",
];

/// An operator's rules say what this model needs: `e2e/llama-cpp/model-rules.toml`.
#[tokio::test]
async fn a_call_that_cannot_be_forced_is_an_answer_in_its_format() {
    let rules = e2e::program_paths::workspace().join("e2e/llama-cpp/model-rules.toml");
    let rules = rules.display().to_string();
    let arguments = Arguments {
        server: &FEW_WORDS,
        agent: &["--model", "SmolLM2-135M-Instruct", "--model-rules", &rules],
        ..Arguments::default()
    };
    let bed = TrainedTestBed::start(Format::OpenAi, arguments).await;
    let schema = json!({
        "type": "object",
        "properties": { "steps": steps() },
        "required": ["steps"],
        "additionalProperties": false,
    });
    // The bridge validates the arguments before the handler runs.
    let arrange = PageTool::new("arrange", async |_| Ok(json!("done"))).input_schema(schema);
    let page = bed.page(vec![arrange]).await;
    let mut request = query("q-1", "Arrange the cards.");
    request.response_tool = Some(query_tool("arrange"));
    let events = QueryEvents::run(&page, request).await;
    let last = events.last();
    assert_eq!(last["type"], "query_complete", "{events:?}");
    assert_eq!(last["toolCalls"][0]["tool"], "arrange", "{events:?}");
    assert_eq!(last["toolCalls"][0]["result"], "done", "{events:?}");
    bed.assert_idle_without_leaks().await;
}
