//! Tests of the costs of turns, for every way in which they end.

use std::collections::VecDeque;
use std::sync::Arc;

use std::time::Duration;

use bridge_protocol::ErrorCode;
use chrono::NaiveDate;
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::agent_loop::tests::FakeModel;
use crate::bridge::BridgeId;
use crate::config::BudgetSettings;
use crate::model::{ArgumentsDelta, AttemptUsage, ModelTurn};
use crate::spending::{Account, DailySpending};

/// Prices in millionths of a dollar for a token: of input, cached input, output and cache writes.
const PRICES: [u64; 4] = [3, 1, 15, 4];

type Event = Result<ModelEvent, AgentFailure>;

fn model() -> FakeModel {
    FakeModel::new([]).with_price(PRICES.map(|price| price as f64))
}

fn tokens(input: u64, output: u64) -> TokenUsage {
    TokenUsage {
        input,
        output,
        ..TokenUsage::default()
    }
}

fn usage(input: u64, output: u64) -> Event {
    held(input, output, 0)
}

fn held(input: u64, output: u64, held_bytes: u64) -> Event {
    Ok(ModelEvent::Usage(AttemptUsage {
        tokens: tokens(input, output),
        held_bytes,
        ..AttemptUsage::default()
    }))
}

fn begun() -> Event {
    Ok(ModelEvent::Usage(AttemptUsage {
        has_begun: true,
        ..AttemptUsage::default()
    }))
}

fn size(input_bytes: u64) -> TurnSize {
    TurnSize {
        input_bytes,
        max_output_tokens: 1000,
    }
}

fn text(bytes: usize) -> Event {
    Ok(ModelEvent::Text("x".repeat(bytes)))
}

fn spent(input: u64, output: u64) -> Event {
    Ok(ModelEvent::Spent(tokens(input, output)))
}

fn end(usage: TokenUsage) -> Event {
    let turn = ModelTurn::default();
    Ok(ModelEvent::End { turn, usage })
}

fn failure() -> Event {
    Err(AgentFailure::new(ErrorCode::ModelUnavailable, "busy"))
}

/// Returns the tokens of a turn with an input of 400 bytes, and how many of them are estimated. It is
/// dropped after these events.
fn count(events: Vec<Event>) -> (TokenUsage, u64) {
    let query = UsageMeter::start();
    let model = model();
    let mut turn = TurnMeter::new(&query, &model, size(400));
    for event in events {
        turn.receive(&event);
    }
    drop(turn);
    let used = query.usage().models.remove("script");
    (used.unwrap_or_default(), query.estimated_tokens())
}

#[test]
fn a_turn_costs_what_it_used_however_it_ends() {
    let started = || Ok(ModelEvent::Started);
    let note = || Ok(ModelEvent::Note("busy".to_owned()));
    for (what, events, expected) in [
        ("not begun", vec![], (tokens(0, 0), 0)),
        (
            "cancelled before an answer",
            vec![started()],
            (tokens(100, 0), 100),
        ),
        (
            "cancelled in the answer",
            vec![started(), usage(90, 0), text(30), text(10)],
            (tokens(90, 10), 10),
        ),
        (
            "cancelled in counted output",
            vec![started(), text(40), usage(90, 7)],
            (tokens(90, 7), 0),
        ),
        (
            "ended without usage",
            vec![started(), text(40), end(tokens(0, 0))],
            (tokens(100, 10), 110),
        ),
        (
            "ended with usage",
            vec![started(), text(40), usage(90, 0), end(tokens(90, 5))],
            (tokens(90, 5), 0),
        ),
        (
            "cancelled while text is held back",
            vec![started(), text(8), held(90, 0, 30), held(90, 0, 32)],
            (tokens(90, 10), 10),
        ),
        (
            "ended without usage after text was held back",
            vec![
                started(),
                text(8),
                held(90, 0, 32),
                text(32),
                end(tokens(90, 0)),
            ],
            (tokens(90, 10), 10),
        ),
        ("refused", vec![started(), failure()], (tokens(0, 0), 0)),
        (
            "failed with usage",
            vec![started(), text(40), spent(90, 5), failure()],
            (tokens(90, 5), 0),
        ),
        (
            "failed without usage",
            vec![started(), text(40), spent(0, 0), failure()],
            (tokens(100, 10), 110),
        ),
        (
            "cancelled before the second attempt",
            vec![started(), spent(90, 5), note()],
            (tokens(90, 5), 0),
        ),
        (
            "cancelled in the second attempt",
            vec![started(), note(), started(), usage(90, 0), text(4)],
            (tokens(90, 1), 1),
        ),
        (
            "ended in the second attempt",
            vec![
                started(),
                usage(90, 0),
                spent(90, 5),
                note(),
                started(),
                end(tokens(80, 3)),
            ],
            (tokens(170, 8), 0),
        ),
        // A model without a provider counts nothing, and nothing is estimated for it.
        (
            "commands",
            vec![text(40), end(tokens(0, 0))],
            (tokens(0, 0), 0),
        ),
    ] {
        assert_eq!(count(events), expected, "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn silent_thinking_is_estimated_from_its_time_if_it_is_cut() {
    for (seconds, more, output) in [
        (0, vec![], 0),
        (10, vec![], 500),
        (10, vec![spent(100, 0), failure()], 500),
        (3600, vec![], 1000),
        (10, vec![text(40)], 10),
        (10, vec![usage(100, 7)], 7),
        (10, vec![end(tokens(100, 0))], 0),
    ] {
        // Not every API says that the answer has begun.
        for begun in [Some(begun()), None] {
            let query = UsageMeter::start();
            let model = model();
            let mut turn = TurnMeter::new(&query, &model, size(400));
            turn.thinks = begun.is_none();
            for event in [Some(Ok(ModelEvent::Started)), begun].iter().flatten() {
                turn.receive(event);
            }
            tokio::time::advance(Duration::from_secs(seconds)).await;
            for event in &more {
                turn.receive(event);
            }
            drop(turn);
            let used = query.usage().models.remove("script").unwrap();
            assert_eq!(used, tokens(100, output), "{seconds} s, {more:?}");
        }
    }
}

/// The events of an attempt without its end.
fn attempt() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        (counts(), 0..50_u64).prop_map(|((tokens, cache_writes), held_bytes)| {
            Ok(ModelEvent::Usage(AttemptUsage {
                tokens,
                cache_writes,
                held_bytes,
                has_begun: false,
            }))
        }),
        (0..50_usize).prop_map(text),
        (0..50_usize).prop_map(|bytes| Ok(ModelEvent::Thinking("x".repeat(bytes)))),
        (0..50_usize).prop_map(|bytes| Ok(ModelEvent::Arguments(ArgumentsDelta {
            index: 0,
            tool: "add".to_owned(),
            delta: "x".repeat(bytes),
        }))),
    ];
    vec(event, 0..6)
}

/// Counts of a provider, any of which may be missing.
fn counts() -> impl Strategy<Value = (TokenUsage, u64)> {
    let count = || prop_oneof![Just(0_u64), 1..1000_u64];
    let parts = (count(), count(), count(), count());
    parts.prop_map(|(plain, cached, cache_writes, output)| {
        let usage = TokenUsage {
            input: plain + cached + cache_writes,
            cached,
            output,
            thinking: 0,
        };
        (usage, cache_writes)
    })
}

/// The events of a turn. It may be dropped before its last one.
fn turn() -> impl Strategy<Value = Vec<Event>> {
    let is_spent = any::<bool>();
    let failed = vec((attempt(), is_spent, counts()), 0..3);
    let last = prop_oneof![Just(None), counts().prop_map(Some)];
    (failed, attempt(), last).prop_map(|(failed, attempt, last)| {
        let mut events = Vec::new();
        for (attempt, is_spent, (usage, _)) in failed {
            events.push(Ok(ModelEvent::Started));
            events.extend(attempt);
            events.extend(is_spent.then_some(Ok(ModelEvent::Spent(usage))));
            events.push(Ok(ModelEvent::Note("busy".to_owned())));
        }
        events.push(Ok(ModelEvent::Started));
        events.extend(attempt);
        events.push(last.map_or_else(failure, |(usage, _)| end(usage)));
        events
    })
}

/// Returns the cost of a turn after these events, in millionths of a dollar.
fn cost(events: &[Event], input_bytes: u64) -> u64 {
    let attempts = events.split(|event| matches!(event, Ok(ModelEvent::Started)));
    let costs = attempts.map(|events| {
        let (mut usage, mut writes) = (TokenUsage::default(), 0);
        let (mut output_bytes, mut with_held_bytes) = (0, 0);
        let (mut is_refused, mut is_counted) = (false, false);
        for event in events {
            match event {
                Ok(ModelEvent::Usage(counted)) => {
                    (usage, writes) = (counted.tokens, counted.cache_writes);
                    with_held_bytes = output_bytes + counted.held_bytes;
                }
                Ok(ModelEvent::Text(text) | ModelEvent::Thinking(text)) => {
                    output_bytes += text.len() as u64;
                }
                Ok(ModelEvent::Arguments(arguments)) => {
                    output_bytes += arguments.delta.len() as u64;
                }
                Ok(ModelEvent::Spent(tokens) | ModelEvent::End { usage: tokens, .. }) => {
                    (usage, is_counted) = (*tokens, true);
                }
                Ok(ModelEvent::Note(_)) | Err(_) => is_refused = !is_counted,
                Ok(ModelEvent::Started) => unreachable!("attempts are split there"),
            }
        }
        if is_refused {
            return 0;
        }
        let estimated = |count: u64, bytes: u64| match count {
            0 => bytes.div_ceil(4),
            count => count,
        };
        let [input, cached, output, cache_write] = PRICES;
        let plain = estimated(usage.input, input_bytes).saturating_sub(usage.cached);
        plain.saturating_sub(writes) * input
            + writes * cache_write
            + usage.cached * cached
            + estimated(usage.output, output_bytes.max(with_held_bytes)) * output
    });
    // Nothing was sent before the first attempt.
    costs.skip(1).sum()
}

/// A turn that runs.
struct RunningTurn<'a> {
    meter: TurnMeter<'a>,
    input_bytes: u64,
    received: Vec<Event>,
    rest: VecDeque<Event>,
}

fn account(spending: &Arc<DailySpending>) -> Account {
    spending.account(BridgeId::default(), None)
}

proptest! {
    #[test]
    fn an_account_has_the_sum_of_its_turns_for_every_interleaving_of_their_ends(
        turns in vec((turn(), 0..5000_u64), 1..5),
        steps in vec((any::<prop::sample::Index>(), prop::bool::weighted(0.1)), 0..60),
    ) {
        let spending = Arc::new(DailySpending::new(BudgetSettings::default()));
        let account = account(&spending);
        let today = NaiveDate::default();
        let (model, query) = (model(), UsageMeter::with_clock(NaiveDate::default));
        let mut running: Vec<_> = turns
            .into_iter()
            .map(|(events, input_bytes)| {
                let mut meter = TurnMeter::new(&query, &model, size(input_bytes));
                meter.reservation = account.try_reserve(today, Usd::from_dollars(1.0)).unwrap();
                let (received, rest) = (Vec::new(), events.into());
                RunningTurn { meter, input_bytes, received, rest }
            })
            .collect();
        let mut expected = 0;
        // The turns that are left at the end are cancelled.
        let ends = steps.into_iter().map(Some).chain([None; 4]);
        for step in ends {
            if running.is_empty() {
                break;
            }
            let index = step.map_or(0, |(index, _)| index.index(running.len()));
            let is_cancelled = step.is_none_or(|(_, is_cancelled)| is_cancelled);
            let turn = &mut running[index];
            if let Some(event) = turn.rest.pop_front().filter(|_| !is_cancelled) {
                turn.meter.receive(&event);
                turn.received.push(event);
            } else {
                let turn = running.swap_remove(index);
                expected += cost(&turn.received, turn.input_bytes);
                if turn.rest.is_empty() {
                    turn.meter.close();
                }
            }
            let sum = Usd::from_dollars(expected as f64 / 1e6);
            prop_assert_eq!(account.costs().0, sum);
            prop_assert_eq!(query.cost(), sum);
        }
        prop_assert!(running.is_empty());
        prop_assert_eq!(account.costs().1, Usd::default());
    }
}
