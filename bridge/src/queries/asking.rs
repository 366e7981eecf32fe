//! The task of one query: the agent is asked, and what it says in its stream reaches the realm.

use std::sync::{Arc, Weak};

use bridge_protocol::{Query, QueryId};
use tokio_util::sync::CancellationToken;

use super::agent::{Agent, Stream, Taken};
use super::said::Said;
use super::token::QueryToken;
use crate::auth::RealmId;
use crate::hub::Hub;
use crate::realm::{Effects, Now, Realm};

/// Whose query it is.
pub(super) struct Asking {
    pub(super) hub: Weak<Hub>,
    pub(super) realm: RealmId,
    pub(super) id: QueryId,
    /// Nobody wants anything of the agent any more, and it does not know.
    pub(super) stopped: CancellationToken,
}

impl Asking {
    /// Until the agent has taken the query, or has said its last word, where it says it here.
    pub(super) async fn run(self, agent: Arc<Agent>, query: Query, token: Option<QueryToken>) {
        match agent.ask(query, token).await {
            Err(why) => self.change(|realm, now| realm.query_refused(&self.id, why, now)),
            Ok(Taken::ReportsElsewhere) => {
                self.change(|realm, _| realm.query_accepted(&self.id));
            }
            Ok(Taken::Streams(stream)) => {
                self.change(|realm, _| realm.query_streams(&self.id));
                self.hear(stream).await;
            }
        }
    }

    /// Dropping the stream tells the agent that nobody listens any more. One whose query is over
    /// with its knowledge has still to hear the answers to its calls, and ends the stream itself.
    async fn hear(&self, mut stream: Box<Stream>) {
        let heard = async {
            self.reports_of(&mut stream).await;
            stream.drain().await;
        };
        tokio::select! {
            biased;
            () = self.stopped.cancelled() => {}
            () = heard => {}
        }
    }

    /// Until the query is over.
    async fn reports_of(&self, stream: &mut Stream) {
        loop {
            match stream.next(&self.id).await {
                Ok(Said::Report(report)) => {
                    let hub = self.hub.upgrade();
                    let taken = hub.map(|hub| hub.report(self.realm, &self.id, report));
                    if !matches!(taken, Some(Ok(()))) {
                        return;
                    }
                }
                Ok(Said::Accepted | Said::Unknown) => {}
                Err(why) => {
                    return self.change(|realm, now| realm.agent_lost(&self.id, why, now));
                }
            }
        }
    }

    fn change(&self, event: impl FnOnce(&mut Realm, Now) -> Effects) {
        if let Some(hub) = self.hub.upgrade() {
            hub.change(self.realm, |realm, now| ((), event(realm, now)));
        }
    }
}
