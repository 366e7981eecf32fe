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
    pub is_pausing: bool,
    /// How it ended, and when.
    pub end: Option<(Ending, Instant)>,
}

/// How an exchange ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All was sent.
    Whole,
    /// The request was refused with this status.
    Refused(u16),
    /// The answer broke as the script said.
    Broken,
    /// The client closed the connection before all was sent.
    ClosedByClient,
}

impl Exchange {
    /// How it ended, if it did.
    pub fn ending(&self) -> Option<Ending> {
        self.end.map(|(ending, _)| ending)
    }
}

/// All exchanges, and how often each request came.
#[derive(Debug)]
pub(super) struct Records {
    exchanges: Mutex<Vec<Exchange>>,
    attempts: Mutex<HashMap<u64, usize>>,
    news: watch::Sender<()>,
}

impl Records {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            exchanges: Mutex::default(),
            attempts: Mutex::default(),
            news: watch::Sender::new(()),
        })
    }

    /// Something has changed since it was looked at.
    pub(super) fn news(&self) -> watch::Receiver<()> {
        self.news.subscribe()
    }

    pub(super) fn all(&self) -> Vec<Exchange> {
        self.exchanges().clone()
    }

    pub(super) fn one(&self, number: usize) -> Option<Exchange> {
        self.exchanges().get(number).cloned()
    }

    /// How many of them are so.
    pub(super) fn count(&self, is_so: impl Fn(&Exchange) -> bool) -> usize {
        self.exchanges().iter().filter(|it| is_so(it)).count()
    }

    /// A request has arrived. It ends when the returned value is told so or dropped.
    pub(super) fn arrived(
        self: &Arc<Self>,
        format: Format,
        path: &str,
        headers: &HeaderMap,
        body: &Value,
    ) -> Underway {
        let mut exchanges = self.exchanges();
        let number = exchanges.len();
        exchanges.push(Exchange {
            format,
            path: path.to_owned(),
            headers: masked(headers),
            body: body.clone(),
            turn: None,
            arrived: Instant::now(),
            first_byte: None,
            is_pausing: false,
            end: None,
        });
        drop(exchanges);
        self.news.send_replace(());
        Underway {
            records: self.clone(),
            number,
        }
    }

    /// How often this very request has come before.
    pub(super) fn attempt(&self, body: &Value) -> usize {
        let mut hasher = DefaultHasher::new();
        body.to_string().hash(&mut hasher);
        let mut attempts = self.attempts.lock().expect("no holder panics");
        let count = attempts.entry(hasher.finish()).or_default();
        *count += 1;
        *count - 1
    }

    fn change(&self, number: usize, change: impl FnOnce(&mut Exchange)) {
        change(&mut self.exchanges()[number]);
        self.news.send_replace(());
    }

    fn exchanges(&self) -> MutexGuard<'_, Vec<Exchange>> {
        self.exchanges.lock().expect("no holder panics")
    }
}

/// An exchange that has not ended. Dropped before it is told how it ended, the client has gone.
#[derive(Debug)]
pub(super) struct Underway {
    records: Arc<Records>,
    number: usize,
}

impl Underway {
    pub(super) fn is_turn(&self, turn: usize) {
        self.records
            .change(self.number, |exchange| exchange.turn = Some(turn));
    }

    pub(super) fn sends(&self) {
        let now = Instant::now();
        self.records.change(self.number, |exchange| {
            exchange.first_byte.get_or_insert(now);
        });
    }

    pub(super) fn pauses(&self, is_pausing: bool) {
        self.records
            .change(self.number, |exchange| exchange.is_pausing = is_pausing);
    }

    pub(super) fn ended(&self, ending: Ending) {
        let end = (ending, Instant::now());
        self.records.change(self.number, |exchange| {
            exchange.end.get_or_insert(end);
        });
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        self.ended(Ending::ClosedByClient);
    }
}

/// Where keys travel.
const SECRET: [&str; 3] = ["authorization", "x-api-key", "x-goog-api-key"];

fn masked(headers: &HeaderMap) -> HashMap<String, String> {
    let shown = |(name, value): (&axum::http::HeaderName, &axum::http::HeaderValue)| {
        let value = match SECRET.contains(&name.as_str()) {
            true => "***".to_owned(),
            false => String::from_utf8_lossy(value.as_bytes()).into_owned(),
        };
        (name.as_str().to_owned(), value)
    };
    headers.iter().map(shown).collect()
}
