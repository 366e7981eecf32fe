//! The SDK's core, run natively: the frames between [`web_sdk::core::Page`] and the wire.
//!
//! The driver of a page gives it a socket, timers and handlers. This module does what the SDK's
//! codec does in a browser, with serde instead of the browser's JSON.

use bridge_protocol::limits::PART_BYTES;
use bridge_protocol::parts::{Assembler, AssemblyStatus, split};
use bridge_protocol::{self as wire, SessionId, limits};
use web_sdk::core::frame::{FramePart, encode};
use web_sdk::core::{
    Answer, BridgeToPage, CallRequest, ClientResponse, HandlerOutcome, Item, Kind, Limits,
    PageInfo, PageToBridge, RegisteredItem, RegistrationFailure,
};

/// Encodes and decodes the frames of one socket of a page.
#[derive(Debug)]
pub(crate) struct PageFrames {
    assembler: Assembler,
    /// The number of messages that were split into parts.
    in_parts: u64,
}

impl PageFrames {
    /// Creates the state of a socket that has just been opened.
    pub(crate) fn new() -> Self {
        Self {
            assembler: Assembler::new(16 * limits::MAX_FRAME_BYTES),
            in_parts: 0,
        }
    }

    /// Encodes a message into frames.
    pub(crate) fn encode(&mut self, message: PageToBridge<String>) -> Vec<String> {
        let parts = encode(message).into_iter().map(|part| match part {
            FramePart::Text(text) | FramePart::Json(text) => text,
        });
        let text: String = parts.collect();
        if text.len() <= PART_BYTES {
            return vec![text];
        }
        self.in_parts += 1;
        split(&text, self.in_parts).collect()
    }

    /// Decodes a frame into the message that it completes. Returns `None` for a message that the
    /// SDK does not know.
    pub(crate) fn decode(&mut self, frame: &str) -> Option<BridgeToPage<String>> {
        match self
            .assembler
            .push(frame)
            .expect("the bridge complies with the rules of parts")
        {
            AssemblyStatus::Incomplete => None,
            AssemblyStatus::Complete(text) => parse(&text),
        }
    }
}

fn parse(text: &str) -> Option<BridgeToPage<String>> {
    let message = wire::BridgeToPage::decode(text).expect("the bridge sends valid messages");
    Some(match message {
        wire::BridgeToPage::Authenticated(accepted) => BridgeToPage::Authenticated {
            protocol: accepted.protocol,
            bridge_id: accepted.bridge_id,
            session_name: accepted.session_name,
            awaited: accepted.awaited,
            now_ms: accepted.now_ms,
            token_expires_in_ms: accepted.token_expires_in_ms,
            limits: Limits {
                max_result_bytes: accepted.limits.max_result_bytes,
                max_frame_bytes: accepted.limits.max_frame_bytes,
                max_message_bytes: accepted.limits.max_message_bytes,
                heartbeat_seconds: accepted.limits.heartbeat_seconds as u32,
            },
        },
        wire::BridgeToPage::AuthenticationFailed(failed) => BridgeToPage::AuthenticationFailed {
            code: failed.code.as_str().to_owned(),
            error: failed.error,
        },
        wire::BridgeToPage::Registered(registered) => BridgeToPage::Registered {
            registration_id: registered.registration_id,
            items: registered.items.into_iter().map(registered_item).collect(),
            errors: registered
                .errors
                .into_iter()
                .map(registration_failure)
                .collect(),
        },
        wire::BridgeToPage::Unregistered(unregistered) => BridgeToPage::Registered {
            registration_id: unregistered.registration_id,
            items: Vec::new(),
            errors: Vec::new(),
        },
        wire::BridgeToPage::ToolCall(call) => BridgeToPage::CallRequested(CallRequest {
            call: call.request_id,
            item: Item {
                kind: Kind::Tool,
                name: call.tool_name,
            },
            sent_ms: call.context.sent_ms,
            hand_overs: call.context.hand_overs.unwrap_or_default().into(),
            message: text.to_owned(),
        }),
        wire::BridgeToPage::CallCancel(cancel) => BridgeToPage::CallCancel {
            call: cancel.request_id,
            code: cancel.code.as_str().to_owned(),
            reason: cancel.reason,
        },
        wire::BridgeToPage::ClientResponses(responses) => BridgeToPage::ClientResponses {
            call: responses.request_id,
            responses: responses.responses.into_iter().map(response).collect(),
        },
        wire::BridgeToPage::Heartbeat(heartbeat) => BridgeToPage::Heartbeat {
            sequence: heartbeat.sequence,
            answers: heartbeat.answers,
        },
        wire::BridgeToPage::CallsAlive(calls) => BridgeToPage::CallsAlive {
            check: calls.check,
            alive: calls.request_ids,
            ended: calls.ended,
        },
        wire::BridgeToPage::Renewed(renewed) => BridgeToPage::Renewed {
            token_expires_in_ms: renewed.token_expires_in_ms,
        },
        wire::BridgeToPage::RenewalFailed(failed) => BridgeToPage::RenewalFailed {
            code: failed.code.as_str().to_owned(),
            error: failed.error,
        },
        wire::BridgeToPage::SessionClosed(closed) => BridgeToPage::SessionClosed {
            code: closed.code.as_str().to_owned(),
            reason: closed.reason,
        },
        wire::BridgeToPage::Clients(_) => BridgeToPage::Clients(text.to_owned()),
        wire::BridgeToPage::Subscriptions(_) => BridgeToPage::Subscriptions(text.to_owned()),
        // Pages of fault runs register only tools and send no queries.
        wire::BridgeToPage::PromptGet(_)
        | wire::BridgeToPage::ResourceRead(_)
        | wire::BridgeToPage::Completion(_)
        | wire::BridgeToPage::QueryAccepted(_)
        | wire::BridgeToPage::QueryProgress(_)
        | wire::BridgeToPage::QueryComplete(_)
        | wire::BridgeToPage::QueryFailure(_)
        | wire::BridgeToPage::QueryCancel(_) => return None,
    })
}

fn registered_item(registered: wire::RegisteredItem) -> RegisteredItem {
    RegisteredItem {
        item: Item {
            kind: Kind::Tool,
            name: registered.name,
        },
        published_name: registered.published_name,
    }
}

fn registration_failure(failure: wire::RegistrationFailure) -> RegistrationFailure {
    RegistrationFailure {
        index: failure.index,
        code: failure.code.as_str().to_owned(),
        message: failure.message,
    }
}

fn response(response: wire::ClientResponse) -> ClientResponse<String> {
    ClientResponse {
        response: serde_json::to_string(&response).expect("a response serializes"),
        key: response.key,
    }
}

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
