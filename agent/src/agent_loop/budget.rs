//! The limits of a query, and how much of them is used.

use agent_tools::AgentFailure;
use bridge_protocol::{ErrorCode, TokenUsage};
use serde_json::{Map, Value};

use crate::config::AgentLimits;
use crate::model::{CallResult, Media, ModelMessage, UserMessage};

/// The number of bytes that count as one token where a provider does not count tokens.
const BYTES_PER_TOKEN: u64 = 4;

/// The limits of a query, and how much of them is used.
#[derive(Debug)]
pub(super) struct Budget<'a> {
    limits: &'a AgentLimits,
    rounds: usize,
    calls: usize,
    tokens: u64,
}

/// The limit that allows only one more turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExhaustedLimit {
    Rounds,
    Calls,
    Tokens,
}

impl<'a> Budget<'a> {
    pub(super) fn new(limits: &'a AgentLimits) -> Self {
        Self {
            limits,
            rounds: 0,
            calls: 0,
            tokens: 0,
        }
    }

    /// Begins a turn with an input of this size. Returns how many tokens its output may have.
    pub(super) fn begin_turn(&mut self, input_bytes: u64) -> Result<u32, AgentFailure> {
        if self.rounds == self.limits.max_rounds {
            return Err(self.exceeded(ExhaustedLimit::Rounds));
        }
        let used = self.tokens.saturating_add(estimate_tokens(input_bytes));
        let left = self.limits.max_tokens.saturating_sub(used);
        if left == 0 {
            return Err(self.tokens_exceeded());
        }
        let max = self.limits.max_output_tokens;
        Ok(u32::try_from(left).map_or(max, |left| left.min(max)))
    }

    /// Counts a turn that the model has ended, with its tokens.
    pub(super) fn end_turn(&mut self, usage: TokenUsage) {
        self.fail_turn(usage);
        self.rounds += 1;
    }

    /// Counts the tokens of a turn that failed.
    pub(super) fn fail_turn(&mut self, usage: TokenUsage) {
        let used = usage.input.saturating_add(usage.output);
        self.tokens = self.tokens.saturating_add(used);
    }

    /// Reserves a call. Returns whether it may be made.
    pub(super) fn reserve_call(&mut self) -> bool {
        let is_granted = self.calls < self.limits.max_calls;
        self.calls += usize::from(is_granted);
        is_granted
    }

    pub(super) fn max_calls(&self) -> usize {
        self.limits.max_calls
    }

    /// Returns the limit that leaves room for only one more turn with an input of this size. That
    /// turn must then be the answer, because a turn after it would need at least as many tokens
    /// again.
    pub(super) fn last_turn_reason(&self, input_bytes: u64) -> Option<ExhaustedLimit> {
        let two_turns = estimate_tokens(input_bytes).saturating_mul(2);
        if self.rounds + 1 >= self.limits.max_rounds {
            Some(ExhaustedLimit::Rounds)
        } else if self.calls == self.limits.max_calls {
            Some(ExhaustedLimit::Calls)
        } else if self.tokens.saturating_add(two_turns) >= self.limits.max_tokens {
            Some(ExhaustedLimit::Tokens)
        } else {
            None
        }
    }

    pub(super) fn rounds(&self) -> usize {
        self.rounds
    }

    pub(super) fn tokens(&self) -> u64 {
        self.tokens
    }

    /// Creates the failure for a model that requests further calls in its last turn instead of
    /// answering.
    pub(super) fn exceeded(&self, limit: ExhaustedLimit) -> AgentFailure {
        let limits = self.limits;
        let (amount, setting) = match limit {
            ExhaustedLimit::Rounds => (format!("{} rounds", limits.max_rounds), "max_rounds"),
            ExhaustedLimit::Calls => (format!("{} calls of tools", limits.max_calls), "max_calls"),
            ExhaustedLimit::Tokens => (format!("{} tokens", limits.max_tokens), "max_tokens"),
        };
        let message = format!("the model has used its {amount} and has not answered");
        budget_exceeded(message, setting)
    }

    fn tokens_exceeded(&self) -> AgentFailure {
        let max_tokens = self.limits.max_tokens;
        let message = match self.rounds {
            0 => format!("the request alone needs more than the {max_tokens} tokens of a query"),
            rounds => format!(
                "the query has used its {max_tokens} tokens in {rounds} rounds, without an answer"
            ),
        };
        budget_exceeded(message, "max_tokens")
    }
}

fn budget_exceeded(message: String, setting: &str) -> AgentFailure {
    let remedy = format!("ask for less at once, or raise `{setting}` of the agent");
    AgentFailure::new(ErrorCode::QueryBudgetExceeded, message).with_remedy(remedy)
}

/// Estimates the tokens of a text, where a provider has not counted them.
pub(super) fn estimate_tokens(bytes: u64) -> u64 {
    bytes.div_ceil(BYTES_PER_TOKEN)
}

/// Returns the size of these messages as input of a model.
pub(super) fn history_bytes(history: &[ModelMessage]) -> u64 {
    history
        .iter()
        .map(|message| message_bytes(message) as u64)
        .sum()
}

fn message_bytes(message: &ModelMessage) -> usize {
    match message {
        ModelMessage::User(UserMessage { text, media }) => text.len() + media_bytes(media),
        ModelMessage::Model(turn) => {
            let calls = turn.calls.iter();
            let calls = calls.map(|call| call.tool.len() + json_bytes(&call.arguments));
            let rebuilt = turn.text.len() + calls.sum::<usize>();
            // One of both is sent.
            let kept = turn.kept.as_ref().map_or(0, |kept| kept.bytes());
            rebuilt.max(kept)
        }
        ModelMessage::Results(results) => {
            let results = results.iter();
            let bytes = |result: &CallResult| {
                result.text.len() + result.notes.len() + media_bytes(&result.media)
            };
            results.map(bytes).sum()
        }
    }
}

fn media_bytes(media: &[Media]) -> usize {
    media.iter().map(Media::input_bytes).sum()
}

fn json_bytes(arguments: &Map<String, Value>) -> usize {
    serde_json::to_string(arguments).map_or(0, |text| text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> AgentLimits {
        AgentLimits {
            max_rounds: 3,
            max_calls: 5,
            max_tokens: 100,
            max_output_tokens: 40,
            ..AgentLimits::default()
        }
    }

    #[test]
    fn the_last_turn_is_known_before_it_begins() {
        let limits = limits();
        let mut budget = Budget::new(&limits);
        for last in [None, Some(ExhaustedLimit::Rounds)] {
            budget.begin_turn(0).unwrap();
            budget.end_turn(TokenUsage::default());
            assert_eq!(budget.last_turn_reason(0), last);
        }
        budget
            .begin_turn(0)
            .expect("a turn that the model refuses is not a round");
        budget.begin_turn(0).unwrap();
        budget.end_turn(TokenUsage::default());
        let failure = budget.begin_turn(0).unwrap_err();
        assert_eq!(failure.code, ErrorCode::QueryBudgetExceeded);
        assert!(failure.message.contains("3 rounds"), "{failure}");
        assert!(failure.remedy.unwrap().contains("max_rounds"));
    }

    #[test]
    fn calls_beyond_the_limit_are_not_granted() {
        let limits = limits();
        let mut budget = Budget::new(&limits);
        for _ in 0..5 {
            assert_eq!(budget.last_turn_reason(0), None);
            assert!(budget.reserve_call());
        }
        assert_eq!(budget.last_turn_reason(0), Some(ExhaustedLimit::Calls));
        assert!(!budget.reserve_call());
        let failure = budget.exceeded(ExhaustedLimit::Calls);
        assert!(failure.message.contains("5 calls"), "{failure}");
    }

    #[test]
    fn the_tokens_that_are_left_limit_the_output_of_a_turn() {
        let limits = limits();
        let mut budget = Budget::new(&limits);
        assert_eq!(budget.begin_turn(40), Ok(40));
        budget.end_turn(TokenUsage {
            input: 50,
            output: 5,
            ..TokenUsage::default()
        });
        assert_eq!(budget.tokens(), 55);
        assert_eq!(budget.last_turn_reason(80), None);
        assert_eq!(budget.last_turn_reason(90), Some(ExhaustedLimit::Tokens));
        assert_eq!(budget.begin_turn(80), Ok(25), "what is left");
        let failure = budget.begin_turn(180).unwrap_err();
        assert_eq!(failure.code, ErrorCode::QueryBudgetExceeded);
        assert!(failure.remedy.unwrap().contains("max_tokens"));
    }
}
