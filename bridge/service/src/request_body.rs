//! The body of a request, which must arrive in time.

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;

use crate::progress_timeout::{ProgressLimits, ProgressTimeout};

/// The error of a body that did not arrive in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyTimeout;

impl BodyTimeout {
    /// Whether an error of a body is this one, or was caused by it.
    pub fn is_cause_of(error: &(dyn Error + 'static)) -> bool {
        error.is::<Self>() || error.source().is_some_and(Self::is_cause_of)
    }
}

impl fmt::Display for BodyTimeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the body did not arrive in time")
    }
}

impl Error for BodyTimeout {}

/// The body of a request to a server. It fails with [`BodyTimeout`] when its reader waits for the
/// peer for longer than the server allows.
#[derive(Debug)]
pub struct RequestBody<B = Incoming> {
    body: B,
    limits: ProgressLimits,
    timeout: ProgressTimeout,
}

impl<B> RequestBody<B> {
    pub(crate) fn new(body: B, limits: ProgressLimits) -> Self {
        Self {
            body,
            limits,
            timeout: ProgressTimeout::default(),
        }
    }
}

impl<B> Body for RequestBody<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Data = Bytes;
    type Error = Box<dyn Error + Send + Sync>;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = self.get_mut();
        match Pin::new(&mut this.body).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => {
                this.timeout
                    .advance(frame.data_ref().map_or(0, Buf::remaining));
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(end) => Poll::Ready(end.map(|error| error.map_err(Into::into))),
            // Most bodies are there together with their heads, and never get here.
            Poll::Pending => {
                ready!(this.timeout.poll_expired(this.limits, context));
                Poll::Ready(Some(Err(BodyTimeout.into())))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::time::Duration;

    use futures_util::{StreamExt, stream};
    use http_body_util::{BodyExt, StreamBody};
    use tokio::time::{Instant, sleep};

    use super::*;

    const LIMITS: ProgressLimits = ProgressLimits {
        progress: Duration::from_secs(15),
        total: Duration::from_secs(300),
    };

    /// A body of which this many bytes arrive each second, without an end.
    fn arriving_each_second(bytes: usize) -> impl Body<Data = Bytes, Error = Infallible> + Unpin {
        let pieces = stream::repeat(bytes).then(async |bytes| {
            sleep(Duration::from_secs(1)).await;
            Ok(Frame::data(Bytes::from(vec![0; bytes])))
        });
        StreamBody::new(Box::pin(pieces))
    }

    /// Reads a body of which this many bytes arrive each second. Returns after how many seconds it
    /// fails.
    async fn seconds_until_timeout(bytes_per_second: usize) -> u64 {
        let mut body = RequestBody::new(arriving_each_second(bytes_per_second), LIMITS);
        let started = Instant::now();
        let error = loop {
            if let Err(error) = body.frame().await.unwrap() {
                break error;
            }
        };
        assert!(BodyTimeout::is_cause_of(&*error), "{error}");
        started.elapsed().as_secs()
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_below_the_least_rate_fails_and_one_above_it_only_at_the_total_limit() {
        assert_eq!(seconds_until_timeout(1).await, 15);
        assert_eq!(seconds_until_timeout(4_000).await, 15);
        assert_eq!(seconds_until_timeout(5_000).await, 300);
    }

    #[tokio::test(start_paused = true)]
    async fn the_pauses_of_the_reader_do_not_count() {
        let mut body = RequestBody::new(arriving_each_second(1), LIMITS);
        for _ in 0..10 {
            body.frame().await.unwrap().unwrap();
            sleep(Duration::from_secs(600)).await;
        }
    }

    #[test]
    fn a_timeout_is_found_among_the_causes_of_an_error() {
        #[derive(Debug)]
        struct Outer(Box<dyn Error + Send + Sync>);
        impl fmt::Display for Outer {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("outer")
            }
        }
        impl Error for Outer {
            fn source(&self) -> Option<&(dyn Error + 'static)> {
                Some(&*self.0)
            }
        }
        assert!(BodyTimeout::is_cause_of(&Outer(BodyTimeout.into())));
        assert!(!BodyTimeout::is_cause_of(&Outer("other".into())));
    }
}
