//! A schedule from the first fault to the end, and the checks at its end.

use bridge::in_memory::{ABNORMAL_CLOSURE, Counts, InMemoryBridge};

use super::World;
use super::event::{CallerStep, Event};
use crate::simulation::invariants::CallOutcome;
use crate::simulation::summary::Summary;

impl World {
    pub(in crate::simulation) fn run(mut self) -> Summary {
        self.start_bridge();
        for tab in 0..self.random.between(1, 3) {
            self.open_tab(&format!("tab-{tab}"));
        }
        let length = self.random.between(15_000, 70_000);
        for _ in 0..self.random.between(5, 25) {
            let time = self.random.below(length);
            self.queue
                .schedule_at(time, Event::Caller(CallerStep::Call));
        }
        let first = self.random.span(4_000);
        self.queue.schedule_at(first, Event::Fault);
        self.run_until(length, |_| false);
        self.assert_recovered();
        self.close_everything();
        self.summary.calls = self.checker.count_made();
        self.summary.answered = self.checker.count_answered();
        self.summary.executed = self.checker.count_executed();
        self.summary.continued = self.checker.count_continued();
        self.summary
    }

    /// Dispatches events until the time `end`, or until the condition is true.
    fn run_until(&mut self, end: u64, condition: impl Fn(&Self) -> bool) {
        while !condition(self) {
            let Some(event) = self.queue.pop_before(end) else {
                return self.queue.advance_to(end);
            };
            self.dispatch(event);
        }
    }

    pub(super) fn dispatch(&mut self, event: Event) {
        let Some(event) = self.reaches(event) else {
            return;
        };
        match event {
            Event::PacketArrives {
                link,
                direction,
                packet,
            } => self.deliver(link, direction, packet),
            Event::TabTask {
                tab,
                document,
                task,
            } => self.queue_task(tab, document, task),
            Event::TabRuns(tab) => self.run_tab(tab),
            Event::BridgeDue(incarnation) if incarnation == self.incarnation => {
                self.bridge_due = None;
                let now = self.now();
                self.with_bridge(|bridge| bridge.deadline_passed(now));
            }
            Event::BridgeDue(_) => {}
            Event::AuthenticationDue(link) => {
                let now = self.now();
                self.with_bridge(|bridge| bridge.authentication_due(link, now));
            }
            Event::BridgeHasRead { link, probe } => {
                let now = self.now();
                self.with_bridge(|bridge| bridge.connection_read(link, probe, now));
            }
            Event::BridgeNoticesBreak(id) => {
                if self.links.get(&id).is_some_and(|link| link.open_at_bridge) {
                    self.close_at_bridge(id, ABNORMAL_CLOSURE);
                }
            }
            Event::Caller(step) => self.run_caller_step(step),
            Event::Fault => self.inject_fault(),
            Event::Recovers(recovery) => self.recover(recovery),
        }
    }

    /// Stops the faults and checks that, after a while, every page that was not taken over answers.
    fn assert_recovered(&mut self) {
        self.trace(|| "no more faults".to_owned());
        self.faults_enabled = false;
        self.mend_links();
        self.continue_process();
        for tab in 0..self.tabs.len() {
            self.thaw_tab(tab);
        }
        self.finish_handlers();
        // Packets that are under way arrive, and no handler blocks a thread any more.
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
            "calls that have not ended: {:?}",
            self.checker.open_calls()
        );
        for tab in 0..self.tabs.len() {
            let failed = self.tabs[tab].failed.clone();
            match failed.as_deref() {
                None => self.assert_answers(tab),
                Some("SessionSuperseded") if self.is_superseded(tab) => {}
                // The session has reached its maximum duration.
                Some("SessionExpired") => {}
                Some(other) => panic!("tab {tab} has given up: {other}"),
            }
        }
    }

    /// Returns whether the tab can be called, or has given up.
    fn is_settled(&self, index: usize) -> bool {
        let tab = &self.tabs[index];
        let bridge = self.bridge.as_ref();
        let is_ready = || bridge.is_some_and(|bridge| bridge.is_ready(&tab.session, "work"));
        let link = tab.link.and_then(|id| self.links.get(&id));
        let is_open = || link.is_some_and(|link| !link.dead && link.open_at_bridge);
        tab.failed.is_some() || (tab.connected && is_open() && is_ready())
    }

    /// Returns whether another tab has taken over the session of this one.
    fn is_superseded(&self, index: usize) -> bool {
        let session = &self.tabs[index].session;
        let mut others = self.tabs.iter().filter(|other| other.session == *session);
        others.any(|other| other.failed.as_deref() != Some("SessionSuperseded"))
    }

    fn assert_answers(&mut self, tab: usize) {
        // A token may expire while the other tabs are checked.
        let end = self.queue.now() + 240_000;
        self.run_until(end, |world| world.is_settled(tab));
        assert!(self.tabs[tab].connected, "tab {tab} is not connected");
        let call = self.call(tab, "work", 100);
        if !self.config.page_timings.max_session_duration.is_zero() {
            // The session may reach its maximum duration at this very moment.
            return;
        }
        let call = call.unwrap_or_else(|| panic!("tab {tab} cannot be called"));
        let end = self.queue.now() + 60_000;
        self.run_until(end, |world| !world.checker.is_open(&call));
        match self.checker.outcome(&call) {
            Some(CallOutcome::Answered) => {}
            other => panic!("tab {tab} does not answer: {other:?}"),
        }
    }

    fn close_everything(&mut self) {
        self.trace(|| "all tabs are closed".to_owned());
        for tab in 0..self.tabs.len() {
            self.close_document(tab);
            self.tabs[tab].closed = true;
        }
        // Longer than the silence limit, the grace period, the timeouts of clients and the memory
        // of apps together.
        let end = self.queue.now() + 200_000;
        self.run_until(end, |_| false);
        let left = self.bridge.as_ref().map(InMemoryBridge::counts);
        assert_eq!(
            left,
            Some(Counts::default()),
            "the bridge still holds state"
        );
    }
}
