//! The result of a tool call, as MCP and the REST API deliver it.

use std::borrow::Cow;

use bridge_protocol::ErrorCode;
use bridge_raw_json::RawJson;
use bridge_realm::realm::CallFailure;
use bridge_schema::value_count::{self, MAX_VALUES};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::base64_text::{self, Base64};
use crate::built_result::BuiltResult;
use crate::content_blocks::{text_block, validate_blocks};
use crate::passthrough::{ContentParts, PassthroughResult};
use crate::repeated_media::without_media;
pub use crate::segments::EncodedBody;

/// The result object of MCP's `tools/call`.
#[derive(Clone, Debug)]
pub enum CallToolResult {
    /// The page's answer, forwarded as its JSON text without parsing it.
    Passthrough(PassthroughResult),
    /// Values that the bridge made or parsed.
    Built(BuiltResult),
}

/// The structured content of a result.
pub enum StructuredContent<'a> {
    /// JSON that has not been parsed.
    Text(&'a str),
    Value(&'a Value),
}

impl From<BuiltResult> for CallToolResult {
    fn from(result: BuiltResult) -> Self {
        Self::Built(result)
    }
}

impl CallToolResult {
    /// A result with one text block.
    pub fn text(text: String) -> Self {
        BuiltResult::text(text).into()
    }

    /// A result from the value that a handler returned. A string becomes text, a data URL an image,
    /// an object compact JSON text and `structuredContent`; no value becomes the empty text.
    pub fn from_value(value: Option<Value>) -> Self {
        match value {
            None | Some(Value::Null) => Self::text(String::new()),
            Some(Value::String(text)) => match image_block(&text) {
                Some(image) => Self::image(image, None),
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
        let data_url = fields.get("dataUrl").and_then(Value::as_str);
        if let Some(image) = data_url.and_then(image_block) {
            return Self::image(image, meta);
        }
        let structured = Value::Object(fields);
        let text = structured.to_string();
        let (text, is_whole) = match without_media(&text) {
            Some(shorter) => (shorter, false),
            None => (text, true),
        };
        Self::Built(BuiltResult {
            content: vec![text_block(text)],
            text_mirrors_structured: is_whole,
            structured: Some(structured),
            meta,
            ..BuiltResult::default()
        })
    }

    fn image(image: Value, meta: Option<Map<String, Value>>) -> Self {
        Self::Built(BuiltResult {
            content: vec![image],
            meta,
            ..BuiltResult::default()
        })
    }

    /// A result from the JSON text of the value that a handler returned.
    ///
    /// # Errors
    ///
    /// Why the text cannot be parsed, if it has to be.
    pub fn from_raw_json(value: Option<RawJson>) -> Result<Self, String> {
        let Some(value) = value.filter(|value| value.get() != "null") else {
            return Ok(Self::text(String::new()));
        };
        match PassthroughResult::try_from_json(value) {
            Ok(passthrough) => Ok(Self::Passthrough(passthrough)),
            Err(value) => Ok(Self::from_value(Some(parse_value(value.get())?))),
        }
    }

    /// A result from the JSON text of the content blocks that a handler returned.
    ///
    /// # Errors
    ///
    /// Describes the error in the blocks.
    pub fn from_raw_content(
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
            Ok(passthrough) => return Ok(Self::Passthrough(passthrough)),
            Err(parts) => parts,
        };
        let parse = |raw: Option<Box<RawValue>>| raw.map(|raw| parse_value(raw.get())).transpose();
        Self::from_content(
            parse_value(parts.content.get())?,
            parse(parts.structured)?,
            parse(parts.meta)?,
        )
    }

    /// A result from the content blocks that a handler returned.
    ///
    /// # Errors
    ///
    /// Describes the error in the blocks.
    pub fn from_content(
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
        Ok(Self::Built(BuiltResult {
            content: validate_blocks(content)?,
            structured,
            meta,
            ..BuiltResult::default()
        }))
    }

    /// A failure that the model should read. The error code goes into `_meta`, beside the text.
    pub fn from_failure(failure: &CallFailure) -> Self {
        BuiltResult::from_failure(failure).into()
    }

    /// A failure whose text is a JSON object that models and programs read, in the shape of
    /// mcp-web 0.1.
    pub fn error_with_details(code: ErrorCode, message: &str, details: Map<String, Value>) -> Self {
        BuiltResult::error_with_details(code, message, details).into()
    }

    /// The result as values. Parses it if it is still text.
    pub fn into_parsed(self) -> BuiltResult {
        match self {
            Self::Passthrough(passthrough) => parse_passthrough(&passthrough),
            Self::Built(built) => built,
        }
    }

    /// The values of the result, borrowed if it has been parsed already.
    pub fn parsed(&self) -> Cow<'_, BuiltResult> {
        match self {
            Self::Passthrough(passthrough) => Cow::Owned(parse_passthrough(passthrough)),
            Self::Built(built) => Cow::Borrowed(built),
        }
    }

    /// Whether the tool call failed. Answers of pages that are forwarded as text have not.
    pub fn is_error(&self) -> bool {
        matches!(self, Self::Built(built) if built.is_error)
    }

    /// Adds a member to the error of a failure, as [`BuiltResult::add_to_error`].
    pub fn add_to_error(&mut self, key: &str, value: Value) {
        if let Self::Built(built) = self {
            built.add_to_error(key, value);
        }
    }

    /// Whether the result is a failure with this code.
    pub fn has_error_code(&self, code: ErrorCode) -> bool {
        self.error_code() == Some(code)
    }

    /// Whether the result is the handle of a call that is still running.
    pub fn is_handle(&self) -> bool {
        matches!(self, Self::Built(built) if built.is_handle)
    }

    /// The code of a failure. `None` for other results, and for a failure without a code, which a
    /// handler has returned as its result.
    pub fn error_code(&self) -> Option<ErrorCode> {
        match self {
            Self::Passthrough(_) => None,
            Self::Built(built) => built.error_code(),
        }
    }

    /// The structured content.
    pub fn structured(&self) -> Option<StructuredContent<'_>> {
        match self {
            Self::Passthrough(passthrough) => passthrough.structured().map(StructuredContent::Text),
            Self::Built(built) => built.structured.as_ref().map(StructuredContent::Value),
        }
    }

    /// Writes the members of the result object, without its braces. There is always at least one.
    pub fn write_members(&self, out: &mut Vec<u8>) {
        match self {
            Self::Passthrough(passthrough) => passthrough.write_members(out),
            Self::Built(built) => {
                let begin = out.len();
                // Maps with string keys and texts: encoding them cannot fail.
                if serde_json::to_writer(&mut *out, built).is_ok() {
                    out.remove(begin);
                    out.pop();
                }
            }
        }
    }

    /// The members of the result object between `head` and `tail`.
    pub fn encode_body(&self, mut head: Vec<u8>, tail: &'static [u8]) -> EncodedBody {
        if let Self::Passthrough(passthrough) = self {
            return passthrough.encode_body(head, tail);
        }
        self.write_members(&mut head);
        head.extend_from_slice(tail);
        EncodedBody::Buffer(head)
    }

    /// Whether the result is a slice of the page's message, whose traits are known and which is
    /// written only when it is sent. No operation on such a result takes long, however large it is.
    pub fn is_borrowed(&self) -> bool {
        matches!(self, Self::Passthrough(passthrough) if passthrough.borrowed().is_some())
    }

    /// The text of all text blocks, joined by line feeds. Without any text block: the structured
    /// content as JSON.
    pub fn whole_text(&self) -> Cow<'_, str> {
        match self {
            Self::Passthrough(passthrough) => passthrough.single_text().unwrap_or_else(|| {
                let parsed = parse_passthrough(passthrough);
                Cow::Owned(parsed.whole_text().into_owned())
            }),
            Self::Built(built) => built.whole_text(),
        }
    }

    /// The result as the contents of a resource, as [`BuiltResult::to_resource_contents`].
    pub fn to_resource_contents(
        &self,
        uri: &str,
        fit: impl FnOnce(&[Value]) -> bool,
    ) -> Vec<Value> {
        self.parsed().to_resource_contents(uri, fit)
    }
}

/// The values of a result that is still text; an `InvalidResult` failure if it cannot be parsed.
fn parse_passthrough(passthrough: &PassthroughResult) -> BuiltResult {
    passthrough.parse().unwrap_or_else(|error| {
        let reason = parse_error_message(&error.to_string());
        let message = format!("the result cannot be passed on: {reason}");
        BuiltResult::from_failure(&CallFailure::new(ErrorCode::InvalidResult, message))
    })
}

fn parse_value(json: &str) -> Result<Value, String> {
    if value_count::exceeds(json, MAX_VALUES) {
        return Err(format!(
            "it has more than {MAX_VALUES} values in it, which are too many to be read: return less"
        ));
    }
    serde_json::from_str(json).map_err(|error| parse_error_message(&error.to_string()))
}

/// Why a result cannot be parsed, from the error of the parser.
pub fn parse_error_message(error: &str) -> String {
    format!("{error}. Return less nested data, and numbers as JavaScript has them")
}

/// The image block for a data URL like `data:image/png;base64,…`.
fn image_block(url: &str) -> Option<Value> {
    let Base64 { data, mime_type } = base64_text::parse(url).ok()?;
    let mime_type = mime_type.filter(|it| it.starts_with("image/") && !data.is_empty())?;
    Some(json!({ "type": "image", "data": data, "mimeType": mime_type }))
}

impl Serialize for CallToolResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Passthrough(passthrough) => passthrough.serialize(serializer),
            Self::Built(built) => built.serialize(serializer),
        }
    }
}

/// Two results are equal when clients cannot distinguish them.
impl PartialEq for CallToolResult {
    fn eq(&self, other: &Self) -> bool {
        let json = |result: &Self| serde_json::to_string(result).unwrap_or_default();
        json(self) == json(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to_json(value: Option<Value>) -> Value {
        serde_json::to_value(CallToolResult::from_value(value)).unwrap()
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
        let result = CallToolResult::from(BuiltResult {
            is_error: true,
            ..CallToolResult::from_value(Some(json!({"a": 1, "_meta": {"b": 2}}))).into_parsed()
        });
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
        // Text that only looks like an image stays text.
        for text in [
            "data:image/png;base64,%%%",
            "data:image/png;base64,",
            "data:image/png,AAAA",
        ] {
            assert_eq!(to_json(Some(json!(text)))["content"][0]["text"], text);
        }
        let shown = to_json(Some(
            json!({"dataUrl": "data:image/png;base64,AAAA", "_meta": {"k": 1}}),
        ));
        assert_eq!(shown, json!({"content": image, "_meta": {"k": 1}}));
    }

    #[test]
    fn a_long_data_url_in_an_object_is_only_in_the_structured_content() {
        let url = format!("data:image/png;base64,{}", "AAAA".repeat(2_000));
        let value =
            json!({"title": "t", "pictures": [{"url": url}], "note": "a;base64,b".repeat(200)});
        for raw in [value.to_string(), format!(" {value}")] {
            let raw = RawValue::from_string(raw).unwrap();
            let result = CallToolResult::from_raw_json(Some(raw.into())).unwrap();
            let result = result.into_parsed();
            assert_eq!(result.structured.as_ref(), Some(&value));
            let text = result.content[0]["text"].as_str().unwrap();
            let text: Value = serde_json::from_str(text).unwrap();
            assert_eq!(
                text["pictures"][0]["url"],
                "(image/png in a data URL of 8022 characters: see structuredContent)"
            );
            assert_eq!(text["note"], value["note"]);
            assert!(!result.text_mirrors_structured);
        }
        // Short ones, and those in a list without structured content, are in the text.
        let short = json!({"url": "data:image/png;base64,AAAA"});
        assert_eq!(
            to_json(Some(short.clone()))["content"][0]["text"],
            short.to_string()
        );
        let list = json!([{"url": url}]);
        assert_eq!(
            to_json(Some(list.clone()))["content"][0]["text"],
            list.to_string()
        );
    }
}
