//! How much media a client may receive: images, audio and other data in base64. Some clients send
//! all of it again with each request to their model, until its service refuses the conversation.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bridge_mcp_results::content_blocks::text_block;
use bridge_mcp_results::passthrough::PassthroughResult;
use bridge_mcp_results::tool_result::CallToolResult;
use serde_json::{Map, Value, json};

/// The media of one MCP session, in bytes of base64. Clones share what is left.
#[derive(Clone, Debug)]
pub(crate) struct MediaBudget {
    max: usize,
    left: Arc<AtomicUsize>,
}

impl MediaBudget {
    pub(crate) fn new(max: usize) -> Self {
        Self {
            max,
            left: Arc::new(AtomicUsize::new(max)),
        }
    }

    /// The maximum for the whole session.
    pub(crate) fn max(&self) -> usize {
        self.max
    }

    /// Why media of a result with this number of bytes of them are left out, and what helps.
    pub(super) fn refusal(&self, bytes: usize) -> String {
        let max = self.max;
        if bytes > max {
            return format!(
                "this client takes at most {max} bytes of media: ask for fewer or smaller ones, or \
                 for text"
            );
        }
        "this client has received as much media as its requests can carry: ask for text, or let \
         the user reconnect to this server, because each MCP session begins anew"
            .to_owned()
    }

    /// Takes the media in the messages of a prompt or the contents of a resource. A note replaces
    /// those that the client may not receive.
    ///
    /// # Errors
    ///
    /// Why the client may receive nothing of the result.
    pub(super) fn take_from_object(&self, result: &mut Map<String, Value>) -> Result<(), String> {
        let reason = self.refusal(object_media_len(result));
        let mut is_explained = false;
        let mut note = |block: &Value| {
            let kind = block_kind(block);
            if std::mem::replace(&mut is_explained, true) {
                return format!("[{kind} left out.]");
            }
            format!("[{kind} left out, because {reason}.]")
        };
        let mut is_empty = true;
        for message in list_mut(result, "messages") {
            let Some(block) = message.get_mut("content") else {
                continue;
            };
            if self.take(media_len(block)) {
                is_empty = false;
            } else {
                *block = text_block(note(block));
            }
        }
        for content in list_mut(result, "contents") {
            if self.take(blob_len(content)) {
                is_empty = false;
            } else {
                let (uri, text) = (&content["uri"], note(content));
                *content = json!({ "uri": uri, "mimeType": "text/plain", "text": text });
            }
        }
        if is_empty { Err(reason) } else { Ok(()) }
    }

    /// Takes this number of bytes. Returns whether as much was left; otherwise nothing is taken.
    pub(super) fn take(&self, bytes: usize) -> bool {
        let take = |left: usize| left.checked_sub(bytes);
        let taken = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        taken.is_ok()
    }

    /// Gives back bytes that were taken and are not sent.
    pub(super) fn give_back(&self, bytes: usize) {
        self.left.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// Returns the size of the base64 data in the messages of a prompt or the contents of a resource.
pub(super) fn object_media_len(result: &Map<String, Value>) -> usize {
    let list = |name| result.get(name).and_then(Value::as_array).into_iter();
    let messages = list("messages").flatten();
    let messages = messages.map(|message| media_len(&message["content"]));
    let contents = list("contents").flatten().map(blob_len);
    messages.chain(contents).sum()
}

fn list_mut<'a>(
    result: &'a mut Map<String, Value>,
    name: &str,
) -> impl Iterator<Item = &'a mut Value> + use<'a> {
    let list = result.get_mut(name).and_then(Value::as_array_mut);
    list.into_iter().flatten()
}

fn blob_len(content: &Value) -> usize {
    content["blob"].as_str().map_or(0, str::len)
}

/// Returns the size of the base64 data in a content block.
pub(super) fn media_len(block: &Value) -> usize {
    let data = match block["type"].as_str() {
        Some("image" | "audio") => block.get("data"),
        Some("resource") => block.pointer("/resource/blob"),
        _ => None,
    };
    data.and_then(Value::as_str).map_or(0, str::len)
}

/// The kind of a block that is not text, for a note.
pub(super) fn block_kind(block: &Value) -> String {
    let mime_type = block["mimeType"].as_str();
    let mime_type = mime_type.or_else(|| block.pointer("/resource/mimeType")?.as_str());
    let kind = mime_type.or(block["type"].as_str()).unwrap_or("block");
    kind.chars().take(40).collect()
}

/// Whether a result may contain media. Blocks that have not been parsed may.
pub(super) fn may_have_media(result: &CallToolResult) -> bool {
    match result {
        CallToolResult::Passthrough(passthrough) => {
            matches!(passthrough, PassthroughResult::Blocks(_))
        }
        CallToolResult::Built(built) => built.content.iter().any(|block| media_len(block) > 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_replaces_media_beside_other_content() {
        let note = |kind: &str| {
            format!(
                "[{kind} left out, because this client takes at most 8 bytes of media: ask for \
                 fewer or smaller ones, or for text.]"
            )
        };
        let message = |block: Value| json!({ "role": "user", "content": block });
        let text = |text: &str| json!({ "type": "text", "text": text });
        let image =
            |data: &str| message(json!({ "type": "image", "mimeType": "image/png", "data": data }));
        let content = |mime_type: &str, key: &str, value: &str| json!({ "uri": "a:b", "mimeType": mime_type, key: value });
        let pdf = content("application/pdf", "blob", "AAAAAAAAAAAA");
        for (result, expected) in [
            (
                json!({ "messages": [message(text("seen")), image("AAAAAAAAAAAA"), image("AAAAAAAA")] }),
                Some(json!({ "messages":
                    [message(text("seen")), message(text(&note("image/png"))), image("AAAAAAAA")] })),
            ),
            (
                json!({ "contents": [content("text/html", "text", "seen"), pdf] }),
                Some(json!({ "contents": [
                    content("text/html", "text", "seen"),
                    content("text/plain", "text", &note("application/pdf")),
                ] })),
            ),
            (json!({ "contents": [pdf] }), None),
            (json!({ "messages": [image("AAAAAAAAAAAA")] }), None),
        ] {
            let Value::Object(mut object) = result else {
                panic!("{result} is an object");
            };
            let taken = MediaBudget::new(8).take_from_object(&mut object);
            assert_eq!(taken.is_ok(), expected.is_some(), "{taken:?}");
            if let Some(expected) = expected {
                assert_eq!(Value::Object(object), expected);
            }
        }
    }
}
