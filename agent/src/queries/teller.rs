//! Who hears how a query goes: a reader of the stream of events, or a bridge by reports in the way of
//! mcp-web 0.1.

use std::time::Duration;

use bridge_protocol::{
    BridgeToPage, ErrorCode, QueryAccepted, QueryCancel, QueryComplete, QueryContent, QueryFailure,
    QueryId, QueryProgress,
};
use serde_json::value::to_raw_value;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::run::End;
use crate::bridge::Reports;
use crate::failure::Failure;

/// Events that wait for a slow reader. Over it, the answer waits.
const EVENTS_AHEAD: usize = 32;

/// A reader that does not read its last event within this has lost it.
const LAST_WORD_WITHIN: Duration = Duration::from_secs(2);

/// A bridge that does not take the end of a query within this has lost it.
const REPORTED_WITHIN: Duration = Duration::from_secs(2);

/// How it is told.
pub(crate) enum Teller {
    Reader {
        reader: Reader,
        /// A frontend reads, and the bridge must hear of the end.
        is_direct: bool,
    },
    Reports,
}

/// Who reads the stream of events.
pub(crate) struct Reader(mpsc::Sender<BridgeToPage>);

impl Reader {
    pub(crate) fn new() -> (Self, mpsc::Receiver<BridgeToPage>) {
        let (sender, told) = mpsc::channel(EVENTS_AHEAD);
        (Self(sender), told)
    }

    /// An error: nobody reads any more.
    async fn hears(&self, message: BridgeToPage) -> Result<(), ()> {
        self.0.send(message).await.map_err(|_| ())
    }
}

/// A teller at work on one query.
pub(super) struct Telling {
    id: QueryId,
    reader: Option<Reader>,
    reports: Option<Reports>,
}

impl Telling {
    pub(super) fn new(id: QueryId, teller: Teller, reports: Reports) -> Self {
        let (reader, is_reported) = match teller {
            Teller::Reader { reader, is_direct } => (Some(reader), is_direct),
            Teller::Reports => (None, true),
        };
        let reports = is_reported.then_some(reports);
        Self {
            id,
            reader,
            reports,
        }
    }

    /// First of all.
    pub(super) async fn accepted(&self) {
        if let Some(reader) = &self.reader {
            let uuid = self.id.clone();
            let accepted = BridgeToPage::QueryAccepted(QueryAccepted { uuid });
            // Who has gone at once is noticed at once, by `gone`.
            let _ = reader.hears(accepted).await;
        }
    }

    /// Passes on what is said, until nobody says any more. An end: there is nobody to hear it.
    pub(super) async fn pass_on(&self, mut said: mpsc::Receiver<QueryContent>) -> Result<(), End> {
        while let Some(content) = said.recv().await {
            match (&self.reader, &self.reports) {
                (Some(reader), _) => {
                    let (uuid, content) = (self.id.clone(), content.to_raw());
                    let progress = BridgeToPage::QueryProgress(QueryProgress {
                        uuid,
                        number: None,
                        content,
                    });
                    reader.hears(progress).await.map_err(|()| not_wanted())?;
                }
                (None, Some(reports)) => {
                    if let Some(message) = in_words(content) {
                        reports.progress(&message).await.map_err(not_taken)?;
                    }
                }
                (None, None) => {}
            }
        }
        Ok(())
    }

    /// Resolves when the reader has gone away.
    pub(super) async fn gone(&self) {
        match &self.reader {
            Some(reader) => reader.0.closed().await,
            None => std::future::pending().await,
        }
    }

    /// The last word.
    pub(super) async fn ended(self, end: End) {
        let Self {
            id,
            reader,
            reports,
        } = self;
        let reported = async {
            let Some(reports) = reports else { return };
            let reported = timeout(REPORTED_WITHIN, report(&reports, &end)).await;
            if !matches!(reported, Ok(Ok(()))) {
                // It may have ended the query itself, and know.
                tracing::debug!("the bridge did not take the end of a query");
            }
        };
        let read = async {
            let Some(reader) = reader else { return };
            let last = reader.hears(last_word(id, &end));
            let _ = timeout(LAST_WORD_WITHIN, last).await;
        };
        tokio::join!(reported, read);
    }
}

fn not_wanted() -> End {
    End::Cancelled("nobody wants the answer any more".to_owned())
}

/// A report that the bridge does not take.
fn not_taken(failure: Failure) -> End {
    match failure.code {
        ErrorCode::QueryNotFound => not_wanted(),
        _ => End::Failed(failure),
    }
}

async fn report(reports: &Reports, end: &End) -> Result<(), Failure> {
    match end {
        End::Answered(answer) => match &answer.result {
            Some(result) => reports.complete(result).await,
            // The response tool has completed it.
            None => Ok(()),
        },
        End::Failed(failure) => reports.fail(failure).await,
        End::Cancelled(reason) => reports.cancel(Some(reason)).await,
    }
}

fn last_word(uuid: QueryId, end: &End) -> BridgeToPage {
    match end {
        End::Answered(answer) => BridgeToPage::QueryComplete(QueryComplete {
            uuid,
            // A text: nothing in it can fail to encode.
            result: answer.result.as_ref().and_then(|it| to_raw_value(it).ok()),
            tool_calls: answer.tool_calls.clone(),
        }),
        End::Failed(failure) => BridgeToPage::QueryFailure(QueryFailure {
            uuid,
            error: failure.message.clone(),
            reason: failure.remedy.clone(),
            code: failure.code,
        }),
        End::Cancelled(reason) => BridgeToPage::QueryCancel(QueryCancel {
            uuid,
            reason: Some(reason.clone()),
        }),
    }
}

/// Progress as pages of mcp-web 0.1 show it.
fn in_words(content: QueryContent) -> Option<String> {
    Some(match content {
        QueryContent::Text { text } | QueryContent::Note { text } => text,
        QueryContent::Thinking { .. } => return None,
        QueryContent::ToolStarted { tool, .. } => format!("Calling {tool}"),
        QueryContent::ToolFinished {
            tool,
            is_error: true,
            error,
            ..
        } => match error {
            Some(error) => format!("{tool} failed: {error}"),
            None => format!("{tool} failed"),
        },
        QueryContent::ToolFinished { tool, .. } => format!("{tool} finished"),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::Map;
    use tokio::net::TcpListener;
    use tokio::time::Instant;

    use super::*;
    use crate::bridge::Bridge;
    use crate::config::Secret;

    fn failed() -> End {
        End::Failed(Failure::new(ErrorCode::AgentFailed, "broken"))
    }

    fn text(text: &str) -> QueryContent {
        let text = text.to_owned();
        QueryContent::Text { text }
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_reader_holds_the_answer_up_and_may_lose_the_last_word() {
        let (reader, mut told) = Reader::new();
        let telling = Telling {
            id: QueryId::from("a"),
            reader: Some(reader),
            reports: None,
        };
        let (say, said) = mpsc::channel(EVENTS_AHEAD + 2);
        for _ in 0..EVENTS_AHEAD + 2 {
            say.send(text("x")).await.unwrap();
        }
        // It is full with one more in hand, and one is left unread.
        let passing_on = timeout(LAST_WORD_WITHIN, telling.pass_on(said));
        assert!(passing_on.await.is_err());
        let begun = Instant::now();
        telling.ended(failed()).await;
        assert_eq!(begun.elapsed(), LAST_WORD_WITHIN);
        let mut read = 0;
        while told.recv().await.is_some() {
            read += 1;
        }
        assert_eq!(read, EVENTS_AHEAD);
    }

    #[tokio::test(start_paused = true)]
    async fn a_bridge_that_does_not_take_the_end_is_not_waited_for() {
        // It accepts connections and says nothing.
        let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", silent.local_addr().unwrap());
        let bridge = Bridge::new(url.parse().unwrap()).unwrap();
        let token: Secret = "token".parse().unwrap();
        let id = QueryId::from("a");
        let reports = bridge.reports(&token, &id);
        let telling = Telling::new(id, Teller::Reports, reports);
        let begun = Instant::now();
        telling.ended(failed()).await;
        assert_eq!(begun.elapsed(), REPORTED_WITHIN);
    }

    #[test]
    fn progress_in_words() {
        let (id, tool) = ("1".to_owned(), "plan".to_owned());
        let finished = |is_error, error: Option<&str>| QueryContent::ToolFinished {
            id: id.clone(),
            tool: tool.clone(),
            is_error,
            error: error.map(str::to_owned),
        };
        let started = QueryContent::ToolStarted {
            id: id.clone(),
            tool: tool.clone(),
            arguments: Map::new(),
        };
        let thought = QueryContent::Thinking {
            text: "hm".to_owned(),
        };
        for (content, words) in [
            (text("Two"), Some("Two")),
            (started, Some("Calling plan")),
            (finished(false, None), Some("plan finished")),
            (
                finished(true, Some("no card")),
                Some("plan failed: no card"),
            ),
            (thought, None),
        ] {
            assert_eq!(in_words(content).as_deref(), words);
        }
    }
}
