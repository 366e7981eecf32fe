//! Who hears how a query goes: a reader of the stream of events, or a bridge by reports in the way of
//! mcp-web 0.1.

use std::time::Duration;

use bridge_protocol::{
    BridgeToPage, QueryAccepted, QueryCancel, QueryComplete, QueryContent, QueryFailure, QueryId,
    QueryProgress,
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

    /// Passes on what is said, until nobody says any more. An error: nobody wants to hear it.
    pub(super) async fn pass_on(&self, mut said: mpsc::Receiver<QueryContent>) -> Result<(), ()> {
        while let Some(content) = said.recv().await {
            match (&self.reader, &self.reports) {
                (Some(reader), _) => {
                    let progress = QueryProgress {
                        uuid: self.id.clone(),
                        content: content.to_raw(),
                    };
                    reader.hears(BridgeToPage::QueryProgress(progress)).await?;
                }
                (None, Some(reports)) => {
                    if let Some(message) = in_words(content) {
                        reports.progress(&message).await.map_err(|_| ())?;
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
