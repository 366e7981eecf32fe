//! Tests of providers that are silent.

use super::fake_provider::ReplyEnd;
use super::in_memory::server;
use super::streams::{frame, start};
use super::*;

#[tokio::test]
async fn a_silent_provider_is_given_up_and_its_connection_closed() {
    for api in ALL {
        for (start, is_silent, expected) in [
            (String::new(), false, "has not begun to answer within "),
            (start(api), true, "has sent nothing for "),
        ] {
            // A short limit may end before the request has arrived, if the machine does other work.
            for short in [50, 500, 5_000, 50_000].map(Duration::from_millis) {
                let reply = Reply::new(start.clone()).ending_with(ReplyEnd::Hang);
                let server = FakeProvider::new([reply]).await;
                let long = Duration::from_secs(600);
                let settings = ModelSettings {
                    first_token_within: Some(if is_silent { long } else { short }),
                    provider_silence: if is_silent { short } else { long },
                    ..settings(&server)
                };
                let output = collect_turn(&model_for(api, &settings), first_request()).await;
                let failure = output.failure();
                assert_eq!(failure.code, ErrorCode::ModelUnavailable, "{failure}");
                let expected = format!("{expected}{short:?}");
                assert!(failure.message.contains(&expected), "{api:?}: {failure}");
                // It may have worked on the answer until then.
                assert_eq!(output.spent.len(), 1, "{api:?}");
                if server.requests().is_empty() {
                    continue;
                }
                server.disconnected().await;
                break;
            }
        }
    }
}

#[tokio::test]
async fn dropping_a_turn_closes_the_connection() {
    for api in ALL {
        let reply = Reply::new(start(api)).ending_with(ReplyEnd::Hang);
        let server = FakeProvider::new([reply]).await;
        let model = model_for(api, &settings(&server));
        let mut events = model.turn(first_request());
        let started = events.next().await.unwrap().unwrap();
        assert!(matches!(started, ModelEvent::Started), "{started:?}");
        assert!(events.next().await.unwrap().is_ok());
        drop(events);
        server.disconnected().await;
    }
}

/// Returns chunks that follow each other after this time.
fn spaced(chunks: Vec<Bytes>, delay: Duration) -> BoxStream<'static, io::Result<Bytes>> {
    let chunks = stream::iter(chunks);
    let chunks = chunks.then(move |chunk| async move {
        tokio::time::sleep(delay).await; // sleep: the time is paused, and the delay is what is tested
        Ok(chunk)
    });
    chunks.chain(stream::pending()).boxed()
}

#[tokio::test(start_paused = true)]
async fn comments_do_not_delay_the_time_for_the_beginning_of_an_answer() {
    for api in ALL {
        let comments = vec![Bytes::from_static(b": wait\n\n"); 100];
        let chunks = spaced(comments, Duration::from_secs(7));
        let started = Instant::now();
        let output = server(api).read_stream(chunks).await;
        assert_eq!(output.failure().code, ErrorCode::ModelUnavailable);
        let always_thinks = matches!(api, Api::Responses | Api::Gemini);
        let expected = if always_thinks { 300 } else { 60 };
        let expected = Duration::from_secs(expected);
        assert_eq!(started.elapsed(), expected, "{api:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_format_at_anthropic_has_time_for_its_grammar() {
    for (setting, expected) in [(None, 200), (Some(60), 60)] {
        let mut server = server(Api::Messages);
        if let Some(seconds) = setting {
            server.set_first_token_within(Duration::from_secs(seconds));
        }
        server.prepare(&TurnRequest {
            answer_tool: Some("get_time".to_owned()),
            ..first_request()
        });
        let started = Instant::now();
        let output = server.read_stream(stream::pending().boxed()).await;
        assert_eq!(output.failure().code, ErrorCode::ModelUnavailable);
        assert_eq!(started.elapsed(), Duration::from_secs(expected));
    }
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_sends_anything_within_an_answer_is_not_silent() {
    for api in ALL {
        let stream = WholeStream::of(api);
        let start = Bytes::from(start(api));
        let whole = stream.text();
        let rest = Bytes::copy_from_slice(&whole.as_bytes()[start.len()..]);
        let comment = || Bytes::from_static(b": wait\n\n");
        let chunks = vec![start, comment(), comment(), rest];
        let started = Instant::now();
        let delay = Duration::from_secs(59);
        let output = server(api).read_stream(spaced(chunks, delay)).await;
        assert_eq!(output.turn().calls.len(), 2, "{api:?}");
        // Gemini's API has no last event: more may follow.
        let has_last = api != Api::Gemini;
        let after = if has_last { Duration::ZERO } else { AFTER_STOP };
        assert_eq!(started.elapsed(), delay * 4 + after, "{api:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_thinks_without_a_word_has_begun_to_answer() {
    for api in ALL {
        let (begun, rest) = WholeStream::of(api).divided_before_output();
        let comment = || Bytes::from_static(b": wait\n\n");
        let chunks = vec![begun.clone().into(), comment(), comment(), rest.into()];
        let output = server(api)
            .read_stream(spaced(chunks, Duration::from_secs(59)))
            .await;
        assert_eq!(output.turn().calls.len(), 2, "{api:?}");
        // The time for the first output is not shortened by the beginning.
        let mut server = server(api);
        server.set_first_token_within(Duration::from_secs(300));
        for (delay, elapsed, expected) in [
            (10, 300, "has not begun to answer within 5m"),
            (299, 359, "has sent nothing for 1m"),
        ] {
            let started = Instant::now();
            let chunks = vec![begun.clone().into()];
            let chunks = spaced(chunks, Duration::from_secs(delay));
            let output = server.read_stream(chunks).await;
            let failure = output.failure();
            assert_eq!(failure.code, ErrorCode::ModelUnavailable, "{failure}");
            assert!(failure.message.contains(expected), "{api:?}: {failure}");
            assert_eq!(started.elapsed(), Duration::from_secs(elapsed), "{api:?}");
            assert_eq!(
                output.spent.len(),
                1,
                "{api:?}: its thoughts cost something"
            );
        }
    }
}

/// Returns these bytes at once, on a connection that stays open.
fn open(text: &str) -> BoxStream<'static, io::Result<Bytes>> {
    let chunk = Bytes::copy_from_slice(text.as_bytes());
    stream::iter([Ok(chunk)]).chain(stream::pending()).boxed()
}

#[tokio::test(start_paused = true)]
async fn a_cut_response_on_an_open_connection_is_never_whole() {
    for api in ALL {
        let server = server(api);
        let stream = WholeStream::of(api);
        let text = stream.text();
        let ends = stream.ends();
        for cut in (0..=text.len()).filter(|cut| text.is_char_boundary(*cut)) {
            let events = ends.iter().filter(|end| **end <= cut).count();
            let output = server.read_stream(open(&text[..cut])).await;
            let is_whole = events >= stream.whole_after;
            assert_eq!(
                output.end.is_ok(),
                is_whole,
                "{api:?} after {events} events"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_reason_to_stop_in_each_event_does_not_show_the_end_on_an_open_connection() {
    for (api, reason) in [
        (Api::Gemini, "/candidates/0/finishReason"),
        (Api::ChatCompletions, "/choices/0/finish_reason"),
    ] {
        let server = server(api);
        let mut stream = WholeStream::of(api);
        let stop = stream
            .events
            .iter()
            .find_map(|it| it.pointer(reason)?.as_str());
        let stop = stop.unwrap().to_owned();
        stream.events.retain(Value::is_object);
        for event in &mut stream.events {
            if let Some(candidate) = event.pointer_mut(reason.rsplit_once('/').unwrap().0) {
                candidate[reason.rsplit_once('/').unwrap().1] = stop.clone().into();
            }
        }
        let text = stream.text();
        // The first event with output may be a whole answer.
        let first = if api == Api::Gemini { 1 } else { 2 };
        for end in stream.ends().into_iter().skip(first) {
            let output = server.read_stream(open(&text[..end])).await;
            let failure = output.failure();
            assert_eq!(
                failure.code,
                ErrorCode::ModelUnavailable,
                "{api:?} after {end}"
            );
        }
        assert_eq!(
            server.read_text(&text).await.turn().calls.len(),
            2,
            "{api:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_and_its_reason_in_one_event_are_whole_on_an_open_connection() {
    let events = [
        (
            Api::Gemini,
            json!({ "candidates": [{ "content": { "parts": [{ "text": "Yes" }] },
                "finishReason": "STOP" }] }),
        ),
        (
            Api::ChatCompletions,
            json!({ "choices": [{ "delta": { "content": "Yes" }, "finish_reason": "stop" }] }),
        ),
    ];
    for (api, event) in events {
        let started = Instant::now();
        let output = server(api).read_stream(open(&frame(api, &event))).await;
        assert_eq!(output.turn().text, "Yes", "{api:?}");
        // More may follow until then.
        assert_eq!(started.elapsed(), Duration::from_secs(60), "{api:?}");
    }
}
