//! Tests of retries, with fake attempts and paused time.

use std::sync::Mutex;

use bridge_protocol::TokenUsage;
use tokio::time::Instant;

use super::*;
use crate::model::{AttemptUsage, ModelTurn, ToolSelection};

/// The remaining attempts, each with its events.
#[derive(Debug)]
struct FakeAttempts(Mutex<Vec<Vec<Result<ModelEvent, AttemptError>>>>);

impl ProviderAttempt for FakeAttempts {
    fn label(&self) -> &str {
        "fake"
    }

    fn name(&self) -> &str {
        "fake"
    }

    fn provider(&self) -> &'static str {
        "fake"
    }

    fn price(&self, _: NaiveDate) -> Option<Price> {
        None
    }

    fn max_output_tokens(&self, of_answer: u32) -> u32 {
        of_answer
    }

    fn reads_media(&self, _: &str) -> bool {
        false
    }

    fn attempt(&self, _: &TurnRequest) -> BoxStream<'static, Result<ModelEvent, AttemptError>> {
        stream::iter(self.0.lock().unwrap().remove(0)).boxed()
    }
}

fn attempt_error(code: ErrorCode, retry: RetryDecision) -> Result<ModelEvent, AttemptError> {
    let failure = AgentFailure::new(code, "fake has no time");
    Err(AttemptError { failure, retry })
}

fn busy(retry: RetryDecision) -> Vec<Result<ModelEvent, AttemptError>> {
    vec![attempt_error(ErrorCode::ModelRateLimited, retry)]
}

fn answer() -> Vec<Result<ModelEvent, AttemptError>> {
    let end = ModelEvent::End {
        turn: ModelTurn::default(),
        usage: TokenUsage::default(),
    };
    vec![Ok(ModelEvent::Text("yes".to_owned())), Ok(end)]
}

/// Runs a turn with two retries. Returns its output, its duration, and the number of attempts that
/// remain.
async fn run_attempts(
    attempts: Vec<Vec<Result<ModelEvent, AttemptError>>>,
) -> (Vec<String>, Duration, usize) {
    let model = RetryingModel::new(FakeAttempts(Mutex::new(attempts)), 2);
    let request = TurnRequest {
        cache_group: "q".into(),
        user: "".into(),
        prompt: "p".into(),
        system: String::new(),
        history: Vec::new(),
        earlier_messages: 0,
        tools: Arc::new([]),
        tool_selection: ToolSelection::Auto,
        answer_tool: None,
        max_output_tokens: 1,
        switched_off: Arc::default(),
        converted_tools: Arc::default(),
    };
    let started = Instant::now();
    let output = model.turn(request).map(|event| match event {
        Ok(ModelEvent::Text(text) | ModelEvent::Thinking(text)) => text,
        Ok(ModelEvent::Note(text)) => format!("note: {text}"),
        Ok(ModelEvent::Arguments(arguments)) => arguments.delta,
        Ok(ModelEvent::Started) => "started".to_owned(),
        Ok(ModelEvent::Usage(usage)) => format!("usage: {}", usage.tokens.input),
        Ok(ModelEvent::Spent(usage)) => format!("spent: {}", usage.input),
        Ok(ModelEvent::End { .. }) => "end".to_owned(),
        Err(failure) => failure.to_string(),
    });
    let output = output.collect().await;
    let remaining = model.provider.0.lock().unwrap().len();
    (output, started.elapsed(), remaining)
}

#[tokio::test(start_paused = true)]
async fn a_busy_provider_is_retried_after_its_delay_with_a_note() {
    let after = RetryDecision::After(Duration::from_millis(2500));
    let (output, elapsed, remaining) =
        run_attempts(vec![busy(after), busy(RetryDecision::Backoff), answer()]).await;
    assert_eq!(output.len(), 7, "{output:?}");
    let note = "note: the model is busy: trying again in ";
    for (line, delays) in [(&output[1], ["3 s", "4 s"]), (&output[3], ["1 s", "2 s"])] {
        assert!(delays.contains(&line.strip_prefix(note).unwrap()), "{line}");
    }
    for started in [0, 2, 4] {
        assert_eq!(output[started], "started");
    }
    assert_eq!(output[5..], ["yes", "end"]);
    assert!(
        elapsed >= Duration::from_millis(3500) && elapsed < Duration::from_secs(6),
        "{elapsed:?}"
    );
    assert_eq!(remaining, 0);
}

#[tokio::test(start_paused = true)]
async fn the_failure_is_returned_after_the_last_retry() {
    let unavailable = || {
        vec![attempt_error(
            ErrorCode::ModelUnavailable,
            RetryDecision::Backoff,
        )]
    };
    let (output, _, remaining) =
        run_attempts(vec![unavailable(), unavailable(), unavailable(), answer()]).await;
    assert!(output[1].starts_with("note: the model is not available: trying again in 1 s"));
    assert_eq!(
        output.last().unwrap(),
        "ModelUnavailable: fake has no time (asked 3 times)"
    );
    assert_eq!((output.len(), remaining), (6, 1));
}

#[tokio::test(start_paused = true)]
async fn partial_answers_and_permanent_failures_are_not_retried() {
    let mut broken = vec![Ok(ModelEvent::Thinking("…".to_owned()))];
    broken.extend(busy(RetryDecision::Backoff));
    let too_long = RetryDecision::After(Duration::from_secs(31));
    let with_delay = "ModelRateLimited: fake has no time (it asks to wait for 31 s)";
    let plain = "ModelRateLimited: fake has no time";
    for (retry, expected) in [(too_long, with_delay), (RetryDecision::Never, plain)] {
        let (output, elapsed, remaining) = run_attempts(vec![busy(retry), answer()]).await;
        assert_eq!(output, ["started", expected]);
        assert_eq!(remaining, 1);
        assert_eq!(elapsed, Duration::ZERO);
    }
    let (output, _, remaining) = run_attempts(vec![broken, answer()]).await;
    assert_eq!(output, ["started", "…", plain]);
    assert_eq!(remaining, 1);
}

#[test]
fn retry_delays_grow_within_their_bounds() {
    for failed_attempts in 0..40 {
        let delay = retry_delay(RetryDecision::Backoff, failed_attempts).unwrap();
        let full = INITIAL_BACKOFF
            .saturating_mul(1 << failed_attempts.min(5))
            .min(MAX_RETRY_DELAY);
        assert!(
            delay >= full / 2 && delay <= full,
            "{failed_attempts}: {delay:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn tokens_of_an_attempt_that_failed_are_not_output() {
    let spent = ModelEvent::Spent(TokenUsage {
        input: 7,
        ..TokenUsage::default()
    });
    let counted = ModelEvent::Usage(AttemptUsage::default());
    let mut failed = busy(RetryDecision::Backoff);
    failed.splice(0..0, [Ok(counted), Ok(spent)]);
    let (output, _, remaining) = run_attempts(vec![failed, answer()]).await;
    assert_eq!(output[..3], ["started", "usage: 0", "spent: 7"]);
    assert_eq!(output[4..], ["started", "yes", "end"], "{output:?}");
    assert_eq!(remaining, 0);
}
