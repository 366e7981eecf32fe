//! Results of tools besides plain values: MCP content blocks.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// A content block of MCP: a text, a picture, a sound, or a link.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Content(Value);

impl Content {
    /// Creates a text.
    pub fn text(text: impl Into<String>) -> Self {
        Self(json!({ "type": "text", "text": text.into() }))
    }

    /// Creates a picture from its bytes, such as those of a PNG with `image/png`.
    pub fn image(bytes: &[u8], mime_type: &str) -> Self {
        let data = BASE64_STANDARD.encode(bytes);
        Self(json!({ "type": "image", "data": data, "mimeType": mime_type }))
    }

    /// Creates a sound from its bytes.
    pub fn audio(bytes: &[u8], mime_type: &str) -> Self {
        let data = BASE64_STANDARD.encode(bytes);
        Self(json!({ "type": "audio", "data": data, "mimeType": mime_type }))
    }

    /// Creates a link to a resource.
    pub fn resource_link(uri: &str, name: &str) -> Self {
        Self(json!({ "type": "resource_link", "uri": uri, "name": name }))
    }

    /// Creates a block from the JSON of a newer MCP.
    pub fn from_json(block: Map<String, Value>) -> Self {
        Self(block.into())
    }
}

/// The result of a tool that is more than a plain value.
#[derive(Clone, Debug, Default)]
pub struct ToolResult {
    pub(crate) content: Vec<Content>,
    pub(crate) structured_content: Option<Value>,
    pub(crate) meta: Option<Value>,
}

impl ToolResult {
    /// Creates a result of these blocks.
    pub fn new(content: impl IntoIterator<Item = Content>) -> Self {
        Self {
            content: content.into_iter().collect(),
            ..Self::default()
        }
    }

    /// Adds the structured value for programs. It must be a JSON object.
    #[must_use]
    pub fn structured(mut self, value: Map<String, Value>) -> Self {
        self.structured_content = Some(value.into());
        self
    }

    /// Adds `_meta`.
    #[must_use]
    pub fn meta(mut self, meta: Map<String, Value>) -> Self {
        self.meta = Some(meta.into());
        self
    }
}
