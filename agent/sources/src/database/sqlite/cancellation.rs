//! Stops the statements of a call: at its deadline, or when its caller has stopped waiting.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use rusqlite::{Connection, InterruptHandle};

/// How many instructions SQLite executes between two looks at the time. One of them can take a
/// millisecond, such as a function of a long text.
const INSTRUCTIONS_PER_LOOK: i32 = 100;

/// Whether and when the statements of a call must stop.
pub(super) struct Cancellation {
    deadline: Instant,
    is_cancelled: AtomicBool,
    /// Stops also an instruction that takes long, such as counting the rows of a large table.
    interrupt: Mutex<Option<InterruptHandle>>,
}

/// Cancels a call when it is dropped.
pub(super) struct CancelOnDrop(pub(super) Arc<Cancellation>);

impl Cancellation {
    pub(super) fn new(deadline: Instant) -> Self {
        Self {
            deadline,
            is_cancelled: AtomicBool::new(false),
            interrupt: Mutex::new(None),
        }
    }

    /// Makes a connection stop its statements.
    pub(super) fn watch(self: &Arc<Self>, connection: &mut Connection) -> rusqlite::Result<()> {
        let handle = connection.get_interrupt_handle();
        *self
            .interrupt
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(handle);
        let cancellation = Arc::clone(self);
        connection.progress_handler(
            INSTRUCTIONS_PER_LOOK,
            Some(move || cancellation.must_stop()),
        )
    }

    pub(super) fn must_stop(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed) || Instant::now() >= self.deadline
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.is_cancelled.store(true, Ordering::Relaxed);
        let interrupt = &self.0.interrupt;
        if let Some(handle) = &*interrupt.lock().unwrap_or_else(PoisonError::into_inner) {
            handle.interrupt();
        }
    }
}
