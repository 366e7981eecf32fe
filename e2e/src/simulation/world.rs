//! A bridge, tabs, callers and the network between them, driven by one queue of events.
//!
//! `schedule` runs a world from the first fault to the end and checks it. `callers`, `network`,
//! `documents` and `page_runtime` react to events; `faults` injects faults.

mod bridge_process;
mod callers;
mod documents;
mod event;
mod faults;
mod link;
mod network;
mod page_runtime;
mod schedule;
mod stopped_process;
mod tab;
mod task;

use std::collections::BTreeMap;
use std::time::Duration;

use bridge::in_memory::{BridgeOutput, InMemoryBridge, new_bridge};
use bridge::{CallSettings, Config};

use self::event::Event;
use self::link::Link;
use self::stopped_process::StoppedProcess;
use self::tab::Tab;
use super::event_queue::EventQueue;
use super::invariants::InvariantChecker;
use super::summary::Summary;
use crate::random::Random;

/// The Unix time of the bridge's clock when a schedule begins.
const START_UNIX_MS: u64 = 1_790_000_000_000;

/// The state of a schedule.
pub(super) struct World {
    random: Random,
    queue: EventQueue<Event>,
    config: Config,
    bridge: Option<InMemoryBridge>,
    /// The number of times that the bridge has started.
    incarnation: u32,
    /// The process of the bridge while it is stopped.
    stopped: Option<StoppedProcess>,
    /// The next deadline of the bridge that is in the queue.
    bridge_due: Option<u64>,
    links: BTreeMap<u64, Link>,
    tabs: Vec<Tab>,
    checker: InvariantChecker,
    summary: Summary,
    faults_enabled: bool,
    /// The network may deliver a frame twice.
    repeats_enabled: bool,
    /// No packet arrives before this time, on any link.
    stalled_until: u64,
    /// How long tokens are valid, in milliseconds; `None` if they do not expire.
    token_lifetime_ms: Option<u64>,
    tracing: bool,
    ids: u64,
}

impl World {
    pub(super) fn new(seed: u64, tracing: bool) -> Self {
        let mut random = Random::new(seed);
        let mut config = Config {
            calls: CallSettings {
                input_timeout: Duration::from_secs(20),
                ..CallSettings::default()
            },
            ..Config::default()
        };
        config.page_timings.catalogue_ttl = Duration::from_secs(random.one_of(&[0, 30]));
        config.page_timings.max_session_duration =
            Duration::from_secs(random.one_of(&[0, 0, 0, 45]));
        let token_lifetime_ms = random.one_of(&[None, None, Some(20_000), Some(60_000)]);
        Self {
            repeats_enabled: random.percent(30),
            random,
            queue: EventQueue::new(),
            config,
            bridge: None,
            incarnation: 0,
            stopped: None,
            bridge_due: None,
            links: BTreeMap::new(),
            tabs: Vec::new(),
            checker: InvariantChecker::default(),
            summary: Summary {
                schedules: 1,
                ..Summary::default()
            },
            faults_enabled: true,
            stalled_until: 0,
            token_lifetime_ms,
            tracing,
            ids: 0,
        }
    }

    fn start_bridge(&mut self) {
        self.incarnation += 1;
        self.bridge_due = None;
        let id = format!("boot{}", self.incarnation);
        let bridge = new_bridge(&self.config, &id, START_UNIX_MS, token_lifetime);
        self.trace(|| format!("the bridge starts as {id}"));
        self.bridge = Some(bridge);
    }

    /// Applies an event to the bridge, if it runs, and checks the bridge's invariants.
    fn with_bridge(&mut self, event: impl FnOnce(&mut InMemoryBridge) -> Vec<BridgeOutput>) {
        let Some(bridge) = &mut self.bridge else {
            return;
        };
        let outputs = event(bridge);
        bridge.check_invariants();
        let next = bridge.next_deadline();
        self.apply_outputs(outputs);
        if let Some(next) = next.map(|at| at.as_millis() as u64)
            && self.bridge_due.is_none_or(|due| next < due)
        {
            self.bridge_due = Some(next);
            self.queue
                .schedule_at(next, Event::BridgeDue(self.incarnation));
        }
    }

    fn now(&self) -> Duration {
        Duration::from_millis(self.queue.now())
    }

    fn new_id(&mut self) -> u64 {
        self.ids += 1;
        self.ids
    }

    /// Returns the clock of a tab's machine, in milliseconds since the Unix epoch.
    fn clock_of(&self, tab: usize) -> u64 {
        START_UNIX_MS - 1_800_000 + self.queue.now() + self.tabs[tab].clock_ahead_ms
    }

    /// Returns a token whose text contains the time at which it expires.
    fn token(&self) -> String {
        match self.token_lifetime_ms {
            None => "endless-0123456789abcdef".to_owned(),
            Some(lifetime) => format!("until-{}-0123456789abcdef", self.queue.now() + lifetime),
        }
    }

    fn trace(&self, text: impl FnOnce() -> String) {
        if self.tracing {
            println!("{:>8} ms  {}", self.queue.now(), text());
        }
    }
}

/// Returns when a token expires: `None` if it is unknown, `Some(None)` if it never does.
fn token_lifetime(token: &str) -> Option<Option<Duration>> {
    if token.starts_with("endless-") {
        return Some(None);
    }
    let end = token.strip_prefix("until-")?.split('-').next()?;
    Some(Some(Duration::from_millis(end.parse().ok()?)))
}
