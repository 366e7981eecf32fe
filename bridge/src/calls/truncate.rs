//! Truncation of a result that exceeds the limits of its client. Duplicate content is dropped
//! first; then texts are truncated, with a note about the truncation and how to get the rest.
//! Base64 data is either complete or left out.
//!
//! The note is at the beginning, because clients that truncate a result themselves retain its
//! beginning.

use std::sync::Arc;

use bridge_protocol::ErrorCode;
use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};

use crate::calls::media_budget::{MediaBudget, block_kind, may_have_media, media_len};
use crate::config::{TextLimit, TextUnit};
use crate::result_store::{ResultHandle, StoreFull};
use bridge_mcp_results::built_result::BuiltResult;
use bridge_mcp_results::content_blocks::{text_block, text_content};
use bridge_mcp_results::encoded_size;
use bridge_mcp_results::encoded_size::ENVELOPE_BYTES;
use bridge_mcp_results::tool_result::CallToolResult;
use bridge_realm::realm::CallFailure;

/// The key in `_meta` of a truncated result.
const TRUNCATED_META: &str = "mcp-web/cut";

/// The key in `_meta` of a part of a result.
const PART_META: &str = "mcp-web/part";

/// An upper bound for the note and the link. The limits of a client cannot be smaller.
const MAX_NOTE_BYTES: usize = 2048;

/// The limits of a client for one result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResultLimit {
    /// The encoded size of the whole response.
    pub(crate) bytes: usize,
    /// The length of all texts together.
    pub(crate) text: Option<TextLimit>,
    /// Whether the client knows `resource_link` blocks (MCP 2025-06-18 and later).
    pub(crate) links: bool,
    /// Whether the result must keep its structured content: the tool that was called has an output
    /// schema.
    pub(crate) requires_structured_content: bool,
}

impl ResultLimit {
    /// The maximum length of all texts of a result with this content.
    fn max_text(&self, content: &[Value]) -> usize {
        let has_images = content.iter().any(|block| block["type"] == "image");
        self.text.map_or(usize::MAX, |text| {
            if has_images {
                text.with_images
            } else {
                text.without_images
            }
        })
    }

    /// Whether the texts are within the limit. A result whose structured content is required is not
    /// truncated for the length of its text: clients write text that is too long for them to a
    /// file.
    fn texts_within_limit(&self, result: &BuiltResult) -> bool {
        let requires_structured =
            self.requires_structured_content && !result.is_error && result.structured.is_some();
        let texts = result.content.iter().filter_map(text_content);
        requires_structured
            || texts.map(|text| self.text_len(text)).sum::<usize>()
                <= self.max_text(&result.content)
    }

    /// The length of a text in the unit of the client.
    fn text_len(&self, text: &str) -> usize {
        match self.text_unit() {
            TextUnit::Utf16 => encoded_size::utf16_len(text),
            TextUnit::EncodedBytes => encoded_size::encoded_len(&text).saturating_sub(2),
        }
    }

    /// The longest prefix of a text whose length is at most `max` in the unit of the client.
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

/// Truncates a result to the limits of a client, and leaves out media that the client may no longer
/// receive. `store` stores the whole result if it has to be truncated; it gets the encoded size in
/// bytes.
pub(crate) fn truncate(
    result: CallToolResult,
    limit: ResultLimit,
    media: Option<&MediaBudget>,
    store: impl FnOnce(Arc<CallToolResult>, usize) -> Result<ResultHandle, StoreFull>,
) -> CallToolResult {
    let bytes = encoded_size::result_len(&result);
    let fits = bytes <= limit.max_result_bytes();
    // A text never has more characters than bytes.
    let media = media.filter(|_| may_have_media(&result));
    if fits && media.is_none() && limit.text.is_none_or(|text| bytes <= text.minimum()) {
        return result;
    }
    let mut result = result.into_parsed();
    let text_fits = limit.texts_within_limit(&result);
    let media = media.map(|budget| GrantedMedia::take(budget, &result.content));
    let media_fits = media.as_ref().is_none_or(GrantedMedia::is_complete);
    if fits && text_fits && media_fits {
        return result.into();
    }
    let requires_structured = limit.requires_structured_content && !result.is_error;
    if text_fits && drop_duplicate(&mut result, bytes, requires_structured, limit) {
        return result.into();
    }
    let stored = Arc::new(CallToolResult::from(result));
    let whole = stored.parsed();
    let remainder = Remainder {
        result_bytes: bytes,
        limit: match &media {
            _ if !fits => ExceededLimit::Bytes(limit.bytes),
            Some(media) if text_fits => ExceededLimit::Media(media.budget.max()),
            _ => ExceededLimit::Characters(limit.max_text(&whole.content)),
        },
        stored: store(Arc::clone(&stored), bytes),
    };
    match whole.structured.as_ref().filter(|_| requires_structured) {
        Some(structured) if encoded_size::encoded_len(structured) > limit.max_content_bytes() => {
            if let Some(media) = &media {
                media.give_back_all(&whole.content);
            }
            remainder.too_large_failure(limit)
        }
        structured => truncate_content(
            &whole,
            structured.cloned(),
            limit,
            media.as_ref(),
            &remainder,
        ),
    }
}

/// The media of a result that its client receives, taken from its budget.
struct GrantedMedia<'a> {
    budget: &'a MediaBudget,
    /// For each block, whether it may be sent.
    blocks: Vec<bool>,
}

impl<'a> GrantedMedia<'a> {
    fn take(budget: &'a MediaBudget, content: &[Value]) -> Self {
        let blocks = content.iter().map(|block| budget.take(media_len(block)));
        Self {
            budget,
            blocks: blocks.collect(),
        }
    }

    fn is_complete(&self) -> bool {
        self.blocks.iter().all(|granted| *granted)
    }

    fn has(&self, index: usize) -> bool {
        self.blocks.get(index) == Some(&true)
    }

    fn refusal(&self, content: &[Value]) -> String {
        self.budget.refusal(content.iter().map(media_len).sum())
    }

    fn give_back_all(&self, content: &[Value]) {
        let granted = content.iter().zip(&self.blocks);
        for (block, _) in granted.filter(|(_, granted)| **granted) {
            self.budget.give_back(media_len(block));
        }
    }
}

/// Drops the text that duplicates required structured content, or else the structured content that
/// duplicates the text. Returns whether that was enough; otherwise nothing is dropped.
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
    let saved = if requires_structured {
        encoded_size::encoded_len(&result.content).saturating_sub(MAX_NOTE_BYTES)
    } else {
        encoded_size::encoded_len(&result.structured)
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

/// The truncated result, with the note and the link.
fn truncate_content(
    whole: &BuiltResult,
    structured: Option<Value>,
    limit: ResultLimit,
    media: Option<&GrantedMedia<'_>>,
    remainder: &Remainder,
) -> CallToolResult {
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
    let max_text = limit.max_text(&whole.content);
    let mut characters_left = max_text.saturating_sub(MAX_NOTE_BYTES);
    let (mut texts, mut text_bytes, mut is_truncated) = (0, 0, false);
    let (mut omitted_kinds, mut withheld_kinds) = (Vec::new(), Vec::new());
    for (index, block) in whole.content.iter().enumerate() {
        if media.is_some_and(|media| !media.has(index)) {
            withheld_kinds.push(block_kind(block));
            continue;
        }
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
                let overhead = bytes - (encoded_size::encoded_len(&text) - 2);
                let prefix = limit.truncate_text(text, characters_left);
                text_block(
                    encoded_size::truncate_to_encoded_len(prefix, left.saturating_sub(overhead))
                        .to_owned(),
                )
            }
            None => {
                if let Some(media) = media {
                    media.budget.give_back(media_len(block));
                }
                omitted_kinds.push(block_kind(block));
                continue;
            }
        };
        left = left.saturating_sub(encoded_size::encoded_len(&replacement) + 1);
        if let Some(text) = text_content(&replacement) {
            // In the whole text, a line feed separates this block from the one before.
            text_bytes += usize::from(texts > 0) + text.len();
            characters_left = characters_left.saturating_sub(limit.text_len(text));
            texts += 1;
        }
        truncated.content.push(replacement);
    }
    let note = remainder.note(&Excerpt {
        text_bytes,
        total_text_bytes: whole.whole_text().len(),
        omitted_kinds,
        withheld_kinds,
        withheld_because: media
            .filter(|media| !media.is_complete())
            .map(|media| media.refusal(&whole.content)),
        omits_structured: truncated.structured.is_none()
            && whole.structured.is_some()
            && !whole.text_mirrors_structured,
        omits_meta: meta.is_none() && whole.meta.is_some(),
    });
    let note_and_link = std::iter::once(text_block(note)).chain(remainder.link(limit));
    truncated.content.splice(..0, note_and_link);
    let meta = truncated.meta.get_or_insert_default();
    meta.insert(TRUNCATED_META.to_owned(), remainder.details());
    truncated.into()
}

/// The part of the whole result that a truncated one contains.
struct Excerpt {
    text_bytes: usize,
    total_text_bytes: usize,
    /// The kinds of blocks that were left out because they do not fit.
    omitted_kinds: Vec<String>,
    /// The kinds of blocks that were left out because the client has received as much as it may.
    withheld_kinds: Vec<String>,
    withheld_because: Option<String>,
    /// Whether structured content was left out that is not the text.
    omits_structured: bool,
    /// Whether the page's `_meta` was left out.
    omits_meta: bool,
}

/// The limit that a result exceeds.
#[derive(Clone, Copy, Debug)]
enum ExceededLimit {
    /// The encoded size of the response.
    Bytes(usize),
    /// The length of its texts.
    Characters(usize),
    /// The media of a session, in bytes of base64.
    Media(usize),
}

impl std::fmt::Display for ExceededLimit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ExceededLimit::Bytes(bytes) => write!(f, "{bytes}"),
            ExceededLimit::Characters(max) => write!(f, "{max} characters of text"),
            ExceededLimit::Media(max) => write!(f, "{max} bytes of media"),
        }
    }
}

/// Why a result was truncated, and where the whole one is stored.
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
        for (kind, count) in count_kinds(&excerpt.withheld_kinds) {
            note += &format!(" {count} × {kind} left out.");
        }
        if let Some(reason) = &excerpt.withheld_because {
            note += &format!(" Because {reason}.");
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
            ExceededLimit::Media(max) => json!({ "bytes": self.result_bytes, "media": max }),
        };
        if let Ok(handle) = &self.stored {
            data["handle"] = json!(handle.as_str());
        }
        data
    }

    /// The failure for required structured content that is too large: it cannot be truncated.
    fn too_large_failure(&self, limit: ResultLimit) -> CallToolResult {
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
        let mut result = CallToolResult::from_failure(&failure).into_parsed();
        result.content.extend(self.link(limit));
        result.into()
    }
}

fn store_full_reason(why: StoreFull) -> &'static str {
    match why {
        StoreFull::TooMany => {
            "the maximum number of stored calls and results is reached (`max_kept_results`)"
        }
        StoreFull::TooLarge => {
            "it is larger than all results of one token may be (half of `max_kept_bytes`)"
        }
    }
}

/// Counts each kind. Of more than four different kinds, the last ones are counted as "other".
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

/// A part of the text of a stored result.
pub(crate) fn text_part(
    whole: &CallToolResult,
    handle: &ResultHandle,
    offset: usize,
    length: Option<usize>,
    limit: Option<ResultLimit>,
) -> CallToolResult {
    let text = whole.whole_text();
    let start = text.floor_char_boundary(offset);
    let end = start.saturating_add(length.unwrap_or(text.len()));
    // At least one character: after an empty part the next request would get the same part again.
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
    let next = if end < text.len() {
        format!("The next part: get_result {{\"handle\": \"{handle}\", \"offset\": {end}}}.")
    } else {
        "This is the end.".to_owned()
    };
    let note = format!("[Bytes {start} to {end} of {}. {next}]", text.len());
    let range = json!({ "offset": start, "end": end, "bytes": text.len() });
    CallToolResult::from(BuiltResult {
        content: vec![text_block(note), text_block(part.to_owned())],
        meta: Some(Map::from_iter([(PART_META.to_owned(), range)])),
        is_error: whole.is_error(),
        ..BuiltResult::default()
    })
}

#[cfg(test)]
mod tests;
