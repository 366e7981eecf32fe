//! Reads the body of a request up to a limit. Its time limits are those of the server.

use axum::body::Body;
use bridge_protocol::ErrorCode;
use bridge_schema::value_count::{self, MAX_VALUE_BYTES};
use bridge_service::body::{BodyError, read_to_end_with_room};
use bytes::Bytes;

use super::{AppState, Problem};
use crate::queries::{BodyReservation, QueryOwner};

/// The maximum number of JSON values in a body.
const MAX_BODY_VALUES: usize = 100_000;

/// Reads a whole body of at most `max_body_bytes`. The memory is reserved for its owner as it arrives,
/// and for what it takes once it is parsed.
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
        BodyError::NoRoom => no_room(state),
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
    // It is checked before it is parsed, which takes a multiple of its size.
    let Ok(json) = std::str::from_utf8(&body) else {
        let message = "the body is no text in UTF-8: send JSON";
        return Err(Problem::new(ErrorCode::ProtocolViolation, message));
    };
    let values = value_count::count(json);
    if values > MAX_BODY_VALUES {
        let message = format!(
            "the request has {values} JSON values, and at most {MAX_BODY_VALUES} are allowed: send \
             less context or state"
        );
        return Err(Problem::new(ErrorCode::ProtocolViolation, message));
    }
    if !reservation.grow_to(body.len() + values * MAX_VALUE_BYTES) {
        return Err(no_room(state));
    }
    Ok((body, reservation))
}

fn no_room(state: &AppState) -> Problem {
    let max_bytes = state.body_memory.max_bytes();
    let message = format!(
        "the requests that the agent answers have their share of {max_bytes} bytes: retry later, or \
         raise `max_all_body_bytes`"
    );
    Problem::new(ErrorCode::QueryLimitExceeded, message)
}
