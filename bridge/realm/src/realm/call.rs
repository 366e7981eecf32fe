//! A call in flight, which is a request to a page.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use web_time::Instant;

use bridge_protocol::{
    Argument, BridgeToPage, CallContext, CallId, ClientResponse, Completion, ErrorCode, Item,
    PromptGet, ResourceRead, SessionId, ToolCall,
};
use serde_json::value::RawValue;

use super::client_requests::PendingClientRequests;
use super::hand_over::{Arming, HandOver};
use super::{CallFailure, CallOutcome, ConnectionId, Now, PageAbilities, Receipt};
use crate::definition::tool::SharedTool;

/// The parameters of a new call.
#[derive(Debug)]
pub struct NewCall {
    pub id: CallId,
    pub request: PageRequest,
    /// The context that the page receives with the call, such as the client and the caller.
    pub context: CallContext,
    /// The maximum duration, unless the page relies on its own
    /// ([`PageAbilities::call_timeout`]).
    pub timeout: Duration,
    /// Responses to requests that the handler is going to send to the client.
    pub client_responses: Vec<ClientResponse>,
}

/// The request of a call to the page.
#[derive(Clone, Debug)]
pub enum PageRequest {
    Tool {
        tool: Arc<SharedTool>,
        input: Box<RawValue>,
    },
    Prompt {
        name: String,
        arguments: Box<RawValue>,
    },
    Resource {
        uri: String,
        /// The template that matches the URI, and its variables.
        template: Option<(String, BTreeMap<String, String>)>,
    },
    Completion {
        reference: Item,
        argument: Argument,
        arguments: BTreeMap<String, String>,
    },
}

impl PageRequest {
    /// The name of the requested item, for messages.
    pub fn name(&self) -> &str {
        match self {
            PageRequest::Tool { tool, .. } => tool.name(),
            PageRequest::Prompt { name, .. } => name,
            PageRequest::Resource { uri, .. } => uri,
            PageRequest::Completion { reference, .. } => &reference.name,
        }
    }
}

/// Whether a caller waits for the outcome.
#[derive(Debug)]
pub(super) enum CallerState {
    /// A caller waits.
    Waiting,
    /// No caller waits: the client has received the open requests and will resume the call with the
    /// number of this round.
    Parked {
        round: u64,
        /// The outcome, if the call has ended meanwhile.
        outcome: Option<CallOutcome>,
    },
}

/// A call in flight: its request, its timeouts, and the requests of its handler to the client.
#[derive(Debug)]
pub struct RealmCall {
    pub(super) session: SessionId,
    pub(super) request: PageRequest,
    pub(super) context: CallContext,
    timeout: Duration,
    /// Whether the timeout is that of the page, and cannot be raised.
    has_fixed_timeout: bool,
    pub(super) receipt: Receipt,
    /// How often the call was sent: again on each connection on which the page has not acknowledged
    /// it.
    pub(super) send_count: u32,
    expires: Instant,
    /// The call has timed out, and ends when everything that has arrived on the connection before
    /// the ping with this number was read, or at this time.
    pub(super) final_read: Option<(u64, Instant)>,
    pub(super) client_requests: PendingClientRequests,
    pub(super) caller_state: CallerState,
    /// Whether the call is to outlive its document, or has done so. Few calls are.
    pub(super) hand_over: Option<Box<HandOver>>,
    /// The number of times the call was parked.
    rounds: u64,
    /// The maximum time in which the client must answer.
    input_timeout: Duration,
    /// The maximum time in which the page must acknowledge the call.
    receipt_timeout: Duration,
}

impl RealmCall {
    pub(super) fn new(
        call: NewCall,
        abilities: PageAbilities,
        session: SessionId,
        receipt_timeout: Duration,
        input_timeout: Duration,
        now: Now,
    ) -> Self {
        let timeout = abilities.call_timeout.unwrap_or(call.timeout);
        Self {
            session,
            request: call.request,
            context: call.context,
            timeout,
            has_fixed_timeout: abilities.call_timeout.is_some(),
            receipt: abilities.receipt(now.instant + receipt_timeout),
            send_count: 0,
            expires: now.instant + timeout,
            final_read: None,
            client_requests: PendingClientRequests::with_responses(call.client_responses),
            caller_state: CallerState::Waiting,
            hand_over: None,
            rounds: 0,
            input_timeout,
            receipt_timeout,
        }
    }

    /// The next time at which the call must be checked: the receipt timeout, its own timeout, or
    /// the input timeout of the client.
    pub(super) fn deadline(&self) -> Instant {
        if let Some(since) = self.client_requests.waiting_since() {
            return since + self.input_timeout;
        }
        if let Some((_, until)) = self.final_read {
            return until;
        }
        let receipt_due = self.receipt.until();
        receipt_due.map_or(self.expires, |until| until.min(self.expires))
    }

    /// When the call times out, unless its page waits for the client meanwhile.
    pub(super) fn expires(&self) -> Instant {
        self.expires
    }

    /// Extends all timeouts by a time in which the bridge itself did not run.
    pub(super) fn extend(&mut self, by: Duration) {
        self.receipt = self.receipt.extended(by);
        self.expires += by;
        self.final_read = self.final_read.map(|(probe, until)| (probe, until + by));
        self.client_requests.extend_wait(by);
    }

    /// Extends the timeout by the time in which the page has waited for the client.
    pub(super) fn exclude_client_wait(&mut self, now: Instant) {
        if let Some(waited) = self.client_requests.take_wait_time(now) {
            self.expires += waited;
        }
    }

    /// Hands the call over to the next document, which must register its item before `until`. The
    /// requests of its handler to the client end.
    pub(super) fn hand_over(&mut self, until: Instant, now: Now) {
        let hand_over = self.hand_over.get_or_insert_default();
        if let Arming::Armed(state) = std::mem::take(&mut hand_over.arming) {
            hand_over.continuation = Some(state);
        }
        hand_over.count += 1;
        self.client_requests.abandon();
        self.exclude_client_wait(now.instant);
        self.final_read = None;
        self.receipt = Receipt::AwaitsDocument { until };
    }

    /// Whether the call waits until the former document, on this connection, confirms that it hands
    /// it over.
    pub(super) fn is_unconfirmed_on(&self, connection: ConnectionId) -> bool {
        let hand_over = self.hand_over.as_deref();
        hand_over.is_some_and(|it| it.unconfirmed_on == Some(connection))
    }

    /// Whether the next document may continue the call: the state is the last one.
    pub(super) fn is_confirmed(&self) -> bool {
        let hand_over = self.hand_over.as_deref();
        hand_over.is_none_or(|it| it.unconfirmed_on.is_none())
    }

    /// The page has acknowledged the call, so it is not sent to this document again.
    pub(super) fn acknowledge(&mut self) {
        self.receipt = Receipt::Received;
        if let Some(hand_over) = &mut self.hand_over {
            hand_over.continuation = None;
        }
    }

    /// Parks the call after its caller has left. It is resumed with the returned round number.
    pub(super) fn park(&mut self) -> u64 {
        self.rounds += 1;
        self.caller_state = CallerState::Parked {
            round: self.rounds,
            outcome: None,
        };
        self.rounds
    }

    /// Whether the caller has left and the call waits to be resumed.
    pub(super) fn is_parked(&self) -> bool {
        matches!(self.caller_state, CallerState::Parked { .. })
    }

    /// The message that requests the call from the page.
    pub(super) fn request_message(&mut self, id: &CallId, now: Now) -> BridgeToPage {
        self.send_count += 1;
        let request_id = id.clone();
        let mut context = Box::new(self.context.clone());
        context.sent_ms = Some(now.unix_ms);
        if let Some(hand_over) = &self.hand_over {
            let state = hand_over.continuation.as_ref();
            context.continuation = state.map(|state| state.json().to_owned());
            context.hand_overs = state.map(|_| hand_over.count);
            let remaining = self.expires.saturating_duration_since(now.instant);
            context.timeout_ms = u64::try_from(remaining.as_millis()).ok();
        }
        match self.request.clone() {
            PageRequest::Tool { tool, input } => BridgeToPage::ToolCall(ToolCall {
                request_id,
                tool_name: tool.name().to_owned(),
                tool_input: input,
                context,
            }),
            PageRequest::Prompt { name, arguments } => BridgeToPage::PromptGet(PromptGet {
                request_id,
                name,
                arguments,
                context,
            }),
            PageRequest::Resource { uri, template } => {
                let (uri_template, variables) = template.unzip();
                BridgeToPage::ResourceRead(ResourceRead {
                    request_id,
                    uri,
                    uri_template,
                    variables,
                    context,
                })
            }
            PageRequest::Completion {
                reference,
                argument,
                arguments,
            } => BridgeToPage::Completion(Completion {
                request_id,
                reference,
                argument,
                arguments,
                context,
            }),
        }
    }

    /// Whether the call itself has timed out.
    pub(super) fn has_expired(&self, now: Now) -> bool {
        self.expires <= now.instant
    }

    /// Advice for the caller after a call that may have run.
    pub(super) fn retry_advice(&self) -> &'static str {
        let is_idempotent = match &self.request {
            PageRequest::Tool { tool, .. } => tool.is_idempotent(),
            // MCP defines prompts, resources and completions as reads.
            _ => true,
        };
        if self.send_count == 0 || is_idempotent {
            "retry"
        } else {
            "it may have run, so check its effect before calling it again"
        }
    }

    /// The failure of the call when the page is suspended.
    pub(super) fn suspended_failure(&self) -> CallFailure {
        CallFailure::new(
            ErrorCode::PageSuspended,
            format!(
                "the page did not take the call of `{}`: its tab is suspended. Bring it to the \
                 front and retry",
                self.request.name(),
            ),
        )
    }

    /// The failure of the call when the page does not acknowledge it while it runs another call.
    pub(super) fn busy_failure(&self, with: &RealmCall) -> CallFailure {
        CallFailure::new(
            ErrorCode::PageBusy,
            format!(
                "the page did not take the call of `{}` within {} s: it is busy with `{}`, or its \
                 tab is suspended. Retry when that has ended, or bring the tab to the front",
                self.request.name(),
                self.receipt_timeout.as_secs_f32(),
                with.request.name(),
            ),
        )
    }

    /// The failure of the call when the bridge does not know whether the page has started it.
    pub(super) fn may_have_run_failure(&self) -> CallFailure {
        CallFailure::new(
            ErrorCode::CallMayHaveRun,
            format!(
                "the page was sent the call of `{}` and has not acknowledged it within {} s: {}",
                self.request.name(),
                self.receipt_timeout.as_secs_f32(),
                self.retry_advice(),
            ),
        )
    }

    /// The failure of the call when the document that was sent it is gone.
    pub(super) fn page_gone_failure(&self, why: &str) -> CallFailure {
        let advice = self.retry_advice();
        let arming = self.hand_over.as_deref().map(|it| &it.arming);
        let text = match arming {
            Some(Arming::Refused(reason)) => format!(
                "{why} while the call was running and not handed over ({reason}): \
                 list_active_sessions shows what is open; {advice}"
            ),
            _ => format!("{why} while the call was running: open the app again, and {advice}"),
        };
        CallFailure::new(ErrorCode::PageGone, text)
    }

    /// The failure of the call when no document of its session has gone on with it in time.
    /// `title` is that of the document which is shown instead, if one is connected.
    pub(super) fn not_returned_failure(
        &self,
        title: Option<&str>,
        page_return: Duration,
    ) -> CallFailure {
        let (name, seconds) = (self.request.name(), page_return.as_secs_f32());
        let advice = self.retry_advice();
        let what = match title {
            Some("") => format!("the page went to another one, which has not registered `{name}`"),
            Some(title) => {
                format!("the page went to {title:?}, which has not registered `{name}`")
            }
            None => format!("the page of `{name}` went elsewhere and has not come back"),
        };
        CallFailure::new(
            ErrorCode::PageGone,
            format!("{what} within {seconds} s: list_active_sessions shows what is open; {advice}"),
        )
    }

    /// The failure of the call when the bridge shuts down.
    pub(super) fn bridge_stopping_failure(&self) -> CallFailure {
        let advice = self.retry_advice();
        CallFailure::new(
            ErrorCode::BridgeStopping,
            format!("the bridge is shutting down: {advice}, when it is back"),
        )
    }

    /// The failure of the call when another bridge serves its token.
    pub(super) fn served_elsewhere_failure(&self) -> CallFailure {
        let advice = self.retry_advice();
        let code = match self.send_count {
            0 => ErrorCode::ClusterUnavailable,
            _ => ErrorCode::CallMayHaveRun,
        };
        CallFailure::new(
            code,
            format!("another bridge serves this token now: {advice}"),
        )
    }

    /// The failure of the call when it has timed out.
    pub(super) fn timeout_failure(&self) -> CallFailure {
        let name = self.request.name();
        if self.is_parked() {
            return CallFailure::new(
                ErrorCode::CallTimeout,
                format!(
                    "the client did not continue `{name}` within {} s: retry, or raise \
                     `input_timeout`",
                    self.input_timeout.as_secs_f32()
                ),
            );
        }
        CallFailure::new(
            ErrorCode::CallTimeout,
            format!(
                "`{name}` did not answer within {} s: {}, or {}",
                self.timeout.as_secs_f32(),
                self.retry_advice(),
                self.timeout_remedy()
            ),
        )
    }

    /// The advice on how to get a longer timeout.
    fn timeout_remedy(&self) -> &'static str {
        match &self.request {
            _ if self.has_fixed_timeout => "let the page load the SDK of this bridge",
            PageRequest::Tool { tool, .. } => match tool.timeout() {
                Some(own) if own <= self.timeout => {
                    "raise the `timeout` of the tool (`_meta[\"mcp-web/timeout\"]`)"
                }
                Some(_) => "raise `max_call_timeout`",
                None => "raise `call_timeout`",
            },
            _ => "raise `call_timeout`",
        }
    }
}
