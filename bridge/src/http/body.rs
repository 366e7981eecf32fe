//! The body of a request, as the limits of the bridge allow it.

use std::error::Error;

use bridge_protocol::ErrorCode;
use bridge_service::body::{self, BodyError};
use bytes::Bytes;
use http_body::Body;

use super::{AppState, Problem, request_too_large};

/// Reads a whole body of at most `max_request_bytes`.
///
/// # Errors
///
/// The body is larger, or it did not arrive whole.
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
