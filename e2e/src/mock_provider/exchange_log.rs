//! What the provider was asked, what became of it and when.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use axum::http::HeaderMap;
use serde_json::Value;
use tokio::sync::watch;

use super::Format;

/// A request and what became of it.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// On whose wire.
    pub format: Format,
    /// The path that was asked for.
    pub path: String,
    /// The headers, in lower case, keys masked.
    pub headers: HashMap<String, String>,
    /// What was sent.
    pub body: Value,
    /// Which turn of the script is the answer, if the request was in order.
    pub turn: Option<usize>,
    /// When the request had arrived.
    pub arrived: Instant,
    /// When the first byte of the answer's body was sent.
    pub first_byte: Option<Instant>,
    /// Whether it stands where the script says that it waits.
    pub is_paused: bool,
    /// How it ended, and when.
    pub end: Option<(ExchangeOutcome, Instant)>,
}

/// How an exchange ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExchangeOutcome {
    /// All was sent.
    Complete,
    /// The request was refused with this status.
    Refused(u16),
    /// The answer broke as the script said.
    Broken,
    /// The client closed the connection before all was sent.
    ClosedByClient,
}

impl Exchange {
    /// How it ended, if it did.
    pub fn outcome(&self) -> Option<ExchangeOutcome> {
        self.end.map(|(ending, _)| ending)
    }
}

/// All exchanges, and how often each request came.
#[derive(Debug)]
pub(super) struct ExchangeLog {
    exchanges: Mutex<Vec<Exchange>>,
    attempts: Mutex<HashMap<u64, usize>>,
    changes: watch::Sender<()>,
}

impl ExchangeLog {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            exchanges: Mutex::default(),
            attempts: Mutex::default(),
            changes: watch::Sender::new(()),
        })
    }

    /// Something has changed since it was looked at.
    pub(super) fn subscribe(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    pub(super) fn all(&self) -> Vec<Exchange> {
        self.exchanges().clone()
    }

    pub(super) fn get(&self, number: usize) -> Option<Exchange> {
        self.exchanges().get(number).cloned()
    }

    /// How many of them are so.
    pub(super) fn count(&self, is_so: impl Fn(&Exchange) -> bool) -> usize {
        self.exchanges().iter().filter(|it| is_so(it)).count()
    }

    /// A request has arrived. It ends when the returned value is told so or dropped.
    pub(super) fn begin(
        self: &Arc<Self>,
        format: Format,
        path: &str,
        headers: &HeaderMap,
        body: &Value,
    ) -> ExchangeGuard {
        let mut exchanges = self.exchanges();
        let number = exchanges.len();
        exchanges.push(Exchange {
            format,
            path: path.to_owned(),
            headers: mask_secrets(headers),
            body: body.clone(),
            turn: None,
            arrived: Instant::now(),
            first_byte: None,
            is_paused: false,
            end: None,
        });
        drop(exchanges);
        self.changes.send_replace(());
        ExchangeGuard {
            records: self.clone(),
            number,
        }
    }

    /// How often this very request has come before.
    pub(super) fn count_attempt(&self, body: &Value) -> usize {
        let mut hasher = DefaultHasher::new();
        body.to_string().hash(&mut hasher);
        let mut attempts = self.attempts.lock().expect("no holder panics");
        let count = attempts.entry(hasher.finish()).or_default();
        *count += 1;
        *count - 1
    }

    fn update(&self, number: usize, change: impl FnOnce(&mut Exchange)) {
        change(&mut self.exchanges()[number]);
        self.changes.send_replace(());
    }

    fn exchanges(&self) -> MutexGuard<'_, Vec<Exchange>> {
        self.exchanges.lock().expect("no holder panics")
    }
}

/// An exchange that has not ended. Dropped before it is told how it ended, the client has gone.
#[derive(Debug)]
pub(super) struct ExchangeGuard {
    records: Arc<ExchangeLog>,
    number: usize,
}

impl ExchangeGuard {
    pub(super) fn set_turn(&self, turn: usize) {
        self.records
            .update(self.number, |exchange| exchange.turn = Some(turn));
    }

    pub(super) fn mark_first_byte(&self) {
        let now = Instant::now();
        self.records.update(self.number, |exchange| {
            exchange.first_byte.get_or_insert(now);
        });
    }

    pub(super) fn set_paused(&self, is_pausing: bool) {
        self.records
            .update(self.number, |exchange| exchange.is_paused = is_pausing);
    }

    pub(super) fn finish(&self, ending: ExchangeOutcome) {
        let end = (ending, Instant::now());
        self.records.update(self.number, |exchange| {
            exchange.end.get_or_insert(end);
        });
    }
}

impl Drop for ExchangeGuard {
    fn drop(&mut self) {
        self.finish(ExchangeOutcome::ClosedByClient);
    }
}

/// Where keys travel.
const SECRET_HEADERS: [&str; 3] = ["authorization", "x-api-key", "x-goog-api-key"];

fn mask_secrets(headers: &HeaderMap) -> HashMap<String, String> {
    let shown = |(name, value): (&axum::http::HeaderName, &axum::http::HeaderValue)| {
        let value = match SECRET_HEADERS.contains(&name.as_str()) {
            true => "***".to_owned(),
            false => String::from_utf8_lossy(value.as_bytes()).into_owned(),
        };
        (name.as_str().to_owned(), value)
    };
    headers.iter().map(shown).collect()
}
