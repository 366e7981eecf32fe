//! A time in which the bridge itself did not run: its process was stopped, its machine was paused, or
//! its threads were busy. Answers arrived meanwhile and were not read.

use std::time::Duration;

use super::deadlines::Deadline;
use super::{Phase, Realm};

impl Realm {
    /// Extends the timeouts of calls and queries, the grace periods and the times for pages to
    /// register by a time in which the bridge did not run. Must be called before
    /// [`Realm::deadline_passed`]. Tokens and the maximum duration of sessions end as before.
    pub fn bridge_stalled(&mut self, stall: Duration) {
        for (id, call) in &mut self.calls {
            self.deadlines
                .remove((call.deadline(), Deadline::Call(id.clone())));
            call.extend(stall);
            self.deadlines
                .insert(call.deadline(), Deadline::Call(id.clone()));
        }
        for (id, query) in &mut self.queries {
            self.deadlines
                .remove((query.deadline(), Deadline::Query(id.clone())));
            query.extend(stall);
            self.deadlines
                .insert(query.deadline(), Deadline::Query(id.clone()));
        }
        for (id, session) in &mut self.sessions {
            self.deadlines.remove(session.deadline(id));
            match &mut session.phase {
                Phase::Disconnected { until, .. }
                | Phase::BetweenDocuments { until }
                | Phase::Connected {
                    former_items_until: Some(until),
                    ..
                } => *until += stall,
                Phase::Connected { .. } => {}
            }
            let (at, deadline) = session.deadline(id);
            self.deadlines.insert(at, deadline);
        }
    }
}
