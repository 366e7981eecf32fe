//! Reads the body of a request up to a limit. Its time limits are those of the server.

use axum::body::Body;
use bridge_protocol::ErrorCode;
use bridge_service::body::{BodyError, read_to_end_limited};
use bytes::Bytes;

use super::Problem;

/// Reads a whole body of at most `max_bytes`.
pub(super) async fn read(body: Body, max_bytes: usize) -> Result<Bytes, Problem> {
    let read = read_to_end_limited(body, max_bytes).await;
    read.map_err(|error| match error {
        BodyError::TooLarge | BodyError::NoRoom => {
            let message = format!(
                "the request has more than {max_bytes} bytes: send less context, begin a new \
                 thread if it is one of AG-UI, or raise `max_body_bytes`"
            );
            Problem::new(ErrorCode::RequestTooLarge, message)
        }
        BodyError::TimedOut => Problem::new(
            ErrorCode::RequestTimeout,
            "the body of the request came too slowly: send it again",
        ),
        BodyError::Unreadable(_) => Problem::new(
            ErrorCode::ProtocolViolation,
            "the body did not arrive whole: send it again",
        ),
    })
}
