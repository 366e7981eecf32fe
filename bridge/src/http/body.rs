//! The body of a request, whole.

use std::pin::pin;

use bridge_protocol::ErrorCode;
use bytes::{Bytes, BytesMut};
use http_body::Body;
use http_body_util::BodyExt;

use super::{Edge, Problem, too_large};

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
    if body.size_hint().lower() > most as u64 {
        return Err(too_large(edge));
    }
    let mut body = pin!(body);
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
