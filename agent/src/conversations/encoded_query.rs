//! The JSON of a query for the database, within the size of a conversation.

use agent_tools::text;
use bridge_protocol::to_well_formed;
use serde_json::Value;

use super::stored_query::StoredQuery;

/// The longest title of a conversation, in characters.
const MAX_TITLE_CHARS: usize = 80;

/// Drops a part of a query.
type Omission = fn(&mut StoredQuery);

/// The parts that are left out of a query that is too long, in this order. Thoughts are the first: no
/// person reads them, and some models refuse them once anything before them is left out.
const OMISSIONS: [(&str, Omission); 4] = [
    ("thoughts", StoredQuery::drop_kept),
    ("pictures and files", StoredQuery::drop_media),
    ("results of calls", StoredQuery::drop_results),
    ("calls", StoredQuery::drop_calls),
];

/// A query that is encoded for the database.
#[derive(Debug)]
pub(super) struct EncodedQuery {
    /// The title of a conversation that begins with it.
    pub(super) title: String,
    pub(super) json: String,
    /// The number of prompts.
    pub(super) prompts: usize,
}

impl EncodedQuery {
    /// Encodes a query in at most this many bytes: without its thoughts and pictures, then without
    /// results and calls, at last with the beginnings of its prompt and answer.
    pub(super) fn new(mut query: StoredQuery, max_bytes: usize) -> Option<Self> {
        let title = title(&query.prompt);
        // Prompts are counted before any is left out: the client of a thread counts all of them.
        let prompts = query.prompts();
        let mut json = encode(&query)?;
        for (omitted, omit) in OMISSIONS {
            if json.len() <= max_bytes {
                break;
            }
            tracing::warn!(
                bytes = json.len(),
                max_conversation_bytes = max_bytes,
                "a query is too long to be kept whole: its {omitted} are left out"
            );
            omit(&mut query);
            json = encode(&query)?;
        }
        let mut text_bytes = max_bytes / 4;
        while json.len() > max_bytes {
            if text_bytes == 0 {
                tracing::warn!("a query is not kept: `max_conversation_bytes` is too small");
                return None;
            }
            query.shorten_texts(text_bytes);
            json = encode(&query)?;
            text_bytes /= 2;
        }
        Some(Self {
            title,
            prompts,
            json,
        })
    }
}

/// Returns the JSON of a query without its thoughts, if it has any. What else another version has written
/// into it stays.
pub(super) fn without_kept(json: &str) -> Option<String> {
    let mut query: Value = serde_json::from_str(&to_well_formed(json)).ok()?;
    let messages = query.get_mut("messages")?.as_array_mut()?;
    let messages = messages.iter_mut().filter_map(Value::as_object_mut);
    let dropped = messages.filter_map(|message| message.shift_remove("kept"));
    (dropped.count() > 0).then(|| query.to_string())
}

fn encode(query: &StoredQuery) -> Option<String> {
    // It consists of texts and JSON values: encoding it cannot fail.
    serde_json::to_string(query).ok()
}

fn title(prompt: &str) -> String {
    let words: Vec<_> = prompt.split_whitespace().collect();
    text::shorten(&words.join(" "), MAX_TITLE_CHARS)
}

#[cfg(test)]
mod tests {
    use bridge_protocol::Query;
    use serde_json::{Map, json};

    use super::*;
    use crate::agent_loop::FinishedTranscript;
    use crate::model::{CallResult, Media, ModelCall, ModelMessage, ModelTurn, UserMessage};

    #[test]
    fn a_long_prompt_has_a_short_title() {
        let long = title(&"ä ".repeat(MAX_TITLE_CHARS));
        assert_eq!(long.chars().count(), MAX_TITLE_CHARS + 1);
        assert!(long.ends_with('…'));
        assert_eq!(title(" Add\n it "), "Add it");
    }

    /// A query with a picture, a call with thoughts and a result, and an answer.
    fn query(prompt: &str) -> StoredQuery {
        let picture = Media {
            name: None,
            mime_type: "image/png".to_owned(),
            data: "AAAA".repeat(1_000).into(),
        };
        let call = ModelCall {
            id: "a".to_owned(),
            tool: "list".to_owned(),
            arguments: Map::from_iter([("filter".to_owned(), "f".repeat(1_000).into())]),
            unreadable: None,
        };
        let kept = json!({ "api": "responses", "origin": { "issuer": "i" },
            "blocks": ["t".repeat(3_000)] });
        let messages = vec![
            ModelMessage::User(UserMessage {
                text: prompt.to_owned(),
                media: vec![picture],
            }),
            ModelMessage::Model(ModelTurn {
                calls: vec![call.clone()],
                kept: Some(serde_json::from_value(kept).unwrap()),
                ..ModelTurn::default()
            }),
            ModelMessage::Results(vec![CallResult::new(&call, "r".repeat(2_000), false)]),
            ModelMessage::from_text("And now?".to_owned()),
            ModelMessage::Model(ModelTurn {
                text: "Done.".to_owned(),
                ..ModelTurn::default()
            }),
        ];
        let transcript = FinishedTranscript {
            messages,
            tool_names: Default::default(),
        };
        StoredQuery::new(&Query::new("q", prompt), transcript)
    }

    #[test]
    fn text_and_calls_are_not_stored_twice() {
        let stored = |reasoning: Option<&str>| {
            let message = json!({ "role": "assistant", "content": "Hi", "reasoning": reasoning });
            let kept = json!({ "api": "chat-completions", "origin": { "issuer": "i" },
                "blocks": [message] });
            let turn = ModelTurn {
                text: "Hi".to_owned(),
                kept: Some(serde_json::from_value(kept).unwrap()),
                ..ModelTurn::default()
            };
            let transcript = FinishedTranscript {
                messages: vec![ModelMessage::Model(turn)],
                tool_names: Default::default(),
            };
            let query = StoredQuery::new(&Query::new("q", "Ask"), transcript);
            EncodedQuery::new(query, usize::MAX).unwrap().json
        };
        assert_eq!(stored(None).matches("Hi").count(), 1);
        assert_eq!(stored(Some("So")).matches("Hi").count(), 2);
    }

    #[test]
    fn a_query_that_is_too_long_is_kept_in_part() {
        let encoded = |prompt: &str, max_bytes| {
            let encoded = EncodedQuery::new(query(prompt), max_bytes)?;
            assert!(encoded.json.len() <= max_bytes, "{}", encoded.json.len());
            assert_eq!(encoded.prompts, 2, "with what was said meanwhile");
            Some(serde_json::from_str::<Value>(&encoded.json).unwrap())
        };
        let whole = encoded("What is it?", 13_000).unwrap();
        assert!(whole["messages"][1]["kept"].is_object());
        let without_thoughts = encoded("What is it?", 10_000).unwrap();
        assert_eq!(without_thoughts["messages"][1].get("kept"), None);
        assert!(without_thoughts["messages"][0]["media"].is_array());
        let without_picture = encoded("What is it?", 5_000).unwrap();
        assert_eq!(
            without_picture["messages"][0]["text"],
            "[image/png, 3 kB: no longer attached]\nWhat is it?"
        );
        let result = |query: &Value| query["messages"][2]["results"][0]["text"].clone();
        assert!(result(&without_picture).as_str().unwrap().len() == 2_000);
        let without_result = encoded("What is it?", 2_000).unwrap();
        assert!(
            result(&without_result)
                .as_str()
                .unwrap()
                .contains("left out")
        );
        let without_calls = encoded("What is it?", 1_000).unwrap();
        assert_eq!(without_calls["messages"].as_array().unwrap().len(), 2);
        assert_eq!(without_calls["messages"][1]["text"], "Done.");
        let shortened = encoded(&"ä".repeat(5_000), 1_000).unwrap();
        let prompt = shortened["prompt"].as_str().unwrap();
        assert!(prompt.starts_with("ää") && prompt.contains("left out"));
        assert_eq!(shortened["messages"][1]["text"], json!("Done."));
        assert!(encoded("What is it?", 10).is_none());
    }
}
