//! The costs of queries, and budgets.

use std::sync::Arc;

use agent_tools::AgentFailure;
use bridge_protocol::{ErrorCode, QueryContent, TokenUsage};
use serde_json::json;
use tokio::sync::mpsc;

use super::fake_model::TurnEvents;
use super::test_bed::query_input;
use super::{FakeModel, TestBed, text_turn, with_deadline};
use crate::agent_loop::{FinalAnswer, QueryState, answer};
use crate::bridge::BridgeId;
use crate::config::{AgentLimits, BudgetSettings, Usd};
use crate::model::{AttemptUsage, ModelEvent, ModelTurn};
use crate::spending::{Account, DailySpending};

/// A dollar for each thousand tokens of input, two for each of output.
fn model(turns: impl IntoIterator<Item = TurnEvents>) -> FakeModel {
    FakeModel::new(turns).with_price([1000.0, 0.0, 2000.0, 1000.0])
}

fn account(daily_budget: f64) -> Account {
    let spending = DailySpending::new(BudgetSettings {
        daily_budget: Some(daily_budget),
        ..BudgetSettings::default()
    });
    Arc::new(spending).account(BridgeId::default(), None)
}

fn counted() -> ModelEvent {
    ModelEvent::Usage(AttemptUsage {
        tokens: TokenUsage {
            input: 1000,
            ..TokenUsage::default()
        },
        ..AttemptUsage::default()
    })
}

/// Answers a query that this account pays for, or cancels it after the first piece of progress.
async fn ask(
    bed: &TestBed,
    model: &FakeModel,
    account: &Account,
    is_cancelled: bool,
) -> (Option<Result<FinalAnswer, AgentFailure>>, QueryState) {
    let (limits, state) = (AgentLimits::default(), QueryState::new());
    state.meter.charge(account.clone());
    let (sender, mut progress) = mpsc::channel(16);
    let answered = {
        let input = query_input(&bed.query, &bed.tools, model, &limits, &sender, &state);
        let first_text =
            async { while !matches!(progress.recv().await, Some(QueryContent::Text { .. })) {} };
        tokio::select! {
            answered = with_deadline("the answer", answer(input)) => Some(answered),
            () = first_text, if is_cancelled => None,
        }
    };
    (answered, state)
}

#[tokio::test]
async fn a_query_costs_what_it_used_and_the_next_is_refused_when_the_budget_is_used_up() {
    let bed = TestBed::with_query(&[], json!({})).await;
    let output = || ModelEvent::Text("x".repeat(2000));
    let end = |output| ModelEvent::End {
        turn: ModelTurn {
            text: "Done.".to_owned(),
            ..ModelTurn::default()
        },
        usage: TokenUsage {
            input: 1000,
            output,
            ..TokenUsage::default()
        },
    };
    let failure = || AgentFailure::new(ErrorCode::ModelStreamBroken, "it broke");
    let spent = || {
        ModelEvent::Spent(TokenUsage {
            input: 1000,
            ..TokenUsage::default()
        })
    };
    for (what, last, estimated) in [
        ("cancelled", None, 500),
        ("failed", Some(vec![Ok(spent()), Err(failure())]), 500),
        ("without usage", Some(vec![Ok(end(0))]), 500),
        ("whole", Some(vec![Ok(end(500))]), 0),
    ] {
        let account = account(2.0);
        let is_cancelled = last.is_none();
        let mut turn = vec![Ok(ModelEvent::Started), Ok(counted()), Ok(output())];
        turn.extend(last.unwrap_or_default());
        let (answered, state) = ask(&bed, &model([turn]), &account, is_cancelled).await;
        assert_eq!(answered.is_none(), is_cancelled, "{what}");
        let cost = Usd::from_dollars(2.0);
        assert_eq!(state.meter.cost(), cost, "{what}");
        assert_eq!(state.meter.estimated_tokens(), estimated, "{what}");
        assert_eq!(account.costs(), (cost, Usd::default()), "{what}");

        let (answered, _) = ask(&bed, &model([]), &account, false).await;
        let failure = answered.unwrap().unwrap_err();
        assert_eq!(failure.code, ErrorCode::QueryBudgetExceeded, "{what}");
    }
}

#[tokio::test]
async fn the_page_reads_that_a_query_waits_for_the_budget() {
    let bed = TestBed::with_query(&[], json!({})).await;
    let account = account(2.0);
    let running = account.reserve(Usd::from_dollars(2.0)).await.unwrap();
    let (limits, state) = (AgentLimits::default(), QueryState::new());
    state.meter.charge(account.clone());
    let (sender, mut progress) = mpsc::channel(16);
    let model = model([text_turn("Done.")]);
    let input = query_input(&bed.query, &bed.tools, &model, &limits, &sender, &state);
    let release = async {
        loop {
            if let Some(QueryContent::Note { text }) = progress.recv().await {
                drop(running);
                return text;
            }
        }
    };
    let answered = async { tokio::join!(answer(input), release) };
    let (answered, note) = with_deadline("the answer", answered).await;
    assert!(answered.is_ok(), "{answered:?}");
    assert!(note.contains("budget"), "{note}");
}
