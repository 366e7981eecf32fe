//! The body of a request, whole.

use std::pin::{Pin, pin};
use std::time::Duration;

use bridge_protocol::ErrorCode;
use bytes::{Bytes, BytesMut};
use http_body::Body;
use http_body_util::BodyExt;
use tokio::time::timeout;

use super::{AppState, Problem, request_too_large};

/// Who still sends would lose the refusal with the connection (RFC 9112, section 9.6): of a body that
/// is too large, so many times the limit are read and dropped, within this time.
const DRAIN_LIMIT_FACTOR: usize = 4;
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// Reads a body that is no larger than it may be.
///
/// # Errors
///
/// It is larger, or it did not come whole.
pub(crate) async fn read_to_end_limited<B>(edge: &AppState, body: B) -> Result<Bytes, Problem>
where
    B: Body<Data = Bytes>,
    B::Error: Into<axum::BoxError>,
{
    let most = edge.hub.config.max_request_bytes;
    let mut body = pin!(body);
    if body.size_hint().lower() > most as u64 {
        drain(body, most).await;
        return Err(request_too_large(edge));
    }
    // Most bodies are in one piece.
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            let message = format!("the body cannot be read: {}", error.into());
            Problem::new(ErrorCode::ProtocolViolation, message)
        })?;
        // Trailers say nothing.
        let Ok(data) = frame.into_data() else {
            continue;
        };
        if first.len() + rest.len() + data.len() > most {
            drain(body, most).await;
            return Err(request_too_large(edge));
        }
        if first.is_empty() && rest.is_empty() {
            first = data;
        } else {
            if rest.is_empty() {
                rest.extend_from_slice(&std::mem::take(&mut first));
            }
            rest.extend_from_slice(&data);
        }
    }
    Ok(match rest.is_empty() {
        true => first,
        false => rest.freeze(),
    })
}

async fn drain<B: Body<Data = Bytes>>(mut body: Pin<&mut B>, most: usize) {
    let mut left = most.saturating_mul(DRAIN_LIMIT_FACTOR);
    let dropped = async {
        while let Some(Ok(frame)) = body.frame().await {
            let bytes = frame.data_ref().map_or(0, Bytes::len);
            match left.checked_sub(bytes) {
                Some(less) => left = less,
                None => return,
            }
        }
    };
    // A peer that sends slowly does not wait for the answer either.
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
        let most = DRAIN_LIMIT_FACTOR * 100 / 10;
        assert!((most..=most + 1).contains(&pieces), "{pieces}");

        let begun = Instant::now();
        let silent = stream::pending::<Result<Frame<Bytes>, Infallible>>();
        drain(pin!(StreamBody::new(silent.boxed())), 100).await;
        assert_eq!(begun.elapsed(), DRAIN_TIMEOUT);
    }
}
