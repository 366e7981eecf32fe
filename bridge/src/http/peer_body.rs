//! The body of a request that another bridge passes on.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use tokio::time::timeout;

/// How long the rest of a body is read that its handler did not read.
const REST_TIMEOUT: Duration = Duration::from_secs(2);

/// A body whose rest is read when its handler has refused the request. Otherwise the connection would be
/// reset while the other bridge still sends, which would lose the response.
#[derive(Debug)]
pub(crate) struct PeerBody<B: UnreadBody>(Option<B>);

/// A body that a task can read.
pub(crate) trait UnreadBody: Body<Data = Bytes> + Send + Unpin + 'static {}

impl<B: Body<Data = Bytes> + Send + Unpin + 'static> UnreadBody for B {}

impl<B: UnreadBody> PeerBody<B> {
    pub(crate) fn new(body: B) -> Self {
        Self((!body.is_end_stream()).then_some(body))
    }
}

impl<B: UnreadBody> Body for PeerBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let Some(body) = &mut self.0 else {
            return Poll::Ready(None);
        };
        let polled = Pin::new(&mut *body).poll_frame(context);
        if body.is_end_stream() || matches!(polled, Poll::Ready(None | Some(Err(_)))) {
            self.0 = None;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        let body = self.0.as_ref();
        body.map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}

impl<B: UnreadBody> Drop for PeerBody<B> {
    fn drop(&mut self) {
        if let Some(mut body) = self.0.take() {
            let rest = async move { while let Some(Ok(_)) = body.frame().await {} };
            tokio::spawn(timeout(REST_TIMEOUT, rest));
        }
    }
}
