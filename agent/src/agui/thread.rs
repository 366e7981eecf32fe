//! The messages of a thread: all that were ever sent. Those that follow the last message of the
//! assistant are new.

use std::collections::HashSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bridge_protocol::{Attachment, ContextItem, ContextKind};
use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};

use super::messages::{AguiContent, AguiMessage, FileSource, MessagePart};
use super::run_input::{ResumeStatus, RunInput};
use crate::agent_loop::ClientResult;
use crate::model::{Media, ModelTool, essence};

/// The media type of a file whose message has none.
const UNKNOWN_MEDIA_TYPE: &str = "application/octet-stream";

/// The new messages of the person.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NewMessages {
    pub(crate) text: String,
    pub(crate) attachments: Vec<Attachment>,
    /// The number of files that are not in the message, but at a URL or at a provider.
    pub(crate) omitted_files: usize,
}

impl NewMessages {
    pub(crate) fn is_empty(&self) -> bool {
        self.text.trim().is_empty() && self.attachments.is_empty()
    }
}

impl RunInput {
    /// Returns the messages up to the last one of the assistant, and the new ones after it.
    fn split_at_last_answer(&self) -> (&[AguiMessage], &[AguiMessage]) {
        let last_answer = self.messages.iter().rposition(is_answer);
        let answered = last_answer.map_or(0, |index| index + 1);
        self.messages.split_at(answered)
    }

    /// Returns the messages of the person after the last message of the assistant.
    pub(crate) fn prompt(&self) -> NewMessages {
        let mut prompt = NewMessages::default();
        for message in self.split_at_last_answer().1 {
            let AguiMessage::User { content } = message else {
                continue;
            };
            if !prompt.text.is_empty() {
                prompt.text.push_str("\n\n");
            }
            prompt.text.push_str(&content.text());
            for part in content.parts() {
                let MessagePart::File {
                    name,
                    mime_type,
                    source,
                } = part
                else {
                    continue;
                };
                match source {
                    FileSource::Data(data) => prompt.attachments.push(Attachment {
                        name: name.clone(),
                        mime_type: (mime_type.clone())
                            .unwrap_or_else(|| UNKNOWN_MEDIA_TYPE.to_owned()),
                        data: data.clone(),
                    }),
                    FileSource::Elsewhere => prompt.omitted_files += 1,
                }
            }
        }
        prompt
    }

    /// Returns whether the new messages have the result of a call.
    pub(crate) fn has_new_result(&self) -> bool {
        let mut new = self.split_at_last_answer().1.iter();
        new.any(|message| matches!(message, AguiMessage::Tool { .. }))
    }

    /// Returns the result of a call that the client has made, if the messages have it.
    pub(crate) fn client_result(&self, call: &str) -> Option<ClientResult> {
        self.messages
            .iter()
            .rev()
            .find_map(|message| match message {
                AguiMessage::Tool {
                    content,
                    tool_call_id,
                    error,
                } if tool_call_id == call => Some(read_result(content, error.as_deref())),
                _ => None,
            })
    }

    /// Returns the state that the application shares, if it shares one.
    pub(crate) fn shared_state(&self) -> Option<&Value> {
        self.state.as_ref().filter(|state| !is_empty(state))
    }

    /// Returns the number of prompts before the new one. Messages of the person in succession, such as
    /// after a request that failed, are one prompt.
    pub(crate) fn earlier_prompts(&self) -> usize {
        let (earlier, _) = self.split_at_last_answer();
        let is_prompt = |message: &&AguiMessage| {
            matches!(
                message,
                AguiMessage::User { .. } | AguiMessage::Assistant { .. }
            )
        };
        let turns: Vec<_> = earlier.iter().filter(is_prompt).map(is_answer).collect();
        turns
            .chunk_by(|left, right| left == right)
            .filter(|chunk| !chunk[0])
            .count()
    }

    /// Returns the messages and calls before the new messages, if there are any.
    pub(crate) fn history_item(&self) -> Option<ContextItem> {
        let (earlier, _) = self.split_at_last_answer();
        let history: Vec<_> = earlier.iter().filter_map(history_entry).collect();
        let has_history = !earlier.is_empty();
        has_history.then(|| context_item("earlier messages", &Value::Array(history)))
    }

    /// Returns whether all interrupts that the request answers are given up, and come before the prompt.
    /// The prompt is new then. The messages of a client that keeps no calls end with a prompt that was
    /// asked before.
    pub(crate) fn gives_up_interrupts(&self) -> bool {
        let is_called = |id: &str| {
            self.messages.iter().any(|message| {
                matches!(message, AguiMessage::Assistant { tool_calls, .. }
                    if tool_calls.iter().any(|call| call.id == id))
            })
        };
        self.resume
            .iter()
            .all(|entry| entry.status == ResumeStatus::Cancelled && is_called(&entry.interrupt_id))
    }

    /// Returns the ids of the calls that the request knows.
    pub(crate) fn known_calls(&self) -> HashSet<&str> {
        let mut known: HashSet<_> = (self.resume.iter())
            .map(|entry| entry.interrupt_id.as_str())
            .collect();
        for message in &self.messages {
            match message {
                AguiMessage::Assistant { tool_calls, .. } => {
                    known.extend(tool_calls.iter().map(|call| call.id.as_str()));
                }
                AguiMessage::Tool { tool_call_id, .. } => {
                    known.insert(tool_call_id);
                }
                _ => {}
            }
        }
        known
    }

    /// Returns the client's own tools.
    pub(crate) fn client_tools(&self) -> Vec<ModelTool> {
        let tools = self.tools.iter().map(|tool| ModelTool {
            name: tool.name.clone(),
            description: Some(tool.description.clone()).filter(|it| !it.is_empty()),
            input_schema: input_schema(tool.parameters.as_ref()),
        });
        tools.collect()
    }

    /// Returns whether the person approves an interrupted call, if the request answers it.
    pub(crate) fn approval(&self, interrupt: &str) -> Option<bool> {
        let mut entries = self.resume.iter();
        let entry = entries.find(|entry| entry.interrupt_id == interrupt)?;
        Some(entry.is_approval())
    }

    /// Returns the context for the model: that of the client, the instructions of the application,
    /// and the state of the thread if there is one.
    pub(crate) fn context_items(&self) -> Vec<ContextItem> {
        let mut items: Vec<_> = (self.context.iter())
            .map(|item| context_item(&item.description, &item.value))
            .collect();
        for message in &self.messages {
            if let AguiMessage::System { content } = message {
                let content = Value::String(content.clone());
                items.push(context_item("instructions of the application", &content));
            }
        }
        items.extend(self.state_item());
        items
    }

    /// Returns the state that the application shares as context for the model.
    pub(crate) fn state_item(&self) -> Option<ContextItem> {
        let state = self.shared_state()?;
        Some(context_item("state of the application", state))
    }
}

fn is_answer(message: &AguiMessage) -> bool {
    matches!(message, AguiMessage::Assistant { .. })
}

/// Reads the result of a call. The model gets its pictures, and a description of each in the text.
fn read_result(content: &AguiContent, error: Option<&str>) -> ClientResult {
    let mut lines: Vec<_> = error.map(str::to_owned).into_iter().collect();
    lines.extend(Some(content.text()).filter(|text| !text.is_empty()));
    let mut pictures = Vec::new();
    for part in content.parts() {
        if let MessagePart::File {
            name,
            mime_type: Some(mime_type),
            source: FileSource::Data(data),
        } = part
            && STANDARD.decode(data).is_ok()
            && let Some(mime_type) = essence(mime_type)
        {
            let media = Media {
                name: name.clone(),
                mime_type,
                data: data.as_str().into(),
            };
            lines.push(format!("[{}]", media.describe()));
            pictures.extend(Some(media).filter(Media::is_picture));
        }
    }
    ClientResult {
        text: lines.join("\n"),
        is_error: error.is_some(),
        pictures,
    }
}

fn history_entry(message: &AguiMessage) -> Option<Value> {
    match message {
        AguiMessage::User { content } => Some(json!({ "user": content.text() })),
        AguiMessage::Tool { content, .. } => Some(json!({ "result": content.text() })),
        AguiMessage::Assistant {
            content,
            tool_calls,
        } => {
            let calls = tool_calls.iter().map(
                |call| json!({ "tool": call.function.name, "arguments": call.function.arguments }),
            );
            let calls: Vec<_> = calls.collect();
            Some(json!({ "assistant": content, "calls": calls }))
        }
        AguiMessage::System { .. } | AguiMessage::Other => None,
    }
}

/// Returns the schema of the arguments of a tool. Providers require that its root declares that it
/// is an object; a tool without a schema takes no arguments.
fn input_schema(parameters: Option<&Value>) -> Value {
    let mut schema = match parameters {
        Some(Value::Object(schema)) => schema.clone(),
        _ => Map::new(),
    };
    schema.insert("type".to_owned(), "object".into());
    Value::Object(schema)
}

fn context_item(name: &str, value: &Value) -> ContextItem {
    ContextItem {
        name: name.to_owned(),
        value: to_raw_value(value).ok(),
        schema: None,
        description: None,
        kind: ContextKind::Ephemeral,
    }
}

/// Returns whether a state is empty: an absent one is the same as an empty object.
fn is_empty(state: &Value) -> bool {
    match state {
        Value::Null => true,
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn input(members: Value) -> RunInput {
        let mut input = json!({ "threadId": "t", "runId": "r", "messages": [] });
        let members = members.as_object().unwrap().clone();
        input.as_object_mut().unwrap().extend(members);
        RunInput::parse(input.to_string().as_bytes()).unwrap()
    }

    fn user(content: impl Into<Value>) -> Value {
        json!({ "id": "u", "role": "user", "content": content.into() })
    }

    #[test]
    fn only_messages_after_the_last_answer_are_asked() {
        let input = input(json!({ "messages": [
            user("first"),
            { "id": "a", "role": "assistant", "content": "answer" },
            { "id": "x", "role": "activity", "activityType": "plan", "content": {} },
            user("second"),
            user(json!([
                { "type": "text", "text": "third" },
                { "type": "image", "source": { "type": "data", "value": "AAAA", "mimeType": "image/png" } },
                { "type": "image", "source": { "type": "url", "value": "https://example.com/a" } },
            ])),
        ] }));
        let prompt = input.prompt();
        assert_eq!(prompt.text, "second\n\nthird");
        assert_eq!(prompt.attachments[0].mime_type, "image/png");
        assert_eq!((prompt.attachments.len(), prompt.omitted_files), (1, 1));
    }

    #[test]
    fn a_request_that_only_brings_results_asks_nothing() {
        let call = |id: &str| {
            json!({ "id": id, "type": "function",
                "function": { "name": "pick_colour", "arguments": "{}" } })
        };
        let input = input(json!({ "messages": [
            user("paint it"),
            { "id": "a", "role": "assistant", "toolCalls": [call("c1"), call("c2")] },
            { "id": "t1", "role": "tool", "toolCallId": "c1", "content": "red" },
            { "id": "t2", "role": "tool", "toolCallId": "c2", "content": "", "error": "no colours" },
            { "id": "t3", "role": "tool", "toolCallId": "c3", "content": [
                { "type": "text", "text": "seen" },
                { "type": "image", "source": { "type": "data", "value": "AAAA", "mimeType": "image/png;q=1" } },
                { "type": "image", "source": { "type": "data", "value": "no base64", "mimeType": "image/png" } },
            ] },
        ] }));
        assert!(input.prompt().is_empty() && input.has_new_result());
        let result = |text: &str, is_error| {
            let text = text.to_owned();
            let pictures = Vec::new();
            Some(ClientResult {
                text,
                is_error,
                pictures,
            })
        };
        assert_eq!(input.client_result("c1"), result("red", false));
        assert_eq!(input.client_result("c2"), result("no colours", true));
        let picture = input.client_result("c3").unwrap();
        assert_eq!(picture.text, "seen\n[image/png, 3 bytes]");
        assert_eq!(picture.pictures.len(), 1);
        assert_eq!(input.client_result("c4"), None);
    }

    #[test]
    fn state_instructions_and_context_are_shown_to_the_model() {
        let texts = |input: RunInput| {
            let items = input.context_items().into_iter();
            items
                .map(|item| format!("{}={}", item.name, item.value.unwrap()))
                .collect::<Vec<_>>()
        };
        let all = input(json!({
            "state": { "page": 3 },
            "context": [{ "description": "user", "value": "Ada" }],
            "messages": [{ "id": "s", "role": "system", "content": "Be brief." }, user("hi")],
        }));
        let expected = [
            "user=\"Ada\"",
            "instructions of the application=\"Be brief.\"",
            "state of the application={\"page\":3}",
        ];
        assert_eq!(texts(all), expected);
        assert!(texts(input(json!({ "state": {} }))).is_empty());
    }

    #[test]
    fn the_earlier_messages_are_counted_by_prompt_and_can_be_shown() {
        let answer = json!({ "id": "a", "role": "assistant", "content": "answer" });
        let thread = |messages: Value| input(json!({ "messages": messages }));
        let first = thread(json!([user("one")]));
        assert_eq!(first.earlier_prompts(), 0);
        assert!(first.history_item().is_none());
        let third = thread(json!([
            user("one"),
            answer,
            user("two"),
            user("two again"),
            answer,
            user("three")
        ]));
        assert_eq!(third.earlier_prompts(), 2);
        let item = third.history_item().unwrap().value.unwrap();
        let item = item.get();
        assert!(
            item.contains("two again") && !item.contains("three"),
            "{item}"
        );
    }

    #[test]
    fn approvals_are_found_by_their_interrupt() {
        let input = input(json!({ "resume": [
            { "interruptId": "a", "status": "resolved", "payload": { "approved": true } },
            { "interruptId": "b", "status": "cancelled" },
        ] }));
        let approvals = ["a", "b", "c"].map(|id| input.approval(id));
        assert_eq!(approvals, [Some(true), Some(false), None]);
    }
}
