//! Request bodies within the limits of the bridge.

use std::error::Error;
use std::future::poll_fn;
use std::pin::pin;

use axum::extract::rejection::BytesRejection;
use bridge_protocol::ErrorCode;
use bridge_service::body::{self, BodyError};
use bytes::Bytes;
use http::StatusCode;
use http_body::Body;

use super::{AppState, Problem};

/// A body of at most this size usually arrives together with the head of its request.
const SHORT_BODY_BYTES: u64 = 8 * 1024;

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

/// Reads a whole body as [`read_to_end_limited`] does, for a request of an MCP session. Unless the
/// body arrives at once, the session is in use until it has arrived: what `begin_activity` returns
/// is held for so long.
pub(crate) async fn read_to_end_in_session<B, G>(
    state: &AppState,
    body: B,
    begin_activity: impl FnOnce() -> G,
) -> Result<Bytes, Problem>
where
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let size = body.size_hint().upper();
    let is_short = size.is_some_and(|bytes| bytes <= SHORT_BODY_BYTES);
    let mut begin_activity = Some(begin_activity);
    let mut activity = None;
    let mut is_first_poll = true;
    let mut reading = pin!(read_to_end_limited(state, body));
    poll_fn(|context| {
        let polled = reading.as_mut().poll(context);
        // The first poll of every body only asks for it.
        let is_expected = is_first_poll && is_short;
        is_first_poll = false;
        if polled.is_pending()
            && !is_expected
            && let Some(begin) = begin_activity.take()
        {
            activity = Some(begin());
        }
        polled
    })
    .await
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
