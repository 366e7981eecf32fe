//! Collects one turn of the model from its stream of events.

use agent_tools::AgentFailure;
use bridge_protocol::{ErrorCode, QueryContent};
use futures_util::StreamExt;
use futures_util::stream::BoxStream;

use super::progress_sink::ProgressSink;
use super::turn_meter::TurnMeter;
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
    meter: &mut TurnMeter<'_>,
    sink: &mut ProgressSink<'_>,
    name_call: impl Fn(&ArgumentsDelta) -> CallName,
) -> Result<ModelTurn, AgentFailure> {
    let result = loop {
        let event = tokio::select! {
            biased;
            () = sink.advance(), if sink.has_unsent() => continue,
            event = events.next(), if !sink.is_backlogged() => event,
        };
        if let Some(event) = &event {
            meter.receive(event);
        }
        match event {
            Some(Ok(ModelEvent::Text(text))) => sink.push(QueryContent::Text { text }),
            Some(Ok(ModelEvent::Thinking(text))) => sink.push(QueryContent::Thinking { text }),
            Some(Ok(ModelEvent::Arguments(arguments))) => {
                let CallName { id, tool } = name_call(&arguments);
                let delta = arguments.delta;
                sink.push(QueryContent::ToolArguments { id, tool, delta });
            }
            Some(Ok(ModelEvent::Note(text))) => sink.push(QueryContent::Note { text }),
            Some(Ok(ModelEvent::Started | ModelEvent::Usage(_) | ModelEvent::Spent(_))) => {}
            Some(Ok(ModelEvent::End { turn, .. })) => break Ok(turn),
            Some(Err(failure)) => break Err(failure),
            None => break Err(unfinished_stream()),
        }
        if sink.is_backlogged() {
            meter.release();
        }
    };
    drop(events);
    meter.settle();
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

    use bridge_protocol::TokenUsage;
    use futures_util::{FutureExt, stream};
    use tokio::sync::mpsc;

    use super::*;
    use crate::agent_loop::tests::FakeModel;
    use crate::agent_loop::turn_meter::TurnSize;
    use crate::agent_loop::usage_meter::UsageMeter;

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
        let (query, model) = (UsageMeter::start(), FakeModel::new([]));
        let mut meter = TurnMeter::new(&query, &model, TurnSize::default());
        let mut collecting = Box::pin(collect_turn(events, &mut meter, &mut sink, no_calls));
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
        let (query, model) = (UsageMeter::start(), FakeModel::new([]));
        let meter = &mut TurnMeter::new(&query, &model, TurnSize::default());
        let sink = &mut ProgressSink::new(&sender);
        let turn = collect_turn(stream::empty().boxed(), meter, sink, no_calls).await;
        let failure = turn.unwrap_err();
        assert_eq!(failure.code, ErrorCode::ModelStreamUnfinished);
    }
}
