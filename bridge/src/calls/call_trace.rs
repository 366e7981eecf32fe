//! The spans of a call: one for the request of the client, and below it one for each time that a page
//! is called.

use std::sync::Arc;

use bridge_protocol::{CallContext, CallId, CallerTransport};
use bridge_realm::realm::PageRequest;
use bridge_traces::{RemoteContext, SpanRole, TraceScope, TraceSpan, Traces, attributes};
use serde_json::value::RawValue;

use crate::counters::{CallKind, CountedEnd};
use crate::hub::Hub;

/// The place of a request in a trace. It is empty while traces are off.
#[derive(Debug, Default)]
pub(crate) struct RequestTrace(Option<Box<TracedRequest>>);

#[derive(Debug)]
struct TracedRequest {
    /// The trace of the client at first, and the span of the request when it has begun.
    scope: TraceScope,
    /// The id of a JSON-RPC request.
    request_id: Option<String>,
}

impl RequestTrace {
    /// Joins the trace that `remote` reads from a request with this JSON-RPC id, or begins one.
    pub(crate) fn new(
        traces: &Traces,
        remote: impl FnOnce() -> Option<RemoteContext>,
        request_id: Option<&RawValue>,
    ) -> Self {
        if !traces.is_on() {
            return Self::default();
        }
        let request_id = request_id.map(|id| id.get().trim_matches('"').to_owned());
        Self(Some(Box::new(TracedRequest {
            scope: traces.scope(remote),
            request_id,
        })))
    }

    /// Begins the span of a request for what has this name.
    pub(super) fn begin_request(
        &mut self,
        hub: &Hub,
        kind: CallKind,
        name: &str,
        context: &CallContext,
    ) -> TraceSpan {
        if !hub.traces().is_on() {
            return TraceSpan::default();
        }
        // Transports without contexts begin a trace.
        let traced = self.0.get_or_insert_with(|| {
            Box::new(TracedRequest {
                scope: hub.traces().scope(|| None),
                request_id: None,
            })
        });
        let span = request_span(&traced.scope, kind, name, context);
        if let Some(id) = &traced.request_id {
            span.set_text(attributes::JSONRPC_REQUEST_ID, id);
        }
        traced.scope = span.scope();
        span
    }

    /// Begins the span of a call of a page, which the page gets as the parent of what it does.
    pub(super) fn begin_page_call(
        &self,
        call: &CallId,
        request: &PageRequest,
        context: &mut CallContext,
    ) -> TraceSpan {
        let Some(traced) = &self.0 else {
            return TraceSpan::default();
        };
        let message = match request {
            PageRequest::Tool { .. } => "tool-call",
            PageRequest::Prompt { .. } => "prompt-get",
            PageRequest::Resource { .. } => "resource-read",
            PageRequest::Completion { .. } => "completion",
        };
        let span = traced.scope.begin(SpanRole::Client, || match request {
            PageRequest::Tool { tool, .. } => format!("{message} {}", tool.name()),
            _ => message.to_owned(),
        });
        span.set_text(attributes::CALL_ID, call.as_str());
        span.set_text(attributes::NETWORK_TRANSPORT, "tcp");
        span.set_text(attributes::NETWORK_PROTOCOL_NAME, "websocket");
        context.trace = span.trace_context().map(Arc::new);
        span
    }

    /// Begins the span of the rest of a call of a page, after its client has answered.
    pub(super) fn resume_page_call(&self, call: &CallId) -> TraceSpan {
        let Some(traced) = &self.0 else {
            return TraceSpan::default();
        };
        let span = traced
            .scope
            .begin(SpanRole::Client, || "client-responses".to_owned());
        span.set_text(attributes::CALL_ID, call.as_str());
        span
    }
}

fn request_span(
    scope: &TraceScope,
    kind: CallKind,
    name: &str,
    context: &CallContext,
) -> TraceSpan {
    let caller = context.caller.as_ref().map(|caller| caller.via);
    let is_mcp = matches!(caller, None | Some(CallerTransport::Mcp));
    let method = match kind {
        CallKind::Tool | CallKind::Background => "tools/call",
        CallKind::Prompt => "prompts/get",
        CallKind::Resource => "resources/read",
        CallKind::Completion => "completion/complete",
    };
    // URIs are as many as there are resources.
    let target = (kind != CallKind::Resource).then_some(name);
    let span = scope.begin(SpanRole::Server, || match (is_mcp, target) {
        (true, Some(target)) => format!("{method} {target}"),
        (true, None) => method.to_owned(),
        (false, _) => "POST /tool-call".to_owned(),
    });
    if is_mcp {
        span.set_text(attributes::MCP_METHOD_NAME, method);
    }
    let client = context.client.as_ref();
    if let Some(version) = client.and_then(|client| client.protocol_version.as_ref()) {
        span.set_text(attributes::MCP_PROTOCOL_VERSION, version);
    }
    match kind {
        CallKind::Tool => {
            span.set_text(attributes::GEN_AI_OPERATION_NAME, attributes::EXECUTE_TOOL);
            span.set_text(attributes::GEN_AI_TOOL_NAME, name);
        }
        CallKind::Prompt => span.set_text(attributes::GEN_AI_PROMPT_NAME, name),
        CallKind::Resource | CallKind::Completion | CallKind::Background => {}
    }
    span.set_text(attributes::NETWORK_TRANSPORT, "tcp");
    span.set_text(attributes::NETWORK_PROTOCOL_NAME, "http");
    span
}

/// Describes how the request of a span has ended.
pub(super) fn describe_end(span: &TraceSpan, end: CountedEnd) {
    span.set_text(attributes::CALL_OUTCOME, end.as_str());
    match end {
        CountedEnd::Completed | CountedEnd::Background | CountedEnd::InputRequired => {}
        CountedEnd::Failed(code) => {
            span.fail(code.map_or(attributes::TOOL_ERROR, |code| code.as_str()));
        }
        // Its client has not waited for the answer.
        other => span.fail(other.as_str()),
    }
}
