use std::sync::Mutex;

use tokio::time::Instant;

use super::*;
use crate::model::{Choice, Turn, Usage};

/// Says the next of its answers at each attempt.
#[derive(Debug)]
struct Played(Mutex<Vec<Vec<Result<Event, Trouble>>>>);

impl Attempt for Played {
    fn label(&self) -> &str {
        "played"
    }

    fn attempt(&self, _: &Request) -> BoxStream<'static, Result<Event, Trouble>> {
        stream::iter(self.0.lock().unwrap().remove(0)).boxed()
    }
}

fn trouble(code: ErrorCode, again: Again) -> Result<Event, Trouble> {
    let failure = Failure::new(code, "played has no time");
    Err(Trouble { failure, again })
}

fn busy(again: Again) -> Vec<Result<Event, Trouble>> {
    vec![trouble(ErrorCode::ModelRateLimited, again)]
}

fn answer() -> Vec<Result<Event, Trouble>> {
    let end = Event::End {
        turn: Turn::default(),
        usage: Usage::default(),
    };
    vec![Ok(Event::Text("yes".to_owned())), Ok(end)]
}

/// What is said, how long it takes, and how many answers are left.
async fn play(answers: Vec<Vec<Result<Event, Trouble>>>) -> (Vec<String>, Duration, usize) {
    let model = Retrying::new(Played(Mutex::new(answers)), 2);
    let request = Request {
        query: "q".into(),
        prompt: "p".into(),
        system: String::new(),
        history: Vec::new(),
        tools: Arc::new([]),
        choice: Choice::Auto,
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
    let left = model.asks.0.lock().unwrap().len();
    (said, began.elapsed(), left)
}

#[tokio::test(start_paused = true)]
async fn a_busy_provider_is_asked_again_when_it_says_and_a_note_tells_so() {
    let after = Again::After(Duration::from_millis(2500));
    let (said, took, left) = play(vec![busy(after), busy(Again::Soon), answer()]).await;
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
async fn after_the_last_retry_its_failure_is_told() {
    let unavailable = || vec![trouble(ErrorCode::ModelUnavailable, Again::Soon)];
    let (said, _, left) = play(vec![unavailable(), unavailable(), unavailable(), answer()]).await;
    assert!(said[0].starts_with("note: the model is not available: trying again in 1 s"));
    assert_eq!(
        said.last().unwrap(),
        "ModelUnavailable: played has no time (asked 3 times)"
    );
    assert_eq!((said.len(), left), (3, 1));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_asked_twice_that_was_answered_in_part_or_will_not_do_better() {
    let mut broken = vec![Ok(Event::Thinking("…".to_owned()))];
    broken.extend(busy(Again::Soon));
    let asked_to_wait = Again::After(Duration::from_secs(31));
    let never = Again::Never;
    let long = "ModelRateLimited: played has no time (it asks to wait for 31 s)";
    let plain = "ModelRateLimited: played has no time";
    for (again, expected) in [(asked_to_wait, long), (never, plain)] {
        let (said, took, left) = play(vec![busy(again), answer()]).await;
        assert_eq!((said, left), (vec![expected.to_owned()], 1));
        assert_eq!(took, Duration::ZERO);
    }
    let (said, _, left) = play(vec![broken, answer()]).await;
    assert_eq!((said, left), (vec!["…".to_owned(), plain.to_owned()], 1));
}

#[test]
fn waits_grow_and_stay_within_their_bounds() {
    for failed in 0..40 {
        let time = wait(Again::Soon, failed).unwrap();
        let full = FIRST_WAIT
            .saturating_mul(1 << failed.min(5))
            .min(LONGEST_WAIT);
        assert!(time >= full / 2 && time <= full, "{failed}: {time:?}");
    }
}
