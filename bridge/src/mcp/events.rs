//! Keeps what was sent to a client, so that a result survives a dropped stream (MCP 2025-11-25,
//! "Resumability and Redelivery"): a client comes back with `Last-Event-ID` and hears the rest.
//!
//! Each MCP session has a log. A log drops its oldest events when all logs together hold too much;
//! the newest event of each stays, since it is the one that a dropped stream loses.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use dashmap::DashMap;
use futures_util::stream;
use rmcp::model::ServerJsonRpcMessage;
use rmcp::transport::streamable_http_server::session::{
    EventId, EventStore, EventStoreError, EventStream, ServerSseMessage,
};
use tokio::sync::Notify;

/// Events of one session.
const EVENTS_PER_SESSION: usize = 256;

pub(super) struct Events {
    logs: DashMap<String, Arc<Log>>,
    bytes: AtomicUsize,
    /// What all logs together may hold, but for the newest event of each.
    max_bytes: usize,
}

#[derive(Default)]
struct Log {
    kept: Mutex<Kept>,
    grown: Arc<Notify>,
}

#[derive(Default)]
struct Kept {
    events: VecDeque<Event>,
    last: u64,
    closed: bool,
}

struct Event {
    number: u64,
    stream: Arc<str>,
    event: ServerSseMessage,
    bytes: usize,
}

impl Events {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self {
            logs: DashMap::new(),
            bytes: AtomicUsize::new(0),
            max_bytes,
        }
    }

    /// The session is over.
    pub(super) fn forget(&self, session: &str) {
        if let Some((_, log)) = self.logs.remove(session) {
            let mut kept = log.lock();
            let bytes: usize = kept.events.iter().map(|event| event.bytes).sum();
            kept.events.clear();
            kept.closed = true;
            self.bytes.fetch_sub(bytes, Ordering::Relaxed);
            log.grown.notify_waiters();
        }
    }

    fn log(&self, session: &str) -> Arc<Log> {
        if let Some(log) = self.logs.get(session) {
            return Arc::clone(&log);
        }
        Arc::clone(&self.logs.entry(session.to_owned()).or_default())
    }
}

impl Log {
    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The session that an event belongs to.
pub(super) fn session_of(event_id: &str) -> Option<&str> {
    event_id.rsplit_once('/').map(|(session, _)| session)
}

#[async_trait]
impl EventStore for Events {
    async fn store_event(
        &self,
        stream_id: &str,
        event: &ServerSseMessage,
    ) -> Result<EventId, EventStoreError> {
        let session = stream_id.split(':').next().unwrap_or(stream_id);
        let log = self.log(session);
        let bytes = size_of(event);
        let mut total = self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let mut kept = log.lock();
        kept.last += 1;
        let number = kept.last;
        let id = format!("{session}/{number}");
        let mut event = event.clone();
        event.event_id = Some(id.clone());
        kept.events.push_back(Event {
            number,
            stream: stream_id.into(),
            event,
            bytes,
        });
        while kept.events.len() > 1
            && (total > self.max_bytes || kept.events.len() > EVENTS_PER_SESSION)
        {
            let dropped = kept.events.pop_front().map_or(0, |event| event.bytes);
            total = self.bytes.fetch_sub(dropped, Ordering::Relaxed) - dropped;
        }
        drop(kept);
        log.grown.notify_waiters();
        Ok(id)
    }

    /// What follows in the same stream, and goes on until its response was sent.
    async fn replay_events_after(
        &self,
        last_event_id: &str,
    ) -> Result<EventStream, EventStoreError> {
        let unknown = || format!("the event {last_event_id:?} is not known any more");
        let (session, number) = last_event_id.rsplit_once('/').ok_or_else(unknown)?;
        let after: u64 = number.parse().map_err(|_| unknown())?;
        let log = self.logs.get(session).map(|log| Arc::clone(&log));
        let log = log.ok_or_else(unknown)?;
        let stream = {
            let kept = log.lock();
            let found = kept.events.iter().find(|event| event.number == after);
            Arc::clone(&found.ok_or_else(unknown)?.stream)
        };
        let rest = stream::unfold(Some((log, stream, after)), |place| async move {
            let (log, stream, after) = place?;
            loop {
                // Registered before looking, so that nothing is missed between the two.
                let mut grown = Box::pin(Arc::clone(&log.grown).notified_owned());
                grown.as_mut().enable();
                let next = {
                    let kept = log.lock();
                    if kept.closed {
                        return None;
                    }
                    let mut later = kept.events.iter().filter(|event| event.number > after);
                    later
                        .find(|event| event.stream == stream)
                        .map(|event| (event.number, event.event.clone()))
                };
                if let Some((number, event)) = next {
                    let place = (!is_last(&event)).then_some((log, stream, number));
                    return Some((event, place));
                }
                grown.await;
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

/// The encoded size, without the text.
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
    let mut counter = Counter(64);
    if let Some(message) = &event.message {
        // Counting cannot fail.
        let _ = serde_json::to_writer(&mut counter, &**message);
    }
    counter.0
}
