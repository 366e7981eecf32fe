//! The tasks of a page's thread.

use bridge_protocol::CallId;

/// A task that a tab runs when its thread is free.
#[derive(Clone, Debug)]
pub(super) enum Task {
    /// The token function of the app returns.
    Token,
    Opened(u64),
    Frame(u64, String),
    Closed(u64, u16),
    /// The timer with this number fires, unless it was replaced.
    Timer(u64),
    /// A handler ends with a result of this many bytes.
    Finish(CallId, usize),
    /// The handler of a call arms the hand-over of it, or disarms it.
    HandOver(CallId, bool),
    /// The handler of a call loads another document.
    Navigate(CallId),
    /// A handler sends a request to the client of its call.
    Ask(CallId),
    /// The task has ended in which handlers were started.
    Ended,
    /// The app connects again, for example because the user asked for it.
    Connect,
    /// The browser announces that it suspends the page for this many milliseconds.
    Freeze(u64),
    /// The browser announces that the page runs again.
    Resume,
    /// The user interacts with the page.
    UserActs,
}
