//! A model that is not a language model: it runs the commands in the prompt. With it the demo works
//! without a key, and tests are deterministic.

mod script;

use agent_tools::AgentFailure;
use bridge_protocol::TokenUsage;
use chrono::NaiveDate;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use serde_json::Value;

use self::script::{Script, ScriptCommand};
use super::{
    ArgumentsDelta, CallResult, Model, ModelCall, ModelEvent, ModelMessage, ModelTool, ModelTurn,
    Price, ToolSelection, TurnRequest,
};

/// The maximum length of each result in the answer, in characters.
const MAX_RESULT_CHARS: usize = 200;

/// The model that runs the commands in the prompt.
#[derive(Debug)]
pub(crate) struct ScriptedModel;

impl Model for ScriptedModel {
    fn label(&self) -> &str {
        "commands (no language model)"
    }

    fn name(&self) -> &str {
        "commands"
    }

    fn provider(&self) -> &'static str {
        "commands"
    }

    fn price(&self, _: NaiveDate) -> Option<Price> {
        Some(Price::FREE)
    }

    fn reads_media(&self, _: &str) -> bool {
        false
    }

    fn turn(&self, request: TurnRequest) -> BoxStream<'static, Result<ModelEvent, AgentFailure>> {
        stream::iter(events(&request)).boxed()
    }
}

fn events(request: &TurnRequest) -> Vec<Result<ModelEvent, AgentFailure>> {
    let turn = next_turn(request);
    let text = (!turn.text.is_empty()).then(|| Ok(ModelEvent::Text(turn.text.clone())));
    let calls = turn.calls.iter().enumerate();
    let arguments = calls.map(|(index, call)| {
        Ok(ModelEvent::Arguments(ArgumentsDelta {
            index,
            tool: call.tool.clone(),
            delta: Value::from(call.arguments.clone()).to_string(),
        }))
    });
    let arguments: Vec<_> = arguments.collect();
    let usage = TokenUsage::default();
    text.into_iter()
        .chain(arguments)
        .chain([Ok(ModelEvent::End { turn, usage })])
        .collect()
}

fn next_turn(request: &TurnRequest) -> ModelTurn {
    // Only the text that the person wrote is parsed: a line of the page's content is never a
    // command.
    let script = match Script::parse(&request.prompt) {
        Ok(script) => script,
        Err(error) => return text_turn(format!("{error}\n\n{}", usage_text(&request.tools))),
    };
    if let ToolSelection::Only(tool) = &request.tool_selection {
        return match script.last_command(tool) {
            Some(command) => call_turn(std::slice::from_ref(command), request),
            None => text_turn(format!("There is no line `/{tool} {{…}}` in the prompt.")),
        };
    }
    let turns = own_history(request).iter();
    let turns = turns.filter(|message| matches!(message, ModelMessage::Model(_)));
    match script.blocks.get(turns.count()) {
        Some(block) => call_turn(block, request),
        None if script.blocks.is_empty() => text_turn(usage_text(&request.tools)),
        None => text_turn(summarize_results(request)),
    }
}

/// Returns the messages of this query, without those of earlier ones.
fn own_history(request: &TurnRequest) -> &[ModelMessage] {
    request
        .history
        .get(request.earlier_messages..)
        .unwrap_or_default()
}

fn text_turn(text: String) -> ModelTurn {
    ModelTurn {
        text,
        ..ModelTurn::default()
    }
}

/// Creates a turn with these calls. Their ids are consecutive numbers across the whole query.
fn call_turn(commands: &[ScriptCommand], request: &TurnRequest) -> ModelTurn {
    let before: usize = own_history(request).iter().map(call_count).sum();
    let calls = commands
        .iter()
        .enumerate()
        .map(|(index, command)| ModelCall {
            id: (before + index + 1).to_string(),
            tool: command.tool.clone(),
            arguments: command.arguments.clone(),
            unreadable: None,
        });
    ModelTurn {
        calls: calls.collect(),
        ..ModelTurn::default()
    }
}

fn call_count(message: &ModelMessage) -> usize {
    match message {
        ModelMessage::Model(turn) => turn.calls.len(),
        ModelMessage::User(_) | ModelMessage::Results(_) => 0,
    }
}

/// Returns the results of all calls, one line for each.
fn summarize_results(request: &TurnRequest) -> String {
    let results = own_history(request)
        .iter()
        .filter_map(|message| match message {
            ModelMessage::Results(results) => Some(results),
            ModelMessage::User(_) | ModelMessage::Model(_) => None,
        });
    let lines: Vec<String> = results.flatten().map(result_line).collect();
    lines.join("\n")
}

fn result_line(result: &CallResult) -> String {
    let CallResult { tool, text, .. } = result;
    let mut text: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = text.char_indices().nth(MAX_RESULT_CHARS) {
        text.truncate(end);
        text.push('…');
    }
    if result.is_error {
        format!("{tool} failed: {text}")
    } else if text.is_empty() {
        format!("{tool}: done")
    } else {
        format!("{tool}: {text}")
    }
}

fn usage_text(tools: &[ModelTool]) -> String {
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    let example = names.first().copied().unwrap_or("tool");
    let names = if names.is_empty() {
        "There are no tools at the moment.".to_owned()
    } else {
        format!("Tools: {}.", names.join(", "))
    };
    format!(
        "There is no language model here: this agent runs commands. Write one a line, such as \
         `/{example} {{\"name\": \"value\"}}`. Lines that follow each other run at the same time, \
         those after an empty line when the ones before it are done. {names}"
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::*;

    fn request(prompt: &str, history: Vec<ModelMessage>) -> TurnRequest {
        let tool = |name: &str| ModelTool {
            name: name.to_owned(),
            description: None,
            input_schema: json!({"type": "object"}),
        };
        TurnRequest {
            cache_group: "5f0f6b0e".into(),
            user: "".into(),
            prompt: prompt.into(),
            system: String::new(),
            history,
            earlier_messages: 0,
            tools: Arc::new([tool("add"), tool("list")]),
            tool_selection: ToolSelection::Auto,
            answer_tool: None,
            max_output_tokens: 100,
            switched_off: Arc::default(),
            converted_tools: Arc::default(),
        }
    }

    /// Runs a prompt as the agent loop would. The result of each call is its own arguments.
    async fn run_prompt(prompt: &str) -> (Vec<Vec<ModelCall>>, String) {
        // A command in the content of the page is not run.
        let mut history = vec![ModelMessage::from_text(format!("{prompt}\n\n/list {{}}"))];
        let mut rounds = Vec::new();
        loop {
            let mut events: Vec<_> = ScriptedModel
                .turn(request(prompt, history.clone()))
                .collect()
                .await;
            let Some(Ok(ModelEvent::End { turn, .. })) = events.pop() else {
                panic!("no end");
            };
            if turn.calls.is_empty() {
                let [Ok(ModelEvent::Text(text))] = &events[..] else {
                    panic!("{events:?}");
                };
                assert_eq!(*text, turn.text);
                return (rounds, turn.text);
            }
            let results = turn.calls.iter().map(|call| CallResult {
                id: call.id.clone(),
                tool: call.tool.clone(),
                text: Value::Object(call.arguments.clone()).to_string(),
                notes: String::new(),
                is_error: call.tool != "add",
                media: Vec::new(),
            });
            let results = results.collect();
            rounds.push(turn.calls.clone());
            history.push(ModelMessage::Model(turn));
            history.push(ModelMessage::Results(results));
        }
    }

    #[tokio::test]
    async fn blocks_are_rounds_and_the_answer_summarizes_results() {
        let (rounds, text) = run_prompt("/add {\"n\": 1}\n/add {\"n\": 2}\n\n/drop").await;
        let ids: Vec<Vec<&str>> = rounds
            .iter()
            .map(|calls| calls.iter().map(|call| call.id.as_str()).collect())
            .collect();
        assert_eq!(ids, [vec!["1", "2"], vec!["3"]]);
        assert_eq!(rounds[1][0].tool, "drop");
        assert_eq!(text, "add: {\"n\":1}\nadd: {\"n\":2}\ndrop failed: {}");
    }

    #[tokio::test]
    async fn other_prompts_are_answered_with_usage() {
        let (rounds, text) = run_prompt("Plan my day").await;
        assert!(rounds.is_empty());
        assert!(
            text.starts_with("There is no language model here"),
            "{text}"
        );
        assert!(text.ends_with("Tools: add, list."), "{text}");
        let (rounds, text) = run_prompt("/add {\"n\": 1}\n/add {").await;
        assert!(rounds.is_empty());
        assert!(text.starts_with("Line 2: what follows /add"), "{text}");
    }

    #[test]
    fn a_forced_tool_is_called_with_its_last_command_if_there_is_one() {
        let forced = |prompt: &str| {
            next_turn(&TurnRequest {
                tool_selection: ToolSelection::Only("list".to_owned()),
                ..request(prompt, Vec::new())
            })
        };
        let turn = forced("/list {\"n\": 1}\n\n/list {\"n\": 2}\n/add");
        assert_eq!(turn.calls.len(), 1);
        assert_eq!(turn.calls[0].arguments["n"], 2);
        let turn = forced("/add");
        assert!(turn.calls.is_empty());
        assert_eq!(turn.text, "There is no line `/list {…}` in the prompt.");
    }

    #[test]
    fn a_long_result_is_truncated() {
        let result = CallResult {
            id: "1".to_owned(),
            tool: "list".to_owned(),
            text: "ä\n".repeat(300),
            notes: String::new(),
            is_error: false,
            media: Vec::new(),
        };
        let line = result_line(&result);
        assert_eq!(line.chars().count(), "list: ".len() + MAX_RESULT_CHARS + 1);
    }
}
