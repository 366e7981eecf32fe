//! What a v1 page hears of its queries. What it asks is written as our own messages are.

use std::borrow::Cow;

use bridge_protocol::{BridgeToPage, QueryId, QueryToolCall};
use serde::Serialize;
use serde_json::value::RawValue;

#[derive(Serialize)]
#[serde(tag = "type", rename_all_fields = "camelCase")]
enum Told<'a> {
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

/// Writes one text frame; `None` when v1 has no word for it.
pub(super) fn encode(message: &BridgeToPage) -> Option<String> {
    let told = match message {
        BridgeToPage::QueryAccepted(told) => Told::Accepted { uuid: &told.uuid },
        BridgeToPage::QueryProgress(told) => Told::Progress {
            uuid: &told.uuid,
            message: as_text(&told.content),
        },
        BridgeToPage::QueryComplete(told) => Told::Complete {
            uuid: &told.uuid,
            message: told.result.as_deref().map(as_text),
            tool_calls: &told.tool_calls,
        },
        BridgeToPage::QueryFailure(told) => Told::Failure {
            uuid: &told.uuid,
            error: &told.error,
        },
        BridgeToPage::QueryCancel(told) => Told::Cancel {
            uuid: &told.uuid,
            reason: told.reason.as_deref(),
        },
        _ => return None,
    };
    serde_json::to_string(&told).ok()
}

/// A page of v1 reads text only, and drops what is none.
fn as_text(raw: &RawValue) -> Cow<'_, str> {
    match serde_json::from_str::<String>(raw.get()) {
        Ok(text) => Cow::Owned(text),
        Err(_) => Cow::Borrowed(raw.get()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_reads_text_and_finds_no_null() {
        let told = |ours: &str| encode(&BridgeToPage::decode(ours).unwrap()).unwrap();
        for (ours, theirs) in [
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
            assert_eq!(told(ours), theirs);
        }
    }
}
