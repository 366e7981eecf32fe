//! Conversations as the routes return them.

use std::time::{Duration, UNIX_EPOCH};

use serde::Serialize;
use serde_json::{Map, Value};

use super::stored_query::{AttachmentName, StoredMessage, StoredQuery};
use crate::model::is_answer_text;

/// A conversation in the list of its owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConversationSummary {
    pub(super) id: String,
    /// The beginning of the first prompt.
    pub(super) title: String,
    /// The number of queries.
    pub(super) queries: u64,
    pub(super) bytes: u64,
    /// In the format of RFC 3339, as is `updated_at`.
    pub(super) created_at: String,
    pub(super) updated_at: String,
}

/// A conversation with its messages.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConversationMessages {
    id: String,
    created_at: String,
    updated_at: String,
    messages: Vec<ConversationMessage>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(
    tag = "role",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
enum ConversationMessage {
    User {
        text: String,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<AttachmentName>,
    },
    Assistant {
        text: String,
        tool_calls: Vec<ConversationCall>,
    },
}

/// A call of a tool and its result, as the model has read it but without the notes of the service.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct ConversationCall {
    id: String,
    tool: String,
    arguments: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<String>,
    is_error: bool,
}

impl ConversationMessages {
    pub(super) fn new(summary: ConversationSummary, queries: Vec<StoredQuery>) -> Self {
        Self {
            id: summary.id,
            created_at: summary.created_at,
            updated_at: summary.updated_at,
            messages: queries.into_iter().flat_map(query_messages).collect(),
        }
    }
}

fn query_messages(query: StoredQuery) -> Vec<ConversationMessage> {
    let mut messages = vec![ConversationMessage::User {
        text: query.prompt,
        attachments: query.attachments,
    }];
    let mut stored = query.messages.into_iter().peekable();
    while let Some(message) = stored.next() {
        let StoredMessage::Model {
            mut text, calls, ..
        } = message
        else {
            continue;
        };
        // The answer to a query with a schema is a call, and its text the same once more.
        if calls.iter().any(|call| is_answer_text(&call.id)) {
            text.clear();
        }
        let is_results = |next: &StoredMessage| matches!(next, StoredMessage::Results { .. });
        // The results of a turn have the order of its calls. Ids of calls can repeat.
        let mut results = match stored.next_if(is_results) {
            Some(StoredMessage::Results { results }) => results.into_iter(),
            _ => Vec::new().into_iter(),
        };
        let calls = calls.into_iter().map(|call| {
            let result = results.next();
            ConversationCall {
                id: call.id,
                tool: call.registered.unwrap_or(call.tool),
                arguments: call.arguments,
                is_error: result.as_ref().is_some_and(|result| result.is_error),
                result: result.map(|result| result.text),
            }
        });
        messages.push(ConversationMessage::Assistant {
            text,
            tool_calls: calls.collect(),
        });
    }
    messages
}

/// Formats a time in milliseconds since 1970 (RFC 3339).
pub(super) fn format_time(unix_ms: u64) -> String {
    let time = UNIX_EPOCH + Duration::from_millis(unix_ms);
    humantime::format_rfc3339_millis(time).to_string()
}

#[cfg(test)]
mod tests {
    use bridge_protocol::Query;
    use serde_json::json;

    use super::*;
    use crate::agent_loop::FinishedTranscript;
    use crate::model::{CallResult, ModelCall, ModelMessage, ModelTurn};

    /// Returns the messages for people of a turn with a text and a call of each of these ids.
    fn assistant(text: &str, ids: &[&str]) -> Value {
        let calls = ids.iter().map(|id| ModelCall {
            id: (*id).to_owned(),
            tool: "answer".to_owned(),
            arguments: Map::new(),
            unreadable: None,
        });
        let calls: Vec<_> = calls.collect();
        let results = calls.iter().map(|call| CallResult {
            notes: "[service m] This is the last turn of this request.".to_owned(),
            ..CallResult::new(call, "Received.".to_owned(), false)
        });
        let results = ModelMessage::Results(results.collect());
        let turn = ModelMessage::Model(ModelTurn {
            text: text.to_owned(),
            calls,
            ..ModelTurn::default()
        });
        let transcript = FinishedTranscript {
            messages: vec![
                ModelMessage::from_text("[service m]".to_owned()),
                turn,
                results,
            ],
            tool_names: Default::default(),
        };
        let query = StoredQuery::new(&Query::new("q", "Ask"), transcript);
        let messages = json!(query_messages(query));
        assert!(!messages.to_string().contains("[service"), "{messages}");
        assert_eq!(
            messages[1]["toolCalls"].as_array().unwrap().len(),
            ids.len()
        );
        messages[1].clone()
    }

    #[test]
    fn people_see_no_notes_of_the_service_and_an_answer_with_a_schema_once() {
        for text in [
            r#"{"late": 2}"#,
            "```json\n{}\n```",
            r#"{"late": "#,
            "I look.",
        ] {
            for (ids, expected) in [
                (&["answer-text-1"][..], ""),
                (&["c"], text),
                (&["c", "d"], text),
                (&[], text),
            ] {
                assert_eq!(assistant(text, ids)["text"], expected, "{ids:?}");
            }
        }
    }
}
