//! A bridge, tabs, callers and the lines between them, from the first fault to the empty end.

use std::collections::BTreeMap;
use std::time::Duration;

use bridge::Config;
use bridge::simulation::{ABNORMAL_CLOSURE, Bridge, Counts, Output, new_bridge};

use super::Summary;
use super::callers::CallerStep;
use super::faults::Recovery;
use super::network::{Direction, Link, Packet};
use super::tab::{Tab, Task};
use crate::random::Random;
use crate::simulation::event_queue::EventQueue;
use crate::simulation::invariants::{CallOutcome, InvariantChecker};

/// What the bridge's clock shows at the beginning.
const START_UNIX_MS: u64 = 1_790_000_000_000;

/// Something that happens.
#[derive(Debug)]
pub(super) enum Event {
    PacketArrives {
        link: u64,
        direction: Direction,
        packet: Packet,
    },
    TabTask {
        tab: usize,
        document: u64,
        task: Task,
    },
    /// The thread of a tab may be free.
    TabRuns(usize),
    BridgeDue(u32),
    /// The time to authenticate on this line is over.
    AuthenticationDue(u64),
    /// The bridge finds a line dead.
    BridgeNoticesBreak(u64),
    Caller(CallerStep),
    Fault,
    Recovers(Recovery),
}

pub(super) struct World {
    pub(super) random: Random,
    pub(super) queue: EventQueue<Event>,
    pub(super) config: Config,
    pub(super) bridge: Option<Bridge>,
    /// Which life of the bridge this is.
    pub(super) incarnation: u32,
    /// When the bridge will be woken.
    bridge_due: Option<u64>,
    pub(super) links: BTreeMap<u64, Link>,
    pub(super) tabs: Vec<Tab>,
    pub(super) checker: InvariantChecker,
    pub(super) summary: Summary,
    /// Faults may happen.
    pub(super) faults_enabled: bool,
    /// Frames may come twice.
    pub(super) repeats_enabled: bool,
    /// Nothing gets through until then.
    pub(super) stalled_until: u64,
    /// How long tokens are valid, in milliseconds.
    token_lifetime_ms: Option<u64>,
    tracing: bool,
    ids: u64,
}

impl World {
    pub(super) fn new(seed: u64, tracing: bool) -> Self {
        let mut random = Random::new(seed);
        let mut config = Config {
            input_timeout: Duration::from_secs(20),
            ..Config::default()
        };
        config.tabs.catalogue_ttl = Duration::from_secs(random.one_of(&[0, 30]));
        config.tabs.max_session_duration = Duration::from_secs(random.one_of(&[0, 0, 0, 45]));
        let token_lifetime_ms = random.one_of(&[None, None, Some(20_000), Some(60_000)]);
        Self {
            repeats_enabled: random.percent(30),
            random,
            queue: EventQueue::new(),
            config,
            bridge: None,
            incarnation: 0,
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

    pub(super) fn run(mut self) -> Summary {
        self.start_bridge();
        for tab in 0..self.random.between(1, 3) {
            self.open_tab(&format!("tab-{tab}"));
        }
        let length = self.random.between(15_000, 70_000);
        for _ in 0..self.random.between(5, 25) {
            let when = self.random.below(length);
            self.queue
                .schedule_at(when, Event::Caller(CallerStep::Call));
        }
        let first = self.random.span(4_000);
        self.queue.schedule_at(first, Event::Fault);
        self.run_until(length, |_| false);
        self.assert_recovered();
        self.close_everything();
        self.summary.calls = self.checker.count_made();
        self.summary.answered = self.checker.count_answered();
        self.summary.executed = self.checker.count_executed();
        self.summary
    }

    /// Lets things happen until that time, or until something is so.
    fn run_until(&mut self, end: u64, is_so: impl Fn(&Self) -> bool) {
        while !is_so(self) {
            let Some(event) = self.queue.pop_before(end) else {
                return self.queue.advance_to(end);
            };
            self.dispatch(event);
        }
    }

    fn dispatch(&mut self, event: Event) {
        match event {
            Event::PacketArrives {
                link: line,
                direction: way,
                packet: parcel,
            } => self.deliver(line, way, parcel),
            Event::TabTask {
                tab,
                document,
                task,
            } => self.queue_task(tab, document, task),
            Event::TabRuns(tab) => self.run_tab(tab),
            Event::BridgeDue(life) if life == self.incarnation => {
                self.bridge_due = None;
                let at = self.now();
                self.with_bridge(|bridge| bridge.deadline_passed(at));
            }
            Event::BridgeDue(_) => {}
            Event::AuthenticationDue(line) => {
                let at = self.now();
                self.with_bridge(|bridge| bridge.authentication_due(line, at));
            }
            Event::BridgeNoticesBreak(line) => {
                if self
                    .links
                    .get(&line)
                    .is_some_and(|line| line.open_at_bridge)
                {
                    self.close_at_bridge(line, ABNORMAL_CLOSURE);
                }
            }
            Event::Caller(step) => self.run_caller_step(step),
            Event::Fault => self.inject_fault(),
            Event::Recovers(what) => self.recover(what),
        }
    }

    pub(super) fn start_bridge(&mut self) {
        self.incarnation += 1;
        self.bridge_due = None;
        let id = format!("life{}", self.incarnation);
        let bridge = new_bridge(&self.config, &id, START_UNIX_MS, token_lifetime);
        self.trace(|| format!("{id} of the bridge begins"));
        self.bridge = Some(bridge);
    }

    /// Something happens in the bridge, if there is one. Afterwards its facts agree.
    pub(super) fn with_bridge(&mut self, event: impl FnOnce(&mut Bridge) -> Vec<Output>) {
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

    // ---- the end ----

    /// No more faults: after a while every page that was not taken over answers.
    fn assert_recovered(&mut self) {
        self.trace(|| "no more faults".to_owned());
        self.faults_enabled = false;
        self.mend_links();
        for tab in 0..self.tabs.len() {
            self.thaw_tab(tab);
        }
        self.finish_handlers();
        // What is under way gets through, and nothing that waited for it is waited for.
        let busy = self.tabs.iter().map(|tab| tab.busy_until).max();
        let until = self.stalled_until.max(busy.unwrap_or(0));
        let calm = until.max(self.queue.now()) + 10_000;
        self.run_until(calm, |_| false);
        let end = self.queue.now() + 240_000;
        self.run_until(end, |world| {
            let ended = world.checker.open_calls().is_empty();
            ended && (0..world.tabs.len()).all(|tab| world.is_settled(tab))
        });
        assert!(
            self.checker.open_calls().is_empty(),
            "without an ending: {:?}",
            self.checker.open_calls()
        );
        for tab in 0..self.tabs.len() {
            let failed = self.tabs[tab].failed.clone();
            match failed.as_deref() {
                None => self.assert_answers(tab),
                Some("SessionSuperseded") if self.is_superseded(tab) => {}
                // It lived as long as a session may.
                Some("SessionExpired") => {}
                Some(other) => panic!("tab {tab} has given up: {other}"),
            }
        }
    }

    /// The tab can be called, or is not connected for good.
    fn is_settled(&self, index: usize) -> bool {
        let tab = &self.tabs[index];
        let bridge = self.bridge.as_ref();
        let is_ready = || bridge.is_some_and(|bridge| bridge.is_ready(&tab.session, "work"));
        let line = tab.link.and_then(|line| self.links.get(&line));
        let is_whole = || line.is_some_and(|line| !line.dead && line.open_at_bridge);
        tab.failed.is_some() || (tab.connected && is_whole() && is_ready())
    }

    /// Another tab has its session.
    fn is_superseded(&self, index: usize) -> bool {
        let session = &self.tabs[index].session;
        let mut others = self.tabs.iter().filter(|other| other.session == *session);
        others.any(|other| other.failed.as_deref() != Some("SessionSuperseded"))
    }

    fn assert_answers(&mut self, tab: usize) {
        assert!(self.tabs[tab].connected, "tab {tab} is not connected");
        let call = self.call(tab, "work", 100);
        if !self.config.tabs.max_session_duration.is_zero() {
            // It lives as long as a session may, and is perhaps closed just now.
            return;
        }
        let call = call.unwrap_or_else(|| panic!("tab {tab} cannot be called"));
        let end = self.queue.now() + 60_000;
        self.run_until(end, |world| !world.checker.is_open(&call));
        let ending = self.checker.outcome(&call).map(|(_, how)| how);
        match ending {
            Some(CallOutcome::Answered) => {}
            other => panic!("tab {tab} does not answer: {other:?}"),
        }
    }

    fn close_everything(&mut self) {
        self.trace(|| "everybody leaves".to_owned());
        for tab in 0..self.tabs.len() {
            self.close_document(tab);
            self.tabs[tab].closed = true;
        }
        // Longer than silence, grace, the client's patience and the memory of apps together.
        let end = self.queue.now() + 200_000;
        self.run_until(end, |_| false);
        let left = self.bridge.as_ref().map(Bridge::counts);
        assert_eq!(left, Some(Counts::default()), "something is left");
    }

    // ---- small things ----

    pub(super) fn now(&self) -> Duration {
        Duration::from_millis(self.queue.now())
    }

    pub(super) fn new_id(&mut self) -> u64 {
        self.ids += 1;
        self.ids
    }

    /// The clock of a tab's machine, in milliseconds since the Unix epoch.
    pub(super) fn clock_of(&self, tab: usize) -> u64 {
        START_UNIX_MS - 1_800_000 + self.queue.now() + self.tabs[tab].clock_ahead_ms
    }

    /// A token that ends when its text says.
    pub(super) fn token(&self) -> String {
        match self.token_lifetime_ms {
            None => "endless-0123456789abcdef".to_owned(),
            Some(life) => format!("until-{}-0123456789abcdef", self.queue.now() + life),
        }
    }

    pub(super) fn trace(&self, what: impl FnOnce() -> String) {
        if self.tracing {
            println!("{:>8} ms  {}", self.queue.now(), what());
        }
    }
}

fn token_lifetime(token: &str) -> Option<Option<Duration>> {
    if token.starts_with("endless-") {
        return Some(None);
    }
    let end = token.strip_prefix("until-")?.split('-').next()?;
    Some(Some(Duration::from_millis(end.parse().ok()?)))
}
