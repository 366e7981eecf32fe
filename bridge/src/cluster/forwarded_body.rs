//! The body of a response that is passed back to a client.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bridge_edge::peer_client::PeerResponseBody;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::cluster_counters::RequestCount;
use super::link::BoxError;

/// The body of a response of another node. It ends with an error when the node becomes unreachable.
///
/// A stream of events ends in order then, as its client can resume it, and also when this bridge stops.
pub(crate) struct ForwardedBody {
    body: PeerResponseBody,
    is_event_stream: bool,
    /// Cancelled when the node becomes unreachable, or this bridge stops.
    lost: CancellationToken,
    stopping: CancellationToken,
    wait: Wait,
    /// The request, if it is passed on until the end of its stream.
    _passing: Option<RequestCount>,
}

/// The wait for the end of the node, which most bodies do not need.
enum Wait {
    NotYet,
    Begun(Pin<Box<WaitForCancellationFutureOwned>>),
    /// This bridge stops, and the rest of the body has the time that all responses have.
    Stopping,
}

impl ForwardedBody {
    /// A body of a node whose `lost` token is a child of `stopping`.
    pub(super) fn new(
        body: PeerResponseBody,
        is_event_stream: bool,
        lost: CancellationToken,
        stopping: CancellationToken,
        passing: Option<RequestCount>,
    ) -> Self {
        Self {
            body,
            is_event_stream,
            lost,
            stopping,
            wait: Wait::NotYet,
            _passing: passing,
        }
    }

    /// Waits until nothing more can come.
    fn poll_lost(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Wait::NotYet = self.wait {
            self.wait = Wait::Begun(Box::pin(self.lost.clone().cancelled_owned()));
        }
        let Wait::Begun(lost) = &mut self.wait else {
            return Poll::Pending;
        };
        ready!(lost.as_mut().poll(cx));
        if self.stopping.is_cancelled() && !self.is_event_stream {
            self.wait = Wait::Stopping;
            return Poll::Pending;
        }
        Poll::Ready(())
    }
}

impl Body for ForwardedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.get_mut();
        if let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(cx) {
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        ready!(this.poll_lost(cx));
        let error = || io::Error::from(io::ErrorKind::TimedOut).into();
        Poll::Ready((!this.is_event_stream).then(|| Err(error())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
