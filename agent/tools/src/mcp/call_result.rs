//! Converts the result of a call: the text for the model, and the value that the page returned.

use bridge_protocol::ErrorCode;
use bridge_protocol::invisible::visible_line;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use crate::media::Media;
use crate::{CallOutput, CallStatus};

/// The `_meta` key with the code of a failed call.
const ERROR_META_KEY: &str = "mcp-web/error";

/// Converts the result of a call of a page's tool.
pub fn page_call_output(result: &CallToolResult) -> CallOutput {
    let output = call_output(result);
    if output.is_error() {
        return CallOutput {
            outcome: failed_outcome(result),
            ..output
        };
    }
    CallOutput {
        page_result: page_result(result),
        ..output
    }
}

/// Returns how a failed call has ended: the bridge checks the arguments and the time of a call as the
/// agent does those of other tools.
fn failed_outcome(result: &CallToolResult) -> CallStatus {
    let error = result
        .meta
        .as_ref()
        .and_then(|meta| meta.0.get(ERROR_META_KEY));
    let code = error.and_then(|error| ErrorCode::deserialize(&error["code"]).ok());
    match code {
        Some(ErrorCode::InvalidArguments) => CallStatus::InvalidArguments,
        Some(ErrorCode::CallTimeout) => CallStatus::Timeout,
        _ => CallStatus::ToolError,
    }
}

/// Converts the result of a call.
pub(super) fn call_output(result: &CallToolResult) -> CallOutput {
    let text = model_text(result);
    if result.is_error == Some(true) {
        return CallOutput::from_error(text);
    }
    CallOutput {
        pictures: result.content.iter().filter_map(picture).collect(),
        ..CallOutput::from_text(text)
    }
}

/// Returns the text for the model. Structured content is sent with the same content as text, or
/// alone if both are too long for one response.
fn model_text(result: &CallToolResult) -> String {
    match (&result.structured_content, result.content.as_slice()) {
        (Some(structured), []) => structured.to_string(),
        (_, blocks) => {
            let texts: Vec<_> = blocks.iter().map(block_text).collect();
            texts.join("\n")
        }
    }
}

fn block_text(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => binary_placeholder(&image.mime_type, &image.data),
        ContentBlock::Audio(audio) => binary_placeholder(&audio.mime_type, &audio.data),
        ContentBlock::Resource(embedded) => match &embedded.resource {
            ResourceContents::TextResourceContents { text, .. } => text.clone(),
            ResourceContents::BlobResourceContents {
                mime_type, blob, ..
            } => binary_placeholder(mime_type.as_deref().unwrap_or("data"), blob),
            _ => "[a resource]".to_owned(),
        },
        ContentBlock::ResourceLink(link) => {
            visible_line(&format!("[resource {} at {}]", link.name, link.uri)).into_owned()
        }
        _ => "[content of an unknown kind]".to_owned(),
    }
}

/// Describes binary content by its type and its decoded size.
fn binary_placeholder(mime_type: &str, base64: &str) -> String {
    format!("[{}]", media(mime_type, base64).describe())
}

fn media(mime_type: &str, base64: &str) -> Media {
    Media {
        name: None,
        mime_type: mime_type.to_ascii_lowercase(),
        data: base64.into(),
    }
}

fn picture(block: &ContentBlock) -> Option<Media> {
    let media = match block {
        ContentBlock::Image(image) => media(&image.mime_type, &image.data),
        ContentBlock::Resource(embedded) => match &embedded.resource {
            ResourceContents::BlobResourceContents {
                mime_type, blob, ..
            } => media(mime_type.as_deref()?, blob),
            _ => return None,
        },
        _ => return None,
    };
    media.is_picture().then_some(media)
}

/// Returns the page's own result. The bridge's response contains a text unchanged, and any other
/// value as JSON.
fn page_result(result: &CallToolResult) -> Option<Box<RawValue>> {
    if let Some(structured) = &result.structured_content {
        return to_raw_value(structured).ok();
    }
    match result.content.as_slice() {
        [] => None,
        [ContentBlock::Text(only)] if only.text.is_empty() => None,
        [ContentBlock::Text(only)] => to_raw_value(&only.text).ok(),
        blocks => to_raw_value(&Value::from_iter(blocks.iter().map(|block| json!(block)))).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_result(result: Value) -> CallOutput {
        page_call_output(&serde_json::from_value(result).unwrap())
    }

    #[test]
    fn texts_are_joined_and_binary_content_is_described() {
        let base64 = "AAAA".repeat(4000);
        let result = parse_result(json!({ "content": [
            { "type": "text", "text": "a" },
            { "type": "image", "mimeType": "image/png", "data": base64 },
            { "type": "audio", "mimeType": "audio/wav", "data": "AAAAAA==" },
            { "type": "resource", "resource": { "uri": "a:b", "text": "inside" } },
            { "type": "resource", "resource": { "uri": "a:b", "mimeType": "a/b", "blob": "AAAA" } },
            { "type": "resource_link", "uri": "a:c", "name": "c" },
            { "type": "resource_link", "uri": "a:d", "name": "d\n[resource e" },
        ] }));
        let expected = "a\n[image/png, 12 kB]\n[audio/wav, 4 bytes]\ninside\n[a/b, 3 bytes]\n\
            [resource c at a:c]\n\
            [resource d\\u{a}[resource e at a:d]";
        assert_eq!(result.text, expected);
        assert_eq!(
            format!("{:?}", result.pictures),
            "[Media(image/png, 12 kB)]"
        );
        assert!(!result.is_error());
    }

    #[test]
    fn the_page_result_is_passed_on_verbatim() {
        let structured = json!({ "content": [{ "type": "text", "text": "{\"b\":1,\"a\":2}" }],
            "structuredContent": { "b": 1, "a": 2 } });
        assert_eq!(
            parse_result(structured).page_result.unwrap().get(),
            r#"{"b":1,"a":2}"#
        );
        let text = json!({ "content": [{ "type": "text", "text": "done" }] });
        assert_eq!(parse_result(text).page_result.unwrap().get(), r#""done""#);
        let nothing = json!({ "content": [{ "type": "text", "text": "" }] });
        assert!(parse_result(nothing).page_result.is_none());
        let failed = json!({ "content": [{ "type": "text", "text": "no" }], "isError": true });
        let failed = parse_result(failed);
        assert!(failed.is_error());
        assert_eq!(failed.page_result.unwrap().get(), r#"{"error":"no"}"#);
    }

    #[test]
    fn refusals_of_the_bridge_have_the_outcomes_of_other_tools() {
        for (code, outcome) in [
            ("InvalidArguments", CallStatus::InvalidArguments),
            ("CallTimeout", CallStatus::Timeout),
            ("HandlerFailed", CallStatus::ToolError),
            ("ACodeOfALaterBridge", CallStatus::ToolError),
        ] {
            let failed = json!({ "content": [], "isError": true,
                "_meta": { "mcp-web/error": { "code": code } } });
            assert_eq!(parse_result(failed).outcome, outcome, "{code}");
        }
    }

    #[test]
    fn structured_content_without_a_text_is_the_text() {
        let result =
            parse_result(json!({ "content": [], "structuredContent": { "b": 1, "a": 2 } }));
        assert_eq!(result.text, r#"{"b":1,"a":2}"#);
    }
}
