//! The results of `tools/call` and `resources/read` in the format of mcp-web 0.1, written from the
//! raw JSON of a page as the raw JSON of the response.

use std::borrow::Cow;

use bridge_protocol::ErrorCode;
use bridge_realm::realm::{CallFailure, CallOutcome, PageAbilities, PageAnswer};
use indexmap::IndexMap;
use memchr::memmem;
use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::js_json::{self, OutputTooLong};
use crate::json_text::{decode_string, write_json};

/// The maximum size of an indented result, as a multiple of the maximum size of a result.
const MAX_PRETTY_FACTOR: usize = 4;

/// Writes results in the format that clients of mcp-web 0.1 expect.
#[derive(Clone, Copy, Debug)]
pub struct ResultWriter {
    /// The maximum length of the text of a result, in bytes.
    max_text_bytes: usize,
    /// Whether the data of a failure is the whole result of the page.
    fails_with_results: bool,
}

impl ResultWriter {
    pub fn new(max_result_bytes: usize) -> Self {
        let max_text_bytes = max_result_bytes.saturating_mul(MAX_PRETTY_FACTOR);
        Self {
            max_text_bytes,
            fails_with_results: false,
        }
    }

    /// Returns a writer for results of a page with these abilities.
    pub fn for_page(self, abilities: PageAbilities) -> Self {
        Self {
            fails_with_results: abilities.fails_with_results,
            ..self
        }
    }

    /// Writes the outcome of a call.
    pub fn write_outcome(self, outcome: CallOutcome, out: &mut Vec<u8>) {
        let start = out.len();
        let written = match &outcome {
            CallOutcome::Answered(PageAnswer::Value(None)) => {
                out.extend_from_slice(b"{\"content\":[{\"type\":\"text\",\"text\":\"\"}]}");
                Ok(())
            }
            CallOutcome::Answered(PageAnswer::Value(Some(raw))) => self.write_value(raw.get(), out),
            CallOutcome::Answered(PageAnswer::Content {
                content,
                structured,
                meta,
            }) => self.write_content(content, structured.as_deref(), meta.as_deref(), out),
            CallOutcome::Failed(failure) => self.write_failure(failure, out),
        };
        if written.is_err() {
            out.truncate(start);
            let message = "the result is too large when it is printed: ask for less";
            let error = ErrorCode::ResultTooLarge.as_str();
            self.write_error(&json!({ "error": error, "error_message": message }), out);
        }
    }

    /// Writes a failed result with the JSON of `body` as its text.
    pub fn write_error(self, body: &impl Serialize, out: &mut Vec<u8>) {
        // Texts of the bridge itself never exceed the limit.
        let _ = self.write_serialized(body, out);
        out.extend_from_slice(b",\"isError\":true}");
    }

    /// Writes the result of a call while no page is connected. Its text is meant for the model to
    /// repeat to the user.
    pub fn write_no_page(self, out: &mut Vec<u8>) {
        let text =
            "No page is connected with this token: open the app in a browser, then call again.";
        let content = json!([{ "type": "text", "text": text }]);
        write_json(&json!({ "content": content, "isError": true }), out);
    }

    /// Writes a successful result with the JSON of `body` as its text.
    pub fn write_success(self, body: &impl Serialize, out: &mut Vec<u8>) {
        let _ = self.write_serialized(body, out);
        out.push(b'}');
    }

    fn write_serialized(
        self,
        body: &impl Serialize,
        out: &mut Vec<u8>,
    ) -> Result<(), OutputTooLong> {
        let mut json = Vec::new();
        write_json(body, &mut json);
        self.write_pretty_text(&String::from_utf8_lossy(&json), out)
    }

    /// Writes `{"content":[…]` with one block that contains the indented JSON as text.
    fn write_pretty_text(self, json: &str, out: &mut Vec<u8>) -> Result<(), OutputTooLong> {
        out.extend_from_slice(b"{\"content\":[{\"type\":\"text\",\"text\":\"");
        js_json::write_pretty(json, out.len().saturating_add(self.max_text_bytes), out)?;
        out.extend_from_slice(b"\"}]");
        Ok(())
    }

    fn write_value(self, raw: &str, out: &mut Vec<u8>) -> Result<(), OutputTooLong> {
        match raw.as_bytes().first() {
            Some(b'{') if may_have_special_keys(raw) => return self.write_special_object(raw, out),
            Some(b'{' | b'[') => self.write_pretty_text(raw, out)?,
            Some(b'"') => match image_data_url(raw) {
                Some(url) => write_image(&url, out),
                None => {
                    out.extend_from_slice(b"{\"content\":[{\"type\":\"text\",\"text\":");
                    out.extend_from_slice(raw.as_bytes());
                    out.extend_from_slice(b"}]");
                }
            },
            _ => {
                out.extend_from_slice(b"{\"content\":[{\"type\":\"text\",\"text\":\"");
                if raw != "null" {
                    js_json::write_scalar(raw, out);
                }
                out.extend_from_slice(b"\"}]");
            }
        }
        out.push(b'}');
        Ok(())
    }

    /// Writes the result for an object that may have the keys `error`, `_meta` or `dataUrl`.
    fn write_special_object(self, raw: &str, out: &mut Vec<u8>) -> Result<(), OutputTooLong> {
        let fields: IndexMap<Cow<'_, str>, &RawValue> =
            serde_json::from_str(raw).unwrap_or_default();
        if fields.contains_key("error") {
            self.write_pretty_text(raw, out)?;
            out.extend_from_slice(b",\"isError\":true}");
            return Ok(());
        }
        self.write_with_meta(raw, fields, out)?;
        out.push(b'}');
        Ok(())
    }

    fn write_with_meta(
        self,
        raw: &str,
        mut fields: IndexMap<Cow<'_, str>, &RawValue>,
        out: &mut Vec<u8>,
    ) -> Result<(), OutputTooLong> {
        let meta = fields.shift_remove("_meta");
        let url = fields
            .get("dataUrl")
            .and_then(|url| image_data_url(url.get()));
        match (url, meta) {
            (Some(url), _) => write_image(&url, out),
            (None, None) => self.write_pretty_text(raw, out)?,
            (None, Some(_)) => {
                let rest = serde_json::to_string(&fields).unwrap_or_default();
                self.write_pretty_text(&rest, out)?;
            }
        }
        write_meta(meta, out);
        Ok(())
    }

    /// Writes the content blocks of a page, which are MCP content blocks already. Clients of
    /// mcp-web 0.1 do not know structured content, so it is left out unless the result has no
    /// content blocks.
    fn write_content(
        self,
        content: &RawValue,
        structured: Option<&RawValue>,
        meta: Option<&RawValue>,
        out: &mut Vec<u8>,
    ) -> Result<(), OutputTooLong> {
        match structured {
            Some(structured) if content.get() == "[]" => {
                self.write_pretty_text(structured.get(), out)?
            }
            _ => {
                out.extend_from_slice(b"{\"content\":");
                out.extend_from_slice(content.get().as_bytes());
            }
        }
        write_meta(meta, out);
        out.push(b'}');
        Ok(())
    }

    fn write_failure(self, failure: &CallFailure, out: &mut Vec<u8>) -> Result<(), OutputTooLong> {
        match (&failure.content, &failure.data) {
            (Some(content), _) => {
                out.extend_from_slice(b"{\"content\":");
                out.extend_from_slice(content.get().as_bytes());
            }
            (None, Some(whole)) if self.fails_with_results => {
                self.write_pretty_text(whole.get(), out)?;
            }
            (None, _) => {
                let error = failure_text(failure, "Tool call timeout");
                self.write_serialized(&json!({ "error": error }), out)?;
            }
        }
        write_meta(failure.meta.as_deref(), out);
        out.extend_from_slice(b",\"isError\":true}");
        Ok(())
    }
}

/// Writes the `_meta` of a result, which must be an object.
fn write_meta(meta: Option<&RawValue>, out: &mut Vec<u8>) {
    if let Some(meta) = meta.filter(|meta| meta.get().starts_with('{')) {
        out.extend_from_slice(b",\"_meta\":");
        out.extend_from_slice(meta.get().as_bytes());
    }
}

/// Writes the outcome of `resources/read`.
pub fn write_resource(ending: &CallOutcome, out: &mut Vec<u8>) {
    match ending {
        CallOutcome::Answered(PageAnswer::Value(Some(raw))) if raw.get().starts_with('{') => {
            out.extend_from_slice(raw.get().as_bytes());
        }
        CallOutcome::Answered(_) => write_read_error("Resource not found", out),
        CallOutcome::Failed(failure) => {
            write_read_error(failure_text(failure, "Resource read timeout"), out)
        }
    }
}

/// Writes the reason why a resource cannot be read.
pub fn write_read_error(why: &str, out: &mut Vec<u8>) {
    write_json(&json!({ "error": why }), out);
}

/// The text for a failure: the text of mcp-web 0.1 where it had one, and this bridge's message
/// otherwise.
fn failure_text<'a>(failure: &'a CallFailure, timeout: &'static str) -> &'a str {
    match failure.code {
        ErrorCode::CallTimeout => timeout,
        ErrorCode::PageGone | ErrorCode::BridgeStopping => "Session not available",
        ErrorCode::ResourceNotFound => "Resource not found",
        _ => &failure.message,
    }
}

/// Whether an object may have a key with a special meaning. A key can also be written with Unicode
/// escapes.
fn may_have_special_keys(raw: &str) -> bool {
    let raw = raw.as_bytes();
    let keys: [&[u8]; 4] = [b"\"error\"", b"\"_meta\"", b"\"dataUrl\"", b"\\u"];
    keys.iter().any(|key| memmem::find(raw, key).is_some())
}

/// Returns the data URL of an image; `None` if the JSON is not a string with one.
fn image_data_url(raw: &str) -> Option<Cow<'_, str>> {
    // A long string that cannot be a data URL is not decoded.
    let may_be_data_url = ["\"data:", "\"\\"]
        .iter()
        .any(|begin| raw.starts_with(begin));
    let url = may_be_data_url.then(|| decode_string(raw)).flatten()?;
    url.starts_with("data:image/").then_some(url)
}

/// Writes `{"content":[…]` with one image block.
fn write_image(url: &str, out: &mut Vec<u8>) {
    let mime_type = url.strip_prefix("data:").unwrap_or(url);
    let mime_type = mime_type.split([';', ',']).next().unwrap_or_default();
    let data = url.split_once(',').map_or("", |(_, data)| data);
    out.extend_from_slice(b"{\"content\":[{\"type\":\"image\",\"data\":");
    write_json(&data, out);
    out.extend_from_slice(b",\"mimeType\":");
    write_json(&mime_type, out);
    out.extend_from_slice(b"}]");
}

#[cfg(test)]
mod tests;
