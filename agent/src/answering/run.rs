//! The loop.

use std::sync::Arc;

use bridge_protocol::{ErrorCode, Query, QueryContent};
use tokio::sync::mpsc;
use tracing::debug;

use super::Answer;
use super::budget::{Budget, Scarce, bytes_of};
use super::calls::{Caller, Numbered, not_made};
use super::offer::Offer;
use super::prompt::{self, ANSWER_NOW, Mark, SYSTEM};
use super::record::Record;
use super::turn::hear;
use super::voice::Voice;
use crate::bridge::BridgeTools;
use crate::config::Limits;
use crate::failure::Failure;
use crate::model::{Call, CallResult, Choice, Message, Model, Request, Turn};

/// A query that is being answered.
#[derive(Debug)]
pub(super) struct Run<'a> {
    asked: &'a Query,
    prompt: Arc<str>,
    bridge: &'a BridgeTools,
    model: &'a dyn Model,
    limits: &'a Limits,
    say: &'a mpsc::Sender<QueryContent>,
    mark: Mark,
    offer: Offer,
    /// How the model calls the response tool.
    response: Option<String>,
    /// The model has stopped without calling it, and must call it now.
    response_is_due: bool,
    budget: Budget<'a>,
    /// Why the next turn must be the answer, if it must.
    last: Option<Scarce>,
    /// Calls of the query so far, also those that were not made.
    calls: usize,
    history: Vec<Message>,
    record: Record,
}

impl<'a> Run<'a> {
    pub(super) async fn begin(
        asked: &'a Query,
        bridge: &'a BridgeTools,
        model: &'a dyn Model,
        limits: &'a Limits,
        say: &'a mpsc::Sender<QueryContent>,
    ) -> Result<Self, Failure> {
        let offer = Offer::new(bridge.list().await?);
        let response = response_tool(asked, &offer)?;
        let mark = Mark::new();
        let mut run = Self {
            asked,
            prompt: asked.prompt.as_str().into(),
            bridge,
            model,
            limits,
            say,
            mark,
            offer,
            response,
            response_is_due: false,
            budget: Budget::new(limits),
            last: None,
            calls: 0,
            history: Vec::new(),
            record: Record::default(),
        };
        run.open();
        Ok(run)
    }

    fn open(&mut self) {
        let opening = |run: &Self, is_last: bool| {
            let opening = prompt::opening(run.asked, &run.offer, is_last, &run.mark);
            Message::User(opening)
        };
        self.history = vec![opening(self, false)];
        self.last = self.budget.leaves_one_turn(self.reads());
        if self.last.is_some() {
            self.history = vec![opening(self, true)];
        }
    }

    pub(super) async fn until_answered(mut self) -> Result<Answer, Failure> {
        loop {
            let last = self.last;
            let must_respond = last.is_some() || self.response_is_due;
            let choice = match &self.response {
                Some(response) if must_respond => Choice::Only(response.clone()),
                _ => Choice::Auto,
            };
            let is_forced = choice != Choice::Auto;
            let turn = self.turn(choice).await?;
            self.check_responds(&turn, is_forced)?;
            match (turn.calls.is_empty(), self.response.clone(), last) {
                (true, None, _) => return Ok(self.answered(Some(turn.text))),
                (true, Some(response), _) => self.demand(&response, &turn),
                (false, None, Some(scarce)) => return Err(self.budget.exceeded(scarce)),
                (false, ..) => {
                    if self.makes_calls(&turn).await? {
                        return Ok(self.answered(None));
                    }
                }
            }
        }
    }

    async fn turn(&mut self, choice: Choice) -> Result<Turn, Failure> {
        let reads = self.reads();
        let max_output_tokens = self.budget.turn_begins(reads)?;
        let said = self.model.turn(Request {
            query: self.asked.uuid.clone(),
            prompt: Arc::clone(&self.prompt),
            system: SYSTEM.to_owned(),
            history: self.history.clone(),
            tools: self.offer.tools(),
            choice,
            max_output_tokens,
        });
        let (turn, usage) = hear(said, &mut Voice::new(self.say)).await?;
        let message = Message::Model(turn.clone());
        let wrote = bytes_of(std::slice::from_ref(&message));
        self.budget.turn_ended(usage, reads, wrote);
        debug!(
            query = %self.asked.uuid,
            round = self.budget.rounds(),
            tokens = self.budget.tokens(),
            calls = turn.calls.len(),
            "the model has said its turn"
        );
        // An empty turn is nothing that a provider takes back.
        if !turn.text.is_empty() || !turn.calls.is_empty() {
            self.history.push(message);
        }
        Ok(turn)
    }

    /// What the model reads in its next turn, in bytes.
    fn reads(&self) -> u64 {
        SYSTEM.len() as u64 + self.offer.bytes() + bytes_of(&self.history)
    }

    /// A model that had to call the response tool has called it.
    fn check_responds(&self, turn: &Turn, is_forced: bool) -> Result<(), Failure> {
        let responds = turn.calls.iter().any(|call| self.is_response(call));
        match &self.response {
            Some(response) if is_forced && !responds => Err(not_called(response)),
            _ => Ok(()),
        }
    }

    fn is_response(&self, call: &Call) -> bool {
        self.response.as_ref() == Some(&call.tool)
    }

    /// The model has stopped without the response tool.
    fn demand(&mut self, response: &str, turn: &Turn) {
        self.response_is_due = true;
        // Providers take no turn that follows one of the model itself.
        if !turn.text.is_empty() {
            let reminder = prompt::reminder(response, &self.mark);
            self.history.push(Message::User(reminder));
        }
        self.last = self.budget.leaves_one_turn(self.reads());
    }

    /// Makes the calls of a turn: that of the response tool last and alone. True if it has succeeded,
    /// which completes the query.
    async fn makes_calls(&mut self, turn: &Turn) -> Result<bool, Failure> {
        let (responses, others) = self.numbered(&turn.calls);
        let granted = self.budget.calls_wanted(others.len());
        let (others, beyond) = others.split_at(granted);
        let mut results = vec![None; turn.calls.len()];
        let caller = Caller {
            bridge: self.bridge,
            offer: &self.offer,
            limits: self.limits,
            mark: &self.mark,
            say: self.say,
        };
        caller.all(others, &mut results, &mut self.record).await?;
        caller.too_many(beyond, &mut results).await;
        if let Some((response, again)) = responses.split_first() {
            let result = caller.alone(*response, &mut self.record).await?;
            if !result.is_error {
                return Ok(true);
            }
            results[response.place] = Some(result);
            not_made(again, "the answer is one call.", &mut results);
        }
        self.tell(results.into_iter().flatten().collect());
        self.look_at_tools().await?;
        Ok(false)
    }

    fn numbered<'b>(&mut self, calls: &'b [Call]) -> (Vec<Numbered<'b>>, Vec<Numbered<'b>>) {
        let before = self.calls;
        self.calls += calls.len();
        let numbered = calls.iter().enumerate().map(|(place, call)| Numbered {
            place,
            number: before + place + 1,
            call,
        });
        numbered.partition(|numbered| self.is_response(numbered.call))
    }

    fn tell(&mut self, results: Vec<CallResult>) {
        self.history.push(Message::Results(results));
        self.last = self.budget.leaves_one_turn(self.reads());
        if self.last.is_some()
            && self.response.is_none()
            && let Some(Message::Results(results)) = self.history.last_mut()
            && let Some(last) = results.last_mut()
        {
            self.mark.note(&mut last.text, ANSWER_NOW);
        }
    }

    /// What a call has done may have brought other tools.
    async fn look_at_tools(&mut self) -> Result<(), Failure> {
        let listed = self.bridge.list().await?;
        // A page that is being loaded again has none for a moment: its calls wait at the bridge.
        if !listed.is_empty() {
            self.offer = Offer::new(listed);
        }
        Ok(())
    }

    fn answered(self, result: Option<String>) -> Answer {
        Answer {
            result,
            tool_calls: self.record.into_calls(),
        }
    }
}

/// How the model calls the tool that it must answer with.
fn response_tool(asked: &Query, offer: &Offer) -> Result<Option<String>, Failure> {
    let Some(demanded) = &asked.response_tool else {
        return Ok(None);
    };
    if let Some(name) = offer.offered(&demanded.name) {
        return Ok(Some(name.to_owned()));
    }
    let name = &demanded.name;
    let message = format!("the page has no tool `{name}`, which the answer must be a call of");
    let remedy = "register the response tool before you ask";
    Err(Failure::new(ErrorCode::ToolNotFound, message).with_remedy(remedy))
}

fn not_called(response: &str) -> Failure {
    let message = format!("the model has not called `{response}`, which the answer must be");
    let remedy = "say in the prompt what the answer should be, or use another model";
    Failure::new(ErrorCode::ResponseToolNotCalled, message).with_remedy(remedy)
}
