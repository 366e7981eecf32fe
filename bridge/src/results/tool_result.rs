//! What a page's answer looks like to an MCP client, in no library's vocabulary.
//!
//! What nobody has to look into stays the text that came ([`raw`]). [`fit`] makes a result fit that is
//! larger than its client takes, [`size`] measures.

use crate::results::content_blocks;
use std::borrow::Cow;

use bridge_protocol::ErrorCode;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::results::passthrough::{ContentParts, PassthroughResult};
pub(crate) use crate::results::segments::EncodedBody;
use bridge_json::RawJson;
use bridge_realm::realm::CallFailure;

/// The key in a failed result's `_meta` that holds the [`ErrorCode`] and the page's `data`.
const ERROR_META: &str = "mcp-web/error";

/// The result object of MCP's `tools/call`.
#[derive(Clone, Debug, Default)]
pub(crate) struct ToolResult {
    /// What a page answered, not read: then there is nothing in the other fields.
    /// [`ToolResult::into_parsed`] fills them.
    pub(super) passthrough: Option<PassthroughResult>,
    /// MCP `ContentBlock`s.
    pub(crate) content: Vec<Value>,
    pub(crate) structured: Option<Value>,
    /// The only block is the text of `structured`.
    pub(crate) text_mirrors_structured: bool,
    pub(crate) is_error: bool,
    pub(crate) meta: Option<Map<String, Value>>,
}

impl ToolResult {
    /// From the value that a handler returned. A string is text, a data URL an image, an object
    /// compact JSON text and `structuredContent`; nothing is the empty text.
    pub(crate) fn from_value(value: Option<Value>) -> Self {
        match value {
            None | Some(Value::Null) => Self::text(String::new()),
            Some(Value::String(text)) => match image_block(&text) {
                Some(image) => Self {
                    content: vec![image],
                    ..Self::default()
                },
                None => Self::text(text),
            },
            Some(Value::Object(fields)) => Self::from_object(fields),
            Some(other) => Self::text(other.to_string()),
        }
    }

    fn from_object(mut fields: Map<String, Value>) -> Self {
        let meta = match fields.shift_remove("_meta") {
            Some(Value::Object(meta)) => Some(meta),
            Some(other) => {
                fields.insert("_meta".to_owned(), other);
                None
            }
            None => None,
        };
        if let Some(image) = fields
            .get("dataUrl")
            .and_then(Value::as_str)
            .and_then(image_block)
        {
            return Self {
                content: vec![image],
                meta,
                ..Self::default()
            };
        }
        let structured = Value::Object(fields);
        Self {
            content: vec![text_block(structured.to_string())],
            structured: Some(structured),
            text_mirrors_structured: true,
            meta,
            ..Self::default()
        }
    }

    /// From the text of the value that a handler returned.
    ///
    /// # Errors
    ///
    /// Why no value can be made of it, where there has to be one.
    pub(crate) fn from_raw_json(value: Option<RawJson>) -> Result<Self, String> {
        let Some(value) = value.filter(|value| value.get() != "null") else {
            return Ok(Self::text(String::new()));
        };
        match PassthroughResult::try_from_json(value) {
            Ok(raw) => Ok(Self::from_passthrough(raw)),
            Err(value) => Ok(Self::from_value(Some(parse_value(value.get())?))),
        }
    }

    /// From the text of the content blocks that a handler returned.
    ///
    /// # Errors
    ///
    /// What is wrong with them.
    pub(crate) fn from_raw_content(
        content: Box<RawValue>,
        structured: Option<Box<RawValue>>,
        meta: Option<Box<RawValue>>,
    ) -> Result<Self, String> {
        let meta = meta.filter(|meta| meta.get() != "null");
        let parts = ContentParts {
            content,
            structured,
            meta,
        };
        let parts = match PassthroughResult::try_from_content(parts) {
            Ok(raw) => return Ok(Self::from_passthrough(raw)),
            Err(parts) => parts,
        };
        let parse = |raw: Option<Box<RawValue>>| raw.map(|raw| parse_value(raw.get())).transpose();
        Self::from_content(
            parse_value(parts.content.get())?,
            parse(parts.structured)?,
            parse(parts.meta)?,
        )
    }

    fn from_passthrough(raw: PassthroughResult) -> Self {
        Self {
            passthrough: Some(raw),
            ..Self::default()
        }
    }

    /// The same with values in place of texts.
    pub(crate) fn into_parsed(self) -> Self {
        let Some(raw) = &self.passthrough else {
            return self;
        };
        raw.parse().unwrap_or_else(|error| {
            let message = format!(
                "the result cannot be passed on: {}",
                parse_error_message(&error)
            );
            Self::from_failure(&CallFailure::new(ErrorCode::InvalidResult, message))
        })
    }

    /// Whether there is structured content.
    pub(crate) fn has_structured(&self) -> bool {
        match &self.passthrough {
            Some(passthrough) => passthrough.structured().is_some(),
            None => self.structured.is_some(),
        }
    }

    /// The structured content, to look at.
    ///
    /// # Errors
    ///
    /// Why no value can be made of it.
    pub(crate) fn take_structured(&mut self) -> Result<Option<Value>, String> {
        match &self.passthrough {
            Some(passthrough) => passthrough.structured().map(parse_value).transpose(),
            None => Ok(self.structured.take()),
        }
    }

    /// Gives back what was looked at.
    pub(crate) fn restore_structured(&mut self, structured: Value) {
        if self.passthrough.is_none() {
            self.structured = Some(structured);
        }
    }

    /// From the content blocks that a handler returned.
    pub(crate) fn from_content(
        content: Value,
        structured: Option<Value>,
        meta: Option<Value>,
    ) -> Result<Self, String> {
        let meta = match meta {
            None | Some(Value::Null) => None,
            Some(Value::Object(meta)) => Some(meta),
            Some(_) => return Err("`_meta` must be an object".to_owned()),
        };
        if structured.as_ref().is_some_and(|value| !value.is_object()) {
            return Err("`structuredContent` must be an object".to_owned());
        }
        Ok(Self {
            content: content_blocks::validate_blocks(content)?,
            structured,
            meta,
            ..Self::default()
        })
    }

    /// Writes the members of the result object, without its braces. There is always one.
    pub(crate) fn write_members(&self, out: &mut Vec<u8>) {
        if let Some(passthrough) = &self.passthrough {
            return passthrough.write_members(out);
        }
        let begin = out.len();
        // Values and texts only: there is nothing that can fail to encode.
        if serde_json::to_writer(&mut *out, self).is_ok() {
            out.remove(begin);
            out.pop();
        }
    }

    pub(crate) fn text(text: String) -> Self {
        Self {
            content: vec![text_block(text)],
            ..Self::default()
        }
    }

    /// What stands around the members of the result object, and these.
    pub(crate) fn encode_body(&self, mut head: Vec<u8>, tail: &'static [u8]) -> EncodedBody {
        if let Some(passthrough) = &self.passthrough {
            return passthrough.encode_body(head, tail);
        }
        self.write_members(&mut head);
        head.extend_from_slice(tail);
        EncodedBody::Buffer(head)
    }

    /// Whether everything is known of it that its text would tell, and the text is written when it is
    /// sent: nothing of that takes long, however large it is.
    pub(crate) fn is_borrowed(&self) -> bool {
        self.passthrough
            .as_ref()
            .is_some_and(|passthrough| passthrough.borrowed().is_some())
    }

    /// The text of all its blocks, one under the other. Without any: that of its structured content.
    pub(crate) fn whole_text(&self) -> Cow<'_, str> {
        if let Some(passthrough) = &self.passthrough {
            let parsed = || Cow::Owned(self.clone().into_parsed().whole_text().into_owned());
            return passthrough.single_text().unwrap_or_else(parsed);
        }
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

    /// As the contents of a resource: each block that is no link one content.
    pub(crate) fn to_resource_contents(&self, uri: &str) -> Vec<Value> {
        if self.passthrough.is_some() {
            return self.clone().into_parsed().to_resource_contents(uri);
        }
        let content = |mime_type: &Value, key: &str, data: &Value| json!({ "uri": uri, "mimeType": mime_type, key: data });
        let text_type = json!(if self.text_mirrors_structured {
            "application/json"
        } else {
            "text/plain"
        });
        let contents: Vec<_> = self
            .content
            .iter()
            .filter_map(|block| match block["type"].as_str()? {
                "text" => Some(content(&text_type, "text", &block["text"])),
                "image" | "audio" => Some(content(&block["mimeType"], "blob", &block["data"])),
                "resource" => Some(block["resource"].clone()),
                _ => None,
            })
            .collect();
        match &self.structured {
            Some(structured) if contents.is_empty() => {
                let text = json!(structured.to_string());
                vec![content(&json!("application/json"), "text", &text)]
            }
            _ => contents,
        }
    }

    /// A failure that the model should read. The code travels beside the words.
    pub(crate) fn from_failure(failure: &CallFailure) -> Self {
        let mut error = json!({ "code": failure.code.as_str() });
        if let Some(data) = failure.data.as_deref().and_then(try_parse) {
            error["data"] = data;
        }
        let meta = Map::from_iter([(ERROR_META.to_owned(), error)]);
        let content = failure.content.as_deref().and_then(try_parse);
        let content = content.and_then(|content| content_blocks::validate_blocks(content).ok());
        Self {
            content: content.unwrap_or_else(|| vec![text_block(failure.message.clone())]),
            is_error: true,
            meta: Some(meta),
            ..Self::default()
        }
    }

    /// Whether it is a failure of this kind.
    pub(crate) fn has_error_code(&self, code: ErrorCode) -> bool {
        let error = self.meta.as_ref().and_then(|meta| meta.get(ERROR_META));
        self.is_error && error.is_some_and(|error| error["code"] == code.as_str())
    }

    /// A failure with a body that models and programs read, as mcp-web 0.1 shaped it.
    pub(crate) fn error_with_details(
        code: ErrorCode,
        message: &str,
        mut details: Map<String, Value>,
    ) -> Self {
        details.shift_insert(0, "error".to_owned(), json!(code.as_str()));
        details.shift_insert(1, "error_message".to_owned(), json!(message));
        let meta = Map::from_iter([(ERROR_META.to_owned(), json!({ "code": code.as_str() }))]);
        let text = Self::text(Value::Object(details).to_string());
        Self {
            is_error: true,
            meta: Some(meta),
            ..text
        }
    }
}

fn try_parse(raw: &RawValue) -> Option<Value> {
    serde_json::from_str(raw.get()).ok()
}

fn parse_value(json: &str) -> Result<Value, String> {
    serde_json::from_str(json).map_err(|error| parse_error_message(&error))
}

fn parse_error_message(error: &serde_json::Error) -> String {
    format!("{error}. Return less nested data, and numbers as JavaScript has them")
}

/// `data:image/png;base64,…`
fn image_block(url: &str) -> Option<Value> {
    let (mime_type, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
    mime_type
        .starts_with("image/")
        .then(|| json!({ "type": "image", "data": data, "mimeType": mime_type }))
}

/// Texts may be long: this one moves.
pub(super) fn text_block(text: String) -> Value {
    let mut block = json!({ "type": "text" });
    block["text"] = Value::String(text);
    block
}

/// The text of a text block.
pub(super) fn text_content(block: &Value) -> Option<&str> {
    let is_text = block["type"] == "text";
    is_text.then(|| block["text"].as_str()).flatten()
}

impl Serialize for ToolResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Some(passthrough) = &self.passthrough {
            return passthrough.serialize(serializer);
        }
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

/// Two are the same when clients cannot tell them apart.
#[cfg(test)]
impl PartialEq for ToolResult {
    fn eq(&self, other: &Self) -> bool {
        let json = |result: &Self| serde_json::to_string(result).unwrap_or_default();
        json(self) == json(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to_json(value: Option<Value>) -> Value {
        serde_json::to_value(ToolResult::from_value(value)).unwrap()
    }

    #[test]
    fn each_kind_of_value_becomes_its_content() {
        let text = |text: &str| json!({"content": [{"type": "text", "text": text}]});
        assert_eq!(to_json(None), text(""));
        assert_eq!(to_json(Some(json!(null))), text(""));
        assert_eq!(to_json(Some(json!("hi"))), text("hi"));
        assert_eq!(to_json(Some(json!(1.5))), text("1.5"));
        assert_eq!(to_json(Some(json!(true))), text("true"));
        assert_eq!(to_json(Some(json!([1, "a"]))), text("[1,\"a\"]"));
        assert_eq!(
            to_json(Some(json!({"z": 1, "a": {"error": null}}))),
            json!({"content": [{"type": "text", "text": "{\"z\":1,\"a\":{\"error\":null}}"}],
                "structuredContent": {"z": 1, "a": {"error": null}}})
        );
    }

    #[test]
    fn write_members_matches_the_serialized_object() {
        let result = ToolResult {
            is_error: true,
            ..ToolResult::from_value(Some(json!({"a": 1, "_meta": {"b": 2}})))
        };
        let mut members = b"{".to_vec();
        result.write_members(&mut members);
        members.push(b'}');
        assert_eq!(members, serde_json::to_vec(&result).unwrap());
    }

    #[test]
    fn data_urls_become_images_and_meta_moves_to_the_result() {
        let image = json!([{"type": "image", "data": "AAAA", "mimeType": "image/png"}]);
        assert_eq!(
            to_json(Some(json!("data:image/png;base64,AAAA")))["content"],
            image
        );
        let shown = to_json(Some(
            json!({"dataUrl": "data:image/png;base64,AAAA", "_meta": {"k": 1}}),
        ));
        assert_eq!(shown, json!({"content": image, "_meta": {"k": 1}}));
    }
}
