//! One turn of the model, as it is said.

use bridge_protocol::{ErrorCode, QueryContent};
use futures_util::StreamExt;
use futures_util::stream::BoxStream;

use super::voice::Voice;
use crate::failure::Failure;
use crate::model::{Event, Turn, Usage};

/// Hears a turn to its end, and passes on what is for the page.
pub(super) async fn hear(
    mut said: BoxStream<'static, Result<Event, Failure>>,
    voice: &mut Voice<'_>,
) -> Result<(Turn, Usage), Failure> {
    let end = loop {
        let event = tokio::select! {
            biased;
            () = voice.say_first(), if voice.has_more() => continue,
            event = said.next(), if !voice.is_far_behind() => event,
        };
        match event {
            Some(Ok(Event::Text(text))) => voice.say(QueryContent::Text { text }),
            Some(Ok(Event::Thinking(text))) => voice.say(QueryContent::Thinking { text }),
            Some(Ok(Event::Note(text))) => voice.say(QueryContent::Note { text }),
            Some(Ok(Event::End { turn, usage })) => break Ok((turn, usage)),
            Some(Err(failure)) => break Err(failure),
            None => break Err(unfinished()),
        }
    };
    drop(said);
    voice.say_all().await;
    end
}

fn unfinished() -> Failure {
    let message = "the model's answer ended without saying that it was the end";
    Failure::new(ErrorCode::ModelStreamUnfinished, message).with_remedy("ask again")
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::{FutureExt, stream};
    use tokio::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn a_model_whose_reader_is_slow_has_to_wait_and_nothing_is_lost() {
        const PIECES: usize = 1000;
        let read = AtomicUsize::new(0);
        let read: &'static AtomicUsize = Box::leak(Box::new(read));
        let pieces = stream::iter(0..PIECES).map(|_| {
            read.fetch_add(1, Ordering::Relaxed);
            Ok(Event::Text("x".repeat(1024)))
        });
        let end = Event::End {
            turn: Turn::default(),
            usage: Usage::default(),
        };
        let said = pieces.chain(stream::iter([Ok(end)])).boxed();
        let (say, mut heard) = mpsc::channel(1);
        let mut voice = Voice::new(&say);
        let mut hearing = Box::pin(hear(said, &mut voice));
        assert!((&mut hearing).now_or_never().is_none());
        let waiting = read.load(Ordering::Relaxed);
        assert!((2..100).contains(&waiting), "{waiting} pieces were read");

        let listening = async {
            let mut bytes = 0;
            while bytes < PIECES * 1024 {
                match heard.recv().await {
                    Some(QueryContent::Text { text }) => bytes += text.len(),
                    other => panic!("{other:?}"),
                }
            }
        };
        let (turn, ()) = tokio::join!(hearing, listening);
        assert!(turn.is_ok());
    }

    #[tokio::test]
    async fn a_stream_that_just_ends_is_a_failure() {
        let (say, _heard) = mpsc::channel(1);
        let failure = hear(stream::empty().boxed(), &mut Voice::new(&say)).await;
        assert_eq!(failure.unwrap_err().code, ErrorCode::ModelStreamUnfinished);
    }
}
