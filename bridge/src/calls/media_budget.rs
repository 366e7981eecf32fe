//! How much media a client may receive: images, audio and other data in base64. Some clients send
//! all of it again with each request to their model, until its service refuses the conversation.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bridge_mcp_results::passthrough::PassthroughResult;
use bridge_mcp_results::tool_result::CallToolResult;
use serde_json::{Map, Value};

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

/// Why media are left out, and what ends it.
pub(super) const EXHAUSTED: &str = "this client has received as much media as its requests can \
                                    carry: ask for text, or let the user reconnect to this server, \
                                    because each MCP session begins anew";

/// Returns the size of the base64 data in the messages of a prompt or the contents of a resource.
pub(super) fn object_media_len(result: &Map<String, Value>) -> usize {
    let list = |name| result.get(name).and_then(Value::as_array).into_iter();
    let messages = list("messages").flatten();
    let messages = messages.map(|message| media_len(&message["content"]));
    let contents = list("contents").flatten();
    let contents = contents.map(|content| content["blob"].as_str().map_or(0, str::len));
    messages.chain(contents).sum()
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

/// Whether a result may contain media. Blocks that have not been parsed may.
pub(super) fn may_have_media(result: &CallToolResult) -> bool {
    match result {
        CallToolResult::Passthrough(passthrough) => {
            matches!(passthrough, PassthroughResult::Blocks(_))
        }
        CallToolResult::Built(built) => built.content.iter().any(|block| media_len(block) > 0),
    }
}
