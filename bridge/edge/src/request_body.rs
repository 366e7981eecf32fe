//! The body of a request, which must arrive in time, and whose reader lets others run.

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::thread;

use bytes::{Buf, Bytes};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::PollSemaphore;

use crate::progress_timeout::{ProgressLimits, ProgressTimeout};

/// How much of a body is read before it waits for its turn. Without turns, a task reads as much as
/// has arrived, which is several megabytes.
const BYTES_PER_TURN: usize = 64 * 1024;

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

/// The turns in which the bodies of all requests to a server are read: as many at a time as there are
/// processors. The others do not wait in the queue of the tasks that are ready to run, so that a task
/// which only has a little to do waits for few of them, however many bodies arrive at once. Turns are
/// given in the order in which they are asked for: a long body waits for one turn of each other.
#[derive(Clone, Debug)]
pub(crate) struct BodyTurns(Arc<Semaphore>);

impl BodyTurns {
    /// Creates as many turns as there are processors.
    pub(crate) fn new() -> Self {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        Self(Arc::new(Semaphore::new(processors)))
    }
}

/// The body of a request to a server. It fails with [`BodyTimeout`] when its reader waits for the
/// peer for longer than the server allows.
#[derive(Debug)]
pub struct RequestBody<B = Incoming> {
    body: B,
    limits: ProgressLimits,
    timeout: ProgressTimeout,
    /// The bytes that were read since the last turn.
    bytes_since_turn: usize,
    turns: PollSemaphore,
    turn: Option<OwnedSemaphorePermit>,
}

impl<B> RequestBody<B> {
    pub(crate) fn new(body: B, limits: ProgressLimits, turns: &BodyTurns) -> Self {
        Self {
            body,
            limits,
            timeout: ProgressTimeout::default(),
            bytes_since_turn: 0,
            turns: PollSemaphore::new(Arc::clone(&turns.0)),
            turn: None,
        }
    }

    /// Waits for a turn if enough was read without one. A body that gets it lets all tasks run which
    /// are ready, and reads then.
    fn poll_turn(&mut self, context: &mut Context<'_>) -> Poll<Option<OwnedSemaphorePermit>> {
        if self.bytes_since_turn < BYTES_PER_TURN {
            return Poll::Ready(None);
        }
        if self.turn.is_none() {
            self.turn = ready!(self.turns.poll_acquire(context));
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.bytes_since_turn = 0;
        Poll::Ready(self.turn.take())
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
        // The turn ends with this poll.
        let _turn = ready!(this.poll_turn(context));
        match Pin::new(&mut this.body).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => {
                let bytes = frame.data_ref().map_or(0, Buf::remaining);
                this.timeout.advance(bytes);
                this.bytes_since_turn += bytes;
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
    use std::pin::pin;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use futures_util::{StreamExt, poll, stream};
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
        let mut body = RequestBody::new(
            arriving_each_second(bytes_per_second),
            LIMITS,
            &BodyTurns::new(),
        );
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
        let mut body = RequestBody::new(arriving_each_second(1), LIMITS, &BodyTurns::new());
        for _ in 0..10 {
            body.frame().await.unwrap().unwrap();
            sleep(Duration::from_secs(600)).await;
        }
    }

    #[tokio::test]
    async fn a_long_body_that_has_arrived_is_read_in_turn_with_other_tasks() {
        const PIECES: usize = 100;
        let piece = || Ok::<_, Infallible>(Frame::data(Bytes::from(vec![0; BYTES_PER_TURN])));
        let pieces = stream::iter((0..PIECES).map(move |_| piece()));
        let body = RequestBody::new(StreamBody::new(pieces), LIMITS, &BodyTurns::new());
        let turns = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&turns);
        let other = tokio::spawn(async move {
            loop {
                counted.fetch_add(1, Ordering::Relaxed);
                tokio::task::yield_now().await;
            }
        });
        let read = body.collect().await.unwrap().to_bytes();
        other.abort();
        assert_eq!(read.len(), PIECES * BYTES_PER_TURN);
        assert!(turns.load(Ordering::Relaxed) >= PIECES - 1, "{turns:?}");
    }

    #[tokio::test]
    async fn a_long_body_waits_for_the_turn_of_another() {
        let turns = BodyTurns(Arc::new(Semaphore::new(1)));
        let lengths = [BYTES_PER_TURN - 1, 1, 2, 3];
        let pieces =
            lengths.map(|bytes| Ok::<_, Infallible>(Frame::data(Bytes::from(vec![0; bytes]))));
        let body = StreamBody::new(stream::iter(pieces));
        let mut body = RequestBody::new(body, LIMITS, &turns);
        let turn_of_another = turns.0.acquire().await.unwrap();
        let mut next = async || {
            let frame = body.frame().await.unwrap().unwrap();
            frame.into_data().unwrap().len()
        };
        assert_eq!((next().await, next().await), (BYTES_PER_TURN - 1, 1));
        assert!(poll!(pin!(next())).is_pending());
        drop(turn_of_another);
        assert_eq!((next().await, next().await), (2, 3));
        assert_eq!(turns.0.available_permits(), 1);
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
