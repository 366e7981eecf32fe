//! Keeps what was sent to a client, so that a result survives a dropped stream (MCP 2025-11-25,
//! "Resumability and Redelivery"): a client comes back with `Last-Event-ID` and hears the rest.
//!
//! Every stream (one for each request, and one that a client opens by itself) has a log. All logs
//! together hold so many bytes; then the oldest go. The log that grows stays: it is the one whose
//! stream may just have dropped.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use futures_util::stream;
use rmcp::model::ServerJsonRpcMessage;
use rmcp::transport::streamable_http_server::session::{
    EventId, EventStore, EventStoreError, EventStream, ServerSseMessage, SessionId,
};
use tokio::sync::Notify;

/// What an event costs beside its message, about.
const EVENT_BYTES: usize = 256;

#[derive(Clone)]
pub(super) struct Events {
    kept: Arc<Mutex<Kept>>,
    max_bytes: usize,
}

#[derive(Default)]
struct Kept {
    logs: HashMap<Arc<str>, Log>,
    /// The streams from the oldest to the newest; some may be gone.
    order: VecDeque<Arc<str>>,
    by_session: HashMap<SessionId, Vec<Arc<str>>>,
    bytes: usize,
    last_number: u64,
}

#[derive(Default)]
struct Log {
    events: Vec<(u64, ServerSseMessage)>,
    bytes: usize,
    owner: Option<SessionId>,
    grown: Arc<Notify>,
}

impl Events {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self {
            kept: Arc::default(),
            max_bytes,
        }
    }

    /// A session hears this event: the stream is its own. rmcp does not say so when it stores.
    pub(super) fn heard_by(&self, session: &SessionId, event_id: &str) {
        let Some((stream, _)) = parse(event_id) else {
            return;
        };
        let mut kept = self.lock();
        let kept = &mut *kept;
        if let Some((stream, log)) = kept.logs.get_key_value(stream)
            && log.owner.is_none()
        {
            let stream = Arc::clone(stream);
            let owned = kept.by_session.entry(Arc::clone(session)).or_default();
            owned.push(Arc::clone(&stream));
            if let Some(log) = kept.logs.get_mut(&stream) {
                log.owner = Some(Arc::clone(session));
            }
        }
    }

    /// Whether the event was heard by this session.
    pub(super) fn is_of(&self, session: &SessionId, event_id: &str) -> bool {
        let kept = self.lock();
        parse(event_id)
            .and_then(|(stream, _)| kept.logs.get(stream))
            .is_some_and(|log| log.owner.as_ref() == Some(session))
    }

    /// The session is over.
    pub(super) fn forget(&self, session: &SessionId) {
        let mut kept = self.lock();
        for stream in kept.by_session.remove(session).unwrap_or_default() {
            kept.remove(&stream);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next event of a stream after this one; without one, what to wait for.
    fn next(&self, stream: &str, after: u64) -> Option<Next> {
        let kept = self.lock();
        let log = kept.logs.get(stream)?;
        let mut later = log.events.iter().filter(|(number, _)| *number > after);
        Some(match later.next() {
            Some((number, event)) => Next::Event(*number, event.clone()),
            None => Next::Later(Arc::clone(&log.grown)),
        })
    }
}

enum Next {
    Event(u64, ServerSseMessage),
    Later(Arc<Notify>),
}

impl Kept {
    fn add(&mut self, stream: &str, event: &ServerSseMessage, bytes: usize) -> EventId {
        self.last_number += 1;
        let number = self.last_number;
        let id = format!("{stream}/{number}");
        if !self.logs.contains_key(stream) {
            let stream: Arc<str> = stream.into();
            self.order.push_back(Arc::clone(&stream));
            self.logs.insert(stream, Log::default());
        }
        if let Some(log) = self.logs.get_mut(stream) {
            let mut event = event.clone();
            event.event_id = Some(id.clone());
            log.events.push((number, event));
            log.bytes += bytes;
            self.bytes += bytes;
            log.grown.notify_waiters();
        }
        id
    }

    /// Drops the oldest logs but for this one.
    fn shrink_to(&mut self, max_bytes: usize, growing: &str) {
        let mut left = self.order.len();
        while self.bytes > max_bytes && left > 0 {
            left -= 1;
            let Some(oldest) = self.order.pop_front() else {
                return;
            };
            if &*oldest == growing {
                self.order.push_back(oldest);
            } else {
                self.remove(&oldest);
            }
        }
    }

    fn remove(&mut self, stream: &Arc<str>) {
        let Some(log) = self.logs.remove(stream) else {
            return;
        };
        self.bytes -= log.bytes;
        log.grown.notify_waiters();
        if let Some(owned) = log.owner.and_then(|owner| self.by_session.get_mut(&owner)) {
            owned.retain(|owned| owned != stream);
        }
        // Those that are gone would pile up before the oldest that is there.
        if self.order.len() > 2 * self.logs.len() + 16 {
            let logs = &self.logs;
            self.order.retain(|stream| logs.contains_key(stream));
        }
    }
}

fn parse(event_id: &str) -> Option<(&str, u64)> {
    let (stream, number) = event_id.rsplit_once('/')?;
    Some((stream, number.parse().ok()?))
}

#[async_trait]
impl EventStore for Events {
    async fn store_event(
        &self,
        stream_id: &str,
        event: &ServerSseMessage,
    ) -> Result<EventId, EventStoreError> {
        let bytes = size_of(event);
        let mut kept = self.lock();
        let id = kept.add(stream_id, event, bytes);
        kept.shrink_to(self.max_bytes, stream_id);
        Ok(id)
    }

    /// What follows in the same stream, and goes on until its response was sent.
    async fn replay_events_after(
        &self,
        last_event_id: &str,
    ) -> Result<EventStream, EventStoreError> {
        let unknown = || format!("the event {last_event_id:?} is not known any more");
        let (stream, after) = parse(last_event_id).ok_or_else(unknown)?;
        self.next(stream, after).ok_or_else(unknown)?;
        let start = (self.clone(), stream.to_owned(), after);
        let rest = stream::unfold(Some(start), |place| async move {
            let (events, stream, after) = place?;
            loop {
                match events.next(&stream, after)? {
                    Next::Event(number, event) => {
                        let place = (!is_last(&event)).then_some((events, stream, number));
                        return Some((event, place));
                    }
                    Next::Later(grown) => {
                        let mut grown = Box::pin(grown.notified_owned());
                        grown.as_mut().enable();
                        // Looked at again, so that nothing is missed between the two.
                        if let Next::Later(_) = events.next(&stream, after)? {
                            grown.await;
                        }
                    }
                }
            }
        });
        Ok(Box::pin(rest))
    }
}

/// The stream of a request ends with its response.
fn is_last(event: &ServerSseMessage) -> bool {
    matches!(
        event.message.as_deref(),
        Some(ServerJsonRpcMessage::Response(_) | ServerJsonRpcMessage::Error(_))
    )
}

/// The size of the message as JSON, without making the text.
fn size_of(event: &ServerSseMessage) -> usize {
    struct Counter(usize);
    impl io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter(EVENT_BYTES);
    if let Some(message) = &event.message {
        // Counting cannot fail.
        let _ = serde_json::to_writer(&mut counter, &**message);
    }
    counter.0
}
