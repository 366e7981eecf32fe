//! The body of a request, whole.

use std::time::Duration;

use axum::body::{Body, BodyDataStream, HttpBody};
use bridge_protocol::ErrorCode;
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;

use super::Problem;

/// Who still sends would lose the refusal with the connection (RFC 9112, section 9.6): of a body that
/// is too large, so many times the limit are read and dropped, within this time.
const DROPPED_TIMES: usize = 4;
const DROPPED_WITHIN: Duration = Duration::from_secs(2);

/// A body must have come within this.
const BODY_WITHIN: Duration = Duration::from_secs(30);

/// Reads a body that is no larger than it may be.
pub(super) async fn whole(body: Body, most: usize) -> Result<Bytes, Problem> {
    let is_larger = body.size_hint().lower() > most as u64;
    let mut pieces = body.into_data_stream();
    let read = match is_larger {
        true => Read::TooLarge,
        false => tokio::time::timeout(BODY_WITHIN, read(&mut pieces, most))
            .await
            .unwrap_or(Read::Broken),
    };
    match read {
        Read::Whole(body) => Ok(body),
        Read::Broken => Err(Problem::new(
            ErrorCode::ProtocolViolation,
            "the body did not come whole: send it again",
        )),
        Read::TooLarge => {
            drop_rest(&mut pieces, most).await;
            let message = format!(
                "the query has more than {most} bytes: send less context, or raise `max_body_bytes`"
            );
            Err(Problem::new(ErrorCode::RequestTooLarge, message))
        }
    }
}

enum Read {
    Whole(Bytes),
    TooLarge,
    Broken,
}

async fn read(pieces: &mut BodyDataStream, most: usize) -> Read {
    let mut body = BytesMut::new();
    while let Some(piece) = pieces.next().await {
        let Ok(piece) = piece else {
            return Read::Broken;
        };
        if body.len() + piece.len() > most {
            return Read::TooLarge;
        }
        body.extend_from_slice(&piece);
    }
    Read::Whole(body.freeze())
}

async fn drop_rest(pieces: &mut BodyDataStream, most: usize) {
    let mut room = most.saturating_mul(DROPPED_TIMES);
    let dropped = async {
        while let Some(Ok(piece)) = pieces.next().await {
            match room.checked_sub(piece.len()) {
                Some(left) => room = left,
                None => break,
            }
        }
    };
    let _ = tokio::time::timeout(DROPPED_WITHIN, dropped).await;
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::stream;
    use tokio::time::Instant;

    use super::*;

    fn message(read: Result<Bytes, Problem>) -> String {
        match read {
            Err(Problem::Failure(failure)) => failure.message,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_does_not_come_is_given_up() {
        let silent = Body::from_stream(stream::pending::<Result<Bytes, Infallible>>());
        let begun = Instant::now();
        let said = message(whole(silent, 10).await);
        assert!(said.contains("did not come whole"), "{said}");
        assert_eq!(begun.elapsed(), BODY_WITHIN);
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_is_too_large_is_heard_out_so_far_and_so_long() {
        // The piece that is too much, what is read and dropped, and one more; then silence.
        let pieces = 10 + 1 + DROPPED_TIMES * 10 + 1;
        let pieces =
            stream::iter((0..pieces).map(|_| Ok::<_, Infallible>(Bytes::from(vec![0; 10]))));
        let body = Body::from_stream(pieces.chain(stream::pending()));
        let begun = Instant::now();
        let said = message(whole(body, 100).await);
        assert!(said.contains("more than 100 bytes"), "{said}");
        assert_eq!(begun.elapsed(), Duration::ZERO);

        let one = stream::iter([Ok::<_, Infallible>(Bytes::from_static(&[0; 11]))]);
        let silent = Body::from_stream(one.chain(stream::pending()));
        let begun = Instant::now();
        message(whole(silent, 10).await);
        assert_eq!(begun.elapsed(), DROPPED_WITHIN);
    }
}
