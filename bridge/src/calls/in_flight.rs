//! A call while it runs in a page: started or resumed, and driven until it ends, until it needs
//! input from the client, or until the caller stops waiting.

use bridge_mcp_results::request_error::RequestError;
use std::collections::HashSet;
use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bridge_auth::RealmId;
use bridge_protocol::{CallId, ClientResponse, ErrorCode, SessionId};
use bridge_realm::definition::SharedTool;
use bridge_realm::realm::{CallFailure, CallOutcome, CallerEvent, NewCall, PageRequest};
use bridge_traces::TraceSpan;
use bridge_traces::attributes::CALL_RECEIVED;
use futures_util::future::{BoxFuture, Fuse, FusedFuture};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use tokio::time::Instant;

use super::client_channel::ClientChannel;
use super::progress::ProgressReporter;
use super::validation;
use super::{CallOptions, ClientTimeout, DETACHED_CLIENT, ResumeToken, RoundOutcome};
use crate::hub::{CallReceiver, CallerMessage, Hub};
use crate::result_store::BackgroundCall;

/// Cancels a call when it is dropped, unless it has been disarmed.
struct CancelOnDrop<'a> {
    hub: &'a Hub,
    realm: RealmId,
    call: CallId,
    span: TraceSpan,
    disarmed: bool,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if !self.disarmed {
            self.span.fail(ErrorCode::CallCancelled.as_str());
            let reason = "the client cancelled or disconnected";
            self.hub.cancel_call(self.realm, &self.call, reason);
        }
    }
}

/// A call that runs in a page, with the receiver of its messages.
pub(super) struct InFlightCall {
    call: CallId,
    /// The name of the tool, prompt or resource, for progress messages.
    name: String,
    started: Instant,
    receiver: CallReceiver,
    /// The span of the time in the page.
    span: TraceSpan,
}

impl InFlightCall {
    /// When the call began, or was resumed.
    pub(super) fn started(&self) -> Instant {
        self.started
    }

    /// Returns what the result store remembers of the call when it continues in the background.
    pub(super) fn background_call(&self) -> BackgroundCall {
        BackgroundCall {
            tool: self.name.clone(),
            call: self.call.clone(),
            started: self.started,
        }
    }
}

/// The reason that [`drive_until`] returned.
pub(super) enum DriveResult<Leave> {
    /// The call ended, or it waits for input from the client.
    Finished(RoundOutcome<CallOutcome>),
    /// The caller stopped waiting. The call still runs.
    Detached(InFlightCall, Leave),
}

/// Runs a request in a page until it ends or needs input from the client.
pub(super) async fn run(
    hub: &Hub,
    caller: &mut CallOptions<'_>,
    session: &SessionId,
    request: PageRequest,
) -> RoundOutcome<CallOutcome> {
    match begin(hub, caller, session, request) {
        Ok(call) => drive(hub, caller, call).await,
        Err(failure) => RoundOutcome::Complete(CallOutcome::Failed(failure)),
    }
}

/// Starts a request in a page.
pub(super) fn begin(
    hub: &Hub,
    caller: &mut CallOptions<'_>,
    session: &SessionId,
    request: PageRequest,
) -> Result<InFlightCall, CallFailure> {
    let call = hub.new_call_id();
    let name = request.name().to_owned();
    let timeout = effective_timeout(hub, &request);
    if let Some(audit) = &caller.audit {
        let address = hub.with_realm(caller.realm, |realm| realm.page_address(session));
        audit.set_called(session, address.flatten(), &name);
    }
    let mut context = std::mem::take(&mut caller.call_context);
    // These two fields are read again while the call runs.
    caller.call_context.progress = context.progress;
    caller.call_context.query_id.clone_from(&context.query_id);
    context.timeout_ms = u64::try_from(timeout.as_millis()).ok();
    let span = caller.trace.begin_page_call(&call, &request, &mut context);
    let new_call = NewCall {
        id: call.clone(),
        request,
        context,
        timeout,
        client_responses: std::mem::take(&mut caller.client_responses),
    };
    let started = hub.start_call(caller.realm, session, new_call);
    let receiver = started.inspect_err(|failure| span.fail(failure.code.as_str()))?;
    Ok(InFlightCall {
        call,
        name,
        started: Instant::now(),
        receiver,
        span,
    })
}

/// Returns the timeout of a call. A tool may set its own, up to `max_call_timeout`.
fn effective_timeout(hub: &Hub, request: &PageRequest) -> Duration {
    let requested = match request {
        PageRequest::Tool { tool, .. } => tool.timeout(),
        _ => None,
    };
    let max = hub.config.calls.max_call_timeout;
    requested.map_or(hub.config.calls.call_timeout, |requested| {
        requested.min(max)
    })
}

/// Resumes a call that waited for input from its client, and drives it.
pub(super) async fn run_resumed(
    hub: &Hub,
    caller: &mut CallOptions<'_>,
    resume_token: ResumeToken,
) -> Result<RoundOutcome<CallOutcome>, RequestError> {
    let (_, call) = resume(hub, caller, resume_token)?;
    Ok(drive(hub, caller, call).await)
}

/// Resumes a call that waited for input from its client.
pub(super) fn resume(
    hub: &Hub,
    caller: &mut CallOptions<'_>,
    resume_token: ResumeToken,
) -> Result<(PageRequest, InFlightCall), RequestError> {
    let ResumeToken { call, round } = resume_token;
    let responses = std::mem::take(&mut caller.client_responses);
    let (request, receiver) = hub
        .resume_call(caller.realm, &call, round, responses)
        .ok_or(RequestError::NothingToResume)?;
    let span = caller.trace.resume_page_call(&call);
    let call = InFlightCall {
        call,
        name: request.name().to_owned(),
        started: Instant::now(),
        receiver,
        span,
    };
    Ok((request, call))
}

/// Drives a call until it ends or needs input from the client.
pub(super) async fn drive(
    hub: &Hub,
    caller: &CallOptions<'_>,
    call: InFlightCall,
) -> RoundOutcome<CallOutcome> {
    let never = std::future::pending::<Infallible>;
    match drive_until(hub, caller, call, never).await {
        DriveResult::Finished(outcome) => outcome,
        DriveResult::Detached(_, never) => match never {},
    }
}

/// Drives a call until it ends, until it needs input from the client, or until the future of
/// `begin_detach` resolves.
///
/// While a question to a client with an assumed timeout is open, it does not count. If the timeout
/// has passed by the last answer, it begins anew: a client that still listens then waits for the
/// result.
pub(super) async fn drive_until<Detach: Future>(
    hub: &Hub,
    caller: &CallOptions<'_>,
    call: InFlightCall,
    begin_detach: impl Fn() -> Detach,
) -> DriveResult<Detach::Output> {
    let InFlightCall {
        call,
        name,
        started,
        mut receiver,
        span,
    } = call;
    let mut driver = CallDriver {
        hub,
        client: caller.client,
        cancel_on_drop: CancelOnDrop {
            hub,
            realm: caller.realm,
            call: call.clone(),
            span,
            disarmed: false,
        },
        open_requests: None,
        unanswered: HashSet::new(),
        notification: None,
        validation: Fuse::terminated(),
        reporter: ProgressReporter::new(hub, caller, &name, started),
    };
    let mut detach = pin!(begin_detach());
    let mut waits_since = Instant::now();
    // A handle ends the questions to the client, see `CallDriver::detach`.
    let patience = match caller.limits.client_timeout {
        Some(ClientTimeout::Assumed(patience)) => Some(patience),
        _ => None,
    };
    loop {
        tokio::select! {
            biased;
            message = receiver.recv(driver.notification.is_none()) => match message {
                CallerMessage::Ended(outcome) => {
                    if let Some(code) = outcome.failure_code() {
                        driver.cancel_on_drop.span.fail(code.as_str());
                    }
                    driver.finish(&mut receiver).await;
                    return DriveResult::Finished(RoundOutcome::Complete(outcome));
                }
                CallerMessage::Received(time) => {
                    driver.cancel_on_drop.span.add_event(CALL_RECEIVED, time);
                }
                CallerMessage::Event(event) => driver.notify(event),
                CallerMessage::ClientRequested if driver.client.uses_input_required() => {
                    if let Some(outcome) = driver.park(&mut receiver).await {
                        return DriveResult::Finished(outcome);
                    }
                }
                CallerMessage::ClientRequested => driver.send_client_requests(),
                CallerMessage::ClientRequestsEnded => driver.end_client_requests(),
                CallerMessage::ValidationRequested => driver.validate(),
            },
            validated = &mut driver.validation => driver.on_validated(validated),
            Some(response) = next_response(&mut driver.open_requests), if driver.open_requests.is_some() => {
                driver.deliver_response(response);
                let is_over = patience.is_some_and(|patience| waits_since.elapsed() >= patience);
                if is_over && driver.unanswered.is_empty() {
                    waits_since = Instant::now();
                    detach.set(begin_detach());
                }
            }
            left = &mut detach, if patience.is_none() || driver.unanswered.is_empty() => {
                driver.detach(&mut receiver).await;
                let span = std::mem::take(&mut driver.cancel_on_drop.span);
                drop(driver);
                return DriveResult::Detached(InFlightCall { call, name, started, receiver, span }, left);
            }
            event = driver.reporter.next_keepalive(&call, !driver.unanswered.is_empty()), if driver.notification.is_none() => {
                driver.notification = event.map(|event| driver.client.notify(event));
            }
            () = notification_sent(&mut driver.notification) => driver.notification = None,
        }
    }
}

/// Forwards messages between a running call and its client.
struct CallDriver<'a> {
    hub: &'a Hub,
    client: &'a dyn ClientChannel,
    cancel_on_drop: CancelOnDrop<'a>,
    /// The page's open requests to the client. `None` until the first one, because most handlers
    /// make none.
    open_requests: Option<FuturesUnordered<BoxFuture<'a, ClientResponse>>>,
    /// The keys of the requests that the client has not answered.
    unanswered: HashSet<String>,
    /// The notification that is being sent. Notifications are sent one at a time and in order: a
    /// client that does not read them delays only its own.
    notification: Option<BoxFuture<'a, ()>>,
    /// The validation of the arguments for the tool of another document, while it takes place.
    validation: Fuse<BoxFuture<'a, ValidatedInput>>,
    reporter: ProgressReporter<'a>,
}

/// A tool, and whether its input schema allows the arguments of the call.
type ValidatedInput = (Arc<SharedTool>, Result<(), CallFailure>);

impl<'a> CallDriver<'a> {
    /// Starts to forward an event of the page to the client.
    fn notify(&mut self, event: CallerEvent) {
        let event = self.reporter.on_event(event);
        self.notification = event.map(|event| self.client.notify(event));
    }

    /// Sends the page's requests to a client that answers them while the call runs.
    fn send_client_requests(&mut self) {
        let CancelOnDrop { realm, call, .. } = &self.cancel_on_drop;
        let requests = self.hub.take_client_requests(*realm, call);
        self.unanswered
            .extend(requests.iter().map(|request| request.key.clone()));
        let open_requests = self.open_requests.get_or_insert_default();
        open_requests.extend(
            requests
                .into_iter()
                .map(|request| self.client.request(request)),
        );
    }

    /// Delivers a response of the client to the page.
    fn deliver_response(&mut self, response: ClientResponse) {
        self.unanswered.remove(&response.key);
        self.deliver(response);
    }

    fn deliver(&self, response: ClientResponse) {
        let CancelOnDrop { realm, call, .. } = &self.cancel_on_drop;
        self.hub.deliver_client_response(*realm, call, response);
    }

    /// Ends the page's open requests, because another document continues the call.
    fn end_client_requests(&mut self) {
        self.open_requests = None;
        self.unanswered.clear();
    }

    /// Starts to validate the arguments for the tool of the document that continues the call.
    fn validate(&mut self) {
        let (hub, realm) = (self.hub, self.cancel_on_drop.realm);
        let Some((tool, input)) = hub.input_to_validate(realm, &self.cancel_on_drop.call) else {
            return;
        };
        let validate: BoxFuture<'a, _> = Box::pin(async move {
            let outcome = match hub.parse_tool(realm, &tool).await {
                Ok(()) => validation::validate_input(hub, realm, &tool, input).await,
                Err(error) => Err(error.into()),
            };
            (tool, outcome.map(drop))
        });
        self.validation = validate.fuse();
    }

    fn on_validated(&mut self, (tool, outcome): ValidatedInput) {
        let CancelOnDrop { realm, call, .. } = &self.cancel_on_drop;
        self.hub.input_validated(*realm, call, &tool, outcome);
    }

    /// Parks the call for a client that answers in a new request (MCP 2026-07-28). Returns `None`
    /// if the call continues because every request was rejected.
    async fn park(&mut self, receiver: &mut CallReceiver) -> Option<RoundOutcome<CallOutcome>> {
        let (realm, call) = (self.cancel_on_drop.realm, self.cancel_on_drop.call.clone());
        for request in self.hub.take_client_requests(realm, &call) {
            if let Some(rejection) = self.client.reject(&request) {
                self.deliver(rejection);
            }
        }
        let (round, requests) = self.hub.park_call(realm, &call)?;
        // A client that disconnects meanwhile never receives the resume token: the call is
        // cancelled.
        self.flush_events(receiver).await;
        self.cancel_on_drop.disarmed = true;
        Some(RoundOutcome::InputRequired {
            resume_token: ResumeToken { call, round },
            requests,
        })
    }

    /// Rejects the page's open requests for a client that has stopped waiting.
    async fn detach(&mut self, receiver: &mut CallReceiver) {
        self.open_requests = None;
        if !self.validation.is_terminated() {
            let validated = (&mut self.validation).await;
            self.on_validated(validated);
        }
        for key in std::mem::take(&mut self.unanswered) {
            self.deliver(DETACHED_CLIENT.error_response(key));
        }
        self.flush_events(receiver).await;
        self.cancel_on_drop.disarmed = true;
    }

    /// Stops driving a call that has ended.
    async fn finish(&mut self, receiver: &mut CallReceiver) {
        self.cancel_on_drop.disarmed = true;
        self.open_requests = None;
        self.flush_events(receiver).await;
    }

    /// Sends the client the events that preceded the result.
    async fn flush_events(&mut self, receiver: &mut CallReceiver) {
        if let Some(notification) = self.notification.take() {
            notification.await;
        }
        while let Some(event) = receiver.try_recv_event() {
            if let Some(event) = self.reporter.on_event(event) {
                self.client.notify(event).await;
            }
        }
    }
}

/// Returns the next response of the client, or `None` when no request is open.
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

#[cfg(test)]
mod tests;
