//! The queries that are being answered: each is a task, held by its place in a table, with exactly
//! one end.

mod bridge_authorization;
mod event_sink;
mod recent_queries;
mod run;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bridge_protocol::{ErrorCode, QueryId};
use bridge_service::Secret;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::bridge::BridgeClient;
use crate::config::Limits;
use crate::credential::TokenHash;
use crate::failure::Failure;
use crate::model::Model;
use recent_queries::RecentQueries;

pub(crate) use bridge_authorization::AuthorizationError;
pub(crate) use event_sink::{EventTarget, StreamWriter};

/// What all queries share.
pub(crate) struct Queries {
    bridge: BridgeClient,
    model: Arc<dyn Model>,
    limits: Limits,
    max_queries: usize,
    table: Mutex<QueryTable>,
    tasks: TaskTracker,
    stopping: CancellationToken,
}

#[derive(Default)]
struct QueryTable {
    running: HashMap<QueryId, RunningQuery>,
    recent: RecentQueries,
}

/// A query that has a place.
struct RunningQuery {
    owner: QueryOwner,
    /// Somebody wants it to end.
    cancelled: CancellationToken,
    /// Nothing of it runs any more.
    finished: CancellationToken,
}

/// Who has asked, and may cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueryOwner {
    Bridge,
    /// With this token.
    Frontend(TokenHash),
}

/// What is to be answered.
pub(crate) struct AcceptedQuery {
    pub(crate) message: bridge_protocol::Query,
    /// Its own token, for tools and reports.
    pub(crate) token: Secret,
    /// How long the bridge lets it be, if it says so.
    pub(crate) timeout: Option<Duration>,
}

impl Queries {
    pub(crate) fn new(
        bridge: BridgeClient,
        model: Arc<dyn Model>,
        limits: Limits,
        max_queries: usize,
    ) -> Self {
        Self {
            bridge,
            model,
            limits,
            max_queries,
            table: Mutex::default(),
            tasks: TaskTracker::new(),
            stopping: CancellationToken::new(),
        }
    }

    /// Makes room for a query, if it may have any.
    pub(crate) fn acquire(
        self: &Arc<Self>,
        id: &QueryId,
        asker: QueryOwner,
    ) -> Result<QueryPermit, Failure> {
        if self.stopping.is_cancelled() {
            return Err(shutting_down());
        }
        let mut table = self.table();
        if table.recent.contains(id) {
            return Err(duplicate_query());
        }
        let is_full = table.running.len() >= self.max_queries;
        let Entry::Vacant(vacant) = table.running.entry(id.clone()) else {
            return Err(duplicate_query());
        };
        if is_full {
            return Err(self.limit_exceeded());
        }
        let place = QueryPermit {
            queries: Arc::clone(self),
            id: id.clone(),
            cancelled: CancellationToken::new(),
            finished: CancellationToken::new(),
            is_started: false,
        };
        vacant.insert(RunningQuery {
            owner: asker,
            cancelled: place.cancelled.clone(),
            finished: place.finished.clone(),
        });
        Ok(place)
    }

    /// Cancels a query. When this returns, nothing of it runs any more.
    pub(crate) async fn cancel(&self, id: &QueryId, asker: QueryOwner) -> Result<(), Failure> {
        let quiet = {
            let table = self.table();
            let running = table.running.get(id).filter(|it| it.owner == asker);
            let running = running.ok_or_else(|| {
                Failure::new(
                    ErrorCode::QueryNotFound,
                    "no such query is being answered for you: it has ended, or was not asked here",
                )
            })?;
            running.cancelled.cancel();
            running.finished.clone()
        };
        quiet.cancelled().await;
        Ok(())
    }

    /// How many there are.
    pub(crate) fn running_count(&self) -> usize {
        self.table().running.len()
    }

    /// Ends all of them, and takes no more.
    pub(crate) async fn stop(&self) {
        self.stopping.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Nothing can panic while it is held.
    fn table(&self) -> MutexGuard<'_, QueryTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn limit_exceeded(&self) -> Failure {
        let message = format!("the agent answers {} queries already", self.max_queries);
        Failure::new(ErrorCode::QueryLimitExceeded, message)
            .with_remedy("ask again later, or raise `max_queries`")
    }
}

fn duplicate_query() -> Failure {
    let message = "a query with this uuid was asked before";
    Failure::new(ErrorCode::QueryCompleted, message).with_remedy("ask with a new uuid")
}

fn shutting_down() -> Failure {
    let message = "the agent is shutting down";
    Failure::new(ErrorCode::AgentUnavailable, message).with_remedy("ask again in a moment")
}

impl fmt::Debug for Queries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let running = self.running_count();
        f.debug_struct("Queries")
            .field("running", &running)
            .finish_non_exhaustive()
    }
}

/// The place of one query in the table. It is given back when this is dropped, however that comes.
#[derive(Debug)]
pub(crate) struct QueryPermit {
    queries: Arc<Queries>,
    id: QueryId,
    cancelled: CancellationToken,
    finished: CancellationToken,
    /// Whether the query has been answered, or was going to be.
    is_started: bool,
}

impl QueryPermit {
    /// Answers the query in a task of its own, which tells how it goes.
    pub(crate) fn spawn(mut self, query: AcceptedQuery, teller: EventTarget) {
        self.is_started = true;
        let tasks = self.queries.tasks.clone();
        tasks.spawn(run::run_query(self, query, teller));
    }
}

impl Drop for QueryPermit {
    fn drop(&mut self) {
        self.finished.cancel();
        let mut table = self.queries.table();
        table.running.remove(&self.id);
        if self.is_started {
            table.recent.insert(self.id.clone());
        }
    }
}
