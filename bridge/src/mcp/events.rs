//! Keeps what was sent to a client, so that a result survives a dropped stream (MCP 2025-11-25,
//! "Resumability and Redelivery"): a client comes back with `Last-Event-ID` and hears the rest.
//!
//! Every stream (one for each request, and one that a client opens by itself) has a log, of which the
//! oldest events go first. All logs together hold so many bytes; then the session that holds most
//! loses its oldest log, so that a busy one costs the others nothing. The log that grows stays: it is
//! the one whose stream may just have dropped.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream;
use rmcp::model::{ContentBlock, ServerJsonRpcMessage, ServerResult};
use rmcp::transport::streamable_http_server::session::{
    EventId, EventStore, EventStoreError, EventStream, ServerSseMessage, SessionId,
};
use tokio::sync::Notify;

use super::replay::replayed;
use crate::off_thread::{self, LARGE_BYTES};
use crate::result::size;

/// What an event costs beside its message, about.
const EVENT_BYTES: usize = 256;

/// One stream keeps at most this part of all that is kept, and its newest event in any case.
const LOG_PART: usize = 8;

#[derive(Clone)]
pub(super) struct Events {
    kept: Arc<Mutex<Kept>>,
    max_bytes: usize,
}

#[derive(Default)]
struct Kept {
    logs: HashMap<Arc<str>, Log>,
    /// By whom they are heard; those that nobody has heard yet are one holding.
    holdings: HashMap<Option<SessionId>, Holding>,
    bytes: usize,
    last_number: u64,
}

/// The logs of one session, by the number of their first event.
#[derive(Default)]
struct Holding {
    logs: BTreeMap<u64, Arc<str>>,
    bytes: usize,
}

struct Log {
    born: u64,
    events: VecDeque<Event>,
    bytes: usize,
    owner: Option<SessionId>,
    grown: Arc<Notify>,
}

struct Event {
    number: u64,
    bytes: usize,
    stored: Stored,
}

/// rmcp's events are in its model, those of the lane are as they were sent.
#[derive(Clone)]
pub(super) enum Stored {
    Model(ServerSseMessage),
    /// The first one of a stream, with which a client knows where to come back to.
    Retry,
    Notification(Bytes),
    Response(Bytes),
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
        self.lock().own(stream, session);
    }

    /// Whether the event was heard by this session.
    pub(super) fn is_of(&self, session: &SessionId, event_id: &str) -> bool {
        let kept = self.lock();
        parse(event_id)
            .and_then(|(stream, _)| kept.logs.get(stream))
            .is_some_and(|log| log.owner.as_ref() == Some(session))
    }

    /// Stores an event of the lane. Its stream is this session's.
    pub(super) fn keep(&self, session: &SessionId, stream: &str, event: Stored) -> EventId {
        let bytes = match &event {
            Stored::Notification(json) | Stored::Response(json) => json.len(),
            Stored::Model(_) | Stored::Retry => 0,
        };
        let mut kept = self.lock();
        let id = kept.add(
            stream,
            event,
            EVENT_BYTES + bytes,
            self.max_bytes / LOG_PART,
        );
        kept.own(stream, session);
        kept.shrink_to(self.max_bytes, stream);
        id
    }

    /// Nothing comes of this stream any more, and nobody asks for what came.
    pub(super) fn forget_stream(&self, stream: &str) {
        self.lock().remove(stream);
    }

    /// The session is over.
    pub(super) fn forget(&self, session: &SessionId) {
        let mut kept = self.lock();
        let holding = kept.holdings.remove(&Some(Arc::clone(session)));
        for stream in holding.unwrap_or_default().logs.into_values() {
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
        let heard = log.events.partition_point(|event| event.number <= after);
        Some(match log.events.get(heard) {
            Some(event) => Next::Event(event.number, event.stored.clone()),
            None => Next::Later(Arc::clone(&log.grown)),
        })
    }
}

enum Next {
    Event(u64, Stored),
    Later(Arc<Notify>),
}

impl Kept {
    fn add(&mut self, stream: &str, stored: Stored, bytes: usize, most: usize) -> EventId {
        self.last_number += 1;
        let number = self.last_number;
        let id = format!("{stream}/{number}");
        let log = match self.logs.get_mut(stream) {
            Some(log) => log,
            None => {
                let stream: Arc<str> = stream.into();
                let unheard = self.holdings.entry(None).or_default();
                unheard.logs.insert(number, Arc::clone(&stream));
                self.logs.entry(stream).or_insert_with(|| Log {
                    born: number,
                    events: VecDeque::new(),
                    bytes: 0,
                    owner: None,
                    grown: Arc::default(),
                })
            }
        };
        log.events.push_back(Event {
            number,
            bytes,
            stored,
        });
        log.grown.notify_waiters();
        let mut dropped = 0;
        while log.bytes + bytes - dropped > most && log.events.len() > 1 {
            dropped += log.events.pop_front().map_or(0, |oldest| oldest.bytes);
        }
        let holding = self.holdings.entry(log.owner.clone()).or_default();
        for total in [&mut log.bytes, &mut holding.bytes, &mut self.bytes] {
            *total = *total + bytes - dropped;
        }
        id
    }

    fn own(&mut self, stream: &str, session: &SessionId) {
        let Some(log) = self.logs.get_mut(stream).filter(|log| log.owner.is_none()) else {
            return;
        };
        log.owner = Some(Arc::clone(session));
        let (born, bytes) = (log.born, log.bytes);
        let unheard = self.holdings.entry(None).or_default();
        unheard.bytes -= bytes;
        let stream = unheard.logs.remove(&born);
        let own = self.holdings.entry(Some(Arc::clone(session))).or_default();
        own.bytes += bytes;
        own.logs.extend(stream.map(|stream| (born, stream)));
    }

    /// Drops the oldest log of whoever holds most, again and again, but for the one that grows.
    fn shrink_to(&mut self, max_bytes: usize, growing: &str) {
        while self.bytes > max_bytes {
            let oldest = |holding: &Holding| {
                let mut logs = holding.logs.values();
                logs.find(|stream| &***stream != growing).cloned()
            };
            let oldest = self
                .holdings
                .values()
                .filter_map(|holding| Some((holding.bytes, oldest(holding)?)))
                .max_by_key(|(bytes, _)| *bytes);
            let Some((_, oldest)) = oldest else { return };
            self.remove(&oldest);
        }
    }

    fn remove(&mut self, stream: &str) {
        let Some(log) = self.logs.remove(stream) else {
            return;
        };
        self.bytes -= log.bytes;
        log.grown.notify_waiters();
        if let Some(holding) = self.holdings.get_mut(&log.owner) {
            holding.bytes -= log.bytes;
            holding.logs.remove(&log.born);
            if holding.logs.is_empty() {
                self.holdings.remove(&log.owner);
            }
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
        let bytes = size_of(event).await;
        let mut kept = self.lock();
        let stored = Stored::Model(event.clone());
        let id = kept.add(stream_id, stored, bytes, self.max_bytes / LOG_PART);
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
                    Next::Event(number, stored) => {
                        let mut event = replayed(stored).await?;
                        event.event_id = Some(format!("{stream}/{number}"));
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

/// What an event costs.
async fn size_of(event: &ServerSseMessage) -> usize {
    let Some(message) = &event.message else {
        return EVENT_BYTES;
    };
    if !is_large(message) {
        return EVENT_BYTES + size::encoded(&**message);
    }
    let message = Arc::clone(message);
    let counted = off_thread::run(move || size::encoded(&*message)).await;
    EVENT_BYTES + counted.unwrap_or_default()
}

/// Results of tools are the large ones; what is structured in one is mostly text in it too.
fn is_large(message: &ServerJsonRpcMessage) -> bool {
    let ServerJsonRpcMessage::Response(response) = message else {
        return false;
    };
    let ServerResult::CallToolResult(result) = &response.result else {
        return false;
    };
    let texts = result.content.iter().map(|block| match block {
        ContentBlock::Text(text) => text.text.len(),
        ContentBlock::Image(image) => image.data.len(),
        _ => 0,
    });
    texts.sum::<usize>() > LARGE_BYTES
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt;
    use rmcp::model::{CustomNotification, ServerNotification};

    use super::*;

    fn event(bytes: usize) -> ServerSseMessage {
        let params = serde_json::json!({ "x": "x".repeat(bytes) });
        let news = CustomNotification::new("news", Some(params));
        let news = ServerNotification::CustomNotification(news);
        ServerSseMessage::from_message(ServerJsonRpcMessage::notification(news))
    }

    impl Events {
        /// Stores an event, and lets the session hear it.
        async fn send(&self, session: &SessionId, stream: &str, bytes: usize) -> EventId {
            let id = self.store_event(stream, &event(bytes)).await.unwrap();
            self.heard_by(session, &id);
            id
        }

        fn check(&self) {
            let kept = self.lock();
            let of_logs: usize = kept.logs.values().map(|log| log.bytes).sum();
            let of_events = kept.logs.values().flat_map(|log| &log.events);
            let of_events: usize = of_events.map(|event| event.bytes).sum();
            let of_holdings: usize = kept.holdings.values().map(|holding| holding.bytes).sum();
            assert_eq!(
                [of_logs, of_events, of_holdings],
                [kept.bytes, kept.bytes, kept.bytes]
            );
            let listed: usize = kept.holdings.values().map(|held| held.logs.len()).sum();
            assert_eq!(listed, kept.logs.len());
        }
    }

    #[tokio::test]
    async fn a_stream_that_never_ends_keeps_its_newest_events() {
        let events = Events::new(80_000);
        let (busy, calm): (SessionId, SessionId) = ("busy".into(), "calm".into());
        let kept = events.send(&calm, "answer", 100).await;
        let first = events.send(&busy, "endless", 100).await;
        for _ in 0..1_000 {
            events.send(&busy, "endless", 100).await;
        }
        events.check();
        assert!(events.lock().bytes <= 80_000 / LOG_PART + 1_000);
        assert!(events.is_of(&calm, &kept));
        let last = events.lock().last_number;
        let rest = events.replay_events_after(&first).await.unwrap();
        let rest: Vec<_> = rest.take(10).collect().await;
        let number = |event: &ServerSseMessage| parse(event.event_id.as_ref().unwrap()).unwrap().1;
        assert!(number(&rest[0]) > 900 && number(&rest[9]) < last);
    }

    #[tokio::test]
    async fn the_session_that_holds_most_loses_first() {
        let events = Events::new(80_000);
        let (busy, calm): (SessionId, SessionId) = ("busy".into(), "calm".into());
        let kept = events.send(&calm, "answer", 1_000).await;
        for stream in 0..100 {
            events.send(&busy, &stream.to_string(), 5_000).await;
        }
        events.check();
        assert!(events.lock().bytes <= 80_000);
        assert!(events.is_of(&calm, &kept));
    }

    #[tokio::test]
    async fn a_log_that_was_dropped_is_its_sessions_again_when_it_grows_and_goes_with_it() {
        let events = Events::new(80_000);
        let (one, two): (SessionId, SessionId) = ("one".into(), "two".into());
        events.send(&one, "common", 100).await;
        for stream in 0..20 {
            events.send(&one, &stream.to_string(), 9_000).await;
        }
        assert!(!events.lock().logs.contains_key("common"));
        let id = events.send(&one, "common", 100).await;
        assert!(events.is_of(&one, &id) && !events.is_of(&two, &id));
        events.forget(&one);
        events.check();
        assert_eq!(events.lock().bytes, 0);
        assert!(
            events
                .lock()
                .holdings
                .values()
                .all(|held| held.logs.is_empty())
        );
    }
}
