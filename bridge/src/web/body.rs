//! Request bodies within the limits of the bridge.

use std::error::Error;

use axum::extract::rejection::BytesRejection;
use bridge_protocol::ErrorCode;
use bridge_service::body::{self, BodyError};
use bytes::Bytes;
use http::StatusCode;
use http_body::Body;

use super::{AppState, Problem};

/// Reads a whole body of at most `max_request_bytes`.
///
/// # Errors
///
/// When the body is larger, or did not arrive completely.
pub(crate) async fn read_to_end_limited<B>(state: &AppState, body: B) -> Result<Bytes, Problem>
where
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let read = body::read_to_end_limited(body, state.hub.config.max_request_bytes).await;
    read.map_err(|error| match error {
        BodyError::TooLarge => request_too_large(state),
        BodyError::Unreadable(cause) => {
            let message = format!("the body cannot be read: {cause}");
            Problem::new(ErrorCode::ProtocolViolation, message)
        }
    })
}

/// Converts the rejection of axum's body extractor.
pub(crate) fn body_rejected(state: &AppState, rejection: &BytesRejection) -> Problem {
    if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
        return request_too_large(state);
    }
    Problem::new(
        ErrorCode::ProtocolViolation,
        format!("the body cannot be read: {rejection}"),
    )
}

/// Rejects a body that is over the limit.
fn request_too_large(state: &AppState) -> Problem {
    let message = format!(
        "the request has more than {} bytes: send less, or raise `max_request_bytes`",
        state.hub.config.max_request_bytes
    );
    Problem::new(ErrorCode::RequestTooLarge, message)
}
