//! The process of the bridge while it is stopped.

use super::event::Event;

/// The events that wait for a stopped process.
#[derive(Debug, Default)]
pub(super) struct StoppedProcess {
    pub(super) since: u64,
    /// The events that have reached the process, in order.
    pub(super) events: Vec<Event>,
}
