//! Injects faults.

use super::World;
use super::event::{Event, Recovery};
use super::link::{Direction, Packet};
use super::task::Task;

impl World {
    /// Injects one fault, and schedules the next one.
    pub(super) fn inject_fault(&mut self) {
        if !self.faults_enabled {
            return;
        }
        self.summary.faults += 1;
        let pause = self.random.span(15_000);
        self.queue.schedule_after(pause, Event::Fault);
        let tab = self.random.below(self.tabs.len() as u64) as usize;
        match self.random.below(22) {
            0..2 => self.with_link(tab, |world, link| world.cut_link(link, "between frames")),
            2..4 => self.with_link(tab, |world, link| {
                let bytes = world.random.span(3_000) as usize;
                let direction = world
                    .random
                    .one_of(&[Direction::ToBridge, Direction::ToPage]);
                world.trace(|| format!("link {link} breaks after {bytes} bytes {direction:?}"));
                world.cut_after(link, direction, bytes);
            }),
            4 => self.with_link(tab, |world, link| world.proxy_closes(link)),
            5 => {
                let span = self.random.span(12_000);
                self.trace(|| format!("all links stall for {span} ms"));
                self.stall_links(span);
            }
            6 => self.crash_bridge(),
            7 => self.stop_bridge(),
            8..11 => self.freeze_tab(tab),
            11 => {
                self.trace(|| format!("tab {tab} reloads"));
                self.reload(tab);
            }
            12 => self.with_link(tab, |world, link| {
                world.cut_link(link, "before a reload");
                world.reload(tab);
            }),
            13 => self.take_over(tab),
            14 => {
                let document = self.tabs[tab].document;
                self.queue_task(tab, document, Task::UserActs);
            }
            15 | 16 => {
                let span = self.random.span(15_000);
                self.stop_process(span);
            }
            17..20 => {
                self.trace(|| format!("tab {tab} loads another document"));
                self.load_next(tab);
            }
            20 => {
                let span = self.random.span(15_000);
                self.pause_machine(span);
            }
            _ => {
                let document = self.tabs[tab].document;
                self.trace(|| format!("tab {tab} connects again"));
                self.queue_task(tab, document, Task::Connect);
            }
        }
    }

    fn with_link(&mut self, tab: usize, fault: impl FnOnce(&mut Self, u64)) {
        if let Some(link) = self.tabs[tab].link {
            fault(self, link);
        }
    }

    /// Closes a connection on both sides with an unusual code, as an intermediary does.
    fn proxy_closes(&mut self, link: u64) {
        let code = self.random.one_of(&[1000, 1001, 1006, 1011, 1012]);
        self.trace(|| format!("a proxy closes link {link} with {code}"));
        self.send(link, Direction::ToPage, Packet::Close(code));
        self.send(link, Direction::ToBridge, Packet::Close(code));
    }

    /// Pauses the machine on which the bridge and all tabs run.
    fn pause_machine(&mut self, span: u64) {
        self.trace(|| "the machine is paused".to_owned());
        self.stop_process(span);
        self.stall_links(span);
        for tab in 0..self.tabs.len() {
            self.pause_tab(tab, span);
        }
    }

    fn crash_bridge(&mut self) {
        if self.bridge.take().is_none() {
            return;
        }
        self.continue_process();
        let now = self.queue.now();
        self.trace(|| "the bridge crashes".to_owned());
        self.checker.bridge_crashed(self.incarnation, now);
        self.reset_all_links();
        let down = self.random.span(8_000);
        self.queue
            .schedule_after(down, Event::Recovers(Recovery::Bridge));
    }

    /// Stops the bridge as an operator does: it closes its connections before its process ends.
    fn stop_bridge(&mut self) {
        self.continue_process();
        self.trace(|| "the bridge is stopped".to_owned());
        let at = self.now();
        self.with_bridge(|bridge| bridge.stop(at));
        let Some(bridge) = self.bridge.take() else {
            return;
        };
        assert_eq!(bridge.counts().calls, 0, "a stopped bridge still has calls");
        for link in self.links.values_mut() {
            link.open_at_bridge = false;
        }
        let down = self.random.span(8_000);
        self.queue
            .schedule_after(down, Event::Recovers(Recovery::Bridge));
    }

    /// Suspends a tab: with an event beforehand as browsers do, or without as when a laptop's lid
    /// closes.
    fn freeze_tab(&mut self, tab: usize) {
        let span = self.random.span(40_000);
        if self.random.percent(50) {
            let document = self.tabs[tab].document;
            return self.queue_task(tab, document, Task::Freeze(span));
        }
        self.pause_tab(tab, span);
    }

    pub(super) fn pause_tab(&mut self, tab: usize, span: u64) {
        if !std::mem::replace(&mut self.tabs[tab].frozen, true) {
            self.trace(|| format!("tab {tab} is suspended for {span} ms"));
            self.queue
                .schedule_after(span, Event::Recovers(Recovery::Thaw(tab)));
        }
    }

    pub(super) fn thaw_tab(&mut self, tab: usize) {
        if std::mem::take(&mut self.tabs[tab].frozen) {
            self.tabs[tab].tasks.push_front(Task::Resume);
        }
        self.run_tab(tab);
    }

    /// Connects another tab with the session of this one.
    fn take_over(&mut self, tab: usize) {
        if self.tabs.len() < 5 {
            let session = self.tabs[tab].session.clone();
            self.trace(|| format!("a new tab takes {session} over"));
            self.open_tab(&session);
        }
    }

    pub(super) fn recover(&mut self, recovery: Recovery) {
        match recovery {
            Recovery::Bridge => self.start_bridge(),
            Recovery::GoBack(tab, document) => self.go_back(tab, document),
            Recovery::BridgeProcess => self.continue_process(),
            Recovery::Thaw(tab) => {
                self.trace(|| format!("tab {tab} runs again"));
                self.thaw_tab(tab);
            }
        }
    }
}
