//! Offers a window to AI clients, and ends its session.

use std::cell::RefCell;
use std::rc::Rc;
use std::thread::JoinHandle;
use std::time::Duration;

use mcp_web_sdk::McpWeb;
use mcp_web_sdk::page::{PageInfo, PageTools, PageToolsOptions};
use slint::{ComponentHandle, Timer, TimerMode};

use crate::driver::WindowDriver;
use crate::window::OpenWindow;
use crate::window_thread::WindowThread;

/// Interval at which a closed window is detected. Slint has no event for this that a library can
/// use without interfering with the app.
const CLOSED_INTERVAL: Duration = Duration::from_millis(50);
/// Maximum number of handles of a window.
const MAX_HANDLES: usize = 10_000;

/// Options for how AI clients may use a window.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct WindowOptions {
    /// The name of the window in results: its `pageId`.
    pub page_id: String,
    /// How long a call waits for the thread of the window, 5 s by default. A call to a blocked
    /// window then fails, and the connection stays open.
    pub window_timeout: Duration,
    /// The tools, the format of the window's text, and the limits. Pictures are enabled by default.
    pub tools: PageToolsOptions,
}

impl Default for WindowOptions {
    fn default() -> Self {
        Self {
            page_id: "window".to_owned(),
            window_timeout: Duration::from_secs(5),
            tools: PageToolsOptions {
                has_pictures: true,
                ..PageToolsOptions::default()
            },
        }
    }
}

/// A window that is offered. When the window closes, its session ends automatically.
///
/// Dropping this also ends the session, and waits until the bridge has been notified, at most 4 s.
pub struct OfferedWindow {
    tools: PageTools,
    end: Rc<RefCell<End>>,
    /// Dropped together with this, which stops it.
    _timer: Timer,
}

/// Ends the session of a window once.
struct End {
    app: McpWeb,
    thread: WindowThread,
    /// The thread that disconnects, once it has started.
    leaving: Option<JoinHandle<()>>,
}

/// Offers a window to AI clients: they can read it as text, use it as its user does, and take
/// pictures of it. Call this in the thread of the event loop.
///
/// The session of `app` belongs to this window: it ends when the window is closed, or hidden by the
/// program. Other windows have separate sessions, each with its own [`McpWeb`]. Tools of the app
/// itself are added to `app` as in any program.
pub fn offer_window(
    app: &McpWeb,
    window: &impl ComponentHandle,
    options: WindowOptions,
) -> OfferedWindow {
    let open = OpenWindow::new(window.window(), MAX_HANDLES);
    let thread = WindowThread::open(open, options.window_timeout);
    let page = PageInfo {
        title: options.page_id.clone(),
        page_id: options.page_id,
        url: None,
    };
    let driver = WindowDriver::new(thread.clone(), page);
    let tools = PageTools::enable(app, driver, options.tools);
    let end = Rc::new(RefCell::new(End {
        app: app.clone(),
        thread: thread.clone(),
        leaving: None,
    }));
    let timer = Timer::default();
    let ended = end.clone();
    // A window may be offered before it is shown.
    let mut was_open = thread.is_open();
    timer.start(TimerMode::Repeated, CLOSED_INTERVAL, move || {
        let is_open = thread.is_open();
        if was_open && !is_open {
            ended.borrow_mut().begin();
        }
        was_open = is_open;
    });
    OfferedWindow {
        tools,
        end,
        _timer: timer,
    }
}

impl OfferedWindow {
    /// Returns the page tools of the window.
    pub fn tools(&self) -> &PageTools {
        &self.tools
    }

    /// Ends the session, and waits until the bridge has been notified, at most 4 s. Call this after
    /// the event loop, so that AI clients see immediately that the window is gone.
    pub fn leave(self) {}
}

impl Drop for OfferedWindow {
    fn drop(&mut self) {
        let leaving = {
            let mut end = self.end.borrow_mut();
            end.begin();
            end.leaving.take()
        };
        if let Some(leaving) = leaving {
            // A panic there was already printed.
            let _ = leaving.join();
        }
    }
}

impl End {
    /// Disconnects in a separate thread: the bridge may take time to answer, and windows must not
    /// block.
    fn begin(&mut self) {
        self.thread.close();
        if self.leaving.is_some() {
            return;
        }
        let app = self.app.clone();
        self.leaving = Some(std::thread::spawn(move || app.blocking_disconnect()));
    }
}
