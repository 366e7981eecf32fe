//! Loads, reloads and closes the documents of tabs, and runs their tasks.

use web_sdk_core::{DefinitionKey, Item, Kind, SizedJson};

use super::World;
use super::event::{Event, Recovery};
use super::link::{Direction, Packet};
use super::tab::{READ, TOOLS, Tab};
use super::task::Task;

/// The most documents that a tab has in the back/forward cache.
const MAX_FORMER_DOCUMENTS: usize = 2;

impl World {
    pub(super) fn open_tab(&mut self, session: &str) {
        let document = self.new_id();
        // Two tabs with one session are tabs of one browser, and have its clock.
        let same = self.tabs.iter().find(|tab| tab.session == session);
        let clock_ahead = match (same.map(|tab| tab.clock_ahead_ms), self.random.below(3)) {
            (Some(ahead), _) => ahead,
            (None, 0) => self.random.below(3_600_000),
            (None, _) => 1_800_000,
        };
        self.tabs.push(Tab::new(session, document, clock_ahead));
        self.start_document(self.tabs.len() - 1);
    }

    /// Loads the document again: of all state, only the session's id survives.
    pub(super) fn reload(&mut self, index: usize) {
        let document = self.new_id();
        self.close_document(index);
        let tab = &mut self.tabs[index];
        *tab = Tab {
            closed: tab.closed,
            former: std::mem::take(&mut tab.former),
            ..Tab::new(&tab.session, document, tab.clock_ahead_ms)
        };
        self.start_document(index);
    }

    /// Loads another document. The former one may stay in the back/forward cache.
    pub(super) fn load_next(&mut self, index: usize) {
        let tab = &self.tabs[index];
        let runs = !tab.frozen && tab.busy_until <= self.queue.now() && tab.failed.is_none();
        if !runs || tab.former.len() >= MAX_FORMER_DOCUMENTS || self.random.percent(50) {
            return self.reload(index);
        }
        self.trace(|| format!("tab {index} puts its document aside"));
        let document = self.new_id();
        self.put_aside(index);
        let tab = &mut self.tabs[index];
        let next = Tab::new(&tab.session, document, tab.clock_ahead_ms);
        let mut former = std::mem::replace(tab, next);
        tab.former = std::mem::take(&mut former.former);
        tab.former.push(former);
        self.start_document(index);
        let back = self.random.span(20_000);
        self.queue
            .schedule_after(back, Event::Recovers(Recovery::GoBack(index, document)));
    }

    /// The user goes back to the document before, which ends this one.
    pub(super) fn go_back(&mut self, index: usize, document: u64) {
        let tab = &mut self.tabs[index];
        if tab.document != document || tab.closed || tab.frozen || !self.faults_enabled {
            return;
        }
        let Some(former) = tab.former.pop() else {
            return;
        };
        self.trace(|| format!("tab {index} goes back"));
        let document = self.new_id();
        self.close_document(index);
        let tab = &mut self.tabs[index];
        let left = std::mem::replace(tab, former);
        tab.former = left.former;
        // Earlier tasks are late, and the result of a handler whose call has ended is dropped.
        tab.document = document;
        tab.tasks.push_back(Task::Timer(tab.timer));
        let clock = self.clock_of(index);
        let tab = &mut self.tabs[index];
        tab.page.set_now(clock);
        tab.page.resumed();
        self.run_tab(index);
    }

    /// Puts the document into the back/forward cache.
    fn put_aside(&mut self, index: usize) {
        let clock = self.clock_of(index);
        let random = self.random.fraction();
        let tab = &mut self.tabs[index];
        tab.page.set_now(clock);
        tab.page.entered_bfcache(random);
        self.perform_all(index);
        let tab = &mut self.tabs[index];
        tab.tasks.clear();
        if let Some(link) = tab.link.take() {
            self.send(link, Direction::ToBridge, Packet::Close(1001));
        }
    }

    /// Closes the socket of the document with code 1001, as a browser does on navigation.
    pub(super) fn close_document(&mut self, index: usize) {
        let now = self.queue.now();
        let clock = self.clock_of(index);
        let tab = &mut self.tabs[index];
        // Code of a frozen or blocked page no longer runs.
        if !tab.frozen && tab.busy_until <= now {
            tab.page.set_now(clock);
            tab.page.leaving();
            self.perform_all(index);
        }
        if let Some(link) = self.tabs[index].link.take() {
            self.send(link, Direction::ToBridge, Packet::Close(1001));
        }
    }

    fn start_document(&mut self, index: usize) {
        let clock = self.clock_of(index);
        let tab = &mut self.tabs[index];
        for (key, name) in (0..).zip(TOOLS) {
            let definition = format!(r#"{{"name":"{name}"}}"#);
            let item = Item {
                kind: Kind::Tool,
                name: name.to_owned(),
            };
            let definition = SizedJson {
                bytes: definition.len(),
                json: definition,
            };
            tab.page
                .definition_added(DefinitionKey(key), item, definition, name == READ);
        }
        tab.page.set_now(clock);
        tab.page.connect();
        self.run_tab(index);
    }

    /// Appends a task to the queue of a document that is still loaded.
    pub(super) fn queue_task(&mut self, index: usize, document: u64, task: Task) {
        let tab = &mut self.tabs[index];
        if tab.document == document {
            tab.tasks.push_back(task);
            self.run_tab(index);
        }
    }

    /// Runs tasks until the queue is empty or the thread is blocked.
    pub(super) fn run_tab(&mut self, index: usize) {
        loop {
            let now = self.queue.now();
            let clock = self.clock_of(index);
            let tab = &mut self.tabs[index];
            if tab.frozen || tab.closed {
                return;
            }
            if tab.busy_until > now {
                let at = tab.busy_until;
                return self.queue.schedule_at(at, Event::TabRuns(index));
            }
            if let Some(effect) = tab.page.next_effect() {
                self.perform(index, effect);
            } else if std::mem::take(&mut tab.flush_requested) {
                tab.page.set_now(clock);
                tab.page.flush();
            } else if std::mem::take(&mut tab.task_scheduled) {
                // Other tasks may run before, as in a browser.
                let task = Task::Ended;
                let at = self.random.below(tab.tasks.len() as u64 + 1) as usize;
                tab.tasks.insert(at, task);
            } else if let Some(task) = tab.tasks.pop_front() {
                self.run_task(index, task);
            } else {
                return;
            }
        }
    }
}
