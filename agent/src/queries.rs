//! The queries that are being answered: each is a task, held by its place in a table, with exactly
//! one end.

mod ended;
mod grant;
mod run;
mod teller;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bridge_protocol::{ErrorCode, QueryId};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::bridge::Bridge;
use crate::config::{Limits, Secret};
use crate::credential::Hashed;
use crate::failure::Failure;
use crate::model::Model;
use ended::Ended;

pub(crate) use grant::Refusal;
pub(crate) use teller::{Reader, Teller};

/// What all queries share.
pub(crate) struct Queries {
    bridge: Bridge,
    model: Arc<dyn Model>,
    limits: Limits,
    most: usize,
    table: Mutex<Table>,
    tasks: TaskTracker,
    stopping: CancellationToken,
}

#[derive(Default)]
struct Table {
    running: HashMap<QueryId, Running>,
    ended: Ended,
}

/// A query that has a place.
struct Running {
    asker: Asker,
    /// Somebody wants it to end.
    cancelled: CancellationToken,
    /// Nothing of it runs any more.
    quiet: CancellationToken,
}

/// Who has asked, and may cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asker {
    Bridge,
    /// With this token.
    Frontend(Hashed),
}

/// What is to be answered.
pub(crate) struct Query {
    pub(crate) asked: bridge_protocol::Query,
    /// Its own token, for tools and reports.
    pub(crate) token: Secret,
    /// How long the bridge lets it be, if it says so.
    pub(crate) within: Option<Duration>,
}

impl Queries {
    pub(crate) fn new(bridge: Bridge, model: Arc<dyn Model>, limits: Limits, most: usize) -> Self {
        Self {
            bridge,
            model,
            limits,
            most,
            table: Mutex::default(),
            tasks: TaskTracker::new(),
            stopping: CancellationToken::new(),
        }
    }

    /// Makes room for a query, if it may have any.
    pub(crate) fn take_place(
        self: &Arc<Self>,
        id: &QueryId,
        asker: Asker,
    ) -> Result<Place, Failure> {
        if self.stopping.is_cancelled() {
            return Err(stopping());
        }
        let mut table = self.table();
        if table.ended.contains(id) {
            return Err(asked_before());
        }
        let is_full = table.running.len() >= self.most;
        let Entry::Vacant(vacant) = table.running.entry(id.clone()) else {
            return Err(asked_before());
        };
        if is_full {
            return Err(self.full());
        }
        let place = Place {
            queries: Arc::clone(self),
            id: id.clone(),
            cancelled: CancellationToken::new(),
            quiet: CancellationToken::new(),
            is_used: false,
        };
        vacant.insert(Running {
            asker,
            cancelled: place.cancelled.clone(),
            quiet: place.quiet.clone(),
        });
        Ok(place)
    }

    /// Cancels a query. When this returns, nothing of it runs any more.
    pub(crate) async fn cancel(&self, id: &QueryId, asker: Asker) -> Result<(), Failure> {
        let quiet = {
            let table = self.table();
            let running = table.running.get(id).filter(|it| it.asker == asker);
            let running = running.ok_or_else(|| {
                Failure::new(
                    ErrorCode::QueryNotFound,
                    "no such query is being answered for you: it has ended, or was not asked here",
                )
            })?;
            running.cancelled.cancel();
            running.quiet.clone()
        };
        quiet.cancelled().await;
        Ok(())
    }

    /// How many there are.
    pub(crate) fn running(&self) -> usize {
        self.table().running.len()
    }

    /// Ends all of them, and takes no more.
    pub(crate) async fn stop(&self) {
        self.stopping.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Nothing can panic while it is held.
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn full(&self) -> Failure {
        let message = format!("the agent answers {} queries already", self.most);
        Failure::new(ErrorCode::QueryLimitExceeded, message)
            .with_remedy("ask again later, or raise `max_queries`")
    }
}

fn asked_before() -> Failure {
    let message = "a query with this uuid was asked before";
    Failure::new(ErrorCode::QueryCompleted, message).with_remedy("ask with a new uuid")
}

fn stopping() -> Failure {
    let message = "the agent is shutting down";
    Failure::new(ErrorCode::AgentUnavailable, message).with_remedy("ask again in a moment")
}

impl fmt::Debug for Queries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let running = self.running();
        f.debug_struct("Queries")
            .field("running", &running)
            .finish_non_exhaustive()
    }
}

/// The place of one query in the table. It is given back when this is dropped, however that comes.
#[derive(Debug)]
pub(crate) struct Place {
    queries: Arc<Queries>,
    id: QueryId,
    cancelled: CancellationToken,
    quiet: CancellationToken,
    /// Whether the query has been answered, or was going to be.
    is_used: bool,
}

impl Place {
    /// Answers the query in a task of its own, which tells how it goes.
    pub(crate) fn answer(mut self, query: Query, teller: Teller) {
        self.is_used = true;
        let tasks = self.queries.tasks.clone();
        tasks.spawn(run::run(self, query, teller));
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.quiet.cancel();
        let mut table = self.queries.table();
        table.running.remove(&self.id);
        if self.is_used {
            table.ended.insert(self.id.clone());
        }
    }
}
