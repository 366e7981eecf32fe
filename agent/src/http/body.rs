//! Reads the body of a request, within a limit of size and of time.

use std::time::Duration;

use axum::body::Body;
use bridge_protocol::ErrorCode;
use bridge_service::body::{BodyError, read_to_end_limited};
use bytes::Bytes;
use tokio::time::timeout;

use super::Problem;

/// How long a whole body may take to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// Reads a whole body of at most `max_bytes`.
pub(super) async fn read(body: Body, max_bytes: usize) -> Result<Bytes, Problem> {
    match timeout(BODY_TIMEOUT, read_to_end_limited(body, max_bytes)).await {
        Ok(Ok(body)) => Ok(body),
        Ok(Err(BodyError::TooLarge)) => {
            let message = format!(
                "the query has more than {max_bytes} bytes: send less context, or raise \
                 `max_body_bytes`"
            );
            Err(Problem::new(ErrorCode::RequestTooLarge, message))
        }
        Ok(Err(BodyError::Unreadable(_))) | Err(_) => Err(Problem::new(
            ErrorCode::ProtocolViolation,
            "the body did not arrive whole: send it again",
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::stream;
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_body_that_does_not_arrive_in_time_is_refused() {
        let silent = Body::from_stream(stream::pending::<Result<Bytes, Infallible>>());
        let started = Instant::now();
        match read(silent, 10).await {
            Err(Problem::Failure(failure)) => {
                assert!(
                    failure.message.contains("did not arrive whole"),
                    "{failure}"
                );
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(started.elapsed(), BODY_TIMEOUT);
    }
}
