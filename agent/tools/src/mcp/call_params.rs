//! The parameters of a call, with the trace that it belongs to (SEP-414).

use bridge_traces::{TraceScope, attributes};
use rmcp::model::{CallToolRequestParams, MetaObject, RequestMetaObject};
use serde_json::{Map, Value};

/// Creates the parameters of a call in the trace of the current task.
///
/// `with_baggage` also passes on what the client of the bridge has added to its trace. It is for the
/// bridge, and not for the servers of others.
pub fn traced_call(
    tool: &str,
    arguments: Map<String, Value>,
    with_baggage: bool,
) -> CallToolRequestParams {
    let mut call = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
    let scope = TraceScope::current();
    if let Some(context) = scope.trace_context() {
        scope.set_text(attributes::MCP_METHOD_NAME, "tools/call");
        let mut meta = MetaObject::new();
        meta.set_traceparent(context.traceparent);
        if let Some(state) = context.tracestate {
            meta.set_tracestate(state);
        }
        if let Some(baggage) = context.baggage.filter(|_| with_baggage) {
            meta.set_baggage(baggage);
        }
        call.meta = Some(RequestMetaObject(meta));
    }
    call
}

#[cfg(test)]
mod tests {
    use bridge_traces::testing::TraceCollector;
    use bridge_traces::{RemoteContext, SpanRole, Traces};
    use serde_json::{Value, json};

    use super::*;

    fn meta_of(with_baggage: bool) -> Value {
        let call = traced_call("t", Map::new(), with_baggage);
        serde_json::to_value(call).unwrap()["_meta"].take()
    }

    #[tokio::test]
    async fn a_server_gets_the_trace_and_only_the_bridge_its_baggage() {
        assert_eq!(meta_of(true), Value::Null, "without a trace");
        let collector = TraceCollector::start().await;
        let traces = Traces::start(&collector.settings(), "test", "1").unwrap();
        let remote = RemoteContext::parse(
            Some("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
            Some("vendor=1"),
            Some("user=ann"),
        );
        let scope = traces.scope(|| remote);
        let span = scope.begin(SpanRole::Internal, || "call".to_owned());
        let traceparent = span.trace_context().unwrap().traceparent;
        let metas = span.run(async { [false, true].map(meta_of) }).await;
        let trace = json!({ "traceparent": traceparent, "tracestate": "vendor=1" });
        assert_eq!(metas[0], trace);
        assert_eq!(metas[1]["baggage"], "user=ann");
        drop(span);
        traces.stop().await;
        let spans = collector.spans();
        assert_eq!(
            spans[0].attributes[attributes::MCP_METHOD_NAME],
            "tools/call"
        );
    }
}
