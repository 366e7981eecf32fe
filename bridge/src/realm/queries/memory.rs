//! What is remembered of queries that are over: their ids, so that none is asked twice; and for a
//! while what their pages have not heard, or may want to hear again.

use std::time::Instant;

use bridge_protocol::QueryId;

use super::sends;
use crate::realm::deadlines::Deadline;
use crate::realm::query::Over;
use crate::realm::{Effect, Effects, Now, Realm};

/// Queries that are over and whose ids are remembered, so that none is asked twice. Over it the
/// oldest is forgotten.
pub(super) const MAX_OVER: usize = 64;

/// What is kept of queries that are over, for pages that are away or are loaded anew, in bytes for
/// each token. Of more the oldest is dropped; the newest is kept.
const OVER_BYTES: usize = 16 * 1024 * 1024;

impl Realm {
    /// As far as the page can hear.
    pub(super) fn tell_end(&self, id: &QueryId, over: &mut Over) -> Effects {
        let session = self.sessions.get(&over.session);
        let connection = session.and_then(|session| session.phase.connection());
        match connection.filter(|_| !over.must_attach) {
            Some(connection) => sends(connection, over.hearing.take_untold(id)),
            None => Effects::new(),
        }
    }

    pub(super) fn remember_query(&mut self, id: &QueryId, over: Over) -> Effects {
        let mut effects = Effects::new();
        if self.over.len() == MAX_OVER
            && let Some(oldest) = self.over.keys().next().cloned()
        {
            effects.extend(self.nothing_matters_any_more(&oldest));
            self.change_over(&oldest, |over| over.kept_until = None);
            self.over.shift_remove(&oldest);
        }
        if over.until.is_none() {
            effects.push(Effect::QueryForgotten { query: id.clone() });
        }
        if let Some(at) = over.deadline() {
            self.deadlines.insert(at, Deadline::Query(id.clone()));
        }
        self.over.insert(id.clone(), over);
        self.forget_most();
        effects
    }

    fn forget_most(&mut self) {
        let mut bytes = 0;
        let mut much = Vec::new();
        for (age, (id, over)) in self.over.iter().rev().enumerate() {
            bytes += over.hearing.bytes();
            if age > 0 && bytes > OVER_BYTES && over.hearing.bytes() > 0 {
                much.push(id.clone());
            }
        }
        for id in much {
            self.change_over(&id, |over| {
                over.hearing.forget();
                over.kept_until = None;
            });
        }
    }

    /// The id of a query that is over means nothing to anybody but its page.
    fn nothing_matters_any_more(&mut self, id: &QueryId) -> Effects {
        if self.over.get(id).is_none_or(|over| over.until.is_none()) {
            return Effects::new();
        }
        self.change_over(id, |over| {
            over.until = None;
            over.is_stopping = false;
            over.page_gone = false;
        });
        Effects::from([Effect::QueryForgotten { query: id.clone() }])
    }

    /// The agent has heard that the query has ended, or could not be told.
    pub(crate) fn agent_stopped(&mut self, id: &QueryId) -> Effects {
        match self.over.get_mut(id) {
            Some(over) if over.page_gone => {
                over.is_stopping = false;
                Effects::new()
            }
            _ => self.nothing_matters_any_more(id),
        }
    }

    pub(super) fn over_due(&mut self, id: &QueryId, now: Now) -> Effects {
        let passed = |at: Option<Instant>| at.is_some_and(|at| at <= now.instant);
        self.change_over(id, |over| {
            if passed(over.kept_until) {
                over.kept_until = None;
                match over.must_attach {
                    true => over.hearing.forget(),
                    false => over.hearing.forget_told(),
                }
            }
        });
        match self.over.get(id) {
            Some(over) if passed(over.until) => self.nothing_matters_any_more(id),
            _ => Effects::new(),
        }
    }

    /// Changes what is remembered of a query, and with it what is due.
    pub(super) fn change_over(&mut self, id: &QueryId, change: impl FnOnce(&mut Over)) {
        let Some(over) = self.over.get_mut(id) else {
            return;
        };
        let former = over.deadline();
        change(over);
        let due = over.deadline();
        if former != due {
            let deadline = || Deadline::Query(id.clone());
            if let Some(former) = former {
                self.deadlines.remove((former, deadline()));
            }
            if let Some(due) = due {
                self.deadlines.insert(due, deadline());
            }
        }
    }
}
