//! Stays with a call from its start to its ending, to the next round, or until its caller leaves.

use std::collections::HashSet;
use std::convert::Infallible;
use std::pin::pin;
use std::time::Duration;

use bridge_protocol::{CallId, ClientRequest, ClientResponse, SessionId};
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use tokio::time::Instant;

use super::progress::News;
use super::{CallError, Caller, NOBODY, Outcome, Ticket};
use crate::auth::RealmId;
use crate::hub::{CallLine, Heard, Hub};
use crate::kept::Running;
use crate::realm::{CallEvent, Ending, Failure, NewCall, Request};

/// A client while its call runs. A leg that cannot reach its client any more says so by dropping
/// the call.
pub(crate) trait Client: Send + Sync {
    /// Tells the client. Comes back when the client took it, or will not.
    fn notify(&self, event: CallEvent) -> BoxFuture<'_, ()>;

    /// Asks the client.
    fn ask(&self, request: ClientRequest) -> BoxFuture<'_, ClientResponse>;

    /// Why this cannot be asked in a round, whatever the client can do.
    fn refuses(&self, _request: &ClientRequest) -> Option<ClientResponse> {
        None
    }

    /// The client is not asked within a call: it hears what it must answer as the outcome, and
    /// comes again with the answers (MCP 2026-07-28).
    fn answers_in_rounds(&self) -> bool;

    /// Asked when the result is about to be made fit: whether it goes out as a body of its own. Else
    /// it is an event of a stream, which some clients want shorter.
    fn answers_whole(&self) -> bool {
        false
    }
}

/// A call in flight. Dropped before its ending, it is cancelled.
struct InFlight<'a> {
    hub: &'a Hub,
    realm: RealmId,
    call: CallId,
    settled: bool,
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        if !self.settled {
            let reason = "the client cancelled or disconnected";
            self.hub.cancel_call(self.realm, &self.call, reason);
        }
    }
}

/// A call and what is heard of it.
pub(super) struct Line {
    call: CallId,
    /// What is called, for people.
    name: String,
    started: Instant,
    line: CallLine,
}

impl Line {
    /// What is kept of the call when nobody waits for it.
    pub(super) fn running(&self) -> Running {
        Running {
            tool: self.name.clone(),
            call: self.call.clone(),
            started: self.started,
        }
    }
}

/// How long somebody stayed with a call.
pub(super) enum Attended<Leave> {
    /// To its ending, or to the next round.
    Whole(Outcome<Ending>),
    /// Until it was time to leave. The call goes on.
    Left(Line, Leave),
}

/// Runs a request in a page, to its ending or to the next round.
pub(super) async fn start(
    hub: &Hub,
    caller: &mut Caller<'_>,
    session: &SessionId,
    request: Request,
) -> Outcome<Ending> {
    match open(hub, caller, session, request) {
        Ok(line) => attend(hub, caller, line).await,
        Err(failure) => Outcome::Done(Ending::Failed(failure)),
    }
}

/// Has a page begin with a request.
pub(super) fn open(
    hub: &Hub,
    caller: &mut Caller<'_>,
    session: &SessionId,
    request: Request,
) -> Result<Line, Failure> {
    let call = hub.new_call_id();
    let name = request.name().to_owned();
    let timeout = timeout(hub, &request);
    let mut context = std::mem::take(&mut caller.context);
    // What is still asked of it while the call runs.
    caller.context.progress = context.progress;
    caller.context.query_id.clone_from(&context.query_id);
    context.timeout_ms = u64::try_from(timeout.as_millis()).ok();
    let new = NewCall {
        id: call.clone(),
        request,
        context,
        timeout,
        answers: std::mem::take(&mut caller.answers),
    };
    let line = hub.start_call(caller.realm, session, new)?;
    Ok(Line {
        call,
        name,
        started: Instant::now(),
        line,
    })
}

/// A tool may set its own time, up to a limit.
fn timeout(hub: &Hub, request: &Request) -> Duration {
    let own = match request {
        Request::Tool { tool, .. } => tool.timeout(),
        _ => None,
    };
    let most = hub.config.results.max_call_timeout;
    own.map_or(hub.config.call_timeout, |own| own.min(most))
}

/// Goes on with a call that waited for its client.
pub(super) async fn resume(
    hub: &Hub,
    caller: &mut Caller<'_>,
    ticket: Ticket,
) -> Result<Outcome<Ending>, CallError> {
    let (_, line) = reopen(hub, caller, ticket)?;
    Ok(attend(hub, caller, line).await)
}

/// Takes up a call that waited for its client.
pub(super) fn reopen(
    hub: &Hub,
    caller: &mut Caller<'_>,
    ticket: Ticket,
) -> Result<(Request, Line), CallError> {
    let answers = std::mem::take(&mut caller.answers);
    let (request, line) = hub
        .resume_call(caller.realm, &ticket.call, ticket.round, answers)
        .ok_or(CallError::NothingToResume)?;
    let line = Line {
        call: ticket.call,
        name: request.name().to_owned(),
        started: Instant::now(),
        line,
    };
    Ok((request, line))
}

/// Stays with a call to its ending, or to the next round.
pub(super) async fn attend(hub: &Hub, caller: &Caller<'_>, line: Line) -> Outcome<Ending> {
    let never = std::future::pending::<Infallible>();
    match attend_until(hub, caller, line, never).await {
        Attended::Whole(outcome) => outcome,
        Attended::Left(_, never) => match never {},
    }
}

/// Stays with a call to its ending, to the next round, or until it is time to leave.
pub(super) async fn attend_until<Leave>(
    hub: &Hub,
    caller: &Caller<'_>,
    mut attended: Line,
    leave: impl Future<Output = Leave>,
) -> Attended<Leave> {
    let (realm, client) = (caller.realm, caller.client);
    let call = attended.call.clone();
    let line = &mut attended.line;
    let mut in_flight = InFlight {
        hub,
        realm,
        call: call.clone(),
        settled: false,
    };
    // Most handlers ask nothing.
    let mut asked: Option<FuturesUnordered<_>> = None;
    let mut unanswered = HashSet::new();
    // One at a time, in order: a client that does not read holds up its own news only.
    let mut telling: Option<BoxFuture<'_, ()>> = None;
    let mut news = News::of(hub, caller, &attended.name, attended.started);
    let mut leave = pin!(leave);
    let ending = loop {
        tokio::select! {
            biased;
            heard = line.heard(telling.is_none()) => {
                match heard {
                    Heard::Ended(ending) => break ending,
                    Heard::Told(event) => {
                        telling = news.heard(event).map(|event| client.notify(event));
                        continue;
                    }
                    Heard::Asks => {}
                }
                if !client.answers_in_rounds() {
                    let requests = hub.take_client_requests(realm, &call);
                    unanswered.extend(requests.iter().map(|request| request.key.clone()));
                    let asked = asked.get_or_insert_default();
                    asked.extend(requests.into_iter().map(|request| client.ask(request)));
                    continue;
                }
                for request in hub.take_client_requests(realm, &call) {
                    if let Some(refused) = client.refuses(&request) {
                        hub.answer_for_client(realm, &call, refused);
                    }
                }
                if let Some((round, requests)) = hub.park_call(realm, &call) {
                    // A client that goes away meanwhile never hears the ticket.
                    tell_rest(client, telling, line, &mut news).await;
                    in_flight.settled = true;
                    let ticket = Ticket { call, round };
                    return Attended::Whole(Outcome::InputRequired { ticket, requests });
                }
            }
            Some(answer) = next_answer(&mut asked), if asked.is_some() => {
                unanswered.remove(&answer.key);
                hub.answer_for_client(realm, &call, answer);
            }
            place = &mut leave => {
                drop(asked);
                for key in unanswered {
                    hub.answer_for_client(realm, &call, NOBODY.refusal(key));
                }
                tell_rest(client, telling, line, &mut news).await;
                in_flight.settled = true;
                return Attended::Left(attended, place);
            }
            event = news.still(&call, !unanswered.is_empty()), if telling.is_none() => {
                telling = event.map(|event| client.notify(event));
            }
            () = finished(&mut telling) => telling = None,
        }
    };
    in_flight.settled = true;
    drop(asked);
    tell_rest(client, telling, line, &mut news).await;
    Attended::Whole(Outcome::Done(ending))
}

/// `None` when nothing is open.
async fn next_answer<F: Future>(asked: &mut Option<FuturesUnordered<F>>) -> Option<F::Output> {
    asked.as_mut()?.next().await
}

async fn finished(telling: &mut Option<BoxFuture<'_, ()>>) {
    match telling {
        Some(telling) => telling.await,
        None => std::future::pending().await,
    }
}

/// What was said before the ending is heard before it.
async fn tell_rest(
    client: &dyn Client,
    telling: Option<BoxFuture<'_, ()>>,
    line: &mut CallLine,
    news: &mut News<'_>,
) {
    if let Some(telling) = telling {
        telling.await;
    }
    while let Some(event) = line.untold() {
        if let Some(event) = news.heard(event) {
            client.notify(event).await;
        }
    }
}

#[cfg(test)]
mod tests;
