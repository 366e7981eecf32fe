//! The largest response that a client takes.

use bridge_mcp_results::request_error::RequestError;
use bridge_protocol::ErrorCode;
use bridge_realm::realm::CallFailure;
use serde_json::value::RawValue;

use super::json_rpc_response::{EncodedResponse, encode_call_error};

/// The largest response of a call whose client ends at a larger one.
pub(super) struct ResponseLimit {
    max_bytes: usize,
    id: Box<RawValue>,
    is_modern: bool,
}

impl ResponseLimit {
    /// The limit of a client that ends at larger messages, for the request with this id.
    pub(super) fn new(max_bytes: usize, id: &RawValue, is_modern: bool) -> Self {
        Self {
            max_bytes,
            id: id.to_owned(),
            is_modern,
        }
    }

    /// Replaces a response that is larger. Results are truncated before, so this is an error with much
    /// data of the page, or much that the client is asked.
    pub(super) fn apply(&self, response: EncodedResponse) -> EncodedResponse {
        let Self {
            max_bytes,
            id,
            is_modern,
        } = self;
        let bytes = response.json.event_len();
        if bytes <= *max_bytes {
            return response;
        }
        let message = format!(
            "the answer has {bytes} bytes, and this client takes {max_bytes}: ask for less"
        );
        let failure = CallFailure::new(ErrorCode::ResultTooLarge, message);
        let error = encode_call_error(id, RequestError::Failed(failure), *is_modern);
        match response.record {
            Some(record) => error.recorded(record),
            None => error,
        }
    }
}
