//! One query from its acceptance to its one end.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use bridge_protocol::{ErrorCode, QueryContent};
use futures_util::FutureExt;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

use super::{AcceptedQuery, QueryPermit};
use crate::agent_loop::{Answer, answer};
use crate::failure::Failure;
use crate::queries::event_sink::{EventSink, EventTarget};

/// What has been said and not been passed on yet. Over it, the answer waits.
const PROGRESS_BUFFER: usize = 32;

/// How a query has ended.
#[derive(Debug)]
pub(super) enum QueryOutcome {
    Answered(Answer),
    Failed(Failure),
    /// Why.
    Cancelled(String),
}

impl QueryOutcome {
    fn name(&self) -> &'static str {
        match self {
            Self::Answered(_) => "complete",
            Self::Failed(failure) => failure.code.as_str(),
            Self::Cancelled(_) => "cancelled",
        }
    }
}

/// Answers a query, and tells how it goes. Its place is given back at the end.
pub(super) async fn run_query(place: QueryPermit, query: AcceptedQuery, teller: EventTarget) {
    let begun = Instant::now();
    let id = place.id.clone();
    let reports = place.queries.bridge.reporter(&query.token, &id);
    let telling = EventSink::new(id, teller, reports);
    telling.send_accepted().await;
    let end = run_to_outcome(&place, query, &telling).await;
    place.finished.cancel();
    let seconds = begun.elapsed().as_secs_f32();
    tracing::info!(end = end.name(), seconds, "a query has ended");
    if let QueryOutcome::Failed(failure) = &end {
        tracing::warn!(code = %failure.code, "{}", failure.message);
    }
    telling.finish(end).await;
}

/// Whatever comes first. What is dropped here runs no more: the provider's connection is closed, and
/// calls in flight are cancelled.
async fn run_to_outcome(
    place: &QueryPermit,
    query: AcceptedQuery,
    telling: &EventSink,
) -> QueryOutcome {
    let within = query_timeout(place, &query);
    let answering = AssertUnwindSafe(answer_query(place, query, telling)).catch_unwind();
    tokio::select! {
        biased;
        () = place.queries.stopping.cancelled() => QueryOutcome::Failed(super::shutting_down()),
        () = place.cancelled.cancelled() => QueryOutcome::Cancelled("it was cancelled".to_owned()),
        () = telling.reader_closed() => QueryOutcome::Cancelled("nobody reads the answer any more".to_owned()),
        end = answering => end.unwrap_or_else(|_| {
            let message = "the agent has a fault, which its log shows";
            QueryOutcome::Failed(Failure::new(ErrorCode::AgentFailed, message))
        }),
        () = sleep(within) => QueryOutcome::Failed(timed_out(within)),
    }
}

/// The shortest of what the page, the bridge and the operator allow.
fn query_timeout(place: &QueryPermit, query: &AcceptedQuery) -> Duration {
    let asked = query.message.timeout.map(Duration::from_millis);
    let most = place.queries.limits.query_timeout;
    let shorter = [asked, query.timeout].into_iter().flatten();
    shorter.fold(most, Duration::min)
}

fn timed_out(within: Duration) -> Failure {
    let message = format!("the query was not answered within {within:?}");
    Failure::new(ErrorCode::QueryTimeout, message)
        .with_remedy("ask for less at a time, or give it more time")
}

async fn answer_query(
    place: &QueryPermit,
    query: AcceptedQuery,
    telling: &EventSink,
) -> QueryOutcome {
    let (say, said) = mpsc::channel::<QueryContent>(PROGRESS_BUFFER);
    let queries = &place.queries;
    let answering = async move {
        let tools = queries
            .bridge
            .connect_tools(&query.token, &place.id)
            .await?;
        // `say` ends with this block, and the passing on with it.
        answer(
            query.message,
            &tools,
            &*queries.model,
            &queries.limits,
            &say,
        )
        .await
    };
    // What was said before a failure is passed on before it.
    match tokio::try_join!(
        async { Ok(answering.await) },
        telling.forward_progress(said)
    ) {
        Ok((Ok(answer), ())) => QueryOutcome::Answered(answer),
        Ok((Err(failure), ())) => QueryOutcome::Failed(failure),
        Err(end) => end,
    }
}
