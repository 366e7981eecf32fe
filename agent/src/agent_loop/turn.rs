//! Collects one turn of the model from its stream of events.

use agent_tools::AgentFailure;
use bridge_protocol::{ErrorCode, QueryContent, TokenUsage};
use futures_util::StreamExt;
use futures_util::stream::BoxStream;

use super::progress_sink::ProgressSink;
use crate::model::{ArgumentsDelta, ModelEvent, ModelTurn};

/// A call as the page knows it.
#[derive(Debug)]
pub(super) struct CallName {
    /// The id of the call within the query.
    pub(super) id: String,
    /// The registered name of the tool.
    pub(super) tool: String,
}

/// Reads a turn to its end, and sends its pieces to the page. `name_call` names the call that a piece
/// of arguments belongs to.
pub(super) async fn collect_turn(
    mut events: BoxStream<'static, Result<ModelEvent, AgentFailure>>,
    sink: &mut ProgressSink<'_>,
    name_call: impl Fn(&ArgumentsDelta) -> CallName,
) -> Result<(ModelTurn, TokenUsage), AgentFailure> {
    let result = loop {
        let event = tokio::select! {
            biased;
            () = sink.advance(), if sink.has_unsent() => continue,
            event = events.next(), if !sink.is_backlogged() => event,
        };
        match event {
            Some(Ok(ModelEvent::Text(text))) => sink.push(QueryContent::Text { text }),
            Some(Ok(ModelEvent::Thinking(text))) => sink.push(QueryContent::Thinking { text }),
            Some(Ok(ModelEvent::Arguments(arguments))) => {
                let CallName { id, tool } = name_call(&arguments);
                let delta = arguments.delta;
                sink.push(QueryContent::ToolArguments { id, tool, delta });
            }
            Some(Ok(ModelEvent::Note(text))) => sink.push(QueryContent::Note { text }),
            Some(Ok(ModelEvent::End { turn, usage })) => break Ok((turn, usage)),
            Some(Err(failure)) => break Err(failure),
            None => break Err(unfinished_stream()),
        }
    };
    drop(events);
    sink.flush().await;
    result
}

fn unfinished_stream() -> AgentFailure {
    let message = "the model's answer ended without its final event";
    AgentFailure::new(ErrorCode::ModelStreamUnfinished, message).with_remedy("retry")
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::{FutureExt, stream};
    use tokio::sync::mpsc;

    use super::*;

    fn no_calls(arguments: &ArgumentsDelta) -> CallName {
        panic!("{arguments:?}")
    }

    #[tokio::test]
    async fn a_model_with_a_slow_reader_has_to_wait_and_nothing_is_lost() {
        const PIECES: usize = 1000;
        let pulled: &'static AtomicUsize = Box::leak(Box::new(AtomicUsize::new(0)));
        let pieces = stream::iter(0..PIECES).map(|_| {
            pulled.fetch_add(1, Ordering::Relaxed);
            Ok(ModelEvent::Text("x".repeat(1024)))
        });
        let end = ModelEvent::End {
            turn: ModelTurn::default(),
            usage: TokenUsage::default(),
        };
        let events = pieces.chain(stream::iter([Ok(end)])).boxed();
        let (sender, mut receiver) = mpsc::channel(1);
        let mut sink = ProgressSink::new(&sender);
        let mut collecting = Box::pin(collect_turn(events, &mut sink, no_calls));
        assert!((&mut collecting).now_or_never().is_none());
        let waiting = pulled.load(Ordering::Relaxed);
        assert!((2..100).contains(&waiting), "{waiting} pieces were read");

        let receiving = async {
            let mut bytes = 0;
            while bytes < PIECES * 1024 {
                match receiver.recv().await {
                    Some(QueryContent::Text { text }) => bytes += text.len(),
                    other => panic!("{other:?}"),
                }
            }
        };
        let (turn, ()) = tokio::join!(collecting, receiving);
        assert!(turn.is_ok());
    }

    #[tokio::test]
    async fn a_stream_without_its_final_event_is_a_failure() {
        let (sender, _receiver) = mpsc::channel(1);
        let turn = collect_turn(
            stream::empty().boxed(),
            &mut ProgressSink::new(&sender),
            no_calls,
        )
        .await;
        assert_eq!(turn.unwrap_err().code, ErrorCode::ModelStreamUnfinished);
    }
}
