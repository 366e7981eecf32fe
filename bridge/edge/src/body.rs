//! Reads the body of a request up to a limit, and repairs its JSON.

use std::borrow::Cow;
use std::error::Error;
use std::pin::{Pin, pin};
use std::time::Duration;

use bridge_protocol::to_well_formed;
use bytes::{Bytes, BytesMut};
use http_body::Body;
use http_body_util::BodyExt;
use tokio::time::timeout;

use crate::request_body::BodyTimeout;

/// When the buffer of a body is full, it grows to the length of the body, if that is known, and by
/// at most so many times what has arrived: a peer that only announces much gets little.
const GROWTH_FACTOR: usize = 3;

/// How much of a body that is too large is read and discarded, as a multiple of the limit. If the
/// connection were closed at once, a peer that is still sending could lose the response (RFC 9112
/// section 9.6).
const DRAIN_LIMIT_FACTOR: usize = 4;

/// The maximum time for which a body that is too large is read and discarded.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// The reason why a body could not be read.
#[derive(Debug, PartialEq, Eq)]
pub enum BodyError {
    /// The body is larger than the limit.
    TooLarge,
    /// There is no room for the part that has arrived.
    NoRoom,
    /// The body did not arrive in time.
    TimedOut,
    /// The connection failed or the encoding is invalid, with the cause.
    Unreadable(String),
}

/// Reads a whole body of at most `max_bytes`.
///
/// A body that is too large is read for a moment longer and discarded, so that the peer receives
/// the response. The time limit of other bodies is that of their server
/// ([`RequestBody`](crate::request_body::RequestBody)).
///
/// # Errors
///
/// [`BodyError`] when the body is larger than the limit or did not arrive completely.
pub async fn read_to_end_limited<B>(body: B, max_bytes: usize) -> Result<Bytes, BodyError>
where
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    read_to_end_with_room(body, max_bytes, |_| true).await
}

/// Reads a whole body as [`read_to_end_limited`] does, as long as `has_room` returns true for the
/// number of bytes that have arrived, which it receives before they are stored.
///
/// # Errors
///
/// [`BodyError`] as with [`read_to_end_limited`], or when there is no room.
pub async fn read_to_end_with_room<B>(
    body: B,
    max_bytes: usize,
    mut has_room: impl FnMut(usize) -> bool,
) -> Result<Bytes, BodyError>
where
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let mut body = pin!(body);
    if body.size_hint().lower() > max_bytes as u64 {
        Box::pin(drain(body, max_bytes)).await;
        return Err(BodyError::TooLarge);
    }
    // Most bodies arrive in one piece, which is returned without a copy.
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    // A body of known length has ended with its last piece, so it needs no further read.
    while !body.is_end_stream()
        && let Some(frame) = body.frame().await
    {
        let frame = frame.map_err(|error| unreadable(&*error.into()))?;
        // Trailers have no data.
        let Ok(data) = frame.into_data() else {
            continue;
        };
        let arrived = first.len() + rest.len() + data.len();
        let refused = if arrived > max_bytes {
            Some(BodyError::TooLarge)
        } else if !has_room(arrived) {
            Some(BodyError::NoRoom)
        } else {
            None
        };
        if let Some(refused) = refused {
            drop((first, rest));
            Box::pin(drain(body, max_bytes)).await;
            return Err(refused);
        }
        if first.is_empty() && rest.is_empty() {
            first = data;
        } else {
            if rest.is_empty() {
                rest.extend_from_slice(&std::mem::take(&mut first));
            }
            if rest.capacity() - rest.len() < data.len() {
                let expected = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
                rest.reserve(data.len() + expected.min(GROWTH_FACTOR * arrived));
            }
            rest.extend_from_slice(&data);
        }
    }
    Ok(if rest.is_empty() {
        first
    } else {
        rest.freeze()
    })
}

/// Replaces surrogates without a partner in the strings of JSON by U+FFFD, as
/// [`to_well_formed`] does: a text that JavaScript has cut would otherwise make the whole body
/// unreadable. The length stays the same. A body that is not UTF-8 is unchanged.
pub fn repair_surrogates(body: Bytes) -> Bytes {
    let repaired = match std::str::from_utf8(&body).map(to_well_formed) {
        Ok(Cow::Owned(json)) => Some(json),
        _ => None,
    };
    repaired.map_or(body, Bytes::from)
}

fn unreadable(error: &(dyn Error + Send + Sync + 'static)) -> BodyError {
    if BodyTimeout::is_cause_of(error) {
        BodyError::TimedOut
    } else {
        BodyError::Unreadable(error.to_string())
    }
}

async fn drain<B: Body<Data = Bytes>>(mut body: Pin<&mut B>, max_bytes: usize) {
    let mut remaining = max_bytes.saturating_mul(DRAIN_LIMIT_FACTOR);
    let dropped = async {
        while let Some(Ok(frame)) = body.frame().await {
            let bytes = frame.data_ref().map_or(0, Bytes::len);
            match remaining.checked_sub(bytes) {
                Some(less) => remaining = less,
                None => return,
            }
        }
    };
    // The timeout bounds the delay of the response if the peer sends slowly.
    let _ = timeout(DRAIN_TIMEOUT, dropped).await;
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::{StreamExt, stream};
    use http_body::Frame;
    use http_body_util::StreamBody;
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn draining_is_limited_in_bytes_and_time() {
        let mut pieces = 0;
        let endless = stream::repeat_with(|| {
            pieces += 1;
            Ok::<_, Infallible>(Frame::data(Bytes::from_static(&[0; 10])))
        });
        drain(pin!(StreamBody::new(endless)), 100).await;
        let expected = DRAIN_LIMIT_FACTOR * 100 / 10;
        assert!((expected..=expected + 1).contains(&pieces), "{pieces}");

        let started = Instant::now();
        let silent = stream::pending::<Result<Frame<Bytes>, Infallible>>();
        drain(pin!(StreamBody::new(silent.boxed())), 100).await;
        assert_eq!(started.elapsed(), DRAIN_TIMEOUT);
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_over_the_limit_is_refused_once_it_was_drained() {
        // The pieces that exceed the limit, those that are drained, and one more. After that the
        // peer sends nothing.
        let pieces = 10 + 1 + DRAIN_LIMIT_FACTOR * 10 + 1;
        let pieces =
            (0..pieces).map(|_| Ok::<_, Infallible>(Frame::data(Bytes::from(vec![0; 10]))));
        let body = StreamBody::new(stream::iter(pieces).chain(stream::pending()));
        let started = Instant::now();
        let refused = read_to_end_limited(body, 100).await;
        assert_eq!(refused, Err(BodyError::TooLarge));
        assert_eq!(started.elapsed(), Duration::ZERO);

        let one = [Ok::<_, Infallible>(Frame::data(Bytes::from_static(
            &[0; 11],
        )))];
        let silent = StreamBody::new(stream::iter(one).chain(stream::pending()));
        let refused = read_to_end_limited(silent, 10).await;
        assert_eq!(refused, Err(BodyError::TooLarge));
        assert_eq!(started.elapsed(), DRAIN_TIMEOUT);
    }

    #[test]
    fn surrogates_without_a_partner_are_replaced_in_place() {
        for (body, expected) in [
            (&br#"{"a":"cut \ud83d"}"#[..], &br#"{"a":"cut \ufffd"}"#[..]),
            (br#"["\ud83d\ude00"]"#, br#"["\ud83d\ude00"]"#),
            (b"\xff\\ud83d", b"\xff\\ud83d"),
            (b"", b""),
        ] {
            assert_eq!(repair_surrogates(Bytes::from_static(body)), expected);
        }
    }

    #[tokio::test]
    async fn a_body_in_pieces_is_joined_and_a_broken_one_is_an_error() {
        let pieces = ["a", "b", "c"].map(|it| Ok::<_, Infallible>(Frame::data(Bytes::from(it))));
        let body = StreamBody::new(stream::iter(pieces));
        let read = read_to_end_limited(body, 3).await;
        assert_eq!(read, Ok(Bytes::from("abc")));

        let broken = [Ok(Frame::data(Bytes::from("a"))), Err("reset")];
        let read = read_to_end_limited(StreamBody::new(stream::iter(broken)), 3).await;
        assert_eq!(read, Err(BodyError::Unreadable("reset".to_owned())));
    }
}
