use std::sync::Mutex;

use tokio::time::Instant;

use super::*;
use crate::model::{ModelTurn, ToolSelection, Usage};

/// Says the next of its answers at each attempt.
#[derive(Debug)]
struct FakeAttempts(Mutex<Vec<Vec<Result<Event, AttemptError>>>>);

impl ProviderAttempt for FakeAttempts {
    fn label(&self) -> &str {
        "played"
    }

    fn attempt(&self, _: &Request) -> BoxStream<'static, Result<Event, AttemptError>> {
        stream::iter(self.0.lock().unwrap().remove(0)).boxed()
    }
}

fn attempt_error(code: ErrorCode, again: RetryDecision) -> Result<Event, AttemptError> {
    let failure = Failure::new(code, "played has no time");
    Err(AttemptError {
        failure,
        retry: again,
    })
}

fn busy(again: RetryDecision) -> Vec<Result<Event, AttemptError>> {
    vec![attempt_error(ErrorCode::ModelRateLimited, again)]
}

fn answer() -> Vec<Result<Event, AttemptError>> {
    let end = Event::End {
        turn: ModelTurn::default(),
        usage: Usage::default(),
    };
    vec![Ok(Event::Text("yes".to_owned())), Ok(end)]
}

/// What is said, how long it takes, and how many answers are left.
async fn run_attempts(
    answers: Vec<Vec<Result<Event, AttemptError>>>,
) -> (Vec<String>, Duration, usize) {
    let model = RetryingModel::new(FakeAttempts(Mutex::new(answers)), 2);
    let request = Request {
        query: "q".into(),
        prompt: "p".into(),
        system: String::new(),
        history: Vec::new(),
        tools: Arc::new([]),
        tool_selection: ToolSelection::Auto,
        max_output_tokens: 1,
    };
    let began = Instant::now();
    let said = model.turn(request).map(|event| match event {
        Ok(Event::Text(text) | Event::Thinking(text)) => text,
        Ok(Event::Note(text)) => format!("note: {text}"),
        Ok(Event::End { .. }) => "end".to_owned(),
        Err(failure) => failure.to_string(),
    });
    let said = said.collect().await;
    let left = model.provider.0.lock().unwrap().len();
    (said, began.elapsed(), left)
}

#[tokio::test(start_paused = true)]
async fn a_busy_provider_is_retried_after_its_delay_with_a_note() {
    let after = RetryDecision::After(Duration::from_millis(2500));
    let (said, took, left) =
        run_attempts(vec![busy(after), busy(RetryDecision::Backoff), answer()]).await;
    assert_eq!(said.len(), 4, "{said:?}");
    let first = "note: the model is busy: trying again in ";
    assert!(
        ["3 s", "4 s"].contains(&said[0].strip_prefix(first).unwrap()),
        "{said:?}"
    );
    assert!(
        ["1 s", "2 s"].contains(&said[1].strip_prefix(first).unwrap()),
        "{said:?}"
    );
    assert_eq!(said[2..], ["yes", "end"]);
    assert!(
        took >= Duration::from_millis(3500) && took < Duration::from_secs(6),
        "{took:?}"
    );
    assert_eq!(left, 0);
}

#[tokio::test(start_paused = true)]
async fn the_failure_is_returned_after_the_last_retry() {
    let unavailable = || {
        vec![attempt_error(
            ErrorCode::ModelUnavailable,
            RetryDecision::Backoff,
        )]
    };
    let (said, _, left) =
        run_attempts(vec![unavailable(), unavailable(), unavailable(), answer()]).await;
    assert!(said[0].starts_with("note: the model is not available: trying again in 1 s"));
    assert_eq!(
        said.last().unwrap(),
        "ModelUnavailable: played has no time (asked 3 times)"
    );
    assert_eq!((said.len(), left), (3, 1));
}

#[tokio::test(start_paused = true)]
async fn partial_answers_and_permanent_failures_are_not_retried() {
    let mut broken = vec![Ok(Event::Thinking("…".to_owned()))];
    broken.extend(busy(RetryDecision::Backoff));
    let asked_to_wait = RetryDecision::After(Duration::from_secs(31));
    let never = RetryDecision::Never;
    let long = "ModelRateLimited: played has no time (it asks to wait for 31 s)";
    let plain = "ModelRateLimited: played has no time";
    for (again, expected) in [(asked_to_wait, long), (never, plain)] {
        let (said, took, left) = run_attempts(vec![busy(again), answer()]).await;
        assert_eq!((said, left), (vec![expected.to_owned()], 1));
        assert_eq!(took, Duration::ZERO);
    }
    let (said, _, left) = run_attempts(vec![broken, answer()]).await;
    assert_eq!((said, left), (vec!["…".to_owned(), plain.to_owned()], 1));
}

#[test]
fn retry_delays_grow_within_their_bounds() {
    for failed in 0..40 {
        let time = retry_delay(RetryDecision::Backoff, failed).unwrap();
        let full = INITIAL_BACKOFF
            .saturating_mul(1 << failed.min(5))
            .min(MAX_RETRY_DELAY);
        assert!(time >= full / 2 && time <= full, "{failed}: {time:?}");
    }
}
