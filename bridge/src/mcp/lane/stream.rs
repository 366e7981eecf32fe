//! A call that is answered as a stream of events.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream::{self, Stream, StreamExt};
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderName, HeaderValue};
use tokio::sync::mpsc;
use tokio::time::{Instant, Sleep};

use super::running::{Held, Next, Running};
use crate::hub::Hub;
use crate::mcp::KEEP_ALIVE;
use crate::mcp::events::{Events, Stored};
use crate::mcp::reach::NOTIFY_WITHIN;
use crate::mcp::replay::RETRY;
use crate::mcp::session::{InFlight, Session};
use crate::result::Written;

/// So many events may wait for a client that reads slowly.
const WAITING_EVENTS: usize = 16;

/// An event, in the pieces that it is made of: none of them is copied.
type Event = [Bytes; 3];

fn event(id: Option<&str>, json: Bytes) -> Event {
    let head = match id {
        Some(id) => Bytes::from(format!("id: {id}\ndata: ")),
        None => Bytes::from_static(b"data: "),
    };
    [head, json, Bytes::from_static(b"\n\n")]
}

/// As one line: JSON has line breaks nowhere but between its values.
pub(super) fn one_line(mut json: Vec<u8>) -> Bytes {
    let breaks = |byte: &mut u8| {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    };
    json.iter_mut().for_each(breaks);
    Bytes::from(json)
}

/// The only event of a call that has ended already.
pub(super) fn whole(json: Written) -> Response {
    let pieces = event(None, one_line(json.into_vec())).map(Ok::<_, Infallible>);
    response(Body::from_stream(stream::iter(pieces)))
}

/// No event: the client wants no answer any more.
pub(super) fn none() -> Response {
    response(Body::empty())
}

/// The call of a request without a session: it is cancelled when the stream is dropped.
pub(super) fn unkept(first: Option<Vec<u8>>, running: Running) -> Response {
    let first = first.map(|first| event(None, one_line(first)));
    let first = stream::iter(first);
    let rest = stream::unfold(Some(running), |running| async move {
        let mut running = running?;
        let (json, running) = match running.next().await {
            Next::Message(json) => (json, Some(running)),
            Next::Answer(answer) => (answer.json.into_vec(), None),
            Next::Cancelled => return None,
        };
        Some((event(None, one_line(json)), running))
    });
    standing(first.chain(rest))
}

/// The call of an MCP session: it goes on when the stream is lost, and the client can come back.
///
/// `primes`: the client knows events without data.
pub(super) fn kept(
    first: Option<Vec<u8>>,
    held: Held,
    events: &Events,
    hub: &Hub,
    primes: bool,
) -> Response {
    let (sender, mut receiver) = mpsc::channel(WAITING_EVENTS);
    if let Some(running) = held.release() {
        let line = Line {
            events: events.clone(),
            stream: uuid::Uuid::new_v4().to_string(),
            sender: Some(sender),
            primes,
            is_silent: false,
        };
        hub.kept.spawn(line.carry(first, running));
    }
    standing(stream::poll_fn(move |context| receiver.poll_recv(context)))
}

/// What comes of a call, on its way to the client and to where it is kept.
struct Line {
    events: Events,
    stream: String,
    /// `None` when the client is gone.
    sender: Option<mpsc::Sender<Event>>,
    /// Whether the stream begins with an event without data.
    primes: bool,
    /// The client does not read.
    is_silent: bool,
}

impl Line {
    async fn carry(mut self, first: Option<Vec<u8>>, mut running: Running) {
        if self.primes {
            let id = self.keep(&running, Stored::Retry);
            self.prime(id).await;
        }
        let mut next = first.map(Next::Message);
        loop {
            match next.take() {
                Some(Next::Message(json)) => {
                    let json = one_line(json);
                    let id = self.keep(&running, Stored::Notification(json.clone()));
                    self.tell(event(id.as_deref(), json)).await;
                }
                Some(Next::Answer(answer)) => {
                    let json = one_line(answer.json.into_vec());
                    let id = self.keep(&running, Stored::Response(json.clone()));
                    // A client that reads its answer is not idle.
                    let session = running.in_flight().map(InFlight::session);
                    let _open = session.map(Session::open);
                    drop(running);
                    return self.send(event(id.as_deref(), json)).await;
                }
                Some(Next::Cancelled) => {
                    // Nobody comes back to it for anything.
                    self.events.forget_stream(&self.stream);
                    return;
                }
                None => {}
            }
            next = Some(running.next().await);
        }
    }

    /// With the first event a client knows where to come back to.
    async fn prime(&mut self, id: Option<String>) {
        if let Some(id) = id {
            let head = format!("id: {id}\nretry: {}\ndata: ", RETRY.as_millis());
            let event = [head.into(), Bytes::new(), Bytes::from_static(b"\n\n")];
            self.send(event).await;
        }
    }

    async fn tell(&mut self, event: Event) {
        if !self.is_silent {
            let sent = tokio::time::timeout(NOTIFY_WITHIN, self.send(event)).await;
            self.is_silent = sent.is_err();
        }
    }

    /// The id of the event, under which it is kept. `None`: nobody will ask for it.
    fn keep(&self, running: &Running, event: Stored) -> Option<String> {
        let session = running.in_flight()?.session().id()?;
        let id = self.events.keep(session, &self.stream, event);
        // Its session has ended, perhaps before this was kept.
        if running.is_cancelled() {
            self.events.forget_stream(&self.stream);
            return None;
        }
        Some(id)
    }

    async fn send(&mut self, event: Event) {
        if let Some(sender) = &self.sender
            && sender.send(event).await.is_err()
        {
            self.sender = None;
        }
    }
}

fn standing(events: impl Stream<Item = Event> + Send + 'static) -> Response {
    let pieces = events.flat_map(|event| stream::iter(event.map(Ok)));
    let pieces = KeptAlive {
        pieces: Box::pin(pieces),
        silent: Box::pin(tokio::time::sleep(KEEP_ALIVE)),
    };
    response(Body::from_stream(pieces))
}

fn response(body: Body) -> Response {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    let value = HeaderValue::from_static;
    headers.insert(CONTENT_TYPE, value("text/event-stream"));
    headers.insert(CACHE_CONTROL, value("no-cache"));
    let buffering = HeaderName::from_static("x-accel-buffering");
    headers.insert(buffering, value("no"));
    response
}

/// A stream with comments in between while it says nothing.
struct KeptAlive<S> {
    pieces: S,
    silent: Pin<Box<Sleep>>,
}

impl<S: Stream<Item = Result<Bytes, Infallible>> + Unpin> Stream for KeptAlive<S> {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = self.pieces.poll_next_unpin(context);
        if polled.is_pending() && self.silent.as_mut().poll(context).is_pending() {
            return Poll::Pending;
        }
        let next = Instant::now() + KEEP_ALIVE;
        self.silent.as_mut().reset(next);
        match polled {
            Poll::Pending => Poll::Ready(Some(Ok(Bytes::from_static(b":\n\n")))),
            said => said,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use http::StatusCode;

    use super::*;
    use crate::mcp::lane::hearer::Notifications;
    use crate::mcp::lane::running::Answer;

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_read_hears_the_answer_only() {
        let notifications = Arc::new(Notifications::default());
        for n in 0..2 * WAITING_EVENTS {
            notifications.push(&n);
        }
        let answer = Answer {
            status: StatusCode::OK,
            json: b"{\n}".to_vec().into(),
        };
        let running = Running::new(std::future::ready(answer), notifications, None);
        let (sender, mut receiver) = mpsc::channel(WAITING_EVENTS);
        let line = Line {
            events: Events::new(1_000),
            stream: "s".to_owned(),
            sender: Some(sender),
            primes: true,
            is_silent: false,
        };
        let carried = tokio::spawn(line.carry(None, running));
        // Time goes on only when nothing else does.
        tokio::time::sleep(2 * NOTIFY_WITHIN).await;
        let mut heard = Vec::new();
        while let Some([_, json, _]) = receiver.recv().await {
            heard.push(String::from_utf8(json.to_vec()).unwrap());
        }
        carried.await.unwrap();
        let mut expected: Vec<_> = (0..WAITING_EVENTS).map(|n| n.to_string()).collect();
        expected.push("{ }".to_owned());
        assert_eq!(heard, expected);
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_stream_shows_that_it_is_there() {
        use http_body_util::BodyExt;
        let mut body = standing(stream::pending()).into_body();
        for _ in 0..2 {
            let began = Instant::now();
            let frame = body.frame().await.unwrap().unwrap();
            assert_eq!(frame.into_data().unwrap(), ":\n\n");
            assert_eq!(began.elapsed(), KEEP_ALIVE);
        }
    }
}
