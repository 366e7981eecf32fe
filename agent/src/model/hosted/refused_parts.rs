//! The parts of requests that a server has refused or ignored: they are left out for a query, or for all.
//!
//! A person can choose words and schemas to which a server reacts so. One person alone must not decide what
//! others get.

use std::sync::{Arc, Mutex, PoisonError};

use crate::model::capabilities::{Capability, SwitchedOff};
use crate::model::refusals::{Refusal, Scope};
use crate::model::{ModelTurn, TurnRequest};

/// The number of users whose queries must show that a server lacks a part, before it is left out for all.
/// Each user may have chosen words that are the reason.
const USERS_FOR_ALL: usize = 3;

/// The parts that a server has refused or ignored.
#[derive(Debug)]
pub(super) struct RefusedParts {
    model: String,
    /// Whether the server enforces formats, so that an answer without its format says nothing about it.
    enforces_formats: bool,
    /// The capabilities that are switched off for all queries.
    pub(super) for_all: SwitchedOff,
    /// The users whose queries show that the server lacks a capability, at most [`USERS_FOR_ALL`] for each.
    users: Mutex<Vec<(Capability, Arc<str>)>>,
}

/// The query of a turn.
#[derive(Clone, Debug, Default)]
pub(super) struct TurnQuery {
    user: Arc<str>,
    switched_off: Arc<SwitchedOff>,
}

impl TurnQuery {
    pub(super) fn of(turn: &TurnRequest) -> Self {
        Self {
            user: Arc::clone(&turn.user),
            switched_off: Arc::clone(&turn.switched_off),
        }
    }
}

impl RefusedParts {
    pub(super) fn new(model: &str, enforces_formats: bool) -> Self {
        Self {
            model: model.to_owned(),
            enforces_formats,
            for_all: SwitchedOff::default(),
            users: Mutex::default(),
        }
    }

    /// Switches off what a server has refused, after it has accepted the request without it.
    pub(super) fn switch_off(&self, refusals: &[Refusal], query: &TurnQuery) {
        for &Refusal { capability, scope } in refusals {
            query.switched_off.add(capability);
            let is_for_all = match scope {
                Scope::Query => false,
                Scope::Users => self.is_enough_with(capability, query),
                Scope::Server => true,
            };
            // Another turn may have been refused at the same time.
            if is_for_all && self.for_all.add(capability) {
                tracing::warn!(
                    model = self.model,
                    ?capability,
                    "the refused part is left out until the agent restarts, for all users"
                );
            }
        }
    }

    /// Switches the format off for a query whose answer ignores it, and for all after some users have had
    /// such answers in a row.
    pub(super) fn check_format(&self, turn: &ModelTurn, query: &TurnQuery, may_be_cut: bool) {
        let Some(answer) = turn.calls.iter().find(|call| call.is_answer_text()) else {
            return;
        };
        if answer.unreadable.is_none() {
            let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
            users.retain(|(capability, _)| *capability != Capability::Format);
            return;
        }
        let parsed = serde_json::from_str::<serde_json::Value>(&turn.text);
        if turn.text.trim_start().starts_with('{') && parsed.is_err_and(|error| error.is_eof()) {
            // It follows the format, and was cut.
            return;
        }
        if !query.switched_off.add(Capability::Format) {
            return;
        }
        tracing::warn!(
            model = self.model,
            "the server accepts a schema for the answer, and does not follow it: the answer to this \
             query is a call"
        );
        if may_be_cut || self.enforces_formats {
            return;
        }
        if self.is_enough_with(Capability::Format, query) && self.for_all.add(Capability::Format) {
            tracing::warn!(
                model = self.model,
                "the server does not follow schemas for answers: until the agent restarts, answers \
                 are calls, for all users"
            );
        }
    }

    /// Adds the user of a query to those whose queries show that the server lacks a capability. Returns
    /// whether they are enough.
    fn is_enough_with(&self, capability: Capability, query: &TurnQuery) -> bool {
        let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        let of_capability = users.iter().filter(|(it, _)| *it == capability);
        let (mut count, mut is_known) = (0, false);
        for (_, user) in of_capability {
            count += 1;
            is_known |= *user == query.user;
        }
        if !is_known && count < USERS_FOR_ALL {
            users.push((capability, Arc::clone(&query.user)));
            count += 1;
        }
        count >= USERS_FOR_ALL
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ModelCall;
    use crate::model::turn_builder::ANSWER_CALL_PREFIX;

    fn query(user: &str) -> TurnQuery {
        TurnQuery {
            user: user.into(),
            ..TurnQuery::default()
        }
    }

    #[test]
    fn different_users_decide_about_a_part_for_all() {
        let capability = Capability::Thinking;
        for (scope, users, expected) in [
            (Scope::Query, &["ada", "bob", "eve", "dan"][..], false),
            (Scope::Users, &["ada", "ada", "ada", "bob"], false),
            (Scope::Users, &["ada", "bob", "ada", "eve"], true),
            (Scope::Server, &["ada"], true),
        ] {
            let parts = RefusedParts::new("m", true);
            for user in users {
                let query = query(user);
                parts.switch_off(&[Refusal { capability, scope }], &query);
                assert!(query.switched_off.contains(capability));
            }
            assert_eq!(parts.for_all.contains(capability), expected, "{users:?}");
        }
    }

    #[test]
    fn an_answer_without_its_format_counts_only_at_a_server_that_may_not_enforce_it() {
        for enforces_formats in [true, false] {
            let parts = RefusedParts::new("m", enforces_formats);
            for user in ["ada", "bob", "eve"] {
                let answer = ModelCall {
                    id: format!("{ANSWER_CALL_PREFIX}1"),
                    tool: "answer".to_owned(),
                    arguments: serde_json::Map::new(),
                    unreadable: Some("it is not JSON".into()),
                };
                let turn = ModelTurn {
                    text: "It is five o'clock.".to_owned(),
                    calls: vec![answer],
                    kept: None,
                };
                let query = query(user);
                parts.check_format(&turn, &query, false);
                assert!(query.switched_off.contains(Capability::Format));
            }
            let is_off = parts.for_all.contains(Capability::Format);
            assert_eq!(is_off, !enforces_formats);
        }
    }
}
