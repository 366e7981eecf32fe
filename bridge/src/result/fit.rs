//! A result that is larger than its client takes: first what is there twice goes, then texts are
//! cut, with a note that says so and how to get the rest. Data in base64 is left out or whole.
//!
//! The note stands first: clients that shorten a result themselves keep its beginning.

use std::sync::Arc;

use bridge_protocol::ErrorCode;
use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};

use super::size::{self, ENVELOPE_BYTES};
use super::{ToolResult, text_block, text_of};
use crate::config::{TextLimit, TextUnit};
use crate::kept::{Handle, NoRoom};
use crate::own_resources::result_uri;
use crate::realm::Failure;

/// The key in `_meta` of a result that was cut.
const CUT_META: &str = "mcp-web/cut";

/// The key in `_meta` of a part of a result.
const PART_META: &str = "mcp-web/part";

/// Notes and links are not longer. What a client takes cannot be less.
const NOTE_BYTES: usize = 2048;

/// What a client takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cap {
    /// Of a whole answer, as it is sent.
    pub(crate) bytes: usize,
    /// Characters of all texts together.
    pub(crate) text: Option<TextLimit>,
    /// Whether it knows `resource_link` blocks (MCP 2025-06-18 and later).
    pub(crate) links: bool,
    /// The client was promised structured content: the tool that it called has an output schema.
    pub(crate) promised: bool,
}

impl Cap {
    /// The characters of text that a result with this content may have.
    fn for_text(&self, content: &[Value]) -> usize {
        let has_images = content.iter().any(|block| block["type"] == "image");
        self.text.map_or(usize::MAX, |text| match has_images {
            true => text.with_images,
            false => text.without_images,
        })
    }

    /// Whether the texts are not too long. What was promised as structured content is not cut for
    /// its length as text: clients put what is too long for them into a file.
    fn has_room_for_texts(&self, result: &ToolResult) -> bool {
        let promised = self.promised && !result.is_error && result.structured.is_some();
        let texts = result.content.iter().filter_map(text_of);
        promised
            || texts.map(|text| self.count(text)).sum::<usize>() <= self.for_text(&result.content)
    }

    /// A text as the client counts it.
    fn count(&self, text: &str) -> usize {
        match self.unit() {
            TextUnit::Utf16 => size::characters(text),
            TextUnit::EncodedBytes => size::encoded(&text).saturating_sub(2),
        }
    }

    /// The longest beginning of a text that has no more, counted so.
    fn first(self, text: &str, most: usize) -> &str {
        match self.unit() {
            TextUnit::Utf16 => size::first_characters(text, most),
            TextUnit::EncodedBytes => size::beginning(text, most),
        }
    }

    fn unit(&self) -> TextUnit {
        self.text.map_or(TextUnit::Utf16, |text| text.unit)
    }

    fn for_result(&self) -> usize {
        self.bytes.saturating_sub(ENVELOPE_BYTES)
    }

    fn for_content(&self) -> usize {
        self.for_result().saturating_sub(NOTE_BYTES)
    }
}

/// Makes a result fit. `keep` keeps the whole of one that does not, given its size.
pub(crate) fn fit(
    mut result: ToolResult,
    cap: Cap,
    keep: impl FnOnce(Arc<ToolResult>, usize) -> Result<Handle, NoRoom>,
) -> ToolResult {
    let bytes = size::of(&result);
    let fits = bytes <= cap.for_result();
    // No text has more characters than bytes.
    if fits && cap.text.is_none_or(|text| bytes <= text.least()) {
        return result;
    }
    result = result.read();
    let has_room = cap.has_room_for_texts(&result);
    if fits && has_room {
        return result;
    }
    let promised = cap.promised && !result.is_error;
    if has_room && dropped_double(&mut result, bytes, promised, cap) {
        return result;
    }
    let whole = Arc::new(result);
    let rest = Rest {
        bytes,
        limit: match fits {
            true => Limit::Characters(cap.for_text(&whole.content)),
            false => Limit::Bytes(cap.bytes),
        },
        kept: keep(Arc::clone(&whole), bytes),
    };
    match whole.structured.as_ref().filter(|_| promised) {
        Some(structured) if size::encoded(structured) > cap.for_content() => rest.too_large(cap),
        structured => cut(&whole, structured.cloned(), cap, &rest),
    }
}

/// Structured content goes without its text where it was promised, the text without the structured
/// content where not. Only if that is enough.
fn dropped_double(result: &mut ToolResult, bytes: usize, promised: bool, cap: Cap) -> bool {
    if !result.doubled {
        return false;
    }
    let note = "The result is in structuredContent. Its text was left out: both together are more \
                than this client takes.";
    let saved = match promised {
        true => size::encoded(&result.content).saturating_sub(NOTE_BYTES),
        false => size::encoded(&result.structured),
    };
    if bytes - saved > cap.for_result() {
        return false;
    }
    result.doubled = false;
    if promised {
        result.content = vec![text_block(note.to_owned())];
    } else {
        result.structured = None;
    }
    true
}

/// As much of a result as the client takes.
fn cut(whole: &ToolResult, structured: Option<Value>, cap: Cap, rest: &Rest) -> ToolResult {
    let meta = whole.meta.as_ref();
    let meta = meta.filter(|meta| size::encoded(*meta) <= cap.for_content() / 4);
    let mut shown = ToolResult {
        structured,
        is_error: whole.is_error,
        meta: Some(meta.cloned().unwrap_or_default()),
        ..ToolResult::default()
    };
    let mut left = cap.for_content().saturating_sub(size::encoded(&shown));
    let for_text = cap.for_text(&whole.content);
    let mut characters_left = for_text.saturating_sub(NOTE_BYTES);
    let (mut texts, mut text_bytes, mut is_cut) = (0, 0, false);
    let mut left_out = Vec::new();
    for block in &whole.content {
        let bytes = size::encoded(block) + 1;
        let text = text_of(block);
        let characters = text.map_or(0, |text| cap.count(text));
        let fits = bytes <= left && characters <= characters_left && !(is_cut && text.is_some());
        let instead = match text {
            _ if fits => block.clone(),
            Some(_) if is_cut => continue,
            Some(text) => {
                is_cut = true;
                let around = bytes - (size::encoded(&text) - 2);
                let first = cap.first(text, characters_left);
                text_block(size::beginning(first, left.saturating_sub(around)).to_owned())
            }
            None => {
                left_out.push(kind_of(block));
                continue;
            }
        };
        left = left.saturating_sub(size::encoded(&instead) + 1);
        if let Some(text) = text_of(&instead) {
            // Blocks before this one are lines of the whole text.
            text_bytes += usize::from(texts > 0) + text.len();
            characters_left = characters_left.saturating_sub(cap.count(text));
            texts += 1;
        }
        shown.content.push(instead);
    }
    let note = rest.note(&Shown {
        text_bytes,
        all_text_bytes: whole.whole_text().len(),
        left_out,
        structured: shown.structured.is_none() && whole.structured.is_some() && !whole.doubled,
        meta: meta.is_none() && whole.meta.is_some(),
    });
    let first = std::iter::once(text_block(note)).chain(rest.link(cap));
    shown.content.splice(..0, first);
    let marks = shown.meta.get_or_insert_default();
    marks.insert(CUT_META.to_owned(), rest.data());
    shown
}

/// What stands in a client's answer of a result that is cut.
struct Shown {
    text_bytes: usize,
    all_text_bytes: usize,
    /// The kinds of blocks that were left out.
    left_out: Vec<String>,
    /// The structured content was left out, and is not the text.
    structured: bool,
    /// The page's `_meta` was left out.
    meta: bool,
}

/// What a result was too large for.
#[derive(Clone, Copy, Debug)]
enum Limit {
    /// Of the answer as it is sent.
    Bytes(usize),
    /// Of its texts.
    Characters(usize),
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Limit::Bytes(bytes) => write!(f, "{bytes}"),
            Limit::Characters(most) => write!(f, "{most} characters of text"),
        }
    }
}

/// What a client does not get with its answer.
struct Rest {
    bytes: usize,
    limit: Limit,
    kept: Result<Handle, NoRoom>,
}

impl Rest {
    fn note(&self, shown: &Shown) -> String {
        let mut note = format!(
            "[Cut: the result has {} bytes as it is sent, and this client takes {}.",
            self.bytes, self.limit
        );
        let is_cut = shown.text_bytes < shown.all_text_bytes;
        if is_cut {
            note += &format!(
                " Below are the first {} of {} bytes of its text.",
                shown.text_bytes, shown.all_text_bytes
            );
        }
        for (kind, count) in counted(&shown.left_out) {
            note += &format!(" {count} × {kind} left out, because it does not fit.");
        }
        if shown.structured {
            note += " structuredContent left out.";
        }
        if shown.meta {
            note += " _meta left out.";
        }
        match &self.kept {
            Ok(handle) if is_cut => {
                let offset = shown.text_bytes;
                note += &format!(
                    " For the rest of the text call get_result with {{\"handle\": \"{handle}\", \
                     \"offset\": {offset}}}."
                );
            }
            Ok(handle) => note += &format!(" The whole is kept as {}.", result_uri(handle)),
            Err(why) => note += &format!(" The whole could not be kept: {}.", why_not(*why)),
        }
        note + "]"
    }

    fn link(&self, cap: Cap) -> Option<Value> {
        let handle = self.kept.as_ref().ok().filter(|_| cap.links)?;
        Some(json!({
            "type": "resource_link",
            "uri": result_uri(handle),
            "name": "whole result",
            "description": "The whole result, as long as the bridge keeps it",
        }))
    }

    fn data(&self) -> Value {
        let mut data = match self.limit {
            Limit::Bytes(limit) => json!({ "bytes": self.bytes, "limit": limit }),
            Limit::Characters(most) => json!({ "bytes": self.bytes, "characters": most }),
        };
        if let Ok(handle) = &self.kept {
            data["handle"] = json!(handle.as_str());
        }
        data
    }

    /// What was promised as a whole cannot be cut.
    fn too_large(&self, cap: Cap) -> ToolResult {
        let how = match &self.kept {
            Ok(handle) => format!(
                "read it as text in parts, beginning with get_result {{\"handle\": \"{handle}\", \
                 \"offset\": 0}}, or ask for less"
            ),
            Err(why) => format!(
                "ask for less. The whole could not be kept: {}",
                why_not(*why)
            ),
        };
        let message = format!(
            "the tool was run, but its result has {} bytes as it is sent, this client takes {}, \
             and structured content cannot be cut: {how}",
            self.bytes, self.limit
        );
        let failure = Failure {
            data: to_raw_value(&self.data()).ok(),
            ..Failure::new(ErrorCode::ResultTooLarge, message)
        };
        let mut result = ToolResult::failure(&failure);
        result.content.extend(self.link(cap));
        result
    }
}

fn why_not(why: NoRoom) -> &'static str {
    match why {
        NoRoom::TooMany => "as many calls go on as may be kept (`max_kept_results`)",
        NoRoom::TooLarge => "it is larger than all that may be kept (`max_kept_bytes`)",
    }
}

/// What a block is that is no text, for people.
fn kind_of(block: &Value) -> String {
    let mime_type = block["mimeType"].as_str();
    let mime_type = mime_type.or_else(|| block.pointer("/resource/mimeType")?.as_str());
    let kind = mime_type.or(block["type"].as_str()).unwrap_or("block");
    kind.chars().take(40).collect()
}

/// How often which; of many different ones the first few.
fn counted(kinds: &[String]) -> Vec<(&str, usize)> {
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
pub(crate) fn part(
    whole: &ToolResult,
    handle: &Handle,
    offset: usize,
    length: Option<usize>,
    cap: Option<Cap>,
) -> ToolResult {
    let text = whole.whole_text();
    let start = text.floor_char_boundary(offset);
    let end = start.saturating_add(length.unwrap_or(text.len()));
    // A character at least: a part without any would be the next one, too.
    let end = text
        .floor_char_boundary(end)
        .max(text.ceil_char_boundary(start + 1));
    let wanted = &text[start..end];
    let part = cap.map_or(wanted, |cap| {
        let most = cap.for_text(&[]).saturating_sub(NOTE_BYTES);
        size::beginning(cap.first(wanted, most), cap.for_content())
    });
    let end = start + part.len();
    let next = match end < text.len() {
        true => {
            format!("The next part: get_result {{\"handle\": \"{handle}\", \"offset\": {end}}}.")
        }
        false => "This is the end.".to_owned(),
    };
    let note = format!("[Bytes {start} to {end} of {}. {next}]", text.len());
    let place = json!({ "offset": start, "end": end, "bytes": text.len() });
    ToolResult {
        content: vec![text_block(note), text_block(part.to_owned())],
        meta: Some(Map::from_iter([(PART_META.to_owned(), place)])),
        is_error: whole.is_error,
        ..ToolResult::default()
    }
}

#[cfg(test)]
mod tests;
