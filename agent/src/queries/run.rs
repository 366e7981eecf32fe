//! One query from its acceptance to its one end.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use bridge_protocol::{ErrorCode, QueryContent};
use futures_util::FutureExt;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

use super::teller::{Teller, Telling};
use super::{Place, Query};
use crate::answering::{Answer, answer};
use crate::bridge::BridgeTools;
use crate::failure::Failure;

/// What has been said and not been passed on yet. Over it, the answer waits.
const SAID_AHEAD: usize = 32;

/// The MCP session must be closed within this; the bridge closes it with the query otherwise.
const LEFT_WITHIN: Duration = Duration::from_secs(2);

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
    let mut tools = None;
    let end = until_its_end(&place, query, &telling, &mut tools).await;
    place.quiet.cancel();
    tracing::info!(
        end = end.name(),
        seconds = begun.elapsed().as_secs_f32(),
        "query ended"
    );
    if let End::Failed(failure) = &end {
        tracing::warn!(code = %failure.code, "{}", failure.message);
    }
    telling.ended(end).await;
    if let Some(tools) = tools {
        let _ = timeout(LEFT_WITHIN, BridgeTools::close(tools)).await;
    }
}

/// Whatever comes first. What is dropped here runs no more: the provider's connection is closed, and
/// calls in flight are cancelled.
async fn until_its_end(
    place: &Place,
    query: Query,
    telling: &Telling,
    tools: &mut Option<BridgeTools>,
) -> End {
    let within = within(place, &query);
    let answering = AssertUnwindSafe(answered(place, query, telling, tools)).catch_unwind();
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

fn within(place: &Place, query: &Query) -> Duration {
    let asked = query.asked.timeout.map(Duration::from_millis);
    let most = place.queries.limits.query_timeout;
    [asked, query.within]
        .into_iter()
        .flatten()
        .fold(most, Duration::min)
}

fn late(within: Duration) -> Failure {
    let message = format!("the query was not answered within {within:?}");
    Failure::new(ErrorCode::QueryTimeout, message)
        .with_remedy("ask for less at a time, or give it more time")
}

async fn answered(
    place: &Place,
    query: Query,
    telling: &Telling,
    tools: &mut Option<BridgeTools>,
) -> End {
    let (say, said) = mpsc::channel::<QueryContent>(SAID_AHEAD);
    let queries = &place.queries;
    let answering = async move {
        let connected = queries.bridge.tools(&query.token, &place.id).await?;
        let tools = tools.insert(connected);
        // `say` ends with this block, and the passing on with it.
        answer(query.asked, tools, &*queries.model, &queries.limits, &say).await
    };
    let passing_on = async {
        let passed = telling.pass_on(said).await;
        passed.map_err(|()| End::Cancelled("nobody wants the answer any more".to_owned()))
    };
    // What was said before a failure is passed on before it.
    match tokio::try_join!(async { Ok(answering.await) }, passing_on) {
        Ok((Ok(answer), ())) => End::Answered(answer),
        Ok((Err(failure), ())) => End::Failed(failure),
        Err(end) => end,
    }
}
