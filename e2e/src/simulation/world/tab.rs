//! The state of one tab of a browser.

use std::collections::{BTreeSet, VecDeque};

use bridge_protocol::CallId;
use mcp_web_sdk::frames::PageFrames;
use web_sdk_core::{Page, PageVisibility};

use super::task::Task;
use crate::sdk_page::page_info;

/// The tools that every page registers.
pub(super) const TOOLS: [&str; 4] = ["work", "ask", READ, NAVIGATE];

/// The tool that loads another document.
pub(super) const NAVIGATE: &str = "navigate";

/// The tool that may be called again without harm, and often answers at once.
pub(super) const READ: &str = "read";

/// A tab of a browser: one thread, a queue of tasks, and a document that can be reloaded.
pub(super) struct Tab {
    pub(super) session: String,
    /// The number of the document; no two documents of a schedule have the same.
    pub(super) document: u64,
    pub(super) page: Page<String>,
    pub(super) frames: PageFrames,
    pub(super) link: Option<u64>,
    pub(super) tasks: VecDeque<Task>,
    /// A handler blocks the thread until this time.
    pub(super) busy_until: u64,
    /// The browser has suspended the page: no task runs.
    pub(super) frozen: bool,
    /// The tab was closed for good.
    pub(super) closed: bool,
    /// The number of the timer that is set; 0 when there is none.
    pub(super) timer: u64,
    pub(super) flush_requested: bool,
    /// Whether a task is scheduled that reports the end of the previous one to the page.
    pub(super) task_scheduled: bool,
    pub(super) connected: bool,
    /// Why the page has given up.
    pub(super) failed: Option<String>,
    /// The calls whose handlers have not ended.
    pub(super) running: BTreeSet<CallId>,
    /// The documents before in the back/forward cache, the latest last.
    pub(super) former: Vec<Tab>,
    /// How far the clock of the tab's machine is ahead, in milliseconds.
    pub(super) clock_ahead_ms: u64,
}

impl Tab {
    pub(super) fn new(session: &str, document: u64, clock_ahead_ms: u64) -> Self {
        Self {
            session: session.to_owned(),
            document,
            page: Page::new(page_info(session, document), PageVisibility::default()),
            frames: PageFrames::default(),
            link: None,
            tasks: VecDeque::new(),
            busy_until: 0,
            frozen: false,
            closed: false,
            timer: 0,
            flush_requested: false,
            task_scheduled: false,
            connected: false,
            failed: None,
            running: BTreeSet::new(),
            former: Vec::new(),
            clock_ahead_ms,
        }
    }
}
