//! One query from its acceptance to its one end.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use bridge_protocol::{ErrorCode, QueryContent};
use futures_util::FutureExt;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

use super::teller::{Teller, Telling};
use super::{Place, Query};
use crate::answering::{Answer, answer};
use crate::failure::Failure;

/// What has been said and not been passed on yet. Over it, the answer waits.
const SAID_AHEAD: usize = 32;

/// How a query has ended.
#[derive(Debug)]
pub(super) enum End {
    Answered(Answer),
    Failed(Failure),
    /// Why.
    Cancelled(String),
}

impl End {
    fn name(&self) -> &'static str {
        match self {
            Self::Answered(_) => "complete",
            Self::Failed(failure) => failure.code.as_str(),
            Self::Cancelled(_) => "cancelled",
        }
    }
}

/// Answers a query, and tells how it goes. Its place is given back at the end.
pub(super) async fn run(place: Place, query: Query, teller: Teller) {
    let begun = Instant::now();
    let id = place.id.clone();
    let reports = place.queries.bridge.reports(&query.token, &id);
    let telling = Telling::new(id, teller, reports);
    telling.accepted().await;
    let end = until_its_end(&place, query, &telling).await;
    place.quiet.cancel();
    let seconds = begun.elapsed().as_secs_f32();
    tracing::info!(end = end.name(), seconds, "a query has ended");
    if let End::Failed(failure) = &end {
        tracing::warn!(code = %failure.code, "{}", failure.message);
    }
    telling.ended(end).await;
}

/// Whatever comes first. What is dropped here runs no more: the provider's connection is closed, and
/// calls in flight are cancelled.
async fn until_its_end(place: &Place, query: Query, telling: &Telling) -> End {
    let within = within(place, &query);
    let answering = AssertUnwindSafe(answered(place, query, telling)).catch_unwind();
    tokio::select! {
        biased;
        () = place.queries.stopping.cancelled() => End::Failed(super::stopping()),
        () = place.cancelled.cancelled() => End::Cancelled("it was cancelled".to_owned()),
        () = telling.gone() => End::Cancelled("nobody reads the answer any more".to_owned()),
        end = answering => end.unwrap_or_else(|_| {
            let message = "the agent has a fault, which its log shows";
            End::Failed(Failure::new(ErrorCode::AgentFailed, message))
        }),
        () = sleep(within) => End::Failed(late(within)),
    }
}

/// The shortest of what the page, the bridge and the operator allow.
fn within(place: &Place, query: &Query) -> Duration {
    let asked = query.asked.timeout.map(Duration::from_millis);
    let most = place.queries.limits.query_timeout;
    let shorter = [asked, query.within].into_iter().flatten();
    shorter.fold(most, Duration::min)
}

fn late(within: Duration) -> Failure {
    let message = format!("the query was not answered within {within:?}");
    Failure::new(ErrorCode::QueryTimeout, message)
        .with_remedy("ask for less at a time, or give it more time")
}

async fn answered(place: &Place, query: Query, telling: &Telling) -> End {
    let (say, said) = mpsc::channel::<QueryContent>(SAID_AHEAD);
    let queries = &place.queries;
    let answering = async move {
        let tools = queries.bridge.tools(&query.token, &place.id).await?;
        // `say` ends with this block, and the passing on with it.
        answer(query.asked, &tools, &*queries.model, &queries.limits, &say).await
    };
    // What was said before a failure is passed on before it.
    match tokio::try_join!(async { Ok(answering.await) }, telling.pass_on(said)) {
        Ok((Ok(answer), ())) => End::Answered(answer),
        Ok((Err(failure), ())) => End::Failed(failure),
        Err(end) => end,
    }
}
