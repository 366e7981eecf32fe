//! The calls of one turn.

use std::time::Duration;

use bridge_protocol::QueryContent;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use super::cut::cut;
use super::offer::Offer;
use super::prompt::Mark;
use super::record::Record;
use crate::bridge::{BridgeTools, Called};
use crate::config::Limits;
use crate::failure::Failure;
use crate::model::{Call, CallResult};

/// Makes the calls of one turn.
#[derive(Debug)]
pub(super) struct Caller<'a> {
    pub(super) bridge: &'a BridgeTools,
    pub(super) offer: &'a Offer,
    pub(super) limits: &'a Limits,
    pub(super) mark: &'a Mark,
    pub(super) say: &'a mpsc::Sender<QueryContent>,
}

/// For the bridge to say that a tool has not kept to its own time.
const BRIDGE_SAYS_WITHIN: Duration = Duration::from_secs(1);

/// A call with its place in the turn, and its number in the query.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbered<'a> {
    pub(super) place: usize,
    pub(super) number: usize,
    pub(super) call: &'a Call,
}

/// A call that has ended.
#[derive(Debug)]
struct Ended {
    result: CallResult,
    /// What the page answered, if the bridge was asked.
    answered: Option<Option<Box<RawValue>>>,
}

impl Caller<'_> {
    /// Makes calls, a few at the same time, and puts each result in its place.
    pub(super) async fn all(
        &self,
        calls: &[Numbered<'_>],
        results: &mut [Option<CallResult>],
        record: &mut Record,
    ) -> Result<(), Failure> {
        // A list of boxes: of anything lighter the compiler cannot see that it may go to a thread.
        let running: Vec<_> = calls.iter().map(|call| self.running(*call)).collect();
        let mut running = stream::iter(running).buffer_unordered(self.limits.parallel_calls);
        while let Some((numbered, ended)) = running.next().await {
            let result = self.ended(numbered, ended?, record).await;
            results[numbered.place] = Some(result);
        }
        Ok(())
    }

    fn running<'b>(
        &'b self,
        numbered: Numbered<'b>,
    ) -> BoxFuture<'b, (Numbered<'b>, Result<Ended, Failure>)> {
        async move { (numbered, self.one(numbered).await) }.boxed()
    }

    /// Makes one call while no other runs.
    pub(super) async fn alone(
        &self,
        numbered: Numbered<'_>,
        record: &mut Record,
    ) -> Result<CallResult, Failure> {
        let ended = self.one(numbered).await?;
        Ok(self.ended(numbered, ended, record).await)
    }

    /// Says that these calls are too many.
    pub(super) async fn too_many(
        &self,
        calls: &[Numbered<'_>],
        results: &mut [Option<CallResult>],
    ) {
        let [_, ..] = calls else { return };
        let most = self.limits.max_calls;
        let why = format!("a query may make {most} calls, and they are made.");
        not_made(calls, &why, results);
        let text = format!(
            "The {most} calls of this query are made: the model has to answer with what it knows"
        );
        self.say(QueryContent::Note { text }).await;
    }

    async fn one(&self, numbered: Numbered<'_>) -> Result<Ended, Failure> {
        let Numbered { number, call, .. } = numbered;
        self.say(QueryContent::ToolStarted {
            id: number.to_string(),
            tool: self.name_of(call),
            arguments: call.arguments.clone(),
        })
        .await;
        let (called, answered) = match self.offer.known(&call.tool) {
            None => (self.unknown(call), None),
            Some(known) => {
                let mut called = self.called(call, known.takes).await?;
                let answered = called.answered.take();
                (called, Some(answered))
            }
        };
        let result = CallResult {
            id: call.id.clone(),
            tool: call.tool.clone(),
            text: cut(called.text, self.limits.max_tool_result_bytes, self.mark),
            is_error: called.is_error,
        };
        Ok(Ended { result, answered })
    }

    /// A call that takes too long is dropped, which cancels it at the bridge. A tool that says that
    /// it takes longer than others is watched by the bridge, which says more of what happened.
    async fn called(&self, call: &Call, takes: Option<Duration>) -> Result<Called, Failure> {
        let own = takes.map(|takes| takes.saturating_add(BRIDGE_SAYS_WITHIN));
        let within = self.limits.call_timeout.max(own.unwrap_or_default());
        let calling = self.bridge.call(&call.tool, call.arguments.clone());
        match tokio::time::timeout(within, calling).await {
            Ok(called) => called,
            Err(_) => Ok(Called::failed(&timed_out(within))),
        }
    }

    /// The page never hears of it.
    fn unknown(&self, call: &Call) -> Called {
        let names = self.offer.names().join(", ");
        let tool = &call.tool;
        Called::failed(&format!("There is no tool `{tool}`. There are: {names}"))
    }

    async fn ended(&self, numbered: Numbered<'_>, ended: Ended, record: &mut Record) -> CallResult {
        let Numbered { number, call, .. } = numbered;
        let Ended { result, answered } = ended;
        if let Some(answered) = answered {
            record.add(self.name_of(call), &call.arguments, answered);
        }
        self.say(QueryContent::ToolFinished {
            id: number.to_string(),
            tool: self.name_of(call),
            is_error: result.is_error,
            error: result.is_error.then(|| in_short(&result.text)),
        })
        .await;
        result
    }

    /// As registered, where it is.
    fn name_of(&self, call: &Call) -> String {
        let known = self.offer.known(&call.tool);
        known.map_or(&call.tool, |known| &known.registered).clone()
    }

    /// Nobody listening is no failure: whoever does not want the answer drops it.
    async fn say(&self, content: QueryContent) {
        let _ = self.say.send(content).await;
    }
}

/// The page does not hear of these calls, and the model hears why.
pub(super) fn not_made(calls: &[Numbered<'_>], why: &str, results: &mut [Option<CallResult>]) {
    for Numbered { place, call, .. } in calls {
        results[*place] = Some(CallResult {
            id: call.id.clone(),
            tool: call.tool.clone(),
            text: format!("Not called: {why}"),
            is_error: true,
        });
    }
}

fn timed_out(within: Duration) -> String {
    let within = humantime::format_duration(within);
    format!("The tool did not answer within {within}, and was cancelled.")
}

/// What a person reads of a failure: the whole is for the model.
const SHOWN_CHARS: usize = 300;

fn in_short(error: &str) -> String {
    match error.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &error[..end]),
        None => error.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_error_is_shown_in_short() {
        assert_eq!(in_short("no"), "no");
        let short = in_short(&"ä".repeat(SHOWN_CHARS + 1));
        assert_eq!(short.chars().count(), SHOWN_CHARS + 1);
        assert!(short.ends_with('…'));
    }
}
