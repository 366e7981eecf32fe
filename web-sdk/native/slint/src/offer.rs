//! How a window is offered to AI clients, and ends.

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

/// How soon a window that was closed leaves. Slint has no event for it that a library may use beside the
/// app.
const CLOSED_INTERVAL: Duration = Duration::from_millis(50);
/// The most handles of a window.
const MAX_HANDLES: usize = 10_000;

/// How AI clients may use a window.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct WindowOptions {
    /// What the window is called in results: its `pageId`.
    pub page_id: String,
    /// So long a call waits for the thread of the window, 5 s by default. A call that finds the window
    /// blocked fails then, and the connection stays.
    pub window_timeout: Duration,
    /// Which tools there are, how a window is written, and the limits. There are pictures by default.
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

/// A window that is offered. When it is closed, its session leaves by itself.
///
/// Dropping this ends the session, too, and waits until the bridge has heard of it, 4 s at most.
pub struct OfferedWindow {
    tools: PageTools,
    end: Rc<RefCell<End>>,
    /// It ends with this.
    _timer: Timer,
}

/// How the session of a window ends: once.
struct End {
    app: McpWeb,
    thread: WindowThread,
    /// The thread that disconnects, once it has begun.
    leaving: Option<JoinHandle<()>>,
}

/// Offers a window to AI clients: they read it as text, use it as its user does, and take pictures of
/// it. It is to be called in the thread of the event loop.
///
/// The session of `app` is that of this window: when the window is closed, or hidden by the program, it
/// leaves. Other windows are other sessions, each with an [`McpWeb`] of its own. Tools of the app itself
/// are added to `app` as in any program.
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

    /// Ends the session, and waits until the bridge has heard of it, 4 s at most. A program calls it
    /// after its event loop, so that AI clients hear at once that the window is gone.
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
            // A panic in it was printed there.
            let _ = leaving.join();
        }
    }
}

impl End {
    /// Disconnects in a thread of its own: the bridge answers when it can, and windows do not wait.
    fn begin(&mut self) {
        self.thread.close();
        if self.leaving.is_some() {
            return;
        }
        let app = self.app.clone();
        self.leaving = Some(std::thread::spawn(move || app.blocking_disconnect()));
    }
}
