//! The values of a tool result, for results that the bridge makes or has to look into.

use std::borrow::Cow;

use bridge_protocol::ErrorCode;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use bridge_realm::realm::CallFailure;

use crate::content_blocks::{text_block, text_content, validate_blocks};

/// The key in a failed result's `_meta` with the [`ErrorCode`] and the page's `data`.
const ERROR_META: &str = "mcp-web/error";

/// The result object of MCP's `tools/call`, as values.
#[derive(Clone, Debug, Default)]
pub struct BuiltResult {
    /// MCP `ContentBlock`s.
    pub content: Vec<Value>,
    pub structured: Option<Value>,
    /// Whether the only block is the text of `structured`.
    pub text_mirrors_structured: bool,
    pub is_error: bool,
    pub meta: Option<Map<String, Value>>,
    /// Whether the result is the handle of a call that is still running.
    pub is_handle: bool,
}

impl BuiltResult {
    /// A result with one text block.
    pub fn text(text: String) -> Self {
        Self {
            content: vec![text_block(text)],
            ..Self::default()
        }
    }

    /// A failure that the model should read. The error code goes into `_meta`, beside what the page
    /// has put there.
    pub fn from_failure(failure: &CallFailure) -> Self {
        let mut error = json!({ "code": failure.code.as_str() });
        if let Some(data) = failure.data.as_deref().and_then(try_parse) {
            error["data"] = data;
        }
        let mut meta = match failure.meta.as_deref().and_then(try_parse) {
            Some(Value::Object(meta)) => meta,
            _ => Map::new(),
        };
        meta.insert(ERROR_META.to_owned(), error);
        let content = failure.content.as_deref().and_then(try_parse);
        let content = content.and_then(|content| validate_blocks(content).ok());
        Self {
            content: content.unwrap_or_else(|| vec![text_block(failure.message.clone())]),
            is_error: true,
            meta: Some(meta),
            ..Self::default()
        }
    }

    /// A failure whose text is a JSON object that models and programs read, in the shape of
    /// mcp-web 0.1.
    pub fn error_with_details(
        code: ErrorCode,
        message: &str,
        mut details: Map<String, Value>,
    ) -> Self {
        details.shift_insert(0, "error".to_owned(), json!(code.as_str()));
        details.shift_insert(1, "error_message".to_owned(), json!(message));
        let meta = Map::from_iter([(ERROR_META.to_owned(), json!({ "code": code.as_str() }))]);
        Self {
            is_error: true,
            meta: Some(meta),
            ..Self::text(Value::Object(details).to_string())
        }
    }

    /// Adds a member to the error of a failure, beside its code. Any other result is unchanged.
    pub fn add_to_error(&mut self, key: &str, value: Value) {
        let meta = self.meta.as_mut().filter(|_| self.is_error);
        if let Some(Value::Object(error)) = meta.and_then(|meta| meta.get_mut(ERROR_META)) {
            error.insert(key.to_owned(), value);
        }
    }

    /// The code of a failure. `None` for other results, and for a failure without a code.
    pub fn error_code(&self) -> Option<ErrorCode> {
        let error = self
            .meta
            .as_ref()
            .filter(|_| self.is_error)?
            .get(ERROR_META)?;
        error.get("code")?.as_str()?.parse().ok()
    }

    /// The text of all text blocks, joined by line feeds. Without any text block: the structured
    /// content as JSON.
    pub fn whole_text(&self) -> Cow<'_, str> {
        let mut texts = self.content.iter().filter_map(text_content);
        match (texts.next(), texts.next(), &self.structured) {
            (Some(only), None, _) => Cow::Borrowed(only),
            (Some(_), Some(_), _) => {
                let texts: Vec<_> = self.content.iter().filter_map(text_content).collect();
                Cow::Owned(texts.join("\n"))
            }
            (None, _, Some(structured)) => Cow::Owned(structured.to_string()),
            (None, _, None) => Cow::Borrowed(""),
        }
    }

    /// The result as the contents of a resource: one content for each block that is not a link, and one
    /// for structured content that no text repeats. Structured content with which the contents do not
    /// fit is left out, with a note.
    pub fn to_resource_contents(
        &self,
        uri: &str,
        fit: impl FnOnce(&[Value]) -> bool,
    ) -> Vec<Value> {
        let content = |mime_type: &Value, key: &str, data: &Value| json!({ "uri": uri, "mimeType": mime_type, key: data });
        let text_type = json!(if self.text_mirrors_structured {
            "application/json"
        } else {
            "text/plain"
        });
        let mut contents: Vec<_> = self
            .content
            .iter()
            .filter_map(|block| match block["type"].as_str()? {
                "text" => Some(content(&text_type, "text", &block["text"])),
                "image" | "audio" => Some(content(&block["mimeType"], "blob", &block["data"])),
                "resource" => Some(block["resource"].clone()),
                _ => None,
            })
            .collect();
        if let Some(structured) = &self.structured
            && !self.text_mirrors_structured
        {
            let text = json!(structured.to_string());
            if !contents.iter().any(|content| content["text"] == text) {
                contents.push(content(&json!("application/json"), "text", &text));
                if !fit(&contents) {
                    contents.pop();
                    let bytes = text.as_str().map_or(0, str::len);
                    let note = format!("[structuredContent left out: {bytes} bytes]");
                    contents.push(content(&json!("text/plain"), "text", &json!(note)));
                }
            }
        }
        contents
    }
}

impl Serialize for BuiltResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("content", &self.content)?;
        if let Some(structured) = &self.structured {
            map.serialize_entry("structuredContent", structured)?;
        }
        if self.is_error {
            map.serialize_entry("isError", &true)?;
        }
        if let Some(meta) = &self.meta {
            map.serialize_entry("_meta", meta)?;
        }
        map.end()
    }
}

fn try_parse(raw: &RawValue) -> Option<Value> {
    serde_json::from_str(raw.get()).ok()
}

/// Two results are equal when clients cannot distinguish them.
impl PartialEq for BuiltResult {
    fn eq(&self, other: &Self) -> bool {
        let json = |result: &Self| serde_json::to_string(result).unwrap_or_default();
        json(self) == json(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(value: &Value) -> Option<Box<RawValue>> {
        RawValue::from_string(value.to_string()).ok()
    }

    #[test]
    fn a_failure_keeps_the_content_and_the_meta_of_the_page() {
        let content = json!([{ "type": "text", "text": "1 setValue e1 failed" }]);
        let failure = CallFailure {
            content: raw(&content),
            meta: raw(&json!({ "mcp-web/page": { "skipped": 2 } })),
            ..CallFailure::new(ErrorCode::HandlerFailed, "failed".to_owned())
        };
        let result = json!(BuiltResult::from_failure(&failure));
        let expected = json!({
            "content": content,
            "isError": true,
            "_meta": { "mcp-web/page": { "skipped": 2 }, "mcp-web/error": { "code": "HandlerFailed" } },
        });
        assert_eq!(result, expected);
    }

    #[test]
    fn the_contents_of_a_resource_are_the_whole_result() {
        let structured = json!({ "a": 1 });
        let content = |mime_type: &str, text: &str| json!({ "uri": "x:y", "mimeType": mime_type, "text": text });
        let json = content("application/json", r#"{"a":1}"#);
        for (text, mirrors, expected) in [
            (Some(r#"{"a":1}"#), true, vec![json.clone()]),
            (None, false, vec![json.clone()]),
            (Some("one"), false, vec![content("text/plain", "one"), json]),
            (
                Some(r#"{"a":1}"#),
                false,
                vec![content("text/plain", r#"{"a":1}"#)],
            ),
        ] {
            let result = BuiltResult {
                content: text
                    .map(|text| text_block(text.to_owned()))
                    .into_iter()
                    .collect(),
                structured: Some(structured.clone()),
                text_mirrors_structured: mirrors,
                ..BuiltResult::default()
            };
            assert_eq!(result.to_resource_contents("x:y", |_| true), expected);
        }
        let result = BuiltResult {
            content: vec![text_block("one".to_owned())],
            structured: Some(json!({ "a": "b".repeat(1_000) })),
            ..BuiltResult::default()
        };
        let contents = result.to_resource_contents("x:y", |_| false);
        let note = contents[1]["text"].as_str().unwrap();
        assert!(note.starts_with("[structuredContent left out: 1"), "{note}");
        assert_eq!(contents[0]["text"], "one");
    }

    #[test]
    fn a_page_does_not_decide_about_the_code_in_the_meta() {
        let failure = CallFailure {
            meta: raw(&json!({ "mcp-web/error": { "code": "PageGone" } })),
            ..CallFailure::new(ErrorCode::HandlerFailed, "failed".to_owned())
        };
        let result = BuiltResult::from_failure(&failure);
        assert_eq!(result.error_code(), Some(ErrorCode::HandlerFailed));
    }
}
