//! Stays with a call from its start to its ending, to the next round, or until its caller leaves.

use std::collections::HashSet;
use std::convert::Infallible;
use std::pin::pin;
use std::time::Duration;

use bridge_protocol::{CallId, SessionId};
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use tokio::time::Instant;

use super::client_channel::ClientChannel;
use super::progress::ProgressReporter;
use super::{CallError, CallOptions, DETACHED_CLIENT, ResumeToken, RoundOutcome};
use crate::hub::{CallMessage, CallReceiver, Hub};
use crate::results::store::BackgroundCall;
use bridge_auth::RealmId;
use bridge_realm::realm::{CallFailure, CallOutcome, NewCall, PageRequest};

/// A call in flight. Dropped before its ending, it is cancelled.
struct CancelOnDrop<'a> {
    hub: &'a Hub,
    realm: RealmId,
    call: CallId,
    disarmed: bool,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if !self.disarmed {
            let reason = "the client cancelled or disconnected";
            self.hub.cancel_call(self.realm, &self.call, reason);
        }
    }
}

/// A call and what is heard of it.
pub(super) struct InFlightCall {
    call: CallId,
    /// What is called, for people.
    name: String,
    started: Instant,
    receiver: CallReceiver,
}

impl InFlightCall {
    /// What is kept of the call when nobody waits for it.
    pub(super) fn background_call(&self) -> BackgroundCall {
        BackgroundCall {
            tool: self.name.clone(),
            call: self.call.clone(),
            started: self.started,
        }
    }
}

/// How long somebody stayed with a call.
pub(super) enum DriveResult<Leave> {
    /// To its ending, or to the next round.
    Finished(RoundOutcome<CallOutcome>),
    /// Until it was time to leave. The call goes on.
    Detached(InFlightCall, Leave),
}

/// Runs a request in a page, to its ending or to the next round.
pub(super) async fn run(
    hub: &Hub,
    caller: &mut CallOptions<'_>,
    session: &SessionId,
    request: PageRequest,
) -> RoundOutcome<CallOutcome> {
    match begin(hub, caller, session, request) {
        Ok(line) => drive(hub, caller, line).await,
        Err(failure) => RoundOutcome::Complete(CallOutcome::Failed(failure)),
    }
}

/// Has a page begin with a request.
pub(super) fn begin(
    hub: &Hub,
    caller: &mut CallOptions<'_>,
    session: &SessionId,
    request: PageRequest,
) -> Result<InFlightCall, CallFailure> {
    let call = hub.new_call_id();
    let name = request.name().to_owned();
    let timeout = effective_timeout(hub, &request);
    let mut context = std::mem::take(&mut caller.call_context);
    // What is still asked of it while the call runs.
    caller.call_context.progress = context.progress;
    caller.call_context.query_id.clone_from(&context.query_id);
    context.timeout_ms = u64::try_from(timeout.as_millis()).ok();
    let new_call = NewCall {
        id: call.clone(),
        request,
        context,
        timeout,
        client_responses: std::mem::take(&mut caller.client_responses),
    };
    let receiver = hub.start_call(caller.realm, session, new_call)?;
    Ok(InFlightCall {
        call,
        name,
        started: Instant::now(),
        receiver,
    })
}

/// A tool may set its own time, up to a limit.
fn effective_timeout(hub: &Hub, request: &PageRequest) -> Duration {
    let requested = match request {
        PageRequest::Tool { tool, .. } => tool.timeout(),
        _ => None,
    };
    let max = hub.config.results.max_call_timeout;
    requested.map_or(hub.config.call_timeout, |requested| requested.min(max))
}

/// Goes on with a call that waited for its client.
pub(super) async fn run_resumed(
    hub: &Hub,
    caller: &mut CallOptions<'_>,
    resume_token: ResumeToken,
) -> Result<RoundOutcome<CallOutcome>, CallError> {
    let (_, line) = resume(hub, caller, resume_token)?;
    Ok(drive(hub, caller, line).await)
}

/// Takes up a call that waited for its client.
pub(super) fn resume(
    hub: &Hub,
    caller: &mut CallOptions<'_>,
    resume_token: ResumeToken,
) -> Result<(PageRequest, InFlightCall), CallError> {
    let answers = std::mem::take(&mut caller.client_responses);
    let (request, receiver) = hub
        .resume_call(
            caller.realm,
            &resume_token.call,
            resume_token.round,
            answers,
        )
        .ok_or(CallError::NothingToResume)?;
    let receiver = InFlightCall {
        call: resume_token.call,
        name: request.name().to_owned(),
        started: Instant::now(),
        receiver,
    };
    Ok((request, receiver))
}

/// Stays with a call to its ending, or to the next round.
pub(super) async fn drive(
    hub: &Hub,
    caller: &CallOptions<'_>,
    line: InFlightCall,
) -> RoundOutcome<CallOutcome> {
    let never = std::future::pending::<Infallible>();
    match drive_until(hub, caller, line, never).await {
        DriveResult::Finished(outcome) => outcome,
        DriveResult::Detached(_, never) => match never {},
    }
}

/// Stays with a call to its ending, to the next round, or until it is time to leave.
pub(super) async fn drive_until<Leave>(
    hub: &Hub,
    caller: &CallOptions<'_>,
    mut call: InFlightCall,
    detach: impl Future<Output = Leave>,
) -> DriveResult<Leave> {
    let (realm, client) = (caller.realm, caller.client);
    let call_id = call.call.clone();
    let receiver = &mut call.receiver;
    let mut in_flight = CancelOnDrop {
        hub,
        realm,
        call: call_id.clone(),
        disarmed: false,
    };
    // Most handlers ask nothing.
    let mut open_requests: Option<FuturesUnordered<_>> = None;
    let mut unanswered = HashSet::new();
    // One at a time, in order: a client that does not read holds up its own news only.
    let mut notification: Option<BoxFuture<'_, ()>> = None;
    let mut reporter = ProgressReporter::new(hub, caller, &call.name, call.started);
    let mut detach = pin!(detach);
    let outcome = loop {
        tokio::select! {
            biased;
            message = receiver.recv(notification.is_none()) => {
                match message {
                    CallMessage::Ended(outcome) => break outcome,
                    CallMessage::Event(event) => {
                        notification = reporter.on_event(event).map(|event| client.notify(event));
                        continue;
                    }
                    CallMessage::ClientRequested => {}
                }
                if !client.uses_input_required() {
                    let requests = hub.take_client_requests(realm, &call_id);
                    unanswered.extend(requests.iter().map(|request| request.key.clone()));
                    let open_requests = open_requests.get_or_insert_default();
                    open_requests.extend(requests.into_iter().map(|request| client.request(request)));
                    continue;
                }
                for request in hub.take_client_requests(realm, &call_id) {
                    if let Some(rejection) = client.reject(&request) {
                        hub.deliver_client_response(realm, &call_id, rejection);
                    }
                }
                if let Some((round, requests)) = hub.park_call(realm, &call_id) {
                    // A client that goes away meanwhile never hears the ticket.
                    flush_events(client, notification, receiver, &mut reporter).await;
                    in_flight.disarmed = true;
                    let resume_token = ResumeToken { call: call_id, round };
                    return DriveResult::Finished(RoundOutcome::InputRequired { resume_token, requests });
                }
            }
            Some(answer) = next_response(&mut open_requests), if open_requests.is_some() => {
                unanswered.remove(&answer.key);
                hub.deliver_client_response(realm, &call_id, answer);
            }
            detached_to = &mut detach => {
                drop(open_requests);
                for key in unanswered {
                    hub.deliver_client_response(realm, &call_id, DETACHED_CLIENT.error_response(key));
                }
                flush_events(client, notification, receiver, &mut reporter).await;
                in_flight.disarmed = true;
                return DriveResult::Detached(call, detached_to);
            }
            event = reporter.next_keepalive(&call_id, !unanswered.is_empty()), if notification.is_none() => {
                notification = event.map(|event| client.notify(event));
            }
            () = notification_sent(&mut notification) => notification = None,
        }
    };
    in_flight.disarmed = true;
    drop(open_requests);
    flush_events(client, notification, receiver, &mut reporter).await;
    DriveResult::Finished(RoundOutcome::Complete(outcome))
}

/// `None` when nothing is open.
async fn next_response<F: Future>(
    open_requests: &mut Option<FuturesUnordered<F>>,
) -> Option<F::Output> {
    open_requests.as_mut()?.next().await
}

async fn notification_sent(notification: &mut Option<BoxFuture<'_, ()>>) {
    match notification {
        Some(notification) => notification.await,
        None => std::future::pending().await,
    }
}

/// What was said before the ending is heard before it.
async fn flush_events(
    client: &dyn ClientChannel,
    notification: Option<BoxFuture<'_, ()>>,
    receiver: &mut CallReceiver,
    reporter: &mut ProgressReporter<'_>,
) {
    if let Some(notification) = notification {
        notification.await;
    }
    while let Some(event) = receiver.try_recv_event() {
        if let Some(event) = reporter.on_event(event) {
            client.notify(event).await;
        }
    }
}

#[cfg(test)]
mod tests;
