//! Stays with a call from its start to its ending, or to the next round.

use bridge_protocol::{CallId, ClientRequest, ClientResponse, SessionId};
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;

use super::{CallError, Caller, Outcome, Ticket};
use crate::auth::RealmId;
use crate::hub::{CallLine, Hub};
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

/// Runs a request in a page, or goes on with one.
pub(super) async fn start(
    hub: &Hub,
    caller: &mut Caller<'_>,
    session: &SessionId,
    request: Request,
) -> Outcome<Ending> {
    let id = hub.new_call_id();
    let timeout = hub.config.call_timeout;
    let mut context = caller.context.clone();
    context.timeout_ms = u64::try_from(timeout.as_millis()).ok();
    let call = NewCall {
        id: id.clone(),
        request,
        context,
        timeout,
        answers: std::mem::take(&mut caller.answers),
    };
    match hub.start_call(caller.realm, session, call) {
        Ok(line) => attend(hub, caller, id, line).await,
        Err(failure) => Outcome::Done(Ending::Failed(failure)),
    }
}

/// Goes on with a call that waited for its client.
pub(super) async fn resume(
    hub: &Hub,
    caller: &mut Caller<'_>,
    ticket: Ticket,
) -> Result<(Request, Outcome<Ending>), CallError> {
    let answers = std::mem::take(&mut caller.answers);
    let (request, line) = hub
        .resume_call(caller.realm, &ticket.call, ticket.round, answers)
        .ok_or(CallError::NothingToResume)?;
    Ok((request, attend(hub, caller, ticket.call, line).await))
}

async fn attend(
    hub: &Hub,
    caller: &Caller<'_>,
    call: CallId,
    mut line: CallLine,
) -> Outcome<Ending> {
    let (realm, client) = (caller.realm, caller.client);
    let mut in_flight = InFlight {
        hub,
        realm,
        call: call.clone(),
        settled: false,
    };
    let mut asked = FuturesUnordered::new();
    // One at a time, in order: a client that does not read holds up its own news only.
    let mut telling: Option<BoxFuture<'_, ()>> = None;
    let ending = loop {
        tokio::select! {
            biased;
            ending = &mut line.ending => break ending,
            () = line.asks.notified() => {
                if !client.answers_in_rounds() {
                    let requests = hub.take_client_requests(realm, &call);
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
                    tell_rest(client, telling, &mut line).await;
                    in_flight.settled = true;
                    let ticket = Ticket { call, round };
                    return Outcome::InputRequired { ticket, requests };
                }
            }
            Some(answer) = asked.next(), if !asked.is_empty() => {
                hub.answer_for_client(realm, &call, answer);
            }
            Some(event) = line.events.recv(), if telling.is_none() => {
                telling = Some(client.notify(event));
            }
            () = finished(&mut telling) => telling = None,
        }
    };
    in_flight.settled = true;
    drop(asked);
    tell_rest(client, telling, &mut line).await;
    Outcome::Done(ending.unwrap_or_else(|_| Ending::Failed(Failure::page_gone())))
}

async fn finished(telling: &mut Option<BoxFuture<'_, ()>>) {
    match telling {
        Some(telling) => telling.await,
        None => std::future::pending().await,
    }
}

/// What was said before the ending is heard before it.
async fn tell_rest(client: &dyn Client, telling: Option<BoxFuture<'_, ()>>, line: &mut CallLine) {
    if let Some(telling) = telling {
        telling.await;
    }
    while let Ok(event) = line.events.try_recv() {
        client.notify(event).await;
    }
}
