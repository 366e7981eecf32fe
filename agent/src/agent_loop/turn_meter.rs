//! The use of one turn: its tokens and their cost, however the turn ends.

use agent_tools::AgentFailure;
use bridge_protocol::TokenUsage;
use tokio::time::Instant;

use super::budget::estimate_tokens;
use super::usage_meter::{UsageMeter, UsedTokens};
use crate::config::Usd;
use crate::model::{AttemptUsage, Model, ModelEvent, Price};
use crate::spending::Reservation;

/// The tokens in a second of a model that thinks and sends nothing, where its provider does not count them.
/// Hosted models produce about 50 to 150.
const SILENT_TOKENS_PER_SECOND: u64 = 50;

/// Counts what a turn uses. Dropping it charges that, also in the middle of an attempt: the provider
/// counts the tokens of a turn that is cancelled.
#[derive(Debug)]
pub(super) struct TurnMeter<'a> {
    query: &'a UsageMeter,
    model: &'a str,
    price: Option<Price>,
    /// The expected cost, if there is an account.
    reservation: Option<Reservation>,
    input_bytes: u64,
    /// The most tokens that the turn can produce, thoughts included.
    max_output_tokens: u64,
    /// Whether the model may think before it sends anything.
    thinks: bool,
    attempt: Attempt,
    used: UsedTokens,
}

/// The size of a turn.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TurnSize {
    pub(super) input_bytes: u64,
    /// The most tokens of its answer.
    pub(super) max_output_tokens: u32,
}

/// The attempt that runs.
#[derive(Debug, Default)]
struct Attempt {
    /// Whether its request was sent to a provider.
    is_started: bool,
    counted: AttemptUsage,
    output_bytes: u64,
    /// The bytes of the output with the text that was held back at the last count.
    with_held_bytes: u64,
    /// When the answer may have begun, until it is whole. A model that thinks may send nothing before.
    begun_at: Option<Instant>,
}

impl<'a> TurnMeter<'a> {
    /// Opens a turn of a query, which reserves its expected cost: that of its input and of the longest
    /// answer. The tokens for thoughts are not in it: with them, others would wait for money that is
    /// rarely spent.
    ///
    /// # Errors
    ///
    /// When the budget of the user is used up, or other turns reserve the rest for too long.
    pub(super) async fn open(
        query: &'a UsageMeter,
        model: &'a dyn Model,
        size: TurnSize,
    ) -> Result<Self, AgentFailure> {
        let mut turn = Self::new(query, model, size);
        if let Some(account) = query.account() {
            let input = estimate_tokens(size.input_bytes);
            let output = size.max_output_tokens.into();
            let expected = turn.price.map(|price| price.highest(input, output));
            let expected = Usd::from_dollars(expected.unwrap_or_default());
            turn.reservation = Some(account.reserve(expected).await?);
        }
        Ok(turn)
    }

    pub(super) fn new(query: &'a UsageMeter, model: &'a dyn Model, size: TurnSize) -> Self {
        let max_output_tokens = model.max_output_tokens(size.max_output_tokens).into();
        Self {
            query,
            model: model.name(),
            price: model.price(query.today()),
            reservation: None,
            input_bytes: size.input_bytes,
            max_output_tokens,
            thinks: max_output_tokens > size.max_output_tokens.into(),
            attempt: Attempt::default(),
            used: UsedTokens::default(),
        }
    }

    /// Counts what an event of the turn reports.
    pub(super) fn receive(&mut self, event: &Result<ModelEvent, AgentFailure>) {
        let attempt = &mut self.attempt;
        match event {
            Ok(ModelEvent::Started) => {
                attempt.is_started = true;
                attempt.begun_at = self.thinks.then(Instant::now);
            }
            Ok(ModelEvent::Text(text) | ModelEvent::Thinking(text)) => {
                attempt.output_bytes += text.len() as u64;
            }
            Ok(ModelEvent::Arguments(arguments)) => {
                attempt.output_bytes += arguments.delta.len() as u64;
            }
            Ok(ModelEvent::Usage(usage)) => {
                attempt.counted = *usage;
                if usage.has_begun {
                    attempt.begun_at.get_or_insert_with(Instant::now);
                }
                attempt.with_held_bytes = attempt.output_bytes + usage.held_bytes;
            }
            Ok(ModelEvent::Spent(usage)) => {
                attempt.counted.tokens = *usage;
                self.end_attempt();
            }
            Ok(ModelEvent::End { usage, .. }) => {
                attempt.counted.tokens = *usage;
                attempt.begun_at = None;
                self.end_attempt();
            }
            // Without `Spent` before it, the provider has refused the request, which costs nothing.
            Ok(ModelEvent::Note(_)) | Err(_) => *attempt = Attempt::default(),
        }
    }

    /// Frees the reservation of a turn that waits for its reader, which may take as long as the query.
    pub(super) fn release(&mut self) {
        if let Some(reservation) = &mut self.reservation {
            reservation.release();
        }
    }

    /// Counts what the turn has cost, and ends its reservation.
    pub(super) fn settle(&mut self) {
        self.end_attempt();
        if let Some(reservation) = self.reservation.take() {
            reservation.settle(self.query.today(), self.used.cost());
        }
    }

    /// Ends the turn. Returns its tokens, those of all attempts.
    pub(super) fn close(mut self) -> TokenUsage {
        self.end_attempt();
        self.used.tokens
    }

    /// Adds the tokens of the attempt. Those of input and output that the provider has not counted are
    /// estimated from their size. An answer that was cut before its first output is estimated from its
    /// time: the model has thought.
    fn end_attempt(&mut self) {
        let attempt = std::mem::take(&mut self.attempt);
        let mut tokens = attempt.counted.tokens;
        let output_bytes = attempt.output_bytes.max(attempt.with_held_bytes);
        let output = match (output_bytes, attempt.begun_at) {
            (0, Some(begun_at)) => {
                let seconds = begun_at.elapsed().as_secs();
                let tokens = seconds.saturating_mul(SILENT_TOKENS_PER_SECOND);
                tokens.min(self.max_output_tokens)
            }
            _ => estimate_tokens(output_bytes),
        };
        for (count, estimated) in [
            (&mut tokens.input, estimate_tokens(self.input_bytes)),
            (&mut tokens.output, output),
        ] {
            if *count == 0 && attempt.is_started {
                *count = estimated;
                self.used.estimated += *count;
            }
        }
        self.used.tokens = self.used.tokens.saturating_add(tokens);
        let cost = self
            .price
            .map(|it| it.of(&tokens, attempt.counted.cache_writes));
        self.used.dollars += cost.unwrap_or_default();
    }
}

impl Drop for TurnMeter<'_> {
    fn drop(&mut self) {
        self.settle();
        self.query.add_turn(self.model, &self.used);
    }
}

#[cfg(test)]
mod tests;
