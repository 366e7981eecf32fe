//! Stores the events that were sent to a client, so that a result survives a dropped stream (MCP
//! 2025-11-25, "Resumability and Redelivery"): a client resumes with `Last-Event-ID` and receives
//! the rest.
//!
//! Every stream (one for each request, and the standalone stream that a client opens) has a log,
//! whose oldest events are dropped first. All logs together have a maximum size in bytes. Beyond
//! it, the address with the most bytes loses a log: the oldest one of the session with the most, of
//! the token with the most. So a busy client does not evict the logs of others. A log is not evicted
//! while an event is appended to it, because its stream may have just dropped.

mod stream_log;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use bridge_auth::RealmId;
use futures_util::stream;
use rmcp::model::{ContentBlock, ServerJsonRpcMessage, ServerResult};
use rmcp::transport::streamable_http_server::session::{
    EventId, EventStore, EventStoreError, EventStream, ServerSseMessage, SessionId,
};
use tokio::sync::Notify;

use self::stream_log::{LogEntry, StreamLog};
use super::request_scope::REALM;
use crate::cpu_pool::{CpuPool, INLINE_LIMIT};
use crate::mcp::raw_event::{StoredEvent, to_sse_message};
use crate::shares::{Holdings, Party};
use bridge_results::encoded_size;

/// The approximate memory of an event without its message, in bytes.
const EVENT_OVERHEAD_BYTES: usize = 256;

/// The memory of a message of rmcp without what it points to, in bytes.
const MODEL_BYTES: usize = size_of::<ServerJsonRpcMessage>();

/// A stream may use this fraction of the maximum size. Its newest event is always stored.
const STREAM_LOG_DIVISOR: usize = 8;

/// How rmcp names the stream that a client opens with GET, after the id of its session.
const STANDALONE_SUFFIX: &str = ":common";

/// The event logs of all streams. Clones share them.
#[derive(Clone)]
pub(super) struct EventLog {
    state: Arc<Mutex<EventLogState>>,
    max_bytes: usize,
    cpu_pool: CpuPool,
}

#[derive(Default)]
struct EventLogState {
    logs: HashMap<Arc<str>, StreamLog>,
    /// The logs of each session. The logs of streams without a session yet are under `None`.
    by_session: HashMap<Option<SessionId>, SessionLogs>,
    /// Whose share of the limit each session counts for.
    parties: HashMap<SessionId, Party<RealmId>>,
    /// The bytes of the logs of these sessions.
    holdings: Holdings<RealmId>,
    bytes: usize,
    last_number: u64,
}

/// The logs of one session, by the number of their first event.
#[derive(Default)]
struct SessionLogs {
    logs: BTreeMap<u64, Arc<str>>,
    bytes: usize,
    party: Option<Party<RealmId>>,
}

impl EventLog {
    pub(super) fn new(max_bytes: usize, cpu_pool: CpuPool) -> Self {
        Self {
            state: Arc::default(),
            max_bytes,
            cpu_pool,
        }
    }

    /// The id of an event after which everything follows that will be stored of the stream that a
    /// client of this session opens with GET.
    pub(super) fn standalone_start(&self, session: &SessionId) -> EventId {
        let number = self.lock().last_number;
        format!("{session}{STANDALONE_SUFFIX}/{number}")
    }

    /// The bytes that a client receives at once when it resumes a stream after this event.
    pub(super) fn bytes_after(&self, event_id: &str) -> usize {
        let state = self.lock();
        let Some((stream, after)) = parse_event_id(event_id) else {
            return 0;
        };
        let events = state
            .logs
            .get(stream)
            .into_iter()
            .flat_map(|log| log.events.iter().rev());
        let later = events.take_while(|event| event.number > after);
        later.map(|event| event.bytes).sum()
    }

    /// The bytes of all logs.
    pub(super) fn bytes(&self) -> usize {
        self.lock().bytes
    }

    /// Adds a session, whose streams count for this party.
    pub(super) fn add_session(&self, session: &SessionId, party: Party<RealmId>) {
        self.lock().parties.insert(Arc::clone(session), party);
    }

    /// Binds the stream of an event to a session. rmcp does not name the session when it stores an
    /// event.
    pub(super) fn bind_session(&self, session: &SessionId, event_id: &str) {
        let Some((stream, _)) = parse_event_id(event_id) else {
            return;
        };
        self.lock().bind_session(stream, session);
    }

    /// Whether the event is of a stream of this session.
    pub(super) fn belongs_to(&self, session: &SessionId, event_id: &str) -> bool {
        let state = self.lock();
        parse_event_id(event_id)
            .and_then(|(stream, _)| state.logs.get(stream))
            .is_some_and(|log| log.session.as_ref() == Some(session))
    }

    /// Stores an event of a call, and binds its stream to the session.
    pub(super) fn append(&self, session: &SessionId, stream: &str, event: StoredEvent) -> EventId {
        let bytes = match &event {
            StoredEvent::Message(json) | StoredEvent::Response(json) => json.len(),
            StoredEvent::Model(_) | StoredEvent::Retry => 0,
        };
        let mut state = self.lock();
        let id = state.append(
            stream,
            event,
            EVENT_OVERHEAD_BYTES + bytes,
            self.max_bytes / STREAM_LOG_DIVISOR,
        );
        state.bind_session(stream, session);
        state.evict_down_to(self.max_bytes, stream);
        id
    }

    /// Removes a stream that has ended and will not be resumed.
    pub(super) fn remove_stream(&self, stream: &str) {
        self.lock().remove_stream(stream);
    }

    /// Removes a session with all its streams.
    pub(super) fn remove_session(&self, session: &SessionId) {
        let mut state = self.lock();
        state.parties.remove(session);
        let session_logs = state.by_session.remove(&Some(Arc::clone(session)));
        for stream in session_logs.unwrap_or_default().logs.into_values() {
            state.remove_stream(&stream);
        }
    }

    fn lock(&self) -> MutexGuard<'_, EventLogState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the next event of a stream after this one, or a notification to wait for.
    fn next_after(&self, stream: &str, after: u64) -> Option<NextEvent> {
        let state = self.lock();
        let log = state.logs.get(stream)?;
        let position = log.events.partition_point(|event| event.number <= after);
        Some(match log.events.get(position) {
            Some(event) => NextEvent::Ready(event.number, event.event.clone()),
            None => NextEvent::Pending(Arc::clone(&log.changed)),
        })
    }
}

/// The next event of a stream, or the notification that there is one.
enum NextEvent {
    Ready(u64, StoredEvent),
    Pending(Arc<Notify>),
}

impl EventLogState {
    fn append(
        &mut self,
        stream: &str,
        event: StoredEvent,
        bytes: usize,
        max_bytes: usize,
    ) -> EventId {
        self.last_number += 1;
        let number = self.last_number;
        let id = format!("{stream}/{number}");
        let log = match self.logs.get_mut(stream) {
            Some(log) => log,
            None => {
                let stream: Arc<str> = stream.into();
                let unbound = self.by_session.entry(None).or_default();
                unbound.logs.insert(number, Arc::clone(&stream));
                let new = self.logs.entry(stream);
                new.or_insert_with(|| StreamLog::new(number))
            }
        };
        let entry = LogEntry {
            number,
            bytes,
            event,
        };
        let dropped = log.append(entry, max_bytes);
        let session_logs = self.by_session.entry(log.session.clone()).or_default();
        for total in [&mut session_logs.bytes, &mut self.bytes] {
            *total = *total + bytes - dropped;
        }
        if let Some(party) = &log.party {
            self.holdings.add(party, bytes);
            self.holdings.remove(party, dropped);
        }
        id
    }

    fn bind_session(&mut self, stream: &str, session: &SessionId) {
        let Some(log) = self
            .logs
            .get_mut(stream)
            .filter(|log| log.session.is_none())
        else {
            return;
        };
        let party = self.parties.get(session).copied();
        log.session = Some(Arc::clone(session));
        log.party = party;
        let (first_number, bytes) = (log.first_number, log.bytes);
        if let Some(party) = &party {
            self.holdings.add(party, bytes);
        }
        let unbound = self.by_session.entry(None).or_default();
        unbound.bytes -= bytes;
        let stream = unbound.logs.remove(&first_number);
        let session_logs = self
            .by_session
            .entry(Some(Arc::clone(session)))
            .or_default();
        session_logs.party = party;
        session_logs.bytes += bytes;
        session_logs
            .logs
            .extend(stream.map(|stream| (first_number, stream)));
    }

    /// Evicts logs of the party with the most bytes, until the size fits. The log of the stream
    /// `growing` is not evicted.
    fn evict_down_to(&mut self, max_bytes: usize, growing: &str) {
        while self.bytes > max_bytes {
            let Some(log) = self.log_to_evict(growing) else {
                return;
            };
            self.remove_stream(&log);
        }
    }

    /// Returns the oldest log of the session with the most bytes, of the party with the most bytes
    /// that has such a log. The streams without a party together are one.
    fn log_to_evict(&self, growing: &str) -> Option<Arc<str>> {
        let unbound = self.bytes - self.holdings.total();
        let mut largest = self.holdings.largest_first().peekable();
        let bytes_of_largest = largest
            .peek()
            .map_or(0, |party| self.holdings.of_address(party.address));
        let unbound_first = unbound > bytes_of_largest;
        let parties = unbound_first.then_some(None).into_iter();
        let parties = parties.chain(largest.map(Some)).chain([None]);
        parties
            .into_iter()
            .find_map(|party| self.oldest_log(party.as_ref(), growing))
    }

    fn oldest_log(&self, party: Option<&Party<RealmId>>, growing: &str) -> Option<Arc<str>> {
        let sessions = self.by_session.values();
        let sessions = sessions.filter(|session| session.party.as_ref() == party);
        let logs = sessions.filter_map(|session| {
            let mut logs = session.logs.values();
            let oldest = logs.find(|stream| &***stream != growing)?;
            Some((session.bytes, oldest))
        });
        let (_, oldest) = logs.max_by_key(|(bytes, _)| *bytes)?;
        Some(Arc::clone(oldest))
    }

    fn remove_stream(&mut self, stream: &str) {
        let Some(log) = self.logs.remove(stream) else {
            return;
        };
        self.bytes -= log.bytes;
        if let Some(party) = &log.party {
            self.holdings.remove(party, log.bytes);
        }
        log.changed.notify_waiters();
        if let Some(session_logs) = self.by_session.get_mut(&log.session) {
            session_logs.bytes -= log.bytes;
            session_logs.logs.remove(&log.first_number);
            if session_logs.logs.is_empty() {
                self.by_session.remove(&log.session);
            }
        }
    }
}

/// Whether an event is one of the stream that a client of this session opens with GET.
pub(super) fn is_in_standalone_stream(session: &SessionId, event_id: &str) -> bool {
    let stream = parse_event_id(event_id).map(|(stream, _)| stream);
    stream.and_then(|stream| stream.strip_suffix(STANDALONE_SUFFIX)) == Some(&**session)
}

fn parse_event_id(event_id: &str) -> Option<(&str, u64)> {
    let (stream, number) = event_id.rsplit_once('/')?;
    Some((stream, number.parse().ok()?))
}

#[async_trait]
impl EventStore for EventLog {
    async fn store_event(
        &self,
        stream_id: &str,
        event: &ServerSseMessage,
    ) -> Result<EventId, EventStoreError> {
        let bytes = event_cost(event);
        let mut state = self.lock();
        let stored = StoredEvent::Model(event.clone());
        let id = state.append(
            stream_id,
            stored,
            bytes,
            self.max_bytes / STREAM_LOG_DIVISOR,
        );
        // Nobody may be reading it, and a client that resumes it must find what it has missed.
        if let Some(session) = stream_id.strip_suffix(STANDALONE_SUFFIX) {
            state.bind_session(stream_id, &session.into());
        }
        state.evict_down_to(self.max_bytes, stream_id);
        Ok(id)
    }

    /// Replays the events after this one in its stream, and continues until the response.
    async fn replay_events_after(
        &self,
        last_event_id: &str,
    ) -> Result<EventStream, EventStoreError> {
        let unknown = || format!("the event {last_event_id:?} is not known any more");
        let (stream, after) = parse_event_id(last_event_id).ok_or_else(unknown)?;
        self.next_after(stream, after).ok_or_else(unknown)?;
        let realm = REALM
            .try_get()
            .map_err(|_| "the stream is resumed outside a request")?;
        let start = (self.clone(), stream.to_owned(), after);
        let events = stream::unfold(Some(start), move |cursor| async move {
            let (events, stream, after) = cursor?;
            loop {
                match events.next_after(&stream, after)? {
                    NextEvent::Ready(number, stored) => {
                        let event = to_sse_message(stored, &events.cpu_pool, realm);
                        let mut event = event.await?;
                        event.event_id = Some(format!("{stream}/{number}"));
                        let cursor = (!is_response(&event)).then_some((events, stream, number));
                        return Some((event, cursor));
                    }
                    NextEvent::Pending(changed) => {
                        let mut changed = Box::pin(changed.notified_owned());
                        changed.as_mut().enable();
                        // Checked again, because an event may have been stored before the wait
                        // began.
                        if let NextEvent::Pending(_) = events.next_after(&stream, after)? {
                            changed.await;
                        }
                    }
                }
            }
        });
        Ok(Box::pin(events))
    }
}

/// Whether the event is the response, with which the stream of a request ends.
fn is_response(event: &ServerSseMessage) -> bool {
    matches!(
        event.message.as_deref(),
        Some(ServerJsonRpcMessage::Response(_) | ServerJsonRpcMessage::Error(_))
    )
}

/// Returns the approximate memory of an event, in bytes.
fn event_cost(event: &ServerSseMessage) -> usize {
    let Some(message) = &event.message else {
        return EVENT_OVERHEAD_BYTES;
    };
    let bytes = large_result_bytes(message);
    let bytes = bytes.unwrap_or_else(|| encoded_size::encoded_len(&**message));
    EVENT_OVERHEAD_BYTES + MODEL_BYTES + bytes
}

/// The approximate size of a large tool result, whose exact size would take long to compute. Other
/// results are small, and structured content is mostly repeated in the text.
fn large_result_bytes(message: &ServerJsonRpcMessage) -> Option<usize> {
    let ServerJsonRpcMessage::Response(response) = message else {
        return None;
    };
    let ServerResult::CallToolResult(result) = &response.result else {
        return None;
    };
    let texts = result.content.iter().map(|block| match block {
        ContentBlock::Text(text) => text.text.len(),
        ContentBlock::Image(image) => image.data.len(),
        _ => 0,
    });
    let bytes = texts.sum::<usize>();
    let copies = 1 + usize::from(result.structured_content.is_some());
    (bytes > INLINE_LIMIT).then_some(copies * bytes)
}

#[cfg(test)]
mod tests;
