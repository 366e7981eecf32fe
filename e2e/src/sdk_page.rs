//! Pages of fault runs: their descriptions, and the results of their handlers.

use bridge_protocol::SessionId;
use web_sdk_core::{Answer, HandlerOutcome, PageInfo};

/// Describes the page of a document for runs with faults.
pub(crate) fn page_info(session: &str, document: u64) -> PageInfo<String> {
    PageInfo {
        bridge_url: "ws://bridge".to_owned(),
        session_id: SessionId::from(session),
        document_id: Some(format!("document-{document}")),
        session_name: None,
        origin: None,
        user_agent: None,
        renewable: true,
        app: r#"{"name":"faults"}"#.to_owned(),
    }
}

/// Returns the outcome of a handler that returns a text with this size in JSON.
pub(crate) fn text_outcome(bytes: usize) -> HandlerOutcome<String> {
    let text = format!("\"{}\"", "x".repeat(bytes - 2));
    HandlerOutcome::Returned {
        bytes,
        answer: Answer {
            result: Some(text),
            ..Answer::default()
        },
    }
}
