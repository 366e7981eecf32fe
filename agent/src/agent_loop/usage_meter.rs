//! The use of a query so far: tokens, time and calls.

use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use bridge_protocol::{QueryUsage, TokenUsage};
use chrono::NaiveDate;
use tokio::time::Instant;

use crate::config::Usd;
use crate::spending::{self, Account};

/// Counts what a query uses. It is shared with the task of the query, which still reads it when the
/// query was cancelled.
#[derive(Debug)]
pub(crate) struct UsageMeter {
    started_at: Instant,
    /// The clock for prices and budgets.
    today: fn() -> NaiveDate,
    /// The account that pays, once it is known.
    account: OnceLock<Account>,
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    models: BTreeMap<String, TokenUsage>,
    /// How many of these tokens are estimated.
    estimated: u64,
    calls: usize,
    cost: Usd,
}

/// The tokens of attempts that have ended.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct UsedTokens {
    pub(super) tokens: TokenUsage,
    /// How many of the tokens are estimated, because the provider has not counted them.
    pub(super) estimated: u64,
    /// Their cost in US dollars, if the price is known.
    pub(super) dollars: f64,
}

impl UsageMeter {
    /// Starts the time of a query.
    pub(crate) fn start() -> Self {
        Self::with_clock(spending::today)
    }

    pub(super) fn with_clock(today: fn() -> NaiveDate) -> Self {
        Self {
            started_at: Instant::now(),
            today,
            account: OnceLock::new(),
            counts: Mutex::default(),
        }
    }

    /// Sets the account that pays for the query.
    pub(crate) fn charge(&self, account: Account) {
        // A query has one.
        let _ = self.account.set(account);
    }

    /// Returns the day of the prices and budgets.
    pub(super) fn today(&self) -> NaiveDate {
        (self.today)()
    }

    /// Returns the account that pays for the query, once it is known.
    pub(super) fn account(&self) -> Option<&Account> {
        self.account.get()
    }

    /// Returns the cost so far, as far as prices are known.
    pub(crate) fn cost(&self) -> Usd {
        self.update(|counts| counts.cost)
    }

    /// Returns how many of the tokens are estimated, because their provider has not counted them.
    pub(crate) fn estimated_tokens(&self) -> u64 {
        self.update(|counts| counts.estimated)
    }

    /// Adds the tokens of a turn and their cost, unless there are none.
    pub(super) fn add_turn(&self, model: &str, turn: &UsedTokens) {
        if turn.tokens == TokenUsage::default() {
            return;
        }
        self.update(|counts| {
            let sum = counts.models.entry(model.to_owned()).or_default();
            *sum = sum.saturating_add(turn.tokens);
            counts.estimated += turn.estimated;
            counts.cost = counts.cost.saturating_add(turn.cost());
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

impl UsedTokens {
    pub(super) fn cost(&self) -> Usd {
        Usd::from_dollars(self.dollars)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn turns_are_summed_by_model_and_those_without_tokens_are_left_out() {
        let meter = UsageMeter::start();
        let turn = |output| UsedTokens {
            tokens: TokenUsage {
                input: 100,
                output,
                cached: 80,
                thinking: 4,
            },
            estimated: output,
            dollars: 0.25,
        };
        meter.add_turn("a", &turn(10));
        meter.add_turn("a", &turn(5));
        meter.add_turn("b", &UsedTokens::default());
        meter.count_call();
        tokio::time::advance(Duration::from_millis(1500)).await;
        let usage = meter.usage();
        let sum = TokenUsage {
            input: 200,
            output: 15,
            cached: 160,
            thinking: 8,
        };
        assert_eq!(usage.models, BTreeMap::from([("a".to_owned(), sum)]));
        assert_eq!((usage.milliseconds, meter.calls()), (1500, 1));
        assert_eq!(meter.cost(), Usd::from_dollars(0.5));
        assert_eq!(meter.estimated_tokens(), 15);
    }
}
