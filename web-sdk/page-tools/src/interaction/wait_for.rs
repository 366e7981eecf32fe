//! The action `waitFor`: waits until a text appears or disappears.

use super::{Interaction, Stage, Step};
use crate::action::ActionKind;
use crate::code::ActionCode;
use crate::limits::whole;
use crate::node::Node;
use crate::query;
use crate::refusal::Failure;
use crate::text::{decimal, join_text, one_line};

impl Interaction {
    /// Returns when the current wait ends.
    pub(super) fn wait_end(&self) -> f64 {
        let ms = match self.action().map(|action| &action.kind) {
            Some(ActionKind::WaitFor { ms, .. }) => *ms,
            _ => 0.0,
        };
        self.action_started_at + ms
    }

    pub(super) fn look_or_end_wait(&mut self, now: f64) -> Step {
        let waits_for_text = matches!(
            self.action().map(|action| &action.kind),
            Some(ActionKind::WaitFor { text, gone, .. }) if text.is_some() || gone.is_some()
        );
        if waits_for_text {
            self.stage = Stage::LookForText;
            return Step::Look { every_text: false };
        }
        if self.is_cancelled || now >= self.wait_end() {
            self.log_entry(now);
            return self.begin_action(now);
        }
        self.await_change(now)
    }

    pub(super) fn await_change(&mut self, now: f64) -> Step {
        self.stage = Stage::AwaitChange;
        Step::AwaitChange {
            ms: self.wait_end().min(self.deadline()) - now,
        }
    }

    pub(super) fn look_for_text(&mut self, nodes: &[Node], now: f64) -> Step {
        let Some(ActionKind::WaitFor { text, gone, .. }) = self.action().map(|it| &it.kind) else {
            return self.begin_action(now);
        };
        let is_there = |text: &Option<String>| text.as_ref().map(|it| query::is_text_in(nodes, it));
        let problem = match (is_there(text), is_there(gone)) {
            (Some(false), _) => text.as_ref().map(|it| (it.clone(), "is not on the page")),
            (_, Some(true)) => gone.as_ref().map(|it| (it.clone(), "is still on the page")),
            _ => None,
        };
        let Some((text, problem)) = problem.filter(|_| !self.is_cancelled) else {
            self.log_entry(now);
            return self.begin_action(now);
        };
        if now < self.wait_end() {
            return self.await_change(now);
        }
        let text = crate::encode::quote(&one_line(&text, 100));
        let ms = whole(now - self.action_started_at);
        self.fail_before(
            Failure::new(
                ActionCode::ActionTimeout,
                join_text![
                    text,
                    " ",
                    problem,
                    " after ",
                    decimal(ms as usize),
                    " ms: look at the page"
                ],
            ),
            now,
        )
    }
}
