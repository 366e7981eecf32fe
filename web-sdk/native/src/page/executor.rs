//! Runs the actions of a call: takes the next step from the core, and lets the driver perform it.

use std::future::Future;
use std::time::Duration;

use page_tools::clean::clean;
use page_tools::refusal::Failure;
use page_tools::{Action, Event, Interaction, Limits, OnError, Report, Step};
use serde_json::Value;
use tokio::time::Instant;

use super::driver::{Driver, TreeOptions};
use crate::call::Call;

/// No limit of elements, because a target may be anywhere.
pub(super) const EVERYTHING: usize = 100_000;

/// The actions of a call.
pub(super) struct Run<'a, D> {
    pub(super) driver: &'a mut D,
    pub(super) actions: Vec<Action>,
    /// The actions as the client sent them.
    pub(super) fields: &'a [Value],
    pub(super) on_error: OnError,
    pub(super) limits: &'a Limits,
    pub(super) call: &'a Call,
}

impl<D: Driver> Run<'_, D> {
    /// Runs the actions, and returns their report.
    pub(super) async fn run(self) -> Report {
        let started = Instant::now();
        let now = || started.elapsed().as_secs_f64() * 1000.0;
        let mut interaction =
            Interaction::new(self.actions.clone(), self.limits.clone(), false, now())
                .on_error(self.on_error);
        let mut executor = Executor {
            driver: self.driver,
            actions: self.actions,
            fields: self.fields,
            limits: self.limits,
            call: self.call,
            action: 0,
            unanswered: Vec::new(),
        };
        let mut event = Event::Started;
        loop {
            if self.call.is_cancelled() {
                interaction.cancel();
            }
            let step = interaction.next(event, now());
            if step == Step::Done {
                let mut report = interaction.report().clone();
                executor.explain(&mut report);
                return report;
            }
            executor.action = interaction.report().log.len();
            let left = (interaction.deadline() - now()).max(0.0) / 1000.0;
            event = executor.perform(step, Duration::from_secs_f64(left)).await;
        }
    }
}

struct Executor<'a, D> {
    driver: &'a mut D,
    actions: Vec<Action>,
    fields: &'a [Value],
    limits: &'a Limits,
    call: &'a Call,
    /// The index of the running action.
    action: usize,
    /// Why the driver could not look, by the index of the action: the core only knows that its time
    /// limit has passed.
    unanswered: Vec<(usize, Failure)>,
}

impl<D: Driver> Executor<'_, D> {
    /// Performs a step. The steps of an action end with its time limit.
    async fn perform(&mut self, step: Step, left: Duration) -> Event {
        match step {
            Step::Look { every_text } => self.look(every_text, left).await,
            Step::FindFocus => {
                in_time(left, async { Event::Focused(self.driver.focused().await) }).await
            }
            Step::Inspect { index, reference } => {
                let inspection = self.driver.inspect(&reference, &self.actions[index]);
                match tokio::time::timeout(left, inspection).await {
                    Ok(Ok(inspection)) => Event::Inspected(inspection),
                    Ok(Err(failure)) => self.unanswered(failure.0),
                    Err(_) => Event::TimedOut,
                }
            }
            Step::Confirm { .. } => Event::Confirmed(true),
            Step::Apply {
                index,
                reference,
                to,
            } => {
                self.driver.begin_action().await;
                let applied = self.driver.apply(
                    &self.actions[index],
                    &self.fields[index],
                    reference.as_deref(),
                    to.as_deref(),
                );
                in_time(left, async {
                    Event::Applied(applied.await.map_err(|failure| failure.0))
                })
                .await
            }
            Step::Rest { is_brief } => {
                let rested = self.driver.rest(is_brief);
                in_time(left, async {
                    rested.await;
                    Event::Rested
                })
                .await
            }
            Step::ReadBack { index, reference } => {
                let compared = self.driver.read_back(&reference, &self.fields[index]);
                in_time(left, async {
                    Event::Compared(compared.await.map_err(|failure| failure.0))
                })
                .await
            }
            Step::End => Event::Ended(self.driver.end_action().await),
            Step::AwaitChange { ms } => {
                let at_most = Duration::from_secs_f64(ms.max(0.0) / 1000.0);
                tokio::select! {
                    () = self.driver.change(at_most) => {}
                    _ = self.call.cancelled() => {}
                }
                Event::Changed
            }
            Step::Done => Event::Started,
        }
    }

    async fn look(&mut self, every_text: bool, left: Duration) -> Event {
        let options = TreeOptions {
            limit: EVERYTHING,
            every_text,
            ..TreeOptions::default()
        };
        match tokio::time::timeout(left, self.driver.tree(options)).await {
            Ok(Ok(tree)) => Event::Looked(clean(&tree.root, self.limits)),
            Ok(Err(failure)) => self.unanswered(failure.0),
            Err(_) => Event::TimedOut,
        }
    }

    /// Ends the action, because the user interface does not respond.
    fn unanswered(&mut self, failure: Failure) -> Event {
        self.unanswered.push((self.action, failure));
        Event::TimedOut
    }

    /// Adds the driver's reasons to the log.
    fn explain(self, report: &mut Report) {
        for (action, failure) in self.unanswered {
            if let Some(entry) = report.log.get_mut(action) {
                entry.failure = Some(failure);
            }
        }
    }
}

async fn in_time(left: Duration, event: impl Future<Output = Event>) -> Event {
    tokio::time::timeout(left, event)
        .await
        .unwrap_or(Event::TimedOut)
}
