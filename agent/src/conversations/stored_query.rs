//! One query of a conversation, in the form in which it is stored.

use std::collections::HashMap;
use std::sync::Arc;

use bridge_protocol::Query;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::agent_loop::FinishedTranscript;
use crate::model::{CallResult, KeptTurn, Media, ModelCall, ModelMessage, ModelTurn, UserMessage};

/// The note in place of what is not stored.
const LEFT_OUT: &str = "[… left out: it is too long to be kept]";

/// One query of a conversation: its prompt and the messages of the model and its tools.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StoredQuery {
    /// The prompt as the person wrote it.
    pub(super) prompt: String,
    pub(super) attachments: Vec<AttachmentName>,
    pub(super) messages: Vec<StoredMessage>,
}

/// An attachment of a prompt, without its content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AttachmentName {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    mime_type: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "role",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub(super) enum StoredMessage {
    User {
        text: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        media: Vec<StoredMedia>,
    },
    Model {
        text: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<StoredCall>,
        /// The turn as its provider gets it back.
        #[serde(
            default,
            skip_serializing_if = "Option::is_none",
            deserialize_with = "deserialize_kept"
        )]
        kept: Option<Arc<KeptTurn>>,
    },
    Results {
        results: Vec<StoredResult>,
    },
}

/// Reads a turn as its provider gets it back. One that another version has written in another form is left
/// out: the provider reads its text and calls instead.
fn deserialize_kept<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Arc<KeptTurn>>, D::Error> {
    let kept = Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(kept).ok())
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StoredMedia {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    mime_type: String,
    data: Arc<str>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StoredCall {
    pub(super) id: String,
    /// The name that the model uses.
    pub(super) tool: String,
    /// The name under which the page registered the tool, if it is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) registered: Option<String>,
    pub(super) arguments: Map<String, Value>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StoredResult {
    pub(super) id: String,
    tool: String,
    pub(super) text: String,
    /// The marked lines of the service about the result, which only the model reads.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    notes: String,
    pub(super) is_error: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    media: Vec<StoredMedia>,
}

impl StoredQuery {
    /// Creates what is stored of a query that has ended.
    pub(crate) fn new(query: &Query, transcript: FinishedTranscript) -> Self {
        let FinishedTranscript {
            messages,
            tool_names,
        } = transcript;
        let attachments = query.attachments.iter().map(|attachment| AttachmentName {
            name: attachment.name.clone(),
            mime_type: attachment.mime_type.clone(),
        });
        let messages = messages.into_iter();
        let messages = messages.map(|message| StoredMessage::new(message, &tool_names));
        Self {
            prompt: query.prompt.clone(),
            attachments: attachments.collect(),
            messages: messages.collect(),
        }
    }

    /// Returns the messages for the model.
    pub(crate) fn into_messages(self) -> impl Iterator<Item = ModelMessage> {
        self.messages.into_iter().map(StoredMessage::into_message)
    }

    /// Returns how many prompts the query has: its own, and the messages of the person while it
    /// waited.
    pub(super) fn prompts(&self) -> usize {
        let messages = self.messages.iter();
        let prompts = messages.filter(|message| matches!(message, StoredMessage::User { .. }));
        prompts.count()
    }

    /// Drops the turns as their provider gets them back: it reads their texts and calls instead.
    pub(super) fn drop_kept(&mut self) {
        for message in &mut self.messages {
            if let StoredMessage::Model { kept, .. } = message {
                *kept = None;
            }
        }
    }

    /// Replaces pictures and files by their descriptions.
    pub(super) fn drop_media(&mut self) {
        for message in &mut self.messages {
            match message {
                StoredMessage::User { text, media } => {
                    let media = media.drain(..).map(StoredMedia::into_media);
                    let mut user = UserMessage {
                        text: std::mem::take(text),
                        media: media.collect(),
                    };
                    user.drop_media();
                    *text = user.text;
                }
                // The text of a result describes its pictures.
                StoredMessage::Results { results } => {
                    results.iter_mut().for_each(|result| result.media.clear());
                }
                StoredMessage::Model { .. } => {}
            }
        }
    }

    /// Replaces the results of calls by the note that they are left out.
    pub(super) fn drop_results(&mut self) {
        for message in &mut self.messages {
            if let StoredMessage::Results { results } = message {
                for result in results {
                    LEFT_OUT.clone_into(&mut result.text);
                    result.notes.clear();
                }
            }
        }
    }

    /// Drops everything but the first message, which is the prompt, and the last, which is the answer.
    pub(super) fn drop_calls(&mut self) {
        let last = self.messages.len().saturating_sub(1);
        self.messages.drain(1.min(last)..last);
        if let Some(StoredMessage::Model { calls, .. }) = self.messages.last_mut() {
            calls.clear();
        }
    }

    /// Shortens each text to this many bytes.
    pub(super) fn shorten_texts(&mut self, max_bytes: usize) {
        shorten(&mut self.prompt, max_bytes);
        self.attachments.clear();
        for message in &mut self.messages {
            match message {
                StoredMessage::User { text, .. } | StoredMessage::Model { text, .. } => {
                    shorten(text, max_bytes);
                }
                StoredMessage::Results { .. } => {}
            }
        }
    }
}

fn shorten(text: &mut String, max_bytes: usize) {
    if text.len() > max_bytes {
        text.truncate(text.floor_char_boundary(max_bytes));
        text.push_str(LEFT_OUT);
    }
}

impl StoredMessage {
    fn new(message: ModelMessage, tool_names: &HashMap<String, String>) -> Self {
        match message {
            ModelMessage::User(UserMessage { text, media }) => Self::User {
                text,
                media: media.into_iter().map(StoredMedia::new).collect(),
            },
            ModelMessage::Model(turn) => {
                let calls = turn.calls.into_iter().map(|call| StoredCall {
                    registered: tool_names.get(&call.tool).cloned(),
                    id: call.id,
                    tool: call.tool,
                    arguments: call.arguments,
                });
                Self::Model {
                    text: turn.text,
                    calls: calls.collect(),
                    kept: turn.kept.filter(|kept| kept.is_needed()),
                }
            }
            ModelMessage::Results(results) => {
                let results = results.into_iter().map(|result| StoredResult {
                    id: result.id,
                    tool: result.tool,
                    text: result.text,
                    notes: result.notes,
                    is_error: result.is_error,
                    media: result.media.into_iter().map(StoredMedia::new).collect(),
                });
                Self::Results {
                    results: results.collect(),
                }
            }
        }
    }

    fn into_message(self) -> ModelMessage {
        match self {
            Self::User { text, media } => ModelMessage::User(UserMessage {
                text,
                media: media.into_iter().map(StoredMedia::into_media).collect(),
            }),
            Self::Model { text, calls, kept } => {
                let calls = calls.into_iter().map(|call| ModelCall {
                    id: call.id,
                    tool: call.tool,
                    arguments: call.arguments,
                    unreadable: None,
                });
                ModelMessage::Model(ModelTurn {
                    text,
                    calls: calls.collect(),
                    kept,
                })
            }
            Self::Results { results } => {
                let results = results.into_iter().map(|result| CallResult {
                    id: result.id,
                    tool: result.tool,
                    text: result.text,
                    notes: result.notes,
                    is_error: result.is_error,
                    media: result
                        .media
                        .into_iter()
                        .map(StoredMedia::into_media)
                        .collect(),
                });
                ModelMessage::Results(results.collect())
            }
        }
    }
}

impl StoredMedia {
    fn new(media: Media) -> Self {
        Self {
            name: media.name,
            mime_type: media.mime_type,
            data: media.data,
        }
    }

    fn into_media(self) -> Media {
        Media {
            name: self.name,
            mime_type: self.mime_type,
            data: self.data,
        }
    }
}
