//! Reads the body of a request up to a limit. Its time limits are those of the server.

use agent_tools::AgentFailure;
use axum::body::Body;
use bridge_edge::body::{BodyError, read_to_end_with_room, repair_surrogates};
use bridge_protocol::ErrorCode;
use bridge_schema::value_count::{self, MAX_VALUE_BYTES};
use tokio::task::spawn_blocking;

use super::{AgentState, Rejection};
use crate::queries::{BodyOwner, BodyReservation};

/// The maximum number of JSON values in a body.
const MAX_BODY_VALUES: usize = 100_000;

/// A body of more bytes is parsed on a thread that may block.
const MAX_INLINE_BYTES: usize = 64 * 1024;

/// Reads a whole body of at most `max_body_bytes`, and parses it. Surrogates without a partner become
/// U+FFFD: a frontend sends a thread with a text that was cut in each further run. The memory is
/// reserved for its owner as it arrives, and for what it takes once it is parsed.
pub(super) async fn read<T: Send + 'static>(
    body: Body,
    state: &AgentState,
    owner: BodyOwner,
    parse: impl FnOnce(&[u8]) -> Result<T, Rejection> + Send + 'static,
) -> Result<(T, BodyReservation), Rejection> {
    let max_bytes = state.max_body_bytes;
    let mut reservation = state.body_memory.begin(owner);
    let has_room = |arrived| reservation.grow_to(arrived);
    let read = read_to_end_with_room(body, max_bytes, has_room).await;
    let body = read.map_err(|error| match error {
        BodyError::NoRoom => no_room(state.body_memory.max_bytes()),
        BodyError::TooLarge => {
            let message = format!(
                "the request has more than {max_bytes} bytes: send less context, begin a new \
                 thread if it is one of AG-UI, or raise `max_body_bytes`"
            );
            Rejection::new(ErrorCode::RequestTooLarge, message)
        }
        BodyError::TimedOut => Rejection::new(
            ErrorCode::RequestTimeout,
            "the body of the request came too slowly: send it again",
        ),
        BodyError::Unreadable(_) => Rejection::new(
            ErrorCode::ProtocolViolation,
            "the body did not arrive whole: send it again",
        ),
    })?;
    let (max_all_bytes, body_bytes) = (state.body_memory.max_bytes(), body.len());
    let parse = move || {
        let body = repair_surrogates(body);
        reserve_parsed(&body, &mut reservation, max_all_bytes)?;
        Ok((parse(&body)?, reservation))
    };
    if body_bytes <= MAX_INLINE_BYTES {
        return parse();
    }
    let parsed = spawn_blocking(parse).await;
    parsed.unwrap_or_else(|error| {
        tracing::error!(%error, "a request cannot be parsed");
        Err(AgentFailure::fault().into())
    })
}

/// Reserves the memory that a body takes once it is parsed, which is a multiple of its size.
fn reserve_parsed(
    body: &[u8],
    reservation: &mut BodyReservation,
    max_all_bytes: usize,
) -> Result<(), Rejection> {
    let json = std::str::from_utf8(body).map_err(|_| {
        let message = "the body is not text in UTF-8: send JSON";
        Rejection::new(ErrorCode::ProtocolViolation, message)
    })?;
    let values = value_count::count(json);
    if values > MAX_BODY_VALUES {
        let message = format!(
            "the request has {values} JSON values, and at most {MAX_BODY_VALUES} are allowed: send \
             less context or state"
        );
        return Err(Rejection::new(ErrorCode::ProtocolViolation, message));
    }
    if reservation.grow_to(body.len() + values * MAX_VALUE_BYTES) {
        Ok(())
    } else {
        Err(no_room(max_all_bytes))
    }
}

fn no_room(max_all_bytes: usize) -> Rejection {
    let message = format!(
        "the requests that the agent answers have their share of {max_all_bytes} bytes: retry \
         later, or raise `max_all_body_bytes`"
    );
    Rejection::new(ErrorCode::QueryLimitExceeded, message)
}
