//! Reads the body of a request up to a limit. Its time limits are those of the server.

use axum::body::Body;
use bridge_protocol::ErrorCode;
use bridge_service::body::{BodyError, read_to_end_with_room};
use bytes::Bytes;

use super::{AppState, Problem};
use crate::queries::{BodyReservation, QueryOwner};

/// Reads a whole body of at most `max_body_bytes`. The memory is reserved for its owner as it arrives.
pub(super) async fn read(
    body: Body,
    state: &AppState,
    owner: QueryOwner,
) -> Result<(Bytes, BodyReservation), Problem> {
    let max_bytes = state.max_body_bytes;
    let mut reservation = state.body_memory.begin(owner);
    let has_room = |arrived| reservation.grow_to(arrived);
    let read = read_to_end_with_room(body, max_bytes, has_room).await;
    let body = read.map_err(|error| match error {
        BodyError::NoRoom => {
            let max_bytes = state.body_memory.max_bytes();
            let message = format!(
                "the requests that the agent answers have their share of {max_bytes} bytes: retry \
                 later, or raise `max_all_body_bytes`"
            );
            Problem::new(ErrorCode::QueryLimitExceeded, message)
        }
        BodyError::TooLarge => {
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
    })?;
    Ok((body, reservation))
}
