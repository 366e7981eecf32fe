//! One call in flight.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bridge_protocol::{BridgeToPage, CallId, ClientInfo, ErrorCode, SessionId, ToolCall};
use serde_json::value::RawValue;

use super::{Failure, Now};
use crate::tool::Tool;

/// What a caller asks for.
#[derive(Debug)]
pub(crate) struct NewCall {
    pub(crate) id: CallId,
    pub(crate) tool: Arc<Tool>,
    pub(crate) input: Box<RawValue>,
    pub(crate) client: Option<ClientInfo>,
    pub(crate) timeout: Duration,
}

/// Whether the call has reached page code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Receipt {
    Awaited { until: Instant },
    Received,
}

#[derive(Debug)]
pub(crate) struct Call {
    pub(super) session: SessionId,
    tool: Arc<Tool>,
    input: Box<RawValue>,
    client: Option<ClientInfo>,
    timeout: Duration,
    pub(super) receipt: Receipt,
    expires: Instant,
}

impl Call {
    pub(super) fn new(call: NewCall, session: SessionId, receipt_by: Instant, now: Now) -> Self {
        Self {
            session,
            tool: call.tool,
            input: call.input,
            client: call.client,
            timeout: call.timeout,
            receipt: Receipt::Awaited { until: receipt_by },
            expires: now.instant + call.timeout,
        }
    }

    pub(super) fn deadline(&self) -> Instant {
        match self.receipt {
            Receipt::Awaited { until } => until.min(self.expires),
            Receipt::Received => self.expires,
        }
    }

    pub(super) fn message(&self, id: &CallId) -> BridgeToPage {
        BridgeToPage::ToolCall(ToolCall {
            request_id: id.clone(),
            tool_name: self.tool.name.clone(),
            tool_input: self.input.clone(),
            client: self.client.clone(),
            timeout_ms: u64::try_from(self.timeout.as_millis()).ok(),
        })
    }

    /// Why the call ends when its deadline has passed.
    pub(super) fn overdue(&self, receipt_within: Duration) -> Failure {
        let tool = &self.tool.name;
        match self.receipt {
            Receipt::Awaited { until } if until < self.expires => Failure::new(
                ErrorCode::PageSuspended,
                format!(
                    "the page did not take the call of `{tool}` within {} s: its tab is suspended \
                     or busy. Bring it to the front and retry",
                    receipt_within.as_secs_f32()
                ),
            ),
            _ => Failure::new(
                ErrorCode::CallTimeout,
                format!(
                    "`{tool}` did not answer within {} s: retry, or raise `call_timeout`",
                    self.timeout.as_secs_f32()
                ),
            ),
        }
    }
}
