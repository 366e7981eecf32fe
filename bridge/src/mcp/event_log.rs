//! Stores the events of the streams of calls, so that a result survives a dropped stream (MCP
//! 2025-11-25, "Resumability and Redelivery"): a client resumes with `Last-Event-ID` and receives
//! the rest. The log stores the bytes that were sent.
//!
//! Every stream has a log, whose oldest events are dropped first. All logs together have a maximum
//! size in bytes. Beyond it, the address with the most bytes loses a log: the oldest one of the
//! session with the most, of the token with the most. So a busy client does not evict the logs of
//! others. A log is not evicted while an event is appended to it, because its stream may have just
//! dropped.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bridge_auth::RealmId;
use futures_util::Stream;
use futures_util::stream;
use tokio::sync::Notify;
use uuid::Uuid;

use super::event_json::EventJson;
use super::session::McpSession;
use crate::budget::{Holdings, Party};

/// The approximate memory of an event without its message, in bytes, with its part of the memory of its
/// stream. Measured with streams of three short events each.
const EVENT_OVERHEAD_BYTES: usize = 448;

/// A stream may use this fraction of the maximum size. Its newest event is always stored.
const STREAM_LOG_DIVISOR: usize = 8;

/// An event of the stream of a call, with its JSON.
#[derive(Clone, Debug)]
pub(super) enum StoredEvent {
    /// The first event of a stream. From its id on, a client can resume the stream.
    Priming,
    /// A notification, or a request to the client.
    Message(EventJson),
    /// The response, with which the stream ends.
    Response(EventJson),
}

impl StoredEvent {
    fn cost(&self) -> usize {
        EVENT_OVERHEAD_BYTES
            + match self {
                StoredEvent::Priming => 0,
                StoredEvent::Message(json) | StoredEvent::Response(json) => json.len(),
            }
    }
}

/// The event logs of all streams. Clones share them.
#[derive(Clone, Debug)]
pub(super) struct EventLog {
    state: Arc<Mutex<State>>,
    max_bytes: usize,
}

#[derive(Debug, Default)]
struct State {
    logs: HashMap<Arc<str>, StreamLog>,
    /// The logs of the sessions of each party, by the session's life: another session of its id may
    /// follow.
    by_party: HashMap<Party<RealmId>, HashMap<Uuid, SessionLogs>>,
    holdings: Holdings<RealmId>,
    last_number: u64,
}

/// The events of one stream that a client can still receive.
#[derive(Debug)]
struct StreamLog {
    session: Uuid,
    party: Party<RealmId>,
    first_number: u64,
    /// The events with their numbers.
    events: VecDeque<(u64, StoredEvent)>,
    bytes: usize,
    changed: Arc<Notify>,
}

/// The logs of one session, by the number of their first event.
#[derive(Debug, Default)]
struct SessionLogs {
    logs: BTreeMap<u64, Arc<str>>,
    bytes: usize,
}

impl EventLog {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self {
            state: Arc::default(),
            max_bytes,
        }
    }

    /// The bytes of all logs.
    pub(super) fn bytes(&self) -> usize {
        self.lock().holdings.total()
    }

    /// Stores an event of a stream of this session, and returns its id.
    pub(super) fn append(&self, session: &McpSession, stream: &str, event: StoredEvent) -> String {
        let mut state = self.lock();
        let number = state.append(session, stream, event, self.max_bytes / STREAM_LOG_DIVISOR);
        state.evict_down_to(self.max_bytes, stream);
        format!("{stream}/{number}")
    }

    /// Removes a stream that has ended and will not be resumed.
    pub(super) fn remove_stream(&self, stream: &str) {
        self.lock().remove_stream(stream);
    }

    /// Removes a session with all its streams.
    pub(super) fn remove_session(&self, session: &McpSession) {
        let mut state = self.lock();
        let sessions = state.by_party.get(&session.party());
        let Some(held) = sessions.and_then(|sessions| sessions.get(&session.life())) else {
            return;
        };
        let streams: Vec<_> = held.logs.values().cloned().collect();
        for stream in streams {
            state.remove_stream(&stream);
        }
    }

    /// Returns the bytes that a client of this session receives at once when it resumes a stream after
    /// this event. `None` if the event is of no stream of the session, or nothing will follow it.
    pub(super) fn bytes_after(&self, session: &McpSession, event_id: &str) -> Option<usize> {
        let (stream, after) = parse_event_id(event_id)?;
        let state = self.lock();
        let log = state.logs.get(stream)?;
        let has_ended = |(number, event): &(u64, StoredEvent)| {
            *number <= after && matches!(event, StoredEvent::Response(_))
        };
        if log.session != session.life() || log.events.back().is_some_and(has_ended) {
            return None;
        }
        let later = log.events.iter().rev();
        let later = later.take_while(|(number, _)| *number > after);
        Some(later.map(|(_, event)| event.cost()).sum())
    }

    /// Returns the events after this one in its stream, with their ids, until the response.
    pub(super) fn replay(
        &self,
        event_id: &str,
    ) -> impl Stream<Item = (String, StoredEvent)> + Send + 'static {
        let start = parse_event_id(event_id);
        let start = start.map(|(stream, after)| (self.clone(), stream.to_owned(), after));
        stream::unfold(start, |cursor| async move {
            let (log, stream, after) = cursor?;
            let (number, event) = log.next_after(&stream, after).await?;
            let id = format!("{stream}/{number}");
            let is_last = matches!(event, StoredEvent::Response(_));
            Some(((id, event), (!is_last).then_some((log, stream, number))))
        })
    }

    /// Waits for the next event of a stream after this one. Returns `None` when its log is removed.
    async fn next_after(&self, stream: &str, after: u64) -> Option<(u64, StoredEvent)> {
        loop {
            let changed = {
                let state = self.lock();
                let log = state.logs.get(stream)?;
                let position = log.events.partition_point(|(number, _)| *number <= after);
                if let Some(next) = log.events.get(position) {
                    return Some(next.clone());
                }
                // Created under the lock, so that no change is missed.
                Arc::clone(&log.changed).notified_owned()
            };
            changed.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn append(
        &mut self,
        session: &McpSession,
        stream: &str,
        event: StoredEvent,
        max_bytes: usize,
    ) -> u64 {
        self.last_number += 1;
        let (number, party) = (self.last_number, session.party());
        let sessions = self.by_party.entry(party).or_default();
        let held = sessions.entry(session.life()).or_default();
        if !self.logs.contains_key(stream) {
            let stream: Arc<str> = stream.into();
            held.logs.insert(number, Arc::clone(&stream));
            let log = StreamLog {
                session: session.life(),
                party,
                first_number: number,
                events: VecDeque::new(),
                bytes: 0,
                changed: Arc::default(),
            };
            self.logs.insert(stream, log);
        }
        if let Some(log) = self.logs.get_mut(stream) {
            let added = event.cost();
            let dropped = log.append(number, event, max_bytes);
            held.bytes = held.bytes + added - dropped;
            self.holdings.add(&party, added);
            self.holdings.remove(&party, dropped);
        }
        number
    }

    /// Evicts logs of the party with the most bytes, until the size fits. The log of the stream
    /// `growing` is not evicted.
    fn evict_down_to(&mut self, max_bytes: usize, growing: &str) {
        let oldest = |state: &Self| {
            let log_of = |party| state.oldest_log(&party, growing);
            state.holdings.find_over(max_bytes, log_of)
        };
        while let Some(log) = oldest(self) {
            self.remove_stream(&log);
        }
    }

    /// Returns the oldest log of the session with the most bytes.
    fn oldest_log(&self, party: &Party<RealmId>, growing: &str) -> Option<Arc<str>> {
        let sessions = self.by_party.get(party)?.values();
        let logs = sessions.filter_map(|held| {
            let mut logs = held.logs.values();
            let oldest = logs.find(|stream| &***stream != growing)?;
            Some((held.bytes, oldest))
        });
        let (_, oldest) = logs.max_by_key(|(bytes, _)| *bytes)?;
        Some(Arc::clone(oldest))
    }

    fn remove_stream(&mut self, stream: &str) {
        let Some(log) = self.logs.remove(stream) else {
            return;
        };
        self.holdings.remove(&log.party, log.bytes);
        log.changed.notify_waiters();
        let Some(sessions) = self.by_party.get_mut(&log.party) else {
            return;
        };
        if let Some(held) = sessions.get_mut(&log.session) {
            held.bytes -= log.bytes;
            held.logs.remove(&log.first_number);
            if held.logs.is_empty() {
                sessions.remove(&log.session);
            }
        }
        if sessions.is_empty() {
            self.by_party.remove(&log.party);
        }
    }
}

impl StreamLog {
    /// Appends an event, and drops the oldest ones above the maximum size. Returns the bytes of those
    /// that were dropped.
    fn append(&mut self, number: u64, event: StoredEvent, max_bytes: usize) -> usize {
        self.bytes += event.cost();
        self.events.push_back((number, event));
        let mut dropped = 0;
        while self.bytes > max_bytes && self.events.len() > 1 {
            let oldest = self.events.pop_front();
            let bytes = oldest.map_or(0, |(_, event)| event.cost());
            self.bytes -= bytes;
            dropped += bytes;
        }
        self.changed.notify_waiters();
        dropped
    }
}

fn parse_event_id(event_id: &str) -> Option<(&str, u64)> {
    let (stream, number) = event_id.rsplit_once('/')?;
    Some((stream, number.parse().ok()?))
}

#[cfg(test)]
mod tests;
