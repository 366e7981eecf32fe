//! Sends the events of a query to their target: the reader of an event stream, or a bridge, which
//! receives reports in the protocol of mcp-web 0.1.

use std::time::Duration;

use agent_tools::AgentFailure;
use bridge_protocol::{
    BridgeToPage, ErrorCode, QueryAccepted, QueryCancel, QueryComplete, QueryContent, QueryFailure,
    QueryId, QueryProgress, QueryUsage,
};
use serde_json::Value;
use serde_json::value::to_raw_value;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::outcome::QueryOutcome;
use crate::bridge::QueryReporter;

/// The number of events that are buffered for a slow reader. When the buffer is full, the answer
/// waits.
const EVENT_BUFFER: usize = 32;

/// How long the final event waits for its reader before it is dropped.
const FINAL_EVENT_TIMEOUT: Duration = Duration::from_secs(2);

/// How long the bridge may take to accept the final report before it is abandoned.
const FINAL_REPORT_TIMEOUT: Duration = Duration::from_secs(2);

/// The target of the events of a query.
pub(crate) enum EventTarget {
    Stream {
        writer: StreamWriter,
        /// Whether a frontend reads the stream. The final event is then also reported to the
        /// bridge.
        is_direct: bool,
    },
    Reports,
}

/// The sending half of an event stream.
pub(crate) struct StreamWriter(mpsc::Sender<BridgeToPage>);

impl StreamWriter {
    pub(crate) fn channel() -> (Self, mpsc::Receiver<BridgeToPage>) {
        let (sender, receiver) = mpsc::channel(EVENT_BUFFER);
        (Self(sender), receiver)
    }

    /// Sends an event. It fails when the reader has disconnected.
    async fn send(&self, message: BridgeToPage) -> Result<(), ()> {
        self.0.send(message).await.map_err(|_| ())
    }
}

/// Sends the events of one query.
pub(super) struct EventSink {
    id: QueryId,
    writer: Option<StreamWriter>,
    reporter: Option<QueryReporter>,
}

impl EventSink {
    pub(super) fn new(id: QueryId, target: EventTarget, reporter: QueryReporter) -> Self {
        let (writer, is_reported) = match target {
            EventTarget::Stream { writer, is_direct } => (Some(writer), is_direct),
            EventTarget::Reports => (None, true),
        };
        Self {
            id,
            writer,
            reporter: is_reported.then_some(reporter),
        }
    }

    /// Sends the first event of a stream.
    pub(super) async fn send_accepted(&self) {
        if let Some(writer) = &self.writer {
            let uuid = self.id.clone();
            let accepted = BridgeToPage::QueryAccepted(QueryAccepted { uuid });
            // `reader_closed` detects a reader that has disconnected.
            let _ = writer.send(accepted).await;
        }
    }

    /// Forwards progress until its channel is closed. It fails with the outcome of the query when
    /// the progress has no reader any more.
    pub(super) async fn forward_progress(
        &self,
        mut progress: mpsc::Receiver<QueryContent>,
    ) -> Result<(), QueryOutcome> {
        while let Some(content) = progress.recv().await {
            if let Some(writer) = &self.writer {
                let event = BridgeToPage::QueryProgress(QueryProgress {
                    uuid: self.id.clone(),
                    number: None,
                    content: content.to_raw(),
                });
                let sent = writer.send(event).await;
                sent.map_err(|()| QueryOutcome::unwanted())?;
            } else if let Some(reporter) = &self.reporter
                && let Some(message) = describe_progress(content)
            {
                let reported = reporter.progress(&message).await;
                reported.map_err(report_rejected)?;
            }
        }
        Ok(())
    }

    /// Waits until the reader of the stream has disconnected.
    pub(super) async fn reader_closed(&self) {
        match &self.writer {
            Some(writer) => writer.0.closed().await,
            None => std::future::pending().await,
        }
    }

    /// Sends the final event and the final report.
    pub(super) async fn finish(self, outcome: QueryOutcome, usage: QueryUsage) {
        let report = async {
            let Some(reporter) = self.reporter else {
                return;
            };
            let reported = timeout(FINAL_REPORT_TIMEOUT, report_outcome(&reporter, &outcome)).await;
            if !matches!(reported, Ok(Ok(()))) {
                // If the bridge has ended the query itself, it needs no report.
                tracing::debug!("the bridge did not accept the outcome of a query");
            }
        };
        let send = async {
            let Some(writer) = self.writer else { return };
            let event = final_event(self.id, &outcome, &usage);
            let _ = timeout(FINAL_EVENT_TIMEOUT, writer.send(event)).await;
        };
        tokio::join!(report, send);
    }
}

/// Returns the outcome of a query whose report the bridge does not accept.
fn report_rejected(failure: AgentFailure) -> QueryOutcome {
    match failure.code {
        ErrorCode::QueryNotFound => QueryOutcome::unwanted(),
        _ => QueryOutcome::Failed(failure),
    }
}

async fn report_outcome(
    reporter: &QueryReporter,
    outcome: &QueryOutcome,
) -> Result<(), AgentFailure> {
    match outcome {
        QueryOutcome::Answered(answer) => match &answer.result {
            // The protocol of mcp-web 0.1 has only texts.
            Some(Value::String(text)) => reporter.complete(text).await,
            Some(value) => reporter.complete(&value.to_string()).await,
            // The response tool has completed the query at the bridge.
            None => Ok(()),
        },
        QueryOutcome::Failed(failure) => reporter.fail(failure).await,
        QueryOutcome::Cancelled(reason) => reporter.cancel(Some(reason)).await,
    }
}

fn final_event(uuid: QueryId, outcome: &QueryOutcome, usage: &QueryUsage) -> BridgeToPage {
    match outcome {
        QueryOutcome::Answered(answer) => BridgeToPage::QueryComplete(QueryComplete {
            uuid,
            // Encoding a text cannot fail.
            result: answer.result.as_ref().and_then(|it| to_raw_value(it).ok()),
            tool_calls: answer.tool_calls.clone(),
            usage: to_raw_value(usage).ok(),
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

/// Progress as a text, as pages of mcp-web 0.1 show it.
fn describe_progress(content: QueryContent) -> Option<String> {
    Some(match content {
        QueryContent::Text { text } | QueryContent::Note { text } => text,
        QueryContent::Thinking { .. }
        | QueryContent::ToolArguments { .. }
        | QueryContent::Usage { .. } => return None,
        QueryContent::ApprovalRequested { tool, .. } => {
            format!("{tool} waits for the approval of a person")
        }
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
    use bridge_settings::Secret;
    use serde_json::Map;
    use tokio::net::TcpListener;
    use tokio::time::Instant;

    use super::*;
    use crate::bridge::AgentBridge;

    fn failed() -> QueryOutcome {
        QueryOutcome::Failed(AgentFailure::new(ErrorCode::AgentFailed, "broken"))
    }

    fn text(text: &str) -> QueryContent {
        let text = text.to_owned();
        QueryContent::Text { text }
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_reader_blocks_the_answer_and_may_miss_the_final_event() {
        let (writer, mut events) = StreamWriter::channel();
        let sink = EventSink {
            id: QueryId::from("a"),
            writer: Some(writer),
            reporter: None,
        };
        let (sender, progress) = mpsc::channel(EVENT_BUFFER + 2);
        for _ in 0..EVENT_BUFFER + 2 {
            sender.send(text("x")).await.unwrap();
        }
        // The stream is full, one more event is being sent, and one is not forwarded.
        let forwarding = timeout(FINAL_EVENT_TIMEOUT, sink.forward_progress(progress));
        assert!(forwarding.await.is_err());
        let started = Instant::now();
        sink.finish(failed(), QueryUsage::default()).await;
        assert_eq!(started.elapsed(), FINAL_EVENT_TIMEOUT);
        let mut received = 0;
        while events.recv().await.is_some() {
            received += 1;
        }
        assert_eq!(received, EVENT_BUFFER);
    }

    #[tokio::test(start_paused = true)]
    async fn a_bridge_that_ignores_the_final_report_is_not_waited_for() {
        // It accepts connections and sends nothing.
        let silent_bridge = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", silent_bridge.local_addr().unwrap());
        let bridge = AgentBridge::new(url.parse().unwrap()).unwrap();
        let token = Secret::from_trusted("token".to_owned());
        let id = QueryId::from("a");
        let reporter = QueryReporter::new(&bridge, &token, &id);
        let sink = EventSink::new(id, EventTarget::Reports, reporter);
        let started = Instant::now();
        sink.finish(failed(), QueryUsage::default()).await;
        assert_eq!(started.elapsed(), FINAL_REPORT_TIMEOUT);
    }

    #[test]
    fn progress_is_described_for_v1_pages() {
        let (id, tool) = ("1".to_owned(), "plan".to_owned());
        let finished = |is_error, error: Option<&str>| QueryContent::ToolFinished {
            id: id.clone(),
            tool: tool.clone(),
            source: None,
            result: None,
            is_error,
            error: error.map(str::to_owned),
            outcome: None,
        };
        let started = QueryContent::ToolStarted {
            id: id.clone(),
            tool: tool.clone(),
            source: None,
            arguments: Map::new(),
        };
        let thought = QueryContent::Thinking {
            text: "hm".to_owned(),
        };
        for (content, expected) in [
            (text("Two"), Some("Two")),
            (started, Some("Calling plan")),
            (finished(false, None), Some("plan finished")),
            (
                finished(true, Some("no card")),
                Some("plan failed: no card"),
            ),
            (thought, None),
        ] {
            assert_eq!(describe_progress(content).as_deref(), expected);
        }
    }
}
