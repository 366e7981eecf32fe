//! The task of one query: the agent is asked, and what it says in its stream reaches the realm.

use std::sync::{Arc, Weak};

use bridge_protocol::{Query, QueryId};
use tokio_util::sync::CancellationToken;

use crate::agent_queries::agent_client::{AgentClient, AgentEventStream, AgentResponse};
use crate::agent_queries::agent_event::AgentEvent;
use crate::hub::Hub;
use bridge_auth::RealmId;
use bridge_auth::query_token::QueryToken;
use bridge_realm::realm::{Effects, Now, Realm};

/// Whose query it is.
pub(super) struct QueryTask {
    pub(super) hub: Weak<Hub>,
    pub(super) realm: RealmId,
    pub(super) id: QueryId,
    /// Nobody wants anything of the agent any more, and it does not know.
    pub(super) agent_cancelled: CancellationToken,
}

impl QueryTask {
    /// Until the agent has taken the query, or has said its last word, where it says it here.
    pub(super) async fn run(
        self,
        agent: Arc<AgentClient>,
        query: Query,
        token: Option<QueryToken>,
    ) {
        match agent.send_query(query, token).await {
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

    /// Dropping the stream tells the agent that nobody listens any more. One whose query is over
    /// with its knowledge has still to hear the answers to its calls, and ends the stream itself.
    async fn read_stream(&self, mut stream: Box<AgentEventStream>) {
        let heard = async {
            self.forward_reports(&mut stream).await;
            stream.drain().await;
        };
        tokio::select! {
            biased;
            () = self.agent_cancelled.cancelled() => {}
            () = heard => {}
        }
    }

    /// Until the query is over.
    async fn forward_reports(&self, stream: &mut AgentEventStream) {
        loop {
            match stream.next(&self.id).await {
                Ok(AgentEvent::Report(report)) => {
                    let hub = self.hub.upgrade();
                    let taken = hub.map(|hub| hub.apply_agent_report(self.realm, &self.id, report));
                    if !matches!(taken, Some(Ok(()))) {
                        return;
                    }
                }
                Ok(AgentEvent::Accepted | AgentEvent::Unknown) => {}
                Err(why) => {
                    return self.apply(|realm, now| realm.agent_lost(&self.id, why, now));
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
