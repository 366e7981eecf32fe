//! The messages, calls and results of a query, for the queries after it.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::model::{CallResult, ModelMessage, ModelTurn};

/// The messages of a query that belongs to a conversation. It is shared with the task of the query,
/// which still reads it when the query was cancelled.
#[derive(Debug, Default)]
pub(crate) struct Transcript {
    state: Mutex<TranscriptState>,
}

#[derive(Debug, Default)]
struct TranscriptState {
    messages: Vec<ModelMessage>,
    /// Registered names of tools by the names that the model uses, where they differ.
    tool_names: HashMap<String, String>,
}

/// The messages of a query that has ended.
#[derive(Debug)]
pub(crate) struct FinishedTranscript {
    /// They begin with the message of the person, and end with a turn of the model.
    pub(crate) messages: Vec<ModelMessage>,
    pub(crate) tool_names: HashMap<String, String>,
}

impl FinishedTranscript {
    /// Drops everything that only some models accept: pictures, files and thoughts.
    pub(crate) fn drop_media_and_thoughts(&mut self) {
        for message in &mut self.messages {
            message.drop_media();
            message.drop_kept();
        }
    }
}

impl Transcript {
    /// Begins to write down the query.
    pub(super) fn begin(&self, opening: ModelMessage) {
        self.state().messages = vec![opening];
    }

    /// Appends a message, if the query is written down. Two turns of the model in succession are
    /// one: messages of the service between them are not kept, and providers do not accept two.
    pub(super) fn push(&self, message: &ModelMessage) {
        let messages = &mut self.state().messages;
        match (messages.last_mut(), message) {
            (None, _) => {}
            (Some(ModelMessage::Model(before)), ModelMessage::Model(turn))
                if before.calls.is_empty() =>
            {
                let text = [before.text.as_str(), &turn.text].join("\n\n");
                *before = ModelTurn {
                    text: text.trim().to_owned(),
                    kept: None,
                    ..turn.clone()
                };
            }
            (Some(_), message) => messages.push(message.clone()),
        }
    }

    /// Replaces the last message, if the query is written down.
    pub(super) fn replace_last(&self, message: &ModelMessage) {
        if let Some(last) = self.state().messages.last_mut() {
            *last = message.clone();
        }
    }

    pub(super) fn name_tool(&self, name: &str, registered: &str) {
        if name != registered {
            let (name, registered) = (name.to_owned(), registered.to_owned());
            self.state().tool_names.insert(name, registered);
        }
    }

    /// Takes the messages of a query that has ended. `ending` describes the end if the model has
    /// not answered. Returns `None` if the model has not answered.
    pub(crate) fn finish(&self, ending: Option<&str>) -> Option<FinishedTranscript> {
        let TranscriptState {
            mut messages,
            tool_names,
        } = std::mem::take(&mut *self.state());
        if messages.len() < 2 {
            return None;
        }
        close(&mut messages, ending);
        Some(FinishedTranscript {
            messages,
            tool_names,
        })
    }

    /// Locks the state. A poisoned lock is used anyway, because no code panics while it holds the
    /// lock.
    fn state(&self) -> MutexGuard<'_, TranscriptState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Completes the messages as providers require them: each call has a result, and the last message is a
/// turn of the model.
fn close(messages: &mut Vec<ModelMessage>, ending: Option<&str>) {
    if let Some(ModelMessage::Model(turn)) = messages.last()
        && !turn.calls.is_empty()
    {
        let text = "It is not known whether this was done: the query ended before.";
        let calls = turn.calls.iter();
        let results = calls.map(|call| CallResult::new(call, text.to_owned(), true));
        messages.push(ModelMessage::Results(results.collect()));
    }
    if !matches!(messages.last(), Some(ModelMessage::Model(_))) {
        let text = ending.unwrap_or("Done.").to_owned();
        messages.push(ModelMessage::Model(ModelTurn {
            text,
            ..ModelTurn::default()
        }));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;
    use crate::model::{Media, ModelCall, UserMessage};

    fn turn(text: &str, call: Option<&str>) -> ModelMessage {
        let calls = call.into_iter().map(|id| ModelCall {
            id: id.to_owned(),
            tool: "add".to_owned(),
            arguments: Map::new(),
            unreadable: None,
        });
        ModelMessage::Model(ModelTurn {
            text: text.to_owned(),
            calls: calls.collect(),
            ..ModelTurn::default()
        })
    }

    #[test]
    fn a_query_that_ends_early_is_completed_for_the_provider() {
        let transcript = Transcript::default();
        transcript.begin(ModelMessage::from_text("Add it".to_owned()));
        transcript.name_tool("add", "add");
        transcript.name_tool("add_1", "add card");
        transcript.push(&turn("", Some("a")));
        let finished = transcript.finish(Some("(It was cancelled.)")).unwrap();
        let [
            ModelMessage::User(_),
            ModelMessage::Model(_),
            ModelMessage::Results(results),
            ModelMessage::Model(last),
        ] = &finished.messages[..]
        else {
            panic!("{finished:?}");
        };
        assert!(results[0].is_error && results[0].id == "a");
        assert_eq!(last.text, "(It was cancelled.)");
        assert_eq!(finished.tool_names["add_1"], "add card");
        assert_eq!(finished.tool_names.len(), 1);
    }

    #[test]
    fn a_query_outside_of_conversations_is_not_written_down() {
        let transcript = Transcript::default();
        transcript.push(&turn("Hi", None));
        transcript.push(&turn("Hi", None));
        assert!(transcript.finish(None).is_none());
    }

    #[test]
    fn pictures_and_thoughts_of_a_refused_query_are_dropped() {
        let picture = Media {
            name: None,
            mime_type: "image/png".to_owned(),
            data: "AAAA".into(),
        };
        let kept = json!({ "api": "responses", "origin": { "issuer": "i" }, "blocks": [] });
        let mut finished = FinishedTranscript {
            messages: vec![
                ModelMessage::User(UserMessage {
                    text: "What is it?".to_owned(),
                    media: vec![picture],
                }),
                ModelMessage::Model(ModelTurn {
                    text: "A cat.".to_owned(),
                    kept: Some(serde_json::from_value(kept).unwrap()),
                    ..ModelTurn::default()
                }),
            ],
            tool_names: HashMap::new(),
        };
        finished.drop_media_and_thoughts();
        let [ModelMessage::User(user), ModelMessage::Model(turn)] = &finished.messages[..] else {
            panic!("{finished:?}");
        };
        assert!(user.media.is_empty() && user.text.ends_with("What is it?"));
        assert!(turn.kept.is_none() && turn.text == "A cat.");
    }

    #[test]
    fn two_turns_of_the_model_in_succession_are_one() {
        let transcript = Transcript::default();
        transcript.begin(ModelMessage::from_text("Plan it".to_owned()));
        transcript.push(&turn("Here it is.", None));
        transcript.push(&turn("", Some("a")));
        let finished = transcript.finish(None).unwrap();
        let [
            ModelMessage::User(_),
            ModelMessage::Model(said),
            ModelMessage::Results(_),
            ..,
        ] = &finished.messages[..]
        else {
            panic!("{finished:?}");
        };
        assert_eq!((&*said.text, said.calls.len()), ("Here it is.", 1));
    }

    #[test]
    fn an_answered_query_is_kept_unchanged_and_an_unanswered_one_is_not() {
        let transcript = Transcript::default();
        transcript.begin(ModelMessage::from_text("Hello".to_owned()));
        assert!(transcript.finish(Some("(It failed.)")).is_none());
        transcript.begin(ModelMessage::from_text("Hello".to_owned()));
        transcript.push(&turn("Hi", None));
        assert_eq!(transcript.finish(None).unwrap().messages.len(), 2);
    }
}
