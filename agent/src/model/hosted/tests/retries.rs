//! Tests of the attempts at a provider that is busy or not available.

use super::streams::{TEXT, error_event, frame};
use super::*;
use crate::model::retry::RetryDecision;

#[tokio::test]
async fn a_busy_provider_is_retried() {
    let api = Api::ChatCompletions;
    let server = FakeProvider::new([
        Reply::status(429, "").header("retry-after-ms", "1"),
        Reply::status(529, "").header("retry-after", "0"),
        Reply::new(WholeStream::of(api).text()),
    ])
    .await;
    let twice = ModelSettings {
        retries: 2,
        ..settings(&server)
    };
    let output = collect_turn(&model_for(api, &twice), first_request()).await;
    assert_eq!(output.text, TEXT);
    assert!(output.notes[0].starts_with("the model is busy: trying again in"));
    assert!(output.notes[1].starts_with("the model is not available: trying"));
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn a_provider_that_asks_for_too_long_is_not_retried() {
    for api in ALL {
        let busy = || Reply::status(429, "");
        let server = FakeProvider::new([
            busy().header("retry-after", "31"),
            busy().header("x-should-retry", "false"),
            Reply::status(
                429,
                r#"{"error":{"message":"Pay","code":"insufficient_quota"}}"#,
            ),
            Reply::status(
                429,
                r#"[{"error":{"message":"Wait","details":[{"retryDelay":"34.07s"}]}}]"#,
            ),
        ])
        .await;
        let twice = ModelSettings {
            retries: 2,
            ..settings(&server)
        };
        for expected in 1..=4 {
            let output = collect_turn(&model_for(api, &twice), first_request()).await;
            let failure = output.failure();
            assert_eq!(failure.code, ErrorCode::ModelRateLimited, "{api:?}");
            assert!(output.notes.is_empty(), "{:?}", output.notes);
            assert_eq!(server.requests().len(), expected);
        }
    }
}

#[tokio::test]
async fn status_and_headers_decide_about_the_next_attempt() {
    use RetryDecision::{After, Backoff, Never};
    let half_a_second = After(Duration::from_millis(500));
    for api in ALL {
        for (reply, expected) in [
            (Reply::status(400, ""), Never),
            (Reply::status(401, ""), Never),
            (Reply::status(404, ""), Never),
            (Reply::status(408, ""), Backoff),
            (Reply::status(409, ""), Backoff),
            (Reply::status(429, ""), Backoff),
            (Reply::status(500, ""), Backoff),
            (
                Reply::status(503, "").header("retry-after-ms", "500"),
                half_a_second,
            ),
            (
                Reply::status(529, "").header("retry-after", "0.5"),
                half_a_second,
            ),
            (
                Reply::status(429, "").header("retry-after", "Mon, 30 Nov 2020 07:28:00 GMT"),
                Backoff,
            ),
            (
                Reply::status(500, "").header("x-should-retry", "false"),
                Never,
            ),
            (Reply::json(&error_event(api)), Backoff),
            (Reply::new(frame(api, &error_event(api))), Backoff),
            (Reply::new(""), Never),
        ] {
            let what = format!("{api:?} {reply:?}");
            let server = FakeProvider::new([reply]).await;
            let mut events = hosted(api, &settings(&server)).attempt(&first_request());
            let error = events.next().await.unwrap().unwrap_err();
            assert_eq!(error.retry, expected, "{what}");
            assert!(events.next().await.is_none());
        }
    }
}

#[tokio::test]
async fn an_error_event_is_retried_only_before_the_first_output() {
    for api in ALL {
        let error = frame(api, &error_event(api));
        let reply = Reply::new(streams::start(api) + &error);
        let server = FakeProvider::new([reply]).await;
        let once = ModelSettings {
            retries: 1,
            ..settings(&server)
        };
        let output = collect_turn(&model_for(api, &once), first_request()).await;
        assert_eq!(output.failure().code, ErrorCode::ModelStreamBroken);
        assert!(output.notes.is_empty(), "{:?}", output.notes);
        assert_eq!(server.requests().len(), 1);

        // The delay of the next attempt is up to a second: this test only sees that there is one.
        let server = FakeProvider::new([Reply::new(error)]).await;
        let once = ModelSettings {
            base_url: Some(server.url()),
            ..once
        };
        let model = model_for(api, &once);
        let mut events = model.turn(first_request());
        let first = events.next().await.unwrap().unwrap();
        assert!(matches!(first, ModelEvent::Started), "{first:?}");
        let second = events.next().await.unwrap().unwrap();
        assert!(matches!(second, ModelEvent::Note(_)), "{second:?}");
    }
}

#[tokio::test]
async fn tokens_of_an_attempt_that_failed_are_reported_before_the_next() {
    // The tokens of the input are counted, and then the server is overloaded.
    let api = Api::Messages;
    let begun = frame(api, &WholeStream::of(api).events[0]);
    let error = frame(api, &error_event(api));
    let server = FakeProvider::new([Reply::new(begun + &error)]).await;
    let once = ModelSettings {
        retries: 1,
        ..settings(&server)
    };
    let model = model_for(api, &once);
    let events: Vec<_> = model.turn(first_request()).take(4).collect().await;
    let [
        Ok(ModelEvent::Started),
        Ok(ModelEvent::Usage(counted)),
        Ok(ModelEvent::Spent(usage)),
        Ok(ModelEvent::Note(_)),
    ] = &events[..]
    else {
        panic!("{events:?}");
    };
    // The count of the output is provisional at the beginning.
    assert_eq!((usage.input, usage.output), (472, 0));
    assert_eq!((counted.tokens, counted.cache_writes), (*usage, 8));
}
