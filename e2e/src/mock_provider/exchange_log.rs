//! A log of the requests to the mock provider and of how each exchange went.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use tokio::sync::watch;

use super::format::Format;
use super::script::TokenUsage;

/// A request and the response to it.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// The format of the provider.
    pub format: Format,
    /// The path of the request.
    pub path: String,
    /// The headers of the request, with names in lower case and keys masked.
    pub headers: HashMap<String, String>,
    /// The body of the request.
    pub body: Value,
    /// Id of the rule in `provider_rules/table.toml` that refused the request.
    pub refused_by: Option<&'static str>,
    /// Ids of what the provider would silently do, such as dropping reasoning.
    pub effects: Vec<&'static str>,
    /// Which turn of the script is the response, if the request was valid.
    pub turn: Option<usize>,
    /// The token usage of that turn.
    pub usage: Option<TokenUsage>,
    /// When the request had arrived.
    pub arrived: Instant,
    /// When the first byte of the response's body was sent.
    pub first_byte: Option<Instant>,
    /// Whether the response is at a pause of the script.
    pub is_paused: bool,
    /// How and when the exchange ended.
    pub end: Option<(ExchangeOutcome, Instant)>,
}

/// How an exchange ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExchangeOutcome {
    /// The whole response was sent.
    Complete,
    /// The request was rejected with this status.
    Rejected(u16),
    /// The response broke off as the script specifies.
    Broken,
    /// The client closed the connection before the whole response was sent.
    ClosedByClient,
}

impl Exchange {
    /// Returns how the exchange ended, if it has.
    pub fn outcome(&self) -> Option<ExchangeOutcome> {
        self.end.map(|(outcome, _)| outcome)
    }
}

/// All exchanges, and the number of attempts for each request.
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

    /// Returns a receiver that is notified of every change.
    pub(super) fn subscribe(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    pub(super) fn all(&self) -> Vec<Exchange> {
        self.exchanges().clone()
    }

    pub(super) fn get(&self, number: usize) -> Option<Exchange> {
        self.exchanges().get(number).cloned()
    }

    /// Returns how many exchanges meet a condition.
    pub(super) fn count(&self, condition: impl Fn(&Exchange) -> bool) -> usize {
        self.exchanges().iter().filter(|it| condition(it)).count()
    }

    /// Adds a request that has arrived. The exchange ends with the returned guard.
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
            refused_by: None,
            effects: Vec::new(),
            turn: None,
            usage: None,
            arrived: Instant::now(),
            first_byte: None,
            is_paused: false,
            end: None,
        });
        drop(exchanges);
        self.changes.send_replace(());
        ExchangeGuard {
            log: self.clone(),
            number,
        }
    }

    /// Counts this attempt and returns how often the same request has arrived before.
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

/// An exchange that is in progress. If it is dropped before [`finish`](Self::finish), the client
/// has closed the connection.
pub(super) struct ExchangeGuard {
    log: Arc<ExchangeLog>,
    number: usize,
}

impl ExchangeGuard {
    pub(super) fn set_refused_by(&self, rule: &'static str) {
        self.log
            .update(self.number, |exchange| exchange.refused_by = Some(rule));
    }

    pub(super) fn set_turn(&self, turn: usize, usage: TokenUsage, effects: &[&'static str]) {
        self.log.update(self.number, |exchange| {
            exchange.turn = Some(turn);
            exchange.usage = Some(usage);
            exchange.effects = effects.to_vec();
        });
    }

    pub(super) fn mark_first_byte(&self) {
        let now = Instant::now();
        self.log.update(self.number, |exchange| {
            exchange.first_byte.get_or_insert(now);
        });
    }

    pub(super) fn set_paused(&self, is_paused: bool) {
        self.log
            .update(self.number, |exchange| exchange.is_paused = is_paused);
    }

    pub(super) fn finish(&self, outcome: ExchangeOutcome) {
        let end = (outcome, Instant::now());
        self.log.update(self.number, |exchange| {
            exchange.end.get_or_insert(end);
        });
    }
}

impl Drop for ExchangeGuard {
    fn drop(&mut self) {
        self.finish(ExchangeOutcome::ClosedByClient);
    }
}

/// The headers that contain keys.
const SECRET_HEADERS: [&str; 3] = ["authorization", "x-api-key", "x-goog-api-key"];

fn mask_secrets(headers: &HeaderMap) -> HashMap<String, String> {
    let mask = |(name, value): (&HeaderName, &HeaderValue)| {
        let value = if SECRET_HEADERS.contains(&name.as_str()) {
            "***".to_owned()
        } else {
            String::from_utf8_lossy(value.as_bytes()).into_owned()
        };
        (name.as_str().to_owned(), value)
    };
    headers.iter().map(mask).collect()
}
