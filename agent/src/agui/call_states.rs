//! How far the calls of a query are, as the client knows it.

use super::events::Interrupt;

/// How far a call is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum CallState {
    /// The model writes its arguments.
    Writing,
    /// Its arguments are complete, and it was not reported that it is made.
    Written,
    Running,
    /// It waits for the approval of a person.
    Interrupted(Interrupt),
    /// It waits for its result, which the client must send.
    Pending,
    /// Its result was sent, or the client has it.
    Answered,
}

/// The calls of a query in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct CallStates {
    calls: Vec<(String, CallState)>,
}

impl CallStates {
    pub(super) fn get(&self, call: &str) -> Option<&CallState> {
        // The calls that change are among the last.
        let known = self.calls.iter().rev().find(|(id, _)| id == call);
        known.map(|(_, state)| state)
    }

    /// Sets the state of a call, which begins with it if it is new.
    pub(super) fn set(&mut self, call: &str, state: CallState) {
        match self.calls.iter_mut().rev().find(|(id, _)| id == call) {
            Some((_, known)) => *known = state,
            None => self.calls.push((call.to_owned(), state)),
        }
    }

    /// Returns the calls whose state fulfils a condition.
    pub(super) fn with(&self, condition: impl Fn(&CallState) -> bool) -> Vec<String> {
        let calls = self.calls.iter().filter(|(_, state)| condition(state));
        calls.map(|(call, _)| call.clone()).collect()
    }

    /// Returns whether a call waits for the client, and no other is being made.
    pub(super) fn wait_for_client(&self) -> bool {
        let has = |condition: fn(&CallState) -> bool| {
            self.calls.iter().any(|(_, state)| condition(state))
        };
        has(CallState::waits_for_client) && !has(|state| *state == CallState::Running)
    }

    /// Returns the interrupts of the calls that wait for the approval of a person.
    pub(super) fn interrupts(&self) -> Vec<Interrupt> {
        let states = self.calls.iter().map(|(_, state)| state);
        states.filter_map(CallState::interrupt).cloned().collect()
    }
}

impl CallState {
    pub(super) fn waits_for_client(&self) -> bool {
        *self == Self::Pending || self.interrupt().is_some()
    }

    /// Returns whether the call has no result, and the client will not bring it.
    pub(super) fn is_unanswered(&self) -> bool {
        matches!(self, Self::Writing | Self::Written | Self::Running)
    }

    pub(super) fn interrupt(&self) -> Option<&Interrupt> {
        match self {
            Self::Interrupted(interrupt) => Some(interrupt),
            _ => None,
        }
    }
}
