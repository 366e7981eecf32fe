//! One call in flight: a request to a page.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bridge_protocol::{
    Argument, BridgeToPage, CallContext, CallId, ClientResponse, Completion, ErrorCode, Item,
    PromptGet, ResourceRead, SessionId, ToolCall,
};
use serde_json::value::RawValue;

use super::asking::Asking;
use super::{Dialect, Ending, Failure, Now};
use crate::tool::Tool;

/// What a caller asks for.
#[derive(Debug)]
pub(crate) struct NewCall {
    pub(crate) id: CallId,
    pub(crate) request: Request,
    pub(crate) context: CallContext,
    pub(crate) timeout: Duration,
    /// Answers to what the handler will ask the client.
    pub(crate) answers: Vec<ClientResponse>,
}

/// What a page is asked to do.
#[derive(Clone, Debug)]
pub(crate) enum Request {
    Tool {
        tool: Arc<Tool>,
        input: Box<RawValue>,
    },
    Prompt {
        name: String,
        arguments: Box<RawValue>,
    },
    Resource {
        uri: String,
        /// The template that the URI fits, and its variables.
        template: Option<(String, BTreeMap<String, String>)>,
    },
    Completion {
        reference: Item,
        argument: Argument,
        arguments: BTreeMap<String, String>,
    },
}

impl Request {
    /// For people.
    pub(crate) fn name(&self) -> &str {
        match self {
            Request::Tool { tool, .. } => tool.name(),
            Request::Prompt { name, .. } => name,
            Request::Resource { uri, .. } => uri,
            Request::Completion { reference, .. } => &reference.name,
        }
    }
}

/// Whether the call has reached page code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Receipt {
    Awaited { until: Instant },
    Received,
}

/// Who waits for the ending.
#[derive(Debug)]
pub(super) enum Waiting {
    /// A caller.
    Caller,
    /// Nobody: the client was told what it must answer, and will call again with this number.
    Parked {
        round: u64,
        /// The ending, if the page could not wait.
        ending: Option<Ending>,
    },
}

#[derive(Debug)]
pub(crate) struct Call {
    pub(super) session: SessionId,
    pub(super) request: Request,
    pub(super) context: CallContext,
    /// Of its page.
    dialect: Dialect,
    timeout: Duration,
    pub(super) receipt: Receipt,
    /// A page may have begun it.
    pub(super) sent: bool,
    expires: Instant,
    pub(super) asking: Asking,
    pub(super) waiting: Waiting,
    /// How often it was parked.
    rounds: u64,
    /// How long the client may take to answer.
    input_within: Duration,
    /// How long the page may take to acknowledge the call.
    receipt_within: Duration,
}

impl Call {
    pub(super) fn new(
        call: NewCall,
        dialect: Dialect,
        session: SessionId,
        receipt_within: Duration,
        input_within: Duration,
        now: Now,
    ) -> Self {
        let timeout = dialect.call_time(call.timeout);
        Self {
            session,
            dialect,
            request: call.request,
            context: call.context,
            timeout,
            receipt: dialect.receipt(now.instant + receipt_within),
            sent: false,
            expires: now.instant + timeout,
            asking: Asking::answered_before(call.answers),
            waiting: Waiting::Caller,
            rounds: 0,
            input_within,
            receipt_within,
        }
    }

    pub(super) fn deadline(&self) -> Instant {
        match (self.receipt, self.asking.since()) {
            (_, Some(since)) => since + self.input_within,
            (Receipt::Awaited { until }, None) => until.min(self.expires),
            (Receipt::Received, None) => self.expires,
        }
    }

    /// Time in which the page waited for the client does not count.
    pub(super) fn waited_for_client(&mut self, now: Instant) {
        if let Some(waited) = self.asking.waited(now) {
            self.expires += waited;
        }
    }

    /// The caller leaves; who comes with this number goes on.
    pub(super) fn park(&mut self) -> u64 {
        self.rounds += 1;
        self.waiting = Waiting::Parked {
            round: self.rounds,
            ending: None,
        };
        self.rounds
    }

    pub(super) fn is_parked(&self) -> bool {
        matches!(self.waiting, Waiting::Parked { .. })
    }

    /// The message that asks the page for it.
    pub(super) fn send(&mut self, id: &CallId, now: Now) -> BridgeToPage {
        self.sent = true;
        let request_id = id.clone();
        let mut context = Box::new(self.context.clone());
        context.sent_ms = Some(now.unix_ms);
        match self.request.clone() {
            Request::Tool { tool, input } => BridgeToPage::ToolCall(ToolCall {
                request_id,
                tool_name: tool.name().to_owned(),
                tool_input: input,
                context,
            }),
            Request::Prompt { name, arguments } => BridgeToPage::PromptGet(PromptGet {
                request_id,
                name,
                arguments,
                context,
            }),
            Request::Resource { uri, template } => {
                let (uri_template, variables) = template.unzip();
                BridgeToPage::ResourceRead(ResourceRead {
                    request_id,
                    uri,
                    uri_template,
                    variables,
                    context,
                })
            }
            Request::Completion {
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

    /// The page should have acknowledged the call by now.
    pub(super) fn is_unreceived(&self, now: Now) -> bool {
        match self.receipt {
            Receipt::Awaited { until } => until <= now.instant && until < self.expires,
            Receipt::Received => false,
        }
    }

    /// Why the call ends when the page is suspended.
    pub(super) fn suspended(&self) -> Failure {
        Failure::new(
            ErrorCode::PageSuspended,
            format!(
                "the page did not take the call of `{}`: its tab is suspended. Bring it to the \
                 front and retry",
                self.request.name(),
            ),
        )
    }

    /// Why the call ends when the page has another one in hand and takes no more.
    pub(super) fn busy(&self, with: &Call) -> Failure {
        Failure::new(
            ErrorCode::PageBusy,
            format!(
                "the page did not take the call of `{}` within {} s: it is busy with `{}`, or its \
                 tab is suspended. Retry when that has ended, or bring the tab to the front",
                self.request.name(),
                self.receipt_within.as_secs_f32(),
                with.request.name(),
            ),
        )
    }

    /// Why the call ends when its time has passed.
    pub(super) fn overdue(&self) -> Failure {
        let name = self.request.name();
        if self.is_parked() {
            return Failure::new(
                ErrorCode::CallTimeout,
                format!(
                    "the client did not go on with `{name}` within {} s: retry, or raise \
                     `input_timeout`",
                    self.input_within.as_secs_f32()
                ),
            );
        }
        Failure::new(
            ErrorCode::CallTimeout,
            format!(
                "`{name}` did not answer within {} s: retry, or {}",
                self.timeout.as_secs_f32(),
                self.longer()
            ),
        )
    }

    /// How a call gets more time.
    fn longer(&self) -> &'static str {
        match &self.request {
            _ if self.dialect == Dialect::V1 => "let the page load the SDK of this bridge",
            Request::Tool { tool, .. } => match tool.timeout() {
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
