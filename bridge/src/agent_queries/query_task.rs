//! The task of one query: it sends the query to the agent, and forwards the reports in the response
//! stream to the realm.

use std::sync::{Arc, Weak};

use bridge_protocol::{Query, QueryId, TraceContext};
use bridge_traces::{RemoteContext, SpanRole, TraceSpan, attributes};
use tokio_util::sync::CancellationToken;

use crate::agent_queries::agent_client::{
    AgentClient, AgentEventStream, AgentResponse, QueryCredentials,
};
use crate::agent_queries::agent_event::AgentEvent;
use crate::agent_queries::report::AgentReport;
use crate::hub::Hub;
use bridge_auth::RealmId;
use bridge_realm::realm::{Effects, Now, Realm};

/// The state of the task of one query.
pub(super) struct QueryTask {
    pub(super) hub: Weak<Hub>,
    pub(super) realm: RealmId,
    pub(super) id: QueryId,
    /// Cancelled when the query has ended and its agent does not know it yet.
    pub(super) agent_cancelled: CancellationToken,
}

impl QueryTask {
    /// Runs until the agent has accepted the query, or to the end of its event stream.
    pub(super) async fn run(
        self,
        agent: Arc<AgentClient>,
        mut query: Query,
        credentials: QueryCredentials,
    ) {
        let asked = query.trace.take();
        let span = self.begin_span(asked.as_deref());
        // A bridge without traces passes on the trace of the page.
        let asked = || RemoteContext::from_message(asked.as_deref()?);
        let asked = || asked().map(|context| context.trace_context());
        let trace = span.trace_context().or_else(asked);
        match agent.send_query(query, credentials, trace).await {
            Err(error) => {
                span.fail(error.code.as_str());
                self.apply(|realm, now| realm.query_refused(&self.id, error, now));
            }
            Ok(AgentResponse::Deferred) => {
                self.apply(|realm, _| realm.query_accepted(&self.id));
            }
            Ok(AgentResponse::Stream(stream)) => {
                self.apply(|realm, _| realm.query_stream_opened(&self.id));
                self.read_stream(stream, &span).await;
            }
        }
    }

    /// Begins the span of the query, in the trace that its page has named or in a new one.
    fn begin_span(&self, asked: Option<&TraceContext>) -> TraceSpan {
        let Some(hub) = self.hub.upgrade() else {
            return TraceSpan::default();
        };
        let scope = hub.traces().scope(|| RemoteContext::from_message(asked?));
        let span = scope.begin(SpanRole::Client, || attributes::INVOKE_AGENT.to_owned());
        span.set_text(attributes::GEN_AI_OPERATION_NAME, attributes::INVOKE_AGENT);
        span
    }

    /// Forwards the reports of the stream and drains it. On cancellation the stream is dropped,
    /// which notifies the agent. An agent that knows that its query has ended still waits for the
    /// responses to its calls, and ends the stream itself.
    async fn read_stream(&self, mut stream: Box<AgentEventStream>, span: &TraceSpan) {
        let read = async {
            self.forward_reports(&mut stream, span).await;
            stream.drain().await;
        };
        tokio::select! {
            biased;
            () = self.agent_cancelled.cancelled() => span.fail("cancelled"),
            () = read => {}
        }
    }

    /// Forwards the reports of the agent until the query ends.
    async fn forward_reports(&self, stream: &mut AgentEventStream, span: &TraceSpan) {
        loop {
            match stream.next(&self.id).await {
                Ok(AgentEvent::Report(report)) => {
                    if let AgentReport::Fail(error) = &report {
                        span.fail(error.code.as_str());
                    }
                    let is_last = !matches!(report, AgentReport::Progress(_));
                    let hub = self.hub.upgrade();
                    let applied =
                        hub.map(|hub| hub.apply_agent_report(self.realm, &self.id, report));
                    if is_last || !matches!(applied, Some(Ok(()))) {
                        return;
                    }
                }
                Ok(AgentEvent::Accepted | AgentEvent::Unknown) => {}
                Err(error) => {
                    span.fail(error.code.as_str());
                    return self.apply(|realm, now| realm.agent_lost(&self.id, error, now));
                }
            }
        }
    }

    fn apply(&self, event: impl FnOnce(&mut Realm, Now) -> Effects) {
        if let Some(hub) = self.hub.upgrade() {
            hub.apply(self.realm, |realm, now| ((), event(realm, now)));
        }
    }
}
