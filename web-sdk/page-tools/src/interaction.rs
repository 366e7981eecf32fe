//! The order and the rules of the actions of a call: it takes events and returns the next step.

mod step;
mod target;
mod wait_for;

use crate::action::{Action, ActionKind, Target};
use crate::code::ActionCode;
use crate::limits::{Limits, whole};
use crate::log::LogEntry;
use crate::refusal::Failure;
use crate::report::{Report, Stopped};
use crate::text::{decimal, join_text, one_line};

pub use step::{Event, Inspection, Outcome, ReadBack, Step};

/// The actions of a call. It has no clock: each event is passed with the current time, in
/// milliseconds.
#[derive(Debug)]
pub struct Interaction {
    actions: Vec<Action>,
    limits: Limits,
    /// Whether the app is asked to confirm each action.
    confirms: bool,
    on_error: OnError,
    is_cancelled: bool,
    /// Whether the target is searched among all texts.
    sees_every_text: bool,
    started_at: f64,
    action_started_at: f64,
    index: usize,
    stage: Stage,
    /// The running action.
    entry: LogEntry,
    /// The handle of its target, and of the element where a dragged element is released.
    target: Option<String>,
    to: Option<String>,
    /// Whether the app has allowed the action.
    is_confirmed: bool,
    /// Since when the call has been waiting for a target that is missing or covered.
    target_awaited_from: f64,
    /// Whether a wait for a target was in vain, and no action since could have made another appear.
    has_waited_in_vain: bool,
    report: Report,
}

/// Whether a list continues after an action that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnError {
    /// The remaining actions are not run, because they may depend on the failed one.
    #[default]
    Stop,
    /// The next action runs.
    Continue,
}

/// The event that the interaction waits for.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Stage {
    /// The next action may begin.
    Ready,
    FindFocus,
    FindTarget,
    AwaitFoundTarget,
    FindTo,
    AwaitFoundTo,
    InspectTarget,
    AwaitTarget,
    InspectTo,
    Confirm,
    Apply,
    Rest,
    ReadBack,
    End,
    LookForText,
    AwaitChange,
    Done,
}

impl Interaction {
    /// Returns an interaction that has not begun. It stops after a failed action.
    #[must_use]
    pub fn new(actions: Vec<Action>, limits: Limits, confirms: bool, now: f64) -> Self {
        Self {
            actions,
            limits,
            confirms,
            on_error: OnError::Stop,
            is_cancelled: false,
            sees_every_text: false,
            started_at: now,
            action_started_at: now,
            index: 0,
            stage: Stage::Ready,
            entry: LogEntry::default(),
            target: None,
            to: None,
            is_confirmed: false,
            target_awaited_from: now,
            has_waited_in_vain: false,
            report: Report::default(),
        }
    }

    /// Sets whether the list continues after a failed action.
    #[must_use]
    pub fn on_error(mut self, on_error: OnError) -> Self {
        self.on_error = on_error;
        self
    }

    /// Returns the report of the actions so far.
    #[must_use]
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Returns when [`Event::TimedOut`] is due, in milliseconds.
    #[must_use]
    pub fn deadline(&self) -> f64 {
        let call = self.started_at + self.limits.call_timeout_ms;
        call.min(self.action_started_at + self.limits.action_timeout_ms)
    }

    /// Returns the report for the next document if this document ends now. The running action
    /// counts as successful.
    #[must_use]
    pub fn report_if_document_ends(&self) -> Report {
        let mut report = self.report.clone();
        if self.has_begun() || self.stage == Stage::End {
            report.log.push(self.entry.clone());
        }
        report.skipped = self.actions.len() - report.log.len();
        report
    }

    /// Stops the list before its next action, and ends a wait immediately. Completed actions are
    /// not undone.
    pub fn cancel(&mut self) {
        self.is_cancelled = true;
    }

    /// Takes an event and returns the next step.
    ///
    /// An unexpected event fails the action. Drivers do not pass such events.
    pub fn next(&mut self, event: Event, now: f64) -> Step {
        match (self.stage, event) {
            (Stage::Done, _) => Step::Done,
            (Stage::Ready, _) => self.begin_action(now),
            (Stage::End, Event::Ended(outcome)) => self.end_action(outcome, now),
            // The end of an action is never skipped, because the driver may have to restore
            // something.
            (Stage::End, _) => Step::End,
            (_, Event::TimedOut) => self.time_out(now),
            (_, Event::PersonAsked) => self.stop_for_person(now),
            (Stage::FindFocus, Event::Focused(Some(reference))) => self.inspect_target(reference),
            (Stage::FindFocus, Event::Focused(None)) => self.confirm_or_apply(),
            (Stage::FindTarget, Event::Looked(nodes)) => match self.find(&nodes, false) {
                Ok(reference) => self.inspect_target(reference),
                Err(failure) => self.look_closer(failure, Stage::AwaitFoundTarget, now),
            },
            (Stage::AwaitFoundTarget, Event::Changed) => self.look_for(Stage::FindTarget),
            (Stage::FindTo, Event::Looked(nodes)) => match self.find(&nodes, true) {
                Ok(reference) => self.inspect_to(reference),
                Err(failure) => self.look_closer(failure, Stage::AwaitFoundTo, now),
            },
            (Stage::AwaitFoundTo, Event::Changed) => self.look_for(Stage::FindTo),
            (Stage::InspectTarget, Event::Inspected(inspection)) => {
                let reference = self.target.clone().unwrap_or_default();
                match self.check(&inspection, &reference) {
                    Some(failure) if failure.may_pass() && self.may_wait(now) => {
                        self.await_target(Stage::AwaitTarget, now)
                    }
                    Some(failure) => self.fail_before(failure, now),
                    None => self.after_target(now),
                }
            }
            (Stage::AwaitTarget, Event::Changed) => {
                let reference = self.target.clone().unwrap_or_default();
                self.inspect_target(reference)
            }
            (Stage::InspectTo, Event::Inspected(inspection)) => {
                let reference = self.to.clone().unwrap_or_default();
                match self.check(&inspection, &reference) {
                    Some(failure) => self.fail_before(failure, now),
                    None => self.confirm_or_apply(),
                }
            }
            (Stage::Confirm, Event::Confirmed(true)) => self.inspect_again(now),
            (Stage::Confirm, Event::Confirmed(false)) => self.fail_before(
                Failure::new(
                    ActionCode::Declined,
                    "the app or its user declined this action: ask the user what to do instead",
                ),
                now,
            ),
            (Stage::Apply, Event::Applied(Ok(()))) => {
                self.stage = Stage::Rest;
                Step::Rest {
                    is_brief: self.sets_value(self.index) && self.sets_value(self.index + 1),
                }
            }
            (Stage::Apply, Event::Applied(Err(failure))) => {
                self.entry.failure = Some(failure);
                self.end()
            }
            (Stage::Rest, Event::Rested) => match &self.target {
                Some(reference) if self.sets_value(self.index) => {
                    self.stage = Stage::ReadBack;
                    Step::ReadBack {
                        index: self.index,
                        reference: reference.clone(),
                    }
                }
                _ => self.end(),
            },
            (Stage::ReadBack, Event::Compared(read_back)) => {
                self.entry.failure = match read_back {
                    Ok(read_back) => read_back.and_then(|it| value_refused(&it)),
                    Err(failure) => Some(failure),
                };
                self.end()
            }
            (Stage::LookForText, Event::Looked(nodes)) => self.look_for_text(&nodes, now),
            (Stage::AwaitChange, Event::Changed)
                if now >= self.deadline() && now < self.wait_end() =>
            {
                self.time_out(now)
            }
            (Stage::AwaitChange, Event::Changed) => self.look_or_end_wait(now),
            _ => {
                self.entry.failure = Some(Failure::new(
                    ActionCode::ActionFailed,
                    "the driver passed an event that was not asked for: this is a bug of page tools",
                ));
                self.end()
            }
        }
    }

    fn action(&self) -> Option<&Action> {
        self.actions.get(self.index)
    }

    fn sets_value(&self, index: usize) -> bool {
        self.actions
            .get(index)
            .is_some_and(|action| action.kind == ActionKind::SetValue)
    }

    fn begin_action(&mut self, now: f64) -> Step {
        if self.index < self.actions.len()
            && let Some(stopped) = self.stop_reason(now)
        {
            return self.stop(stopped);
        }
        self.action_started_at = now;
        self.target_awaited_from = now;
        self.is_confirmed = false;
        let Some(action) = self.action().cloned() else {
            self.stage = Stage::Done;
            return Step::Done;
        };
        self.target = None;
        self.to = None;
        self.sees_every_text = false;
        self.entry = LogEntry {
            index: self.index + 1,
            kind: action.kind.name().into(),
            target: match &action.target {
                Some(Target::Reference(reference)) => Some(reference.clone()),
                _ => None,
            },
            detail: action.kind.detail().map(str::to_owned),
            ..LogEntry::default()
        };
        if let ActionKind::WaitFor { .. } = action.kind {
            return self.look_or_end_wait(now);
        }
        match action.target {
            Some(Target::Reference(reference)) => self.inspect_target(reference),
            Some(Target::Find(_)) => self.look_for(Stage::FindTarget),
            // A key goes to the element that has the focus, so that element is its target.
            None if matches!(action.kind, ActionKind::PressKey { .. }) => {
                self.stage = Stage::FindFocus;
                Step::FindFocus
            }
            None => self.confirm_or_apply(),
        }
    }

    /// Returns why the next action must not begin.
    fn stop_reason(&self, now: f64) -> Option<Stopped> {
        if self.is_cancelled {
            return Some(Stopped::Cancelled);
        }
        if self.on_error == OnError::Stop && self.report.failures() > 0 {
            return Some(Stopped::ActionFailed);
        }
        let is_over = now >= self.started_at + self.limits.call_timeout_ms;
        is_over.then_some(Stopped::TimedOut)
    }

    fn confirm_or_apply(&mut self) -> Step {
        if !self.confirms || self.is_confirmed {
            return self.apply();
        }
        self.stage = Stage::Confirm;
        Step::Confirm {
            index: self.index,
            reference: self.target.clone(),
            to: self.to.clone(),
        }
    }

    fn apply(&mut self) -> Step {
        self.stage = Stage::Apply;
        self.has_waited_in_vain = false;
        Step::Apply {
            index: self.index,
            reference: self.target.clone(),
            to: self.to.clone(),
        }
    }

    fn end(&mut self) -> Step {
        self.stage = Stage::End;
        Step::End
    }

    fn end_action(&mut self, outcome: Outcome, now: f64) -> Step {
        let Outcome {
            changed,
            navigated,
            dialog,
            messages,
            warnings,
        } = outcome;
        self.entry.changed = changed;
        self.entry.navigated.clone_from(&navigated);
        self.entry.dialog = dialog;
        self.entry.messages = messages;
        self.entry.warnings = warnings;
        self.log_entry(now);
        if navigated.is_some() {
            self.report.navigated = navigated;
            self.report.skipped = self.actions.len() - self.index;
            self.stage = Stage::Done;
            return Step::Done;
        }
        self.begin_action(now)
    }

    /// Fails an action that has had no effect.
    fn fail_before(&mut self, failure: Failure, now: f64) -> Step {
        self.entry.failure = Some(failure);
        self.log_entry(now);
        self.begin_action(now)
    }

    fn time_out(&mut self, now: f64) -> Step {
        let has_begun = self.has_begun();
        let limit = self
            .limits
            .action_timeout_ms
            .min(self.limits.call_timeout_ms);
        self.entry.failure = Some(Failure::new(
            ActionCode::ActionTimeout,
            join_text![
                "this took longer than ",
                decimal(whole(limit) as usize),
                " ms: take a page_snapshot to see what happened"
            ],
        ));
        if has_begun {
            return self.end();
        }
        self.log_entry(now);
        self.begin_action(now)
    }

    /// Whether the action that runs may have had an effect, and has not ended.
    fn has_begun(&self) -> bool {
        matches!(self.stage, Stage::Apply | Stage::Rest | Stage::ReadBack)
    }

    /// Ends the list before an action that has had no effect.
    fn stop_for_person(&mut self, now: f64) -> Step {
        self.entry.failure = Some(Failure::new(
            ActionCode::PersonAsked,
            "nothing was done: the person at the page is being asked something, and has not answered yet; tell the user to look at the page, and try again",
        ));
        self.log_entry(now);
        self.stop(Stopped::PersonAsked)
    }

    fn log_entry(&mut self, now: f64) {
        let mut entry = std::mem::take(&mut self.entry);
        entry.ms = now - self.action_started_at;
        self.report.log.push(entry);
        self.index += 1;
        self.stage = Stage::Ready;
    }

    fn stop(&mut self, stopped: Stopped) -> Step {
        self.report.stopped = Some(stopped);
        self.report.skipped = self.actions.len() - self.index;
        self.stage = Stage::Done;
        Step::Done
    }
}

fn value_refused(read_back: &ReadBack) -> Option<Failure> {
    const SHOWN: usize = 200;
    if read_back.matches {
        return None;
    }
    let [expected, actual] = [&read_back.expected, &read_back.actual]
        .map(|value| crate::encode::quote(&one_line(value, SHOWN)));
    Some(Failure::new(
        ActionCode::ValueRefused,
        join_text![
            expected,
            " was set, and the page made it ",
            actual,
            ": look at the page for the reason"
        ],
    ))
}

#[cfg(test)]
mod tests;
