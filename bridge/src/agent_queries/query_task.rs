//! The task of one query: it sends the query to the agent, and forwards the reports in the response
//! stream to the realm.

use std::sync::{Arc, Weak};

use bridge_protocol::{Query, QueryId};
use tokio_util::sync::CancellationToken;

use crate::agent_queries::agent_client::{
    AgentClient, AgentEventStream, AgentResponse, QueryCredentials,
};
use crate::agent_queries::agent_event::AgentEvent;
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
        query: Query,
        credentials: QueryCredentials,
    ) {
        match agent.send_query(query, credentials).await {
            Err(error) => self.apply(|realm, now| realm.query_refused(&self.id, error, now)),
            Ok(AgentResponse::Deferred) => {
                self.apply(|realm, _| realm.query_accepted(&self.id));
            }
            Ok(AgentResponse::Stream(stream)) => {
                self.apply(|realm, _| realm.query_stream_opened(&self.id));
                self.read_stream(stream).await;
            }
        }
    }

    /// Forwards the reports of the stream and drains it. On cancellation the stream is dropped,
    /// which notifies the agent. An agent that knows that its query has ended still waits for the
    /// responses to its calls, and ends the stream itself.
    async fn read_stream(&self, mut stream: Box<AgentEventStream>) {
        let read = async {
            self.forward_reports(&mut stream).await;
            stream.drain().await;
        };
        tokio::select! {
            biased;
            () = self.agent_cancelled.cancelled() => {}
            () = read => {}
        }
    }

    /// Forwards the reports of the agent until the query ends.
    async fn forward_reports(&self, stream: &mut AgentEventStream) {
        loop {
            match stream.next(&self.id).await {
                Ok(AgentEvent::Report(report)) => {
                    let hub = self.hub.upgrade();
                    let applied =
                        hub.map(|hub| hub.apply_agent_report(self.realm, &self.id, report));
                    if !matches!(applied, Some(Ok(()))) {
                        return;
                    }
                }
                Ok(AgentEvent::Accepted | AgentEvent::Unknown) => {}
                Err(error) => {
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
