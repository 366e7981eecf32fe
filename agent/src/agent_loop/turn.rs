//! One turn of the model, as it is said.

use bridge_protocol::{ErrorCode, QueryContent};
use futures_util::StreamExt;
use futures_util::stream::BoxStream;

use crate::agent_loop::progress_sink::ProgressSink;
use crate::failure::Failure;
use crate::model::{Event, ModelTurn, Usage};

/// Hears a turn to its end, and passes on what is for the page.
pub(super) async fn collect_turn(
    mut said: BoxStream<'static, Result<Event, Failure>>,
    voice: &mut ProgressSink<'_>,
) -> Result<(ModelTurn, Usage), Failure> {
    let end = loop {
        let event = tokio::select! {
            biased;
            () = voice.flush_next(), if voice.has_pending() => continue,
            event = said.next(), if !voice.is_backlogged() => event,
        };
        match event {
            Some(Ok(Event::Text(text))) => voice.push(QueryContent::Text { text }),
            Some(Ok(Event::Thinking(text))) => voice.push(QueryContent::Thinking { text }),
            Some(Ok(Event::Note(text))) => voice.push(QueryContent::Note { text }),
            Some(Ok(Event::End { turn, usage })) => break Ok((turn, usage)),
            Some(Err(failure)) => break Err(failure),
            None => break Err(unfinished_stream()),
        }
    };
    drop(said);
    voice.flush().await;
    end
}

fn unfinished_stream() -> Failure {
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
            turn: ModelTurn::default(),
            usage: Usage::default(),
        };
        let said = pieces.chain(stream::iter([Ok(end)])).boxed();
        let (say, mut heard) = mpsc::channel(1);
        let mut voice = ProgressSink::new(&say);
        let mut hearing = Box::pin(collect_turn(said, &mut voice));
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
        let failure = collect_turn(stream::empty().boxed(), &mut ProgressSink::new(&say)).await;
        assert_eq!(failure.unwrap_err().code, ErrorCode::ModelStreamUnfinished);
    }
}
