//! The target of an action: finding it, waiting until it can be used, and inspecting it.

use super::{Inspection, Interaction, Stage, Step};
use crate::action::{Action, ActionKind, Target};
use crate::code::ActionCode;
use crate::node::Node;
use crate::query;
use crate::refusal::{Failure, refuse, refuse_focused};

/// How long to wait for a target that is not found, covered or not shown yet, in milliseconds.
const TARGET_WAIT_MS: u32 = 1000;

impl Interaction {
    pub(super) fn find(&self, nodes: &[Node], is_to: bool) -> Result<String, Failure> {
        let target = match self.action() {
            Some(Action {
                kind: ActionKind::Drag { to },
                ..
            }) if is_to => Some(to),
            action => action.and_then(|action| action.target.as_ref()),
        };
        match target {
            Some(Target::Find(find)) => query::find_one(nodes, find).map(str::to_owned),
            Some(Target::Reference(reference)) => Ok(reference.clone()),
            None => Err(Failure::new(
                ActionCode::TargetNotFound,
                "the action has no target",
            )),
        }
    }

    pub(super) fn look_for(&mut self, stage: Stage) -> Step {
        self.stage = stage;
        self.sees_every_text = false;
        Step::Look { every_text: false }
    }

    /// Searches for the target among all texts, if no control matches. If it is not there either,
    /// it may still appear. Many wrong targets cost one wait.
    pub(super) fn look_closer(&mut self, failure: Failure, awaiting: Stage, now: f64) -> Step {
        if failure.code != ActionCode::TargetNotFound {
            return self.fail_before(failure, now);
        }
        if !self.sees_every_text {
            self.sees_every_text = true;
            return Step::Look { every_text: true };
        }
        if !self.has_waited_in_vain && self.may_wait(now) {
            return self.await_target(awaiting, now);
        }
        self.has_waited_in_vain = true;
        self.fail_before(failure, now)
    }

    /// Returns whether to wait for a target.
    pub(super) fn may_wait(&self, now: f64) -> bool {
        !self.is_cancelled && now < self.target_wait_end()
    }

    pub(super) fn await_target(&mut self, stage: Stage, now: f64) -> Step {
        self.stage = stage;
        Step::AwaitChange {
            ms: self.target_wait_end() - now,
        }
    }

    /// Returns when the wait for a target ends.
    pub(super) fn target_wait_end(&self) -> f64 {
        let end = self.target_awaited_from + f64::from(TARGET_WAIT_MS);
        end.min(self.deadline())
    }

    pub(super) fn inspect_target(&mut self, reference: String) -> Step {
        self.entry.target = Some(reference.clone());
        self.target = Some(reference.clone());
        self.stage = Stage::InspectTarget;
        Step::Inspect {
            index: self.index,
            reference,
        }
    }

    pub(super) fn inspect_to(&mut self, reference: String) -> Step {
        self.to = Some(reference.clone());
        self.stage = Stage::InspectTo;
        Step::Inspect {
            index: self.index,
            reference,
        }
    }

    pub(super) fn check(&self, inspection: &Inspection, reference: &str) -> Option<Failure> {
        match inspection {
            Inspection::Facts(facts) => {
                let action = self.action()?;
                match action.target {
                    // The page itself has given it the focus, so it receives the keys.
                    None => refuse_focused(facts),
                    Some(_) => refuse(&action.kind, facts),
                }
            }
            Inspection::Stale => Some(Failure::stale(reference)),
            Inspection::Unknown => Some(Failure::unknown(reference)),
        }
    }

    pub(super) fn after_target(&mut self, now: f64) -> Step {
        let to = match self.action().map(|action| &action.kind) {
            Some(ActionKind::Drag { to }) => Some(to.clone()),
            _ => None,
        };
        match to {
            Some(Target::Reference(reference)) => self.inspect_to(reference),
            Some(Target::Find(_)) => {
                self.target_awaited_from = now;
                self.look_for(Stage::FindTo)
            }
            None => self.confirm_or_apply(),
        }
    }

    /// Inspects the target again: the app may have asked its user, and the page may have changed
    /// meanwhile.
    pub(super) fn inspect_again(&mut self, now: f64) -> Step {
        self.is_confirmed = true;
        self.target_awaited_from = now;
        match self.target.clone() {
            Some(reference) => self.inspect_target(reference),
            None => self.apply(),
        }
    }
}
