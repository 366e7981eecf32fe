//! Runs work in the thread of a window and returns the result, within a time limit.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mcp_web_sdk::page::{ActionCode, ActionFailure};
use tokio::sync::oneshot;

use crate::window::OpenWindow;

thread_local! {
    /// The windows that are offered, in the thread of the event loop.
    static WINDOWS: RefCell<BTreeMap<u64, Rc<OpenWindow>>> = const { RefCell::new(BTreeMap::new()) };
}

/// A handle to a window from another thread.
#[derive(Clone, Debug)]
pub(crate) struct WindowThread {
    id: u64,
    timeout: Duration,
}

impl WindowThread {
    /// Opens a window to calls. Call this in the thread of the window.
    pub(crate) fn open(window: OpenWindow, timeout: Duration) -> Self {
        static LATEST: AtomicU64 = AtomicU64::new(0);
        let id = LATEST.fetch_add(1, Ordering::Relaxed);
        WINDOWS.with_borrow_mut(|windows| windows.insert(id, Rc::new(window)));
        Self { id, timeout }
    }

    /// Closes a window to calls, in its thread.
    pub(crate) fn close(&self) {
        WINDOWS.with_borrow_mut(|windows| windows.remove(&self.id));
    }

    /// Returns whether the window is shown, in its thread.
    pub(crate) fn is_open(&self) -> bool {
        let open = WINDOWS.with_borrow(|windows| windows.get(&self.id).cloned());
        open.is_some_and(|open| open.adapter().is_some())
    }

    /// Runs work in the thread of the window, and returns the result. Work that has not begun when
    /// the time limit passes, or when this future is dropped, never begins.
    pub(crate) async fn run<Output: Send + 'static>(
        &self,
        work: impl FnOnce(&OpenWindow, &slint::Window) -> Output + Send + 'static,
    ) -> Result<Output, ActionFailure> {
        let (sender, receiver) = oneshot::channel();
        let id = self.id;
        let sent = slint::invoke_from_event_loop(move || {
            if sender.is_closed() {
                return;
            }
            if let Some(output) = in_window(id, work) {
                let _ = sender.send(output);
            }
        });
        if sent.is_err() {
            return Err(closed());
        }
        match tokio::time::timeout(self.timeout, receiver).await {
            Ok(Ok(output)) => Ok(output),
            Ok(Err(_)) => Err(closed()),
            Err(_) => Err(self.blocked()),
        }
    }

    /// Runs work in the thread of the window later, without waiting for it.
    pub(crate) fn run_later(
        &self,
        work: impl FnOnce(&OpenWindow, &slint::Window) + Send + 'static,
    ) {
        let id = self.id;
        // If the program is ending, the work is not needed.
        let _ = slint::invoke_from_event_loop(move || {
            in_window(id, work);
        });
    }

    fn blocked(&self) -> ActionFailure {
        let seconds = self.timeout.as_secs_f64();
        ActionFailure::new(
            ActionCode::ActionTimeout,
            format!(
                "the window has not answered for {seconds} s: the program is busy; wait, then take a page_snapshot to see what happened"
            ),
        )
    }
}

/// Runs work with a window that is still open. The list of windows is not borrowed meanwhile: the
/// work may run a handler of the app, which opens or closes one.
fn in_window<Output>(
    id: u64,
    work: impl FnOnce(&OpenWindow, &slint::Window) -> Output,
) -> Option<Output> {
    let open = WINDOWS.with_borrow(|windows| windows.get(&id).cloned())?;
    let adapter = open.adapter()?;
    Some(work(&open, adapter.window()))
}

fn closed() -> ActionFailure {
    ActionFailure::new(
        ActionCode::ActionFailed,
        "the window is closed: list_active_sessions shows what is open",
    )
}
