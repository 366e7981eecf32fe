//! The frames of a socket: messages of the page's core as JSON texts, split into parts if they are
//! long.

use bridge_protocol::limits::PART_BYTES;
use bridge_protocol::message_parts::{Assembler, AssemblyStatus, split};
use bridge_protocol::{self as wire, limits};
use web_sdk_core::frame::{FramePart, encode};
use web_sdk_core::{
    BridgeToPage, ClientResponse, HandlerRequest, Item, Kind, Limits, PageToBridge, RegisteredItem,
    RegistrationFailure,
};

/// Maximum size of a message from the bridge, and of all unfinished messages together, in bytes.
const MAX_MESSAGE_BYTES: usize = 16 * limits::MAX_FRAME_BYTES;

/// Encodes and decodes the frames of one socket.
#[derive(Debug)]
pub struct PageFrames {
    assembler: Assembler,
    /// The number of messages that were split into parts.
    in_parts: u64,
}

impl Default for PageFrames {
    fn default() -> Self {
        Self {
            assembler: Assembler::new(MAX_MESSAGE_BYTES),
            in_parts: 0,
        }
    }
}

impl PageFrames {
    /// Encodes a message into frames.
    pub fn encode(&mut self, message: PageToBridge<String>) -> Vec<String> {
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

    /// Decodes a frame into the message that it completes. Returns `None` while parts are missing.
    ///
    /// # Errors
    /// Returns an error for a frame that this version does not know.
    pub fn decode(&mut self, frame: &str) -> Result<Option<BridgeToPage<String>>, FrameError> {
        match self.assembler.push(frame) {
            Ok(AssemblyStatus::Incomplete) => Ok(None),
            Ok(AssemblyStatus::Complete(text)) => {
                parse(&text).map(Some).map_err(FrameError::Message)
            }
            Err(error) => Err(FrameError::Part(error.to_string())),
        }
    }
}

/// Why a frame could not be decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrameError {
    /// The frame breaks the rules of parts, so the frames after it cannot be decoded.
    Part(String),
    /// The message is unknown to this version.
    Message(String),
}

fn parse(text: &str) -> Result<BridgeToPage<String>, String> {
    let message = wire::BridgeToPage::decode(text).map_err(|error| error.to_string())?;
    Ok(match message {
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
        wire::BridgeToPage::ToolCall(call) => request(
            text,
            call.request_id,
            (Kind::Tool, call.tool_name),
            &call.context,
        ),
        wire::BridgeToPage::PromptGet(call) => request(
            text,
            call.request_id,
            (Kind::Prompt, call.name),
            &call.context,
        ),
        wire::BridgeToPage::ResourceRead(call) => {
            let item = match call.uri_template {
                Some(template) => (Kind::ResourceTemplate, template),
                None => (Kind::Resource, call.uri),
            };
            request(text, call.request_id, item, &call.context)
        }
        wire::BridgeToPage::Completion(call) => {
            let item = (kind(call.reference.kind), call.reference.name);
            request(text, call.request_id, item, &call.context)
        }
        wire::BridgeToPage::CallCancel(cancel) => BridgeToPage::CallCancel {
            call: cancel.request_id,
            code: cancel.code.as_str().to_owned(),
            reason: cancel.reason,
        },
        wire::BridgeToPage::ClientResponses(responses) => BridgeToPage::ClientResponses {
            call: responses.request_id,
            responses: responses
                .responses
                .into_iter()
                .map(response)
                .collect::<Result<_, _>>()?,
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
        wire::BridgeToPage::QueryAccepted(_)
        | wire::BridgeToPage::QueryProgress(_)
        | wire::BridgeToPage::QueryComplete(_)
        | wire::BridgeToPage::QueryFailure(_)
        | wire::BridgeToPage::QueryCancel(_) => BridgeToPage::Query(text.to_owned()),
    })
}

fn request(
    text: &str,
    call: bridge_protocol::CallId,
    (kind, name): (Kind, String),
    context: &wire::CallContext,
) -> BridgeToPage<String> {
    BridgeToPage::CallRequested(HandlerRequest {
        call,
        item: Item { kind, name },
        sent_ms: context.sent_ms,
        hand_overs: context.hand_overs.unwrap_or_default().into(),
        message: text.to_owned(),
    })
}

fn kind(kind: wire::Kind) -> Kind {
    match kind {
        wire::Kind::Tool => Kind::Tool,
        wire::Kind::Prompt => Kind::Prompt,
        wire::Kind::Resource => Kind::Resource,
        wire::Kind::ResourceTemplate => Kind::ResourceTemplate,
    }
}

fn registered_item(registered: wire::RegisteredItem) -> RegisteredItem {
    RegisteredItem {
        item: Item {
            kind: kind(registered.kind),
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

fn response(response: wire::ClientResponse) -> Result<ClientResponse<String>, String> {
    let json = serde_json::to_string(&response).map_err(|error| error.to_string())?;
    Ok(ClientResponse {
        response: json,
        key: response.key,
    })
}
