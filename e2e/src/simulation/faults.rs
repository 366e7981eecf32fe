//! What goes wrong.

use super::network::{Direction, Packet};
use super::tab::Task;
use super::world::{Event, World};

/// A fault that ends by itself.
#[derive(Clone, Copy, Debug)]
pub(super) enum Recovery {
    /// The bridge starts.
    Bridge,
    /// The tab runs again.
    Thaw(usize),
}

impl World {
    /// Something goes wrong, and something else will.
    pub(super) fn inject_fault(&mut self) {
        if !self.faults_enabled {
            return;
        }
        self.summary.faults += 1;
        let pause = self.random.span(15_000);
        self.queue.schedule_after(pause, Event::Fault);
        let tab = self.random.below(self.tabs.len() as u64) as usize;
        match self.random.below(16) {
            0..2 => self.with_link(tab, |world, line| world.cut_link(line, "between frames")),
            2..4 => self.with_link(tab, |world, line| {
                let bytes = world.random.span(3_000) as usize;
                let way = world
                    .random
                    .one_of(&[Direction::ToBridge, Direction::ToPage]);
                world.trace(|| format!("line {line} will be cut after {bytes} bytes {way:?}"));
                world.cut_after(line, way, bytes);
            }),
            4 => self.with_link(tab, |world, line| world.proxy_closes(line)),
            5 => {
                let span = self.random.span(12_000);
                self.trace(|| format!("nothing gets through for {span} ms"));
                self.stall_links(span);
            }
            6 => self.crash_bridge(),
            7 => self.stop_bridge(),
            8..11 => self.freeze_tab(tab),
            11 => {
                self.trace(|| format!("tab {tab} is loaded again"));
                self.reload(tab);
            }
            12 => self.with_link(tab, |world, line| {
                world.cut_link(line, "before a reload");
                world.reload(tab);
            }),
            13 => self.take_over(tab),
            14 => {
                let document = self.tabs[tab].document;
                self.queue_task(tab, document, Task::UserActs);
            }
            _ => {
                let document = self.tabs[tab].document;
                self.trace(|| format!("tab {tab} is asked to connect"));
                self.queue_task(tab, document, Task::Connect);
            }
        }
    }

    fn with_link(&mut self, tab: usize, fault: impl FnOnce(&mut Self, u64)) {
        if let Some(line) = self.tabs[tab].link {
            fault(self, line);
        }
    }

    /// Who sits between closes both sides, with a word of its own.
    fn proxy_closes(&mut self, line: u64) {
        let code = self.random.one_of(&[1000, 1001, 1006, 1011, 1012]);
        self.trace(|| format!("a proxy closes line {line} with {code}"));
        self.send(line, Direction::ToPage, Packet::Close(code));
        self.send(line, Direction::ToBridge, Packet::Close(code));
    }

    fn crash_bridge(&mut self) {
        if self.bridge.take().is_none() {
            return;
        }
        let now = self.queue.now();
        self.trace(|| "the bridge crashes".to_owned());
        self.checker.bridge_crashed(self.incarnation, now);
        self.reset_all_links();
        let down = self.random.span(8_000);
        self.queue
            .schedule_after(down, Event::Recovers(Recovery::Bridge));
    }

    /// An operator stops the bridge: it says so, and then its process ends.
    fn stop_bridge(&mut self) {
        self.trace(|| "the bridge is stopped".to_owned());
        let at = self.now();
        self.with_bridge(|bridge| bridge.stop(at));
        let Some(bridge) = self.bridge.take() else {
            return;
        };
        assert_eq!(bridge.counts().calls, 0, "a bridge that stopped has calls");
        for line in self.links.values_mut() {
            line.open_at_bridge = false;
        }
        let down = self.random.span(8_000);
        self.queue
            .schedule_after(down, Event::Recovers(Recovery::Bridge));
    }

    /// With a word before, as browsers do, or without, as a laptop's lid.
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
            self.trace(|| format!("tab {tab} stands still for {span} ms"));
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

    /// Another tab comes with the session of this one.
    fn take_over(&mut self, tab: usize) {
        if self.tabs.len() < 5 {
            let session = self.tabs[tab].session.clone();
            self.trace(|| format!("a new tab takes {session} over"));
            self.open_tab(&session);
        }
    }

    pub(super) fn recover(&mut self, what: Recovery) {
        match what {
            Recovery::Bridge => self.start_bridge(),
            Recovery::Thaw(tab) => {
                self.trace(|| format!("tab {tab} runs again"));
                self.thaw_tab(tab);
            }
        }
    }
}
