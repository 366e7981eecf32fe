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
