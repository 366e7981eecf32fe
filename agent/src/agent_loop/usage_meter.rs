//! The use of a query so far: tokens, time and calls.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use bridge_protocol::{QueryUsage, TokenUsage};
use tokio::time::Instant;

/// Counts what a query uses. It is shared with the task of the query, which still reads it when the
/// query was cancelled.
#[derive(Debug)]
pub(crate) struct UsageMeter {
    started_at: Instant,
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    models: BTreeMap<String, TokenUsage>,
    calls: usize,
}

impl UsageMeter {
    /// Starts the time of a query.
    pub(crate) fn start() -> Self {
        Self {
            started_at: Instant::now(),
            counts: Mutex::default(),
        }
    }

    /// Adds the tokens of a turn, unless the provider has not reported any.
    pub(super) fn add_turn(&self, model: &str, turn: TokenUsage) {
        if turn == TokenUsage::default() {
            return;
        }
        self.update(|counts| {
            let sum = counts.models.entry(model.to_owned()).or_default();
            sum.input = sum.input.saturating_add(turn.input);
            sum.output = sum.output.saturating_add(turn.output);
            sum.cached = sum.cached.saturating_add(turn.cached);
            sum.thinking = sum.thinking.saturating_add(turn.thinking);
        });
    }

    /// Counts a call of a tool.
    pub(super) fn count_call(&self) {
        self.update(|counts| counts.calls += 1);
    }

    /// Returns the calls of tools so far.
    pub(crate) fn calls(&self) -> usize {
        self.update(|counts| counts.calls)
    }

    /// Returns the usage so far.
    pub(crate) fn usage(&self) -> QueryUsage {
        let milliseconds = self.started_at.elapsed().as_millis();
        QueryUsage {
            models: self.update(|counts| counts.models.clone()),
            milliseconds: u64::try_from(milliseconds).unwrap_or(u64::MAX),
        }
    }

    /// Locks the counts. A poisoned lock is used anyway, because no code panics while it holds the
    /// lock.
    fn update<T>(&self, read: impl FnOnce(&mut Counts) -> T) -> T {
        read(&mut self.counts.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn turns_are_summed_by_model_and_unreported_ones_are_left_out() {
        let meter = UsageMeter::start();
        let turn = TokenUsage {
            input: 100,
            output: 10,
            cached: 80,
            thinking: 4,
        };
        meter.add_turn("a", turn);
        meter.add_turn("a", turn);
        meter.add_turn("b", TokenUsage::default());
        meter.count_call();
        tokio::time::advance(Duration::from_millis(1500)).await;
        let usage = meter.usage();
        let sum = TokenUsage {
            input: 200,
            output: 20,
            cached: 160,
            thinking: 8,
        };
        assert_eq!(usage.models, BTreeMap::from([("a".to_owned(), sum)]));
        assert_eq!((usage.milliseconds, meter.calls()), (1500, 1));
    }
}
