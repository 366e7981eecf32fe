//! A result that is larger than its client takes: first what is there twice goes, then texts are
//! cut, with a note that says so and how to get the rest. Data in base64 is left out or whole.
//!
//! The note stands first: clients that shorten a result themselves keep its beginning.

use std::sync::Arc;

use bridge_protocol::ErrorCode;
use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};

use super::encoded_size;
use crate::config::{TextLimit, TextUnit};
use crate::results::built_result::BuiltResult;
use crate::results::content_blocks::{text_block, text_content};
use crate::results::encoded_size::ENVELOPE_BYTES;
use crate::results::store::{ResultHandle, StoreFull};
use crate::results::tool_result::ToolResult;
use bridge_realm::realm::CallFailure;

/// The key in `_meta` of a result that was cut.
const TRUNCATED_META: &str = "mcp-web/cut";

/// The key in `_meta` of a part of a result.
const PART_META: &str = "mcp-web/part";

/// Notes and links are not longer. What a client takes cannot be less.
const MAX_NOTE_BYTES: usize = 2048;

/// What a client takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResultLimit {
    /// Of a whole answer, as it is sent.
    pub(crate) bytes: usize,
    /// Characters of all texts together.
    pub(crate) text: Option<TextLimit>,
    /// Whether it knows `resource_link` blocks (MCP 2025-06-18 and later).
    pub(crate) links: bool,
    /// The client was promised structured content: the tool that it called has an output schema.
    pub(crate) requires_structured_content: bool,
}

impl ResultLimit {
    /// The characters of text that a result with this content may have.
    fn max_text(&self, content: &[Value]) -> usize {
        let has_images = content.iter().any(|block| block["type"] == "image");
        self.text.map_or(usize::MAX, |text| match has_images {
            true => text.with_images,
            false => text.without_images,
        })
    }

    /// Whether the texts are not too long. What was promised as structured content is not cut for
    /// its length as text: clients put what is too long for them into a file.
    fn texts_within_limit(&self, result: &BuiltResult) -> bool {
        let requires_structured =
            self.requires_structured_content && !result.is_error && result.structured.is_some();
        let texts = result.content.iter().filter_map(text_content);
        requires_structured
            || texts.map(|text| self.text_len(text)).sum::<usize>()
                <= self.max_text(&result.content)
    }

    /// A text as the client counts it.
    fn text_len(&self, text: &str) -> usize {
        match self.text_unit() {
            TextUnit::Utf16 => encoded_size::utf16_len(text),
            TextUnit::EncodedBytes => encoded_size::encoded_len(&text).saturating_sub(2),
        }
    }

    /// The longest beginning of a text that has no more, counted so.
    fn truncate_text(self, text: &str, max: usize) -> &str {
        match self.text_unit() {
            TextUnit::Utf16 => encoded_size::truncate_to_utf16_len(text, max),
            TextUnit::EncodedBytes => encoded_size::truncate_to_encoded_len(text, max),
        }
    }

    fn text_unit(&self) -> TextUnit {
        self.text.map_or(TextUnit::Utf16, |text| text.unit)
    }

    fn max_result_bytes(&self) -> usize {
        self.bytes.saturating_sub(ENVELOPE_BYTES)
    }

    fn max_content_bytes(&self) -> usize {
        self.max_result_bytes().saturating_sub(MAX_NOTE_BYTES)
    }
}

/// Makes a result fit. `keep` keeps the whole of one that does not, given its size.
pub(crate) fn truncate(
    result: ToolResult,
    limit: ResultLimit,
    store: impl FnOnce(Arc<ToolResult>, usize) -> Result<ResultHandle, StoreFull>,
) -> ToolResult {
    let bytes = encoded_size::result_len(&result);
    let fits = bytes <= limit.max_result_bytes();
    // No text has more characters than bytes.
    if fits && limit.text.is_none_or(|text| bytes <= text.minimum()) {
        return result;
    }
    let mut result = result.into_parsed();
    let text_fits = limit.texts_within_limit(&result);
    if fits && text_fits {
        return result.into();
    }
    let requires_structured = limit.requires_structured_content && !result.is_error;
    if text_fits && drop_duplicate(&mut result, bytes, requires_structured, limit) {
        return result.into();
    }
    let stored = Arc::new(ToolResult::from(result));
    let whole = stored.parsed();
    let remainder = Remainder {
        result_bytes: bytes,
        limit: if fits {
            ExceededLimit::Characters(limit.max_text(&whole.content))
        } else {
            ExceededLimit::Bytes(limit.bytes)
        },
        stored: store(Arc::clone(&stored), bytes),
    };
    match whole.structured.as_ref().filter(|_| requires_structured) {
        Some(structured) if encoded_size::encoded_len(structured) > limit.max_content_bytes() => {
            remainder.too_large_failure(limit)
        }
        structured => truncate_content(&whole, structured.cloned(), limit, &remainder),
    }
}

/// Structured content goes without its text where it was promised, the text without the structured
/// content where not. Only if that is enough.
fn drop_duplicate(
    result: &mut BuiltResult,
    bytes: usize,
    requires_structured: bool,
    limit: ResultLimit,
) -> bool {
    if !result.text_mirrors_structured {
        return false;
    }
    let note = "The result is in structuredContent. Its text was left out: both together are more \
                than this client takes.";
    let saved = match requires_structured {
        true => encoded_size::encoded_len(&result.content).saturating_sub(MAX_NOTE_BYTES),
        false => encoded_size::encoded_len(&result.structured),
    };
    if bytes - saved > limit.max_result_bytes() {
        return false;
    }
    result.text_mirrors_structured = false;
    if requires_structured {
        result.content = vec![text_block(note.to_owned())];
    } else {
        result.structured = None;
    }
    true
}

/// As much of a result as the client takes.
fn truncate_content(
    whole: &BuiltResult,
    structured: Option<Value>,
    limit: ResultLimit,
    rest: &Remainder,
) -> ToolResult {
    let meta = whole.meta.as_ref();
    let meta =
        meta.filter(|meta| encoded_size::encoded_len(*meta) <= limit.max_content_bytes() / 4);
    let mut truncated = BuiltResult {
        structured,
        is_error: whole.is_error,
        meta: Some(meta.cloned().unwrap_or_default()),
        ..BuiltResult::default()
    };
    let mut left = limit
        .max_content_bytes()
        .saturating_sub(encoded_size::encoded_len(&truncated));
    let for_text = limit.max_text(&whole.content);
    let mut characters_left = for_text.saturating_sub(MAX_NOTE_BYTES);
    let (mut texts, mut text_bytes, mut is_truncated) = (0, 0, false);
    let mut left_out = Vec::new();
    for block in &whole.content {
        let bytes = encoded_size::encoded_len(block) + 1;
        let text = text_content(block);
        let characters = text.map_or(0, |text| limit.text_len(text));
        let fits =
            bytes <= left && characters <= characters_left && !(is_truncated && text.is_some());
        let replacement = match text {
            _ if fits => block.clone(),
            Some(_) if is_truncated => continue,
            Some(text) => {
                is_truncated = true;
                let around = bytes - (encoded_size::encoded_len(&text) - 2);
                let note_and_link = limit.truncate_text(text, characters_left);
                text_block(
                    encoded_size::truncate_to_encoded_len(
                        note_and_link,
                        left.saturating_sub(around),
                    )
                    .to_owned(),
                )
            }
            None => {
                left_out.push(block_kind(block));
                continue;
            }
        };
        left = left.saturating_sub(encoded_size::encoded_len(&replacement) + 1);
        if let Some(text) = text_content(&replacement) {
            // Blocks before this one are lines of the whole text.
            text_bytes += usize::from(texts > 0) + text.len();
            characters_left = characters_left.saturating_sub(limit.text_len(text));
            texts += 1;
        }
        truncated.content.push(replacement);
    }
    let note = rest.note(&Excerpt {
        text_bytes,
        total_text_bytes: whole.whole_text().len(),
        omitted_kinds: left_out,
        omits_structured: truncated.structured.is_none()
            && whole.structured.is_some()
            && !whole.text_mirrors_structured,
        omits_meta: meta.is_none() && whole.meta.is_some(),
    });
    let note_and_link = std::iter::once(text_block(note)).chain(rest.link(limit));
    truncated.content.splice(..0, note_and_link);
    let meta = truncated.meta.get_or_insert_default();
    meta.insert(TRUNCATED_META.to_owned(), rest.details());
    truncated.into()
}

/// What stands in a client's answer of a result that is cut.
struct Excerpt {
    text_bytes: usize,
    total_text_bytes: usize,
    /// The kinds of blocks that were left out.
    omitted_kinds: Vec<String>,
    /// The structured content was left out, and is not the text.
    omits_structured: bool,
    /// The page's `_meta` was left out.
    omits_meta: bool,
}

/// What a result was too large for.
#[derive(Clone, Copy, Debug)]
enum ExceededLimit {
    /// Of the answer as it is sent.
    Bytes(usize),
    /// Of its texts.
    Characters(usize),
}

impl std::fmt::Display for ExceededLimit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ExceededLimit::Bytes(bytes) => write!(f, "{bytes}"),
            ExceededLimit::Characters(max) => write!(f, "{max} characters of text"),
        }
    }
}

/// What a client does not get with its answer.
struct Remainder {
    result_bytes: usize,
    limit: ExceededLimit,
    stored: Result<ResultHandle, StoreFull>,
}

impl Remainder {
    fn note(&self, excerpt: &Excerpt) -> String {
        let mut note = format!(
            "[Cut: the result has {} bytes as it is sent, and this client takes {}.",
            self.result_bytes, self.limit
        );
        let is_truncated = excerpt.text_bytes < excerpt.total_text_bytes;
        if is_truncated {
            note += &format!(
                " Below are the first {} of {} bytes of its text.",
                excerpt.text_bytes, excerpt.total_text_bytes
            );
        }
        for (kind, count) in count_kinds(&excerpt.omitted_kinds) {
            note += &format!(" {count} × {kind} left out, because it does not fit.");
        }
        if excerpt.omits_structured {
            note += " structuredContent left out.";
        }
        if excerpt.omits_meta {
            note += " _meta left out.";
        }
        match &self.stored {
            Ok(handle) if is_truncated => {
                let offset = excerpt.text_bytes;
                note += &format!(
                    " For the rest of the text call get_result with {{\"handle\": \"{handle}\", \
                     \"offset\": {offset}}}."
                );
            }
            Ok(handle) => note += &format!(" The whole is kept as {}.", handle.uri()),
            Err(reason) => {
                note += &format!(
                    " The whole could not be kept: {}.",
                    store_full_reason(*reason)
                )
            }
        }
        note + "]"
    }

    fn link(&self, limit: ResultLimit) -> Option<Value> {
        let handle = self.stored.as_ref().ok().filter(|_| limit.links)?;
        Some(json!({
            "type": "resource_link",
            "uri": handle.uri(),
            "name": "whole result",
            "description": "The whole result, as long as the bridge keeps it",
        }))
    }

    fn details(&self) -> Value {
        let mut data = match self.limit {
            ExceededLimit::Bytes(limit) => json!({ "bytes": self.result_bytes, "limit": limit }),
            ExceededLimit::Characters(max) => {
                json!({ "bytes": self.result_bytes, "characters": max })
            }
        };
        if let Ok(handle) = &self.stored {
            data["handle"] = json!(handle.as_str());
        }
        data
    }

    /// What was promised as a whole cannot be cut.
    fn too_large_failure(&self, limit: ResultLimit) -> ToolResult {
        let advice = match &self.stored {
            Ok(handle) => format!(
                "read it as text in parts, beginning with get_result {{\"handle\": \"{handle}\", \
                 \"offset\": 0}}, or ask for less"
            ),
            Err(reason) => format!(
                "ask for less. The whole could not be kept: {}",
                store_full_reason(*reason)
            ),
        };
        let message = format!(
            "the tool was run, but its result has {} bytes as it is sent, this client takes {}, \
             and structured content cannot be cut: {advice}",
            self.result_bytes, self.limit
        );
        let failure = CallFailure {
            data: to_raw_value(&self.details()).ok(),
            ..CallFailure::new(ErrorCode::ResultTooLarge, message)
        };
        let mut result = ToolResult::from_failure(&failure).into_parsed();
        result.content.extend(self.link(limit));
        result.into()
    }
}

fn store_full_reason(why: StoreFull) -> &'static str {
    match why {
        StoreFull::TooMany => "as many calls go on as may be kept (`max_kept_results`)",
        StoreFull::TooLarge => "it is larger than all that may be kept (`max_kept_bytes`)",
    }
}

/// What a block is that is no text, for people.
fn block_kind(block: &Value) -> String {
    let mime_type = block["mimeType"].as_str();
    let mime_type = mime_type.or_else(|| block.pointer("/resource/mimeType")?.as_str());
    let kind = mime_type.or(block["type"].as_str()).unwrap_or("block");
    kind.chars().take(40).collect()
}

/// How often which; of many different ones the first few.
fn count_kinds(kinds: &[String]) -> Vec<(&str, usize)> {
    let mut counted: Vec<(&str, usize)> = Vec::new();
    for kind in kinds {
        let is_full = counted.len() == 4;
        match counted.iter_mut().find(|(known, _)| known == kind) {
            Some((_, count)) => *count += 1,
            None if is_full => counted[3] = ("other", counted[3].1 + 1),
            None => counted.push((kind, 1)),
        }
    }
    counted
}

/// A part of the text of a result that is kept.
pub(crate) fn text_part(
    whole: &ToolResult,
    handle: &ResultHandle,
    offset: usize,
    length: Option<usize>,
    limit: Option<ResultLimit>,
) -> ToolResult {
    let text = whole.whole_text();
    let start = text.floor_char_boundary(offset);
    let end = start.saturating_add(length.unwrap_or(text.len()));
    // A character at least: a part without any would be the next one, too.
    let end = text
        .floor_char_boundary(end)
        .max(text.ceil_char_boundary(start + 1));
    let requested = &text[start..end];
    let part = limit.map_or(requested, |limit| {
        let max = limit.max_text(&[]).saturating_sub(MAX_NOTE_BYTES);
        encoded_size::truncate_to_encoded_len(
            limit.truncate_text(requested, max),
            limit.max_content_bytes(),
        )
    });
    let end = start + part.len();
    let next = match end < text.len() {
        true => {
            format!("The next part: get_result {{\"handle\": \"{handle}\", \"offset\": {end}}}.")
        }
        false => "This is the end.".to_owned(),
    };
    let note = format!("[Bytes {start} to {end} of {}. {next}]", text.len());
    let range = json!({ "offset": start, "end": end, "bytes": text.len() });
    ToolResult::from(BuiltResult {
        content: vec![text_block(note), text_block(part.to_owned())],
        meta: Some(Map::from_iter([(PART_META.to_owned(), range)])),
        is_error: whole.is_error(),
        ..BuiltResult::default()
    })
}

#[cfg(test)]
mod tests;
