//! The counters of a running bridge: the calls of clients, the stalls of the bridge itself, and the
//! reloads of its settings.
//!
//! A call that succeeds costs two atomic additions, and a call that fails costs three.

mod calls;
mod event_loop;
mod reloads;

pub(crate) use calls::{CallCounters, CallKind, CountedEnd, DURATION_BOUNDS};
pub(crate) use event_loop::EventLoopCounters;
pub(crate) use reloads::{ReloadCounters, ReloadOutcome};

/// The counters of one bridge.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) calls: CallCounters,
    pub(crate) event_loop: EventLoopCounters,
    pub(crate) reloads: ReloadCounters,
}
