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

use super::run::QueryOutcome;
use crate::bridge::QueryReporter;
use crate::failure::Failure;

/// Events that wait for a slow reader. Over it, the answer waits.
const EVENT_BUFFER: usize = 32;

/// A reader that does not read its last event within this has lost it.
const FINAL_EVENT_TIMEOUT: Duration = Duration::from_secs(2);

/// A bridge that does not take the end of a query within this has lost it.
const FINAL_REPORT_TIMEOUT: Duration = Duration::from_secs(2);

/// How it is told.
pub(crate) enum EventTarget {
    Stream {
        writer: StreamWriter,
        /// A frontend reads, and the bridge must hear of the end.
        is_direct: bool,
    },
    Reports,
}

/// Who reads the stream of events.
pub(crate) struct StreamWriter(mpsc::Sender<BridgeToPage>);

impl StreamWriter {
    pub(crate) fn channel() -> (Self, mpsc::Receiver<BridgeToPage>) {
        let (sender, told) = mpsc::channel(EVENT_BUFFER);
        (Self(sender), told)
    }

    /// An error: nobody reads any more.
    async fn send(&self, message: BridgeToPage) -> Result<(), ()> {
        self.0.send(message).await.map_err(|_| ())
    }
}

/// A teller at work on one query.
pub(super) struct EventSink {
    id: QueryId,
    writer: Option<StreamWriter>,
    reporter: Option<QueryReporter>,
}

impl EventSink {
    pub(super) fn new(id: QueryId, teller: EventTarget, reports: QueryReporter) -> Self {
        let (writer, is_reported) = match teller {
            EventTarget::Stream {
                writer: reader,
                is_direct,
            } => (Some(reader), is_direct),
            EventTarget::Reports => (None, true),
        };
        let reporter = is_reported.then_some(reports);
        Self {
            id,
            writer,
            reporter,
        }
    }

    /// First of all.
    pub(super) async fn send_accepted(&self) {
        if let Some(reader) = &self.writer {
            let uuid = self.id.clone();
            let accepted = BridgeToPage::QueryAccepted(QueryAccepted { uuid });
            // Who has gone at once is noticed at once, by `gone`.
            let _ = reader.send(accepted).await;
        }
    }

    /// Passes on what is said, until nobody says any more. An end: there is nobody to hear it.
    pub(super) async fn forward_progress(
        &self,
        mut said: mpsc::Receiver<QueryContent>,
    ) -> Result<(), QueryOutcome> {
        while let Some(content) = said.recv().await {
            match (&self.writer, &self.reporter) {
                (Some(reader), _) => {
                    let (uuid, content) = (self.id.clone(), content.to_raw());
                    let progress = BridgeToPage::QueryProgress(QueryProgress {
                        uuid,
                        number: None,
                        content,
                    });
                    reader
                        .send(progress)
                        .await
                        .map_err(|()| unwanted_outcome())?;
                }
                (None, Some(reports)) => {
                    if let Some(message) = describe_progress(content) {
                        reports.progress(&message).await.map_err(report_rejected)?;
                    }
                }
                (None, None) => {}
            }
        }
        Ok(())
    }

    /// Resolves when the reader has gone away.
    pub(super) async fn reader_closed(&self) {
        match &self.writer {
            Some(reader) => reader.0.closed().await,
            None => std::future::pending().await,
        }
    }

    /// The last word.
    pub(super) async fn finish(self, end: QueryOutcome) {
        let Self {
            id,
            writer: reader,
            reporter: reports,
        } = self;
        let reported = async {
            let Some(reports) = reports else { return };
            let reported = timeout(FINAL_REPORT_TIMEOUT, report_outcome(&reports, &end)).await;
            if !matches!(reported, Ok(Ok(()))) {
                // It may have ended the query itself, and know.
                tracing::debug!("the bridge did not take the end of a query");
            }
        };
        let read = async {
            let Some(reader) = reader else { return };
            let last = reader.send(final_event(id, &end));
            let _ = timeout(FINAL_EVENT_TIMEOUT, last).await;
        };
        tokio::join!(reported, read);
    }
}

fn unwanted_outcome() -> QueryOutcome {
    QueryOutcome::Cancelled("nobody wants the answer any more".to_owned())
}

/// A report that the bridge does not take.
fn report_rejected(failure: Failure) -> QueryOutcome {
    match failure.code {
        ErrorCode::QueryNotFound => unwanted_outcome(),
        _ => QueryOutcome::Failed(failure),
    }
}

async fn report_outcome(reports: &QueryReporter, end: &QueryOutcome) -> Result<(), Failure> {
    match end {
        QueryOutcome::Answered(answer) => match &answer.result {
            Some(result) => reports.complete(result).await,
            // The response tool has completed it.
            None => Ok(()),
        },
        QueryOutcome::Failed(failure) => reports.fail(failure).await,
        QueryOutcome::Cancelled(reason) => reports.cancel(Some(reason)).await,
    }
}

fn final_event(uuid: QueryId, end: &QueryOutcome) -> BridgeToPage {
    match end {
        QueryOutcome::Answered(answer) => BridgeToPage::QueryComplete(QueryComplete {
            uuid,
            // A text: nothing in it can fail to encode.
            result: answer.result.as_ref().and_then(|it| to_raw_value(it).ok()),
            tool_calls: answer.tool_calls.clone(),
        }),
        QueryOutcome::Failed(failure) => BridgeToPage::QueryFailure(QueryFailure {
            uuid,
            error: failure.message.clone(),
            reason: failure.remedy.clone(),
            code: failure.code,
        }),
        QueryOutcome::Cancelled(reason) => BridgeToPage::QueryCancel(QueryCancel {
            uuid,
            reason: Some(reason.clone()),
        }),
    }
}

/// Progress as pages of mcp-web 0.1 show it.
fn describe_progress(content: QueryContent) -> Option<String> {
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
    use bridge_service::Secret;
    use serde_json::Map;
    use tokio::net::TcpListener;
    use tokio::time::Instant;

    use super::*;
    use crate::bridge::BridgeClient;

    fn failed() -> QueryOutcome {
        QueryOutcome::Failed(Failure::new(ErrorCode::AgentFailed, "broken"))
    }

    fn text(text: &str) -> QueryContent {
        let text = text.to_owned();
        QueryContent::Text { text }
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_reader_blocks_the_answer_and_may_miss_the_final_event() {
        let (reader, mut told) = StreamWriter::channel();
        let telling = EventSink {
            id: QueryId::from("a"),
            writer: Some(reader),
            reporter: None,
        };
        let (say, said) = mpsc::channel(EVENT_BUFFER + 2);
        for _ in 0..EVENT_BUFFER + 2 {
            say.send(text("x")).await.unwrap();
        }
        // It is full with one more in hand, and one is left unread.
        let passing_on = timeout(FINAL_EVENT_TIMEOUT, telling.forward_progress(said));
        assert!(passing_on.await.is_err());
        let begun = Instant::now();
        telling.finish(failed()).await;
        assert_eq!(begun.elapsed(), FINAL_EVENT_TIMEOUT);
        let mut read = 0;
        while told.recv().await.is_some() {
            read += 1;
        }
        assert_eq!(read, EVENT_BUFFER);
    }

    #[tokio::test(start_paused = true)]
    async fn a_bridge_that_ignores_the_final_report_is_not_waited_for() {
        // It accepts connections and says nothing.
        let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", silent.local_addr().unwrap());
        let bridge = BridgeClient::new(url.parse().unwrap()).unwrap();
        let token = Secret::from_trusted("token".to_owned());
        let id = QueryId::from("a");
        let reports = bridge.reporter(&token, &id);
        let telling = EventSink::new(id, EventTarget::Reports, reports);
        let begun = Instant::now();
        telling.finish(failed()).await;
        assert_eq!(begun.elapsed(), FINAL_REPORT_TIMEOUT);
    }

    #[test]
    fn progress_is_described_for_v1_pages() {
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
            assert_eq!(describe_progress(content).as_deref(), words);
        }
    }
}
