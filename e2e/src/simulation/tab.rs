//! A browser's tab: one thread, a queue of tasks, and a document that can be loaded again.

use std::collections::{BTreeSet, VecDeque};

use bridge_protocol::CallId;
use web_sdk::core::{DefinitionKey, Item, Kind, Page, PageVisibility, SizedJson};

use super::world::{Event, World};
use crate::sdk_page::{PageFrames, page_info};

/// The tools of every page.
pub(super) const TOOLS: [&str; 2] = ["work", "ask"];

/// Something that a tab does when its thread is free.
#[derive(Clone, Debug)]
pub(super) enum Task {
    /// The app's token function has an answer.
    Token,
    Opened(u64),
    Frame(u64, String),
    Closed(u64, u16),
    /// A timer of this number fires, if it was not set anew.
    Timer(u64),
    /// A handler ends, with a result of so many bytes.
    Finish(CallId, usize),
    /// A handler asks the client behind its call.
    Ask(CallId),
    /// The app connects again, as somebody asked it to.
    Connect,
    /// The browser is about to suspend the page, and says so.
    Freeze(u64),
    /// It runs again: the browser says so first.
    Resume,
    /// The user does something.
    UserActs,
}

pub(super) struct Tab {
    pub(super) session: String,
    /// Counts documents over all tabs.
    pub(super) document: u64,
    pub(super) page: Page<String>,
    pub(super) frames: PageFrames,
    pub(super) link: Option<u64>,
    pub(super) tasks: VecDeque<Task>,
    /// When its current task began.
    pub(super) task_began: u64,
    /// A handler blocks the thread until then.
    pub(super) busy_until: u64,
    /// The browser lets nothing run.
    pub(super) frozen: bool,
    /// Nobody sees it again.
    pub(super) closed: bool,
    /// The number of the timer that counts.
    pub(super) timer: u64,
    pub(super) flush_requested: bool,
    pub(super) connected: bool,
    /// The page has given up, and why.
    pub(super) failed: Option<String>,
    /// Handlers that have not ended.
    pub(super) running: BTreeSet<CallId>,
    /// How far the clock of this machine is ahead, in milliseconds.
    pub(super) clock_ahead_ms: u64,
}

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
        let tab = Tab {
            session: session.to_owned(),
            document,
            page: page(session, document),
            frames: PageFrames::new(),
            link: None,
            tasks: VecDeque::new(),
            task_began: 0,
            busy_until: 0,
            frozen: false,
            closed: false,
            timer: 0,
            flush_requested: false,
            connected: false,
            failed: None,
            running: BTreeSet::new(),
            clock_ahead_ms: clock_ahead,
        };
        self.tabs.push(tab);
        self.start_document(self.tabs.len() - 1);
    }

    /// The document is loaded again: all that its code knew is gone, but for the session's id.
    pub(super) fn reload(&mut self, index: usize) {
        let document = self.new_id();
        self.close_document(index);
        let tab = &mut self.tabs[index];
        tab.document = document;
        tab.page = page(&tab.session, document);
        tab.frames = PageFrames::new();
        tab.tasks.clear();
        tab.busy_until = 0;
        tab.frozen = false;
        tab.timer = 0;
        tab.flush_requested = false;
        tab.connected = false;
        tab.failed = None;
        tab.running.clear();
        self.start_document(index);
    }

    /// The browser closes the socket of a document that goes away (1001), if that still gets through.
    pub(super) fn close_document(&mut self, index: usize) {
        let now = self.queue.now();
        let clock = self.clock_of(index);
        let tab = &mut self.tabs[index];
        if tab.frozen || tab.busy_until > now {
            // Its code does not run any more.
        } else {
            tab.page.set_now(clock);
            tab.page.leaving();
            self.perform_all(index);
        }
        if let Some(line) = self.tabs[index].link.take() {
            self.send(
                line,
                super::network::Direction::ToBridge,
                super::network::Packet::Close(1001),
            );
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
            tab.page.added(DefinitionKey(key), item, definition);
        }
        tab.page.set_now(clock);
        tab.page.connect();
        self.run_tab(index);
    }

    /// A task is due; it runs when the thread is free.
    pub(super) fn queue_task(&mut self, index: usize, document: u64, task: Task) {
        let tab = &mut self.tabs[index];
        if tab.document == document {
            tab.tasks.push_back(task);
            self.run_tab(index);
        }
    }

    /// Runs what there is to run, until the thread is blocked.
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
            } else if let Some(task) = tab.tasks.pop_front() {
                tab.task_began = now;
                self.run_task(index, task);
            } else {
                return;
            }
        }
    }
}

fn page(session: &str, document: u64) -> Page<String> {
    Page::new(page_info(session, document), PageVisibility::default())
}
