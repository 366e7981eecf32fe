//! The body of a request, whole.

use std::pin::{Pin, pin};
use std::time::Duration;

use bridge_protocol::ErrorCode;
use bytes::{Bytes, BytesMut};
use http_body::Body;
use http_body_util::BodyExt;
use tokio::time::timeout;

use super::{Edge, Problem, too_large};

/// Who still sends would lose the refusal with the connection (RFC 9112, section 9.6): of a body that
/// is too large, so many times the limit are read and dropped, within this time.
const DROPPED_TIMES: usize = 4;
const DROPPED_WITHIN: Duration = Duration::from_secs(2);

/// Reads a body that is no larger than it may be.
///
/// # Errors
///
/// It is larger, or it did not come whole.
pub(crate) async fn whole<B>(edge: &Edge, body: B) -> Result<Bytes, Problem>
where
    B: Body<Data = Bytes>,
    B::Error: Into<axum::BoxError>,
{
    let most = edge.hub.config.max_request_bytes;
    let mut body = pin!(body);
    if body.size_hint().lower() > most as u64 {
        drop_rest(body, most).await;
        return Err(too_large(edge));
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
            drop_rest(body, most).await;
            return Err(too_large(edge));
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

async fn drop_rest<B: Body<Data = Bytes>>(mut body: Pin<&mut B>, most: usize) {
    let mut left = most.saturating_mul(DROPPED_TIMES);
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
    let _ = timeout(DROPPED_WITHIN, dropped).await;
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
    async fn a_body_that_is_too_large_is_heard_out_so_far_and_so_long() {
        let mut pieces = 0;
        let endless = stream::repeat_with(|| {
            pieces += 1;
            Ok::<_, Infallible>(Frame::data(Bytes::from_static(&[0; 10])))
        });
        drop_rest(pin!(StreamBody::new(endless)), 100).await;
        let most = DROPPED_TIMES * 100 / 10;
        assert!((most..=most + 1).contains(&pieces), "{pieces}");

        let begun = Instant::now();
        let silent = stream::pending::<Result<Frame<Bytes>, Infallible>>();
        drop_rest(pin!(StreamBody::new(silent.boxed())), 100).await;
        assert_eq!(begun.elapsed(), DROPPED_WITHIN);
    }
}
