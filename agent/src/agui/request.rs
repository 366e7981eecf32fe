//! What a request asks for now: the messages of a thread are all that were ever sent, and those that
//! follow the last message of the assistant are new.

use bridge_protocol::{Attachment, ContextItem, ContextKind};
use serde_json::Value;
use serde_json::value::to_raw_value;

use super::messages::{FileSource, Message, Part};
use super::run_input::RunInput;

/// The media type of a file whose message does not say it.
const UNKNOWN_MEDIA_TYPE: &str = "application/octet-stream";

/// The new messages of the person.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Prompt {
    pub(crate) text: String,
    pub(crate) attachments: Vec<Attachment>,
    /// The number of files that are not in the message, but at a URL or at a provider.
    pub(crate) omitted_files: usize,
}

impl Prompt {
    pub(crate) fn is_empty(&self) -> bool {
        self.text.trim().is_empty() && self.attachments.is_empty()
    }
}

/// The result of a call of one of the client's tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClientResult {
    pub(crate) text: String,
    pub(crate) is_error: bool,
}

impl RunInput {
    /// Returns the messages of the person after the last message of the assistant.
    pub(crate) fn prompt(&self) -> Prompt {
        let is_answer = |message: &Message| matches!(message, Message::Assistant { .. });
        let last_answer = self.messages.iter().rposition(is_answer);
        let mut prompt = Prompt::default();
        for message in &self.messages[last_answer.map_or(0, |index| index + 1)..] {
            let Message::User { content } = message else {
                continue;
            };
            if !prompt.text.is_empty() {
                prompt.text.push_str("\n\n");
            }
            prompt.text.push_str(&content.text());
            for part in content.parts() {
                let Part::File {
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

    /// Returns the result of a call that the client has made, if the messages have it.
    pub(crate) fn client_result(&self, call: &str) -> Option<ClientResult> {
        self.messages
            .iter()
            .rev()
            .find_map(|message| match message {
                Message::Tool {
                    content,
                    tool_call_id,
                    error,
                } if tool_call_id == call => {
                    let text = content.text();
                    Some(match error {
                        Some(error) if text.is_empty() => ClientResult {
                            text: error.clone(),
                            is_error: true,
                        },
                        Some(error) => ClientResult {
                            text: format!("{error}\n{text}"),
                            is_error: true,
                        },
                        None => ClientResult {
                            text,
                            is_error: false,
                        },
                    })
                }
                _ => None,
            })
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
            if let Message::System { content } = message {
                let content = Value::String(content.clone());
                items.push(context_item("instructions of the application", &content));
            }
        }
        if let Some(state) = self.state.as_ref().filter(|state| !is_empty(state)) {
            items.push(context_item("state of the application", state));
        }
        items
    }
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

/// Returns whether a state says nothing: an absent one is the same as an empty object.
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
        ] }));
        assert!(input.prompt().is_empty());
        let result = |text: &str, is_error| {
            let text = text.to_owned();
            Some(ClientResult { text, is_error })
        };
        assert_eq!(input.client_result("c1"), result("red", false));
        assert_eq!(input.client_result("c2"), result("no colours", true));
        assert_eq!(input.client_result("c3"), None);
    }

    #[test]
    fn state_instructions_and_context_are_shown_to_the_model() {
        let names = |input: RunInput| {
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
        assert_eq!(names(all), expected);
        assert!(names(input(json!({ "state": {} }))).is_empty());
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
