//! The events of a schedule.

use bridge_protocol::CallId;

use super::link::{Direction, Packet};
use super::task::Task;

/// Something that happens at a point in virtual time.
#[derive(Debug)]
pub(super) enum Event {
    PacketArrives {
        link: u64,
        direction: Direction,
        packet: Packet,
    },
    TabTask {
        tab: usize,
        document: u64,
        task: Task,
    },
    /// The thread of a tab may be free.
    TabRuns(usize),
    /// A deadline of the bridge with this incarnation passes.
    BridgeDue(u32),
    /// The time limit for `authenticate` on this link has passed.
    AuthenticationDue(u64),
    /// The bridge has read everything that arrived on a link before this ping.
    BridgeHasRead {
        link: u64,
        probe: u64,
    },
    /// The bridge notices that a link is dead.
    BridgeNoticesBreak(u64),
    Caller(CallerStep),
    Fault,
    Recovers(Recovery),
}

/// An action of a caller at a later time.
#[derive(Clone, Debug)]
pub(super) enum CallerStep {
    Call,
    Cancel(CallId),
    /// The client answers a request of the page.
    Answer(CallId, String),
    /// The client calls again with its answers (MCP 2026-07-28).
    Resume(CallId, u64, Vec<String>),
}

/// The end of a fault that does not last.
#[derive(Clone, Copy, Debug)]
pub(super) enum Recovery {
    /// The bridge starts again.
    Bridge,
    /// The process of the bridge, which was stopped, runs again.
    BridgeProcess,
    /// The tab runs again.
    Thaw(usize),
    /// The user goes back from this document of a tab.
    GoBack(usize, u64),
}
