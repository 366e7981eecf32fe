//! A queue of events in virtual time.

use std::collections::BTreeMap;

/// Events in order of time; events with the same time are in the order in which they were
/// scheduled.
#[derive(Debug)]
pub(super) struct EventQueue<E> {
    now: u64,
    scheduled: u64,
    events: BTreeMap<(u64, u64), E>,
}

impl<E> EventQueue<E> {
    pub(super) fn new() -> Self {
        Self {
            now: 0,
            scheduled: 0,
            events: BTreeMap::new(),
        }
    }

    /// Returns the virtual time, in milliseconds since the schedule began.
    pub(super) fn now(&self) -> u64 {
        self.now
    }

    pub(super) fn schedule_at(&mut self, time: u64, event: E) {
        self.scheduled += 1;
        self.events
            .insert((time.max(self.now), self.scheduled), event);
    }

    pub(super) fn schedule_after(&mut self, delay: u64, event: E) {
        self.schedule_at(self.now + delay, event);
    }

    /// Takes the next event if it is due before `end`, and advances the time to it.
    pub(super) fn pop_before(&mut self, end: u64) -> Option<E> {
        let ((time, _), _) = self.events.first_key_value()?;
        if *time >= end {
            return None;
        }
        let ((time, _), event) = self.events.pop_first()?;
        self.now = time;
        Some(event)
    }

    /// Advances the time without an event.
    pub(super) fn advance_to(&mut self, time: u64) {
        self.now = self.now.max(time);
    }
}
