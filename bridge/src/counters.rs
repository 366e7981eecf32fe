//! The counters of a running bridge: the calls of clients, and the stalls of the bridge itself.
//!
//! A call that succeeds costs two atomic additions, and a call that fails costs three.

mod calls;
mod event_loop;

pub(crate) use calls::{CallCounters, CallKind, CountedEnd, DURATION_BOUNDS};
pub(crate) use event_loop::EventLoopCounters;

/// The counters of one bridge.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) calls: CallCounters,
    pub(crate) event_loop: EventLoopCounters,
}
