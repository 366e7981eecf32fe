//! The table of running queries, and the permits for them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_tools::{AgentFailure, Metrics, Sources};
use bridge_protocol::{ErrorCode, QueryId};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::recent_queries::RecentQueries;
use crate::agent_loop::{QueryState, SystemPrompts};
use crate::bridge::AgentBridge;
use crate::config::{AgentLimits, BudgetSettings};
use crate::conversations::ConversationStore;
use crate::model::Model;
use crate::spending::DailySpending;
use bridge_edge::TokenHash;

/// The running queries, and the state that they share.
pub(crate) struct RunningQueries {
    pub(super) bridge: AgentBridge,
    pub(super) model: Arc<dyn Model>,
    pub(super) system_prompts: SystemPrompts,
    pub(super) profile_models: HashMap<String, Arc<dyn Model>>,
    pub(super) sources: Arc<Sources>,
    pub(crate) metrics: Arc<Metrics>,
    pub(super) limits: AgentLimits,
    pub(super) spending: Arc<DailySpending>,
    pub(crate) conversations: ConversationStore,
    max_queries: usize,
    table: Mutex<QueryTable>,
    pub(super) tasks: TaskTracker,
    /// Cancelled when the agent shuts down.
    pub(super) stopping: CancellationToken,
}

/// The parts with which queries are answered.
pub(crate) struct QueriesConfig {
    pub(crate) bridge: AgentBridge,
    pub(crate) model: Arc<dyn Model>,
    pub(crate) system_prompts: SystemPrompts,
    /// The models of profiles that name one, by the name of the profile.
    pub(crate) profile_models: HashMap<String, Arc<dyn Model>>,
    pub(crate) sources: Arc<Sources>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) limits: AgentLimits,
    pub(crate) budgets: BudgetSettings,
    pub(crate) max_queries: usize,
    pub(crate) conversations: ConversationStore,
}

impl QueriesConfig {
    /// Returns what queries without sources are answered with.
    #[cfg(test)]
    pub(super) fn for_test(bridge: AgentBridge, model: Arc<dyn Model>, max_queries: usize) -> Self {
        let settings = crate::config::ConversationSettings::default();
        Self {
            bridge,
            model,
            system_prompts: SystemPrompts::new(None, std::iter::empty()),
            profile_models: HashMap::new(),
            sources: agent_tools::testing::sources("", Vec::new()),
            metrics: Arc::new(Metrics::new()),
            limits: AgentLimits::default(),
            budgets: BudgetSettings::default(),
            max_queries,
            conversations: ConversationStore::open(&settings).unwrap(),
        }
    }
}

/// All frontends together use at most one of this many parts of the queries, and of the memory for
/// bodies: the bridge always has the rest for its pages.
pub(super) const FRONTENDS_SHARE: usize = 2;

#[derive(Default)]
struct QueryTable {
    running: HashMap<QueryId, RunningQuery>,
    /// How many of these frontends have sent themselves.
    frontends: usize,
    recent: RecentQueries,
}

impl QueryTable {
    /// Finds a running query of this owner.
    fn find(&self, id: &QueryId, owner: QueryOwner) -> Result<&RunningQuery, AgentFailure> {
        let query = self.running.get(id).filter(|it| it.owner == owner);
        query.ok_or_else(|| {
            AgentFailure::new(
                ErrorCode::QueryNotFound,
                "no such query is being answered for you: it has ended, or was sent elsewhere",
            )
        })
    }
}

/// A query that has a permit.
struct RunningQuery {
    owner: QueryOwner,
    state: Arc<QueryState>,
    /// Cancelled when the owner cancels the query.
    cancelled: CancellationToken,
    /// Cancelled when nothing of the query runs any more.
    finished: CancellationToken,
}

/// The sender of a query, which may cancel it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum QueryOwner {
    Bridge,
    /// The frontend with this token.
    Frontend(TokenHash),
}

impl RunningQueries {
    pub(crate) fn new(config: QueriesConfig) -> Self {
        Self {
            bridge: config.bridge,
            model: config.model,
            system_prompts: config.system_prompts,
            profile_models: config.profile_models,
            sources: config.sources,
            metrics: config.metrics,
            limits: config.limits,
            spending: Arc::new(DailySpending::new(config.budgets)),
            conversations: config.conversations,
            max_queries: config.max_queries,
            table: Mutex::default(),
            tasks: TaskTracker::new(),
            stopping: CancellationToken::new(),
        }
    }

    /// Acquires the permit for a query. It is refused when the agent shuts down, when the query
    /// runs or has run already, and when `max_queries` run.
    pub(crate) fn acquire(
        self: &Arc<Self>,
        id: &QueryId,
        owner: QueryOwner,
    ) -> Result<QueryPermit, AgentFailure> {
        if self.stopping.is_cancelled() {
            return Err(shutting_down());
        }
        let mut table = self.table();
        if table.recent.contains(id) {
            return Err(duplicate_query());
        }
        let is_frontend = matches!(owner, QueryOwner::Frontend(_));
        let frontends_max = self.max_queries.div_ceil(FRONTENDS_SHARE);
        let is_full = table.running.len() >= self.max_queries
            || is_frontend && table.frontends >= frontends_max;
        let Entry::Vacant(vacant) = table.running.entry(id.clone()) else {
            return Err(duplicate_query());
        };
        if is_full {
            return Err(self.limit_exceeded());
        }
        let permit = QueryPermit {
            queries: Arc::clone(self),
            id: id.clone(),
            state: Arc::new(QueryState::new()),
            cancelled: CancellationToken::new(),
            finished: CancellationToken::new(),
            is_started: false,
        };
        vacant.insert(RunningQuery {
            owner,
            state: Arc::clone(&permit.state),
            cancelled: permit.cancelled.clone(),
            finished: permit.finished.clone(),
        });
        table.frontends += usize::from(is_frontend);
        Ok(permit)
    }

    /// Cancels a query of this owner. When this returns, nothing of the query runs any more.
    pub(crate) async fn cancel(&self, id: &QueryId, owner: QueryOwner) -> Result<(), AgentFailure> {
        let finished = {
            let table = self.table();
            let query = table.find(id, owner)?;
            query.cancelled.cancel();
            query.finished.clone()
        };
        finished.cancelled().await;
        Ok(())
    }

    /// Answers the request for the approval of a call in a query of this owner.
    pub(crate) fn answer_approval(
        &self,
        id: &QueryId,
        owner: QueryOwner,
        call: &str,
        is_approved: bool,
    ) -> Result<(), AgentFailure> {
        let state = Arc::clone(&self.table().find(id, owner)?.state);
        if state.approvals.reply(call, is_approved) {
            return Ok(());
        }
        let message = "no call with this id waits for approval: it was answered or has expired";
        Err(AgentFailure::new(ErrorCode::QueryNotFound, message))
    }

    /// Returns the number of running queries.
    pub(crate) fn running_count(&self) -> usize {
        self.table().running.len()
    }

    /// Returns the metrics as text.
    pub(crate) fn metrics_text(&self) -> String {
        self.sources.update_metrics();
        self.metrics.encode(self.running_count())
    }

    /// Refuses new queries, ends all that run, waits for their tasks, and stops the sources.
    pub(crate) async fn stop(&self) {
        self.stopping.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        self.sources.stop().await;
    }

    /// Locks the table. A poisoned lock is used anyway, because no code panics while it holds the
    /// lock.
    fn table(&self) -> MutexGuard<'_, QueryTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn limit_exceeded(&self) -> AgentFailure {
        let message = format!(
            "the agent answers as many queries as it may, of {} in all",
            self.max_queries
        );
        AgentFailure::new(ErrorCode::QueryLimitExceeded, message)
            .with_remedy("retry later, or raise `max_queries`")
    }
}

fn duplicate_query() -> AgentFailure {
    let message = "a query with this uuid was sent before";
    AgentFailure::new(ErrorCode::QueryCompleted, message).with_remedy("use a new uuid")
}

/// Creates the failure of queries that are sent or still run while the agent shuts down.
pub(super) fn shutting_down() -> AgentFailure {
    let message = "the agent is shutting down";
    AgentFailure::new(ErrorCode::AgentUnavailable, message).with_remedy("retry in a moment")
}

impl fmt::Debug for RunningQueries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let running = self.running_count();
        f.debug_struct("Queries")
            .field("running", &running)
            .finish_non_exhaustive()
    }
}

/// The permit of one query. Dropping it removes the query from the table.
#[derive(Debug)]
pub(crate) struct QueryPermit {
    pub(super) queries: Arc<RunningQueries>,
    pub(super) id: QueryId,
    pub(super) state: Arc<QueryState>,
    pub(super) cancelled: CancellationToken,
    pub(super) finished: CancellationToken,
    /// Whether the task that answers the query was started. If not, the same uuid may be used
    /// again.
    pub(super) is_started: bool,
}

impl Drop for QueryPermit {
    fn drop(&mut self) {
        self.finished.cancel();
        let mut table = self.queries.table();
        let removed = table.running.remove(&self.id);
        if removed.is_some_and(|query| matches!(query.owner, QueryOwner::Frontend(_))) {
            table.frontends -= 1;
        }
        if self.is_started {
            table.recent.insert(self.id.clone());
        }
    }
}
