//! Stops the process of the bridge for a while, as `SIGSTOP` or a paused machine does: what reaches
//! it meanwhile waits, and so do its timers.

use std::time::Duration;

use super::World;
use super::event::{Event, Recovery};
use super::link::Direction;
use super::stopped_process::StoppedProcess;

/// The bridge notices when its process did not run for this long.
const MIN_STALL_MS: u64 = 1_000;

impl World {
    pub(super) fn stop_process(&mut self, span: u64) {
        if self.bridge.is_none() || self.stopped.is_some() {
            return;
        }
        self.trace(|| format!("the process of the bridge is stopped for {span} ms"));
        self.stopped = Some(StoppedProcess {
            since: self.queue.now(),
            events: Vec::new(),
        });
        let recovery = Event::Recovers(Recovery::BridgeProcess);
        self.queue.schedule_after(span, recovery);
    }

    /// Returns the event if the process of the bridge is running or the event is not for it.
    pub(super) fn reaches(&mut self, event: Event) -> Option<Event> {
        let is_for_bridge = match &event {
            Event::PacketArrives { direction, .. } => *direction == Direction::ToBridge,
            Event::BridgeDue(_)
            | Event::AuthenticationDue(_)
            | Event::BridgeHasRead { .. }
            | Event::BridgeNoticesBreak(_)
            | Event::Caller(_) => true,
            Event::TabTask { .. } | Event::TabRuns(_) | Event::Fault | Event::Recovers(_) => false,
        };
        match &mut self.stopped {
            Some(stopped) if is_for_bridge => {
                stopped.events.push(event);
                None
            }
            _ => Some(event),
        }
    }

    /// The process runs again. Either its timers or its sockets are handled first.
    pub(super) fn continue_process(&mut self) {
        let Some(StoppedProcess { since, mut events }) = self.stopped.take() else {
            return;
        };
        let stopped_ms = self.queue.now() - since;
        self.trace(|| format!("the process of the bridge continues after {stopped_ms} ms"));
        if stopped_ms >= MIN_STALL_MS {
            let stall = Duration::from_millis(stopped_ms);
            self.with_bridge(|bridge| {
                bridge.stalled(stall);
                Vec::new()
            });
        }
        if self.random.percent(50) {
            // A stable sort: the rest stays in order.
            events.sort_by_key(|event| !matches!(event, Event::BridgeDue(_)));
        }
        for event in events {
            self.dispatch(event);
        }
    }
}
