//! The messages to a page of mcp-web 0.1 about its queries. Its own messages about queries have the
//! format of this bridge.
//!
//! Such a page accepts only text: the typed progress of an agent becomes text, and the thinking of
//! the model is left out.

use std::borrow::Cow;

use bridge_protocol::{BridgeToPage, QueryContent, QueryId, QueryToolCall};
use serde::Serialize;
use serde_json::value::RawValue;

#[derive(Serialize)]
#[serde(tag = "type", rename_all_fields = "camelCase")]
enum QueryMessage<'a> {
    #[serde(rename = "query_accepted")]
    Accepted { uuid: &'a QueryId },
    #[serde(rename = "query_progress")]
    Progress {
        uuid: &'a QueryId,
        message: Cow<'a, str>,
    },
    #[serde(rename = "query_complete")]
    Complete {
        uuid: &'a QueryId,
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<Cow<'a, str>>,
        tool_calls: &'a [QueryToolCall],
    },
    #[serde(rename = "query_failure")]
    Failure { uuid: &'a QueryId, error: &'a str },
    #[serde(rename = "query_cancel")]
    Cancel {
        uuid: &'a QueryId,
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<&'a str>,
    },
}

/// Encodes a message as one text frame; `None` if mcp-web 0.1 has no such message.
pub(super) fn encode(message: &BridgeToPage) -> Option<String> {
    let query = match message {
        BridgeToPage::QueryAccepted(query) => QueryMessage::Accepted { uuid: &query.uuid },
        BridgeToPage::QueryProgress(query) => QueryMessage::Progress {
            uuid: &query.uuid,
            message: progress_text(&query.content)?,
        },
        BridgeToPage::QueryComplete(query) => QueryMessage::Complete {
            uuid: &query.uuid,
            message: query.result.as_deref().map(to_text),
            tool_calls: &query.tool_calls,
        },
        BridgeToPage::QueryFailure(query) => QueryMessage::Failure {
            uuid: &query.uuid,
            error: &query.error,
        },
        BridgeToPage::QueryCancel(query) => QueryMessage::Cancel {
            uuid: &query.uuid,
            reason: query.reason.as_deref(),
        },
        _ => return None,
    };
    serde_json::to_string(&query).ok()
}

/// The text for progress; `None` if the page cannot show it.
fn progress_text(content: &RawValue) -> Option<Cow<'_, str>> {
    // Agents other than that of MCP-Web mostly send strings.
    let typed = content.get().starts_with('{');
    let typed = typed.then(|| serde_json::from_str(content.get()).ok());
    Some(match typed.flatten() {
        None => to_text(content),
        Some(
            QueryContent::Thinking { .. }
            | QueryContent::ToolArguments { .. }
            | QueryContent::Usage { .. },
        ) => return None,
        Some(QueryContent::ApprovalRequested { tool, .. }) => {
            format!("{tool} waits for the approval of a person").into()
        }
        Some(QueryContent::Text { text } | QueryContent::Note { text }) => text.into(),
        Some(QueryContent::ToolStarted { tool, .. }) => format!("Calling {tool}").into(),
        Some(QueryContent::ToolFinished {
            tool,
            is_error: false,
            ..
        }) => format!("{tool} finished").into(),
        Some(QueryContent::ToolFinished { tool, error, .. }) => match error {
            Some(error) => format!("{tool} failed: {error}").into(),
            None => format!("{tool} failed").into(),
        },
    })
}

/// Converts a value to text, because the page ignores everything else.
fn to_text(raw: &RawValue) -> Cow<'_, str> {
    match serde_json::from_str::<String>(raw.get()) {
        Ok(text) => Cow::Owned(text),
        Err(_) => Cow::Borrowed(raw.get()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn query_messages_are_text_without_null() {
        let encoded = |message: &str| encode(&BridgeToPage::decode(message).unwrap()).unwrap();
        for (message, frame) in [
            (
                r#"{"type":"query_progress","uuid":"u","content":"a \"b\""}"#,
                r#"{"type":"query_progress","uuid":"u","message":"a \"b\""}"#,
            ),
            (
                r#"{"type":"query_progress","uuid":"u","content":{"step":1.0}}"#,
                r#"{"type":"query_progress","uuid":"u","message":"{\"step\":1.0}"}"#,
            ),
            (
                r#"{"type":"query_complete","uuid":"u","toolCalls":[{"tool":"t","arguments":{"b":1,"a":2}}]}"#,
                r#"{"type":"query_complete","uuid":"u","toolCalls":[{"tool":"t","arguments":{"b":1,"a":2}}]}"#,
            ),
            (
                r#"{"type":"query_failure","uuid":"u","error":"no","reason":"why","code":"AgentFailed"}"#,
                r#"{"type":"query_failure","uuid":"u","error":"no"}"#,
            ),
            (
                r#"{"type":"query_cancel","uuid":"u"}"#,
                r#"{"type":"query_cancel","uuid":"u"}"#,
            ),
        ] {
            assert_eq!(encoded(message), frame);
        }
    }

    #[test]
    fn typed_progress_becomes_text_and_thinking_is_dropped() {
        let encoded = |content: &str| {
            let message = format!(r#"{{"type":"query_progress","uuid":"u","content":{content}}}"#);
            let frame = encode(&BridgeToPage::decode(&message).unwrap())?;
            let frame: serde_json::Value = serde_json::from_str(&frame).unwrap();
            Some(frame["message"].as_str().unwrap().to_owned())
        };
        for (content, text) in [
            (r#"{"type":"text","text":"Two \"cards\""}"#, "Two \"cards\""),
            (r#"{"type":"note","text":"busy"}"#, "busy"),
            (
                r#"{"type":"tool-started","id":"1","tool":"add_card","arguments":{"a":1}}"#,
                "Calling add_card",
            ),
            (
                r#"{"type":"tool-finished","id":"1","tool":"add_card","isError":false}"#,
                "add_card finished",
            ),
            (
                r#"{"type":"tool-finished","id":"1","tool":"add_card","isError":true,"error":"no"}"#,
                "add_card failed: no",
            ),
            // Typed progress of another agent.
            (r#"{"type":"step","text":1}"#, r#"{"type":"step","text":1}"#),
        ] {
            assert_eq!(encoded(content).unwrap(), text);
        }
        assert_eq!(encoded(r#"{"type":"thinking","text":"hm"}"#), None);
    }
}
