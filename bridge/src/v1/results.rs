//! Results of `tools/call` and `resources/read` as clients of mcp-web 0.1 know them, from the raw
//! JSON of a page to the raw JSON of the answer.

use std::borrow::Cow;

use bridge_protocol::ErrorCode;
use indexmap::IndexMap;
use memchr::memmem;
use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::js::{self, TooLong};
use super::message::text;
use super::shapes::write_json;
use crate::realm::{Answer, Dialect, Ending, Failure};

/// What indentation makes of a result is at most so many times what a result may have.
const PRETTY_TIMES: usize = 4;

/// How results are written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Results {
    /// The largest text of one.
    most: usize,
    /// That of the page.
    dialect: Dialect,
}

impl Results {
    pub(super) fn new(max_result_bytes: usize) -> Self {
        let most = max_result_bytes.saturating_mul(PRETTY_TIMES);
        Self {
            most,
            dialect: Dialect::V2,
        }
    }

    /// The same for the results of a page of this dialect.
    pub(super) fn of(self, dialect: Dialect) -> Self {
        Self { dialect, ..self }
    }

    /// Writes what came of a call.
    pub(super) fn called(self, ending: Ending, out: &mut Vec<u8>) {
        let begun = out.len();
        let written = match &ending {
            Ending::Answered(Answer::Value(None)) => {
                out.extend_from_slice(b"{\"content\":[{\"type\":\"text\",\"text\":\"\"}]}");
                Ok(())
            }
            Ending::Answered(Answer::Value(Some(raw))) => self.value(raw.get(), out),
            Ending::Answered(Answer::Content {
                content,
                structured,
                meta,
            }) => self.blocks(content, structured.as_deref(), meta.as_deref(), out),
            Ending::Failed(failure) => self.failed(failure, out),
        };
        if written.is_err() {
            out.truncate(begun);
            let message = "the result is too large when it is printed: ask for less";
            let error = ErrorCode::ResultTooLarge.as_str();
            self.refused(&json!({ "error": error, "error_message": message }), out);
        }
    }

    /// Writes the failed result whose text is this.
    pub(super) fn refused(self, body: &impl Serialize, out: &mut Vec<u8>) {
        // What the bridge itself says is short.
        let _ = self.printed(body, out);
        out.extend_from_slice(b",\"isError\":true}");
    }

    /// Writes what a call hears while no page is connected: words that a model can pass on.
    pub(super) fn no_page(self, out: &mut Vec<u8>) {
        let text =
            "No page is connected with this token: open the app in a browser, then call again.";
        let content = json!([{ "type": "text", "text": text }]);
        write_json(&json!({ "content": content, "isError": true }), out);
    }

    /// Writes the result whose text is this.
    pub(super) fn told(self, body: &impl Serialize, out: &mut Vec<u8>) {
        let _ = self.printed(body, out);
        out.push(b'}');
    }

    fn printed(self, body: &impl Serialize, out: &mut Vec<u8>) -> Result<(), TooLong> {
        let mut json = Vec::new();
        write_json(body, &mut json);
        self.pretty(&String::from_utf8_lossy(&json), out)
    }

    /// `{"content":[…]` with one block of text.
    fn pretty(self, json: &str, out: &mut Vec<u8>) -> Result<(), TooLong> {
        out.extend_from_slice(b"{\"content\":[{\"type\":\"text\",\"text\":\"");
        js::pretty(json, out.len().saturating_add(self.most), out)?;
        out.extend_from_slice(b"\"}]");
        Ok(())
    }

    fn value(self, raw: &str, out: &mut Vec<u8>) -> Result<(), TooLong> {
        match raw.as_bytes().first() {
            Some(b'{') if may_be_special(raw) => return self.special(raw, out),
            Some(b'{' | b'[') => self.pretty(raw, out)?,
            Some(b'"') => match image_of(raw) {
                Some(url) => image(&url, out),
                None => {
                    out.extend_from_slice(b"{\"content\":[{\"type\":\"text\",\"text\":");
                    out.extend_from_slice(raw.as_bytes());
                    out.extend_from_slice(b"}]");
                }
            },
            _ => {
                out.extend_from_slice(b"{\"content\":[{\"type\":\"text\",\"text\":\"");
                if raw != "null" {
                    js::scalar(raw, out);
                }
                out.extend_from_slice(b"\"}]");
            }
        }
        out.push(b'}');
        Ok(())
    }

    /// An object with keys that mean something.
    fn special(self, raw: &str, out: &mut Vec<u8>) -> Result<(), TooLong> {
        let fields: IndexMap<Cow<'_, str>, &RawValue> =
            serde_json::from_str(raw).unwrap_or_default();
        if fields.contains_key("error") {
            self.pretty(raw, out)?;
            out.extend_from_slice(b",\"isError\":true}");
            return Ok(());
        }
        self.lifted(raw, fields, out)?;
        out.push(b'}');
        Ok(())
    }

    fn lifted(
        self,
        raw: &str,
        mut fields: IndexMap<Cow<'_, str>, &RawValue>,
        out: &mut Vec<u8>,
    ) -> Result<(), TooLong> {
        let meta = fields.shift_remove("_meta");
        let url = fields.get("dataUrl").and_then(|url| image_of(url.get()));
        match (url, meta) {
            (Some(url), _) => image(&url, out),
            (None, None) => self.pretty(raw, out)?,
            (None, Some(_)) => {
                let rest = serde_json::to_string(&fields).unwrap_or_default();
                self.pretty(&rest, out)?;
            }
        }
        if let Some(meta) = meta.filter(|meta| meta.get().starts_with('{')) {
            out.extend_from_slice(b",\"_meta\":");
            out.extend_from_slice(meta.get().as_bytes());
        }
        Ok(())
    }

    /// What a page of our own dialect may answer: its blocks are those of MCP already. Its
    /// structured content is left out, as clients of mcp-web 0.1 do not know it, unless there is
    /// nothing else to show.
    fn blocks(
        self,
        content: &RawValue,
        structured: Option<&RawValue>,
        meta: Option<&RawValue>,
        out: &mut Vec<u8>,
    ) -> Result<(), TooLong> {
        match structured {
            Some(structured) if content.get() == "[]" => self.pretty(structured.get(), out)?,
            _ => {
                out.extend_from_slice(b"{\"content\":");
                out.extend_from_slice(content.get().as_bytes());
            }
        }
        if let Some(meta) = meta.filter(|meta| meta.get().starts_with('{')) {
            out.extend_from_slice(b",\"_meta\":");
            out.extend_from_slice(meta.get().as_bytes());
        }
        out.push(b'}');
        Ok(())
    }

    fn failed(self, failure: &Failure, out: &mut Vec<u8>) -> Result<(), TooLong> {
        match (&failure.content, &failure.data) {
            (Some(content), _) => {
                out.extend_from_slice(b"{\"content\":");
                out.extend_from_slice(content.get().as_bytes());
            }
            // A page of mcp-web 0.1 fails by a result with an `error`: all of it is shown.
            (None, Some(whole)) if self.dialect == Dialect::V1 => {
                self.pretty(whole.get(), out)?;
            }
            (None, _) => {
                let error = failure_text(failure, "Tool call timeout");
                self.printed(&json!({ "error": error }), out)?;
            }
        }
        out.extend_from_slice(b",\"isError\":true}");
        Ok(())
    }
}

/// Writes what came of `resources/read`.
pub(super) fn read(ending: &Ending, out: &mut Vec<u8>) {
    match ending {
        Ending::Answered(Answer::Value(Some(raw))) if raw.get().starts_with('{') => {
            out.extend_from_slice(raw.get().as_bytes());
        }
        Ending::Answered(_) => not_read("Resource not found", out),
        Ending::Failed(failure) => not_read(failure_text(failure, "Resource read timeout"), out),
    }
}

/// Writes why a resource cannot be read.
pub(super) fn not_read(why: &str, out: &mut Vec<u8>) {
    write_json(&json!({ "error": why }), out);
}

/// In the words that clients of mcp-web 0.1 know, where it had some.
fn failure_text<'a>(failure: &'a Failure, timeout: &'static str) -> &'a str {
    match failure.code {
        ErrorCode::CallTimeout => timeout,
        ErrorCode::PageGone | ErrorCode::BridgeStopping => "Session not available",
        ErrorCode::ResourceNotFound => "Resource not found",
        _ => &failure.message,
    }
}

/// Whether a key of the object may mean something. One that is written with escapes may, too.
fn may_be_special(raw: &str) -> bool {
    let raw = raw.as_bytes();
    let keys: [&[u8]; 4] = [b"\"error\"", b"\"_meta\"", b"\"dataUrl\"", b"\\u"];
    keys.iter().any(|key| memmem::find(raw, key).is_some())
}

/// The data URL of an image that this string of JSON is.
fn image_of(raw: &str) -> Option<Cow<'_, str>> {
    // What is long and none is not read.
    let begins = ["\"data:", "\"\\"]
        .iter()
        .any(|begin| raw.starts_with(begin));
    let url = begins.then(|| text(raw)).flatten()?;
    url.starts_with("data:image/").then_some(url)
}

/// `{"content":[…]` with one image.
fn image(url: &str, out: &mut Vec<u8>) {
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
