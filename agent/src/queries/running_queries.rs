//! The table of running queries, and the permits for them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_tools::{AgentFailure, Metrics};
use arc_swap::ArcSwap;
use bridge_protocol::{ErrorCode, QueryId};
use bridge_traces::Traces;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::query_setup::QuerySetup;
use super::recent_queries::RecentQueries;
use crate::agent_loop::QueryState;
use crate::bridge::{BridgeId, Bridges, ServedBridge};
use crate::config::{AgentLimits, BudgetSettings};
use crate::conversations::ConversationStore;
use crate::model::Model;
use crate::spending::DailySpending;
use bridge_edge::TokenHash;

/// The running queries, and the state that they share.
pub(crate) struct RunningQueries {
    pub(crate) bridges: Arc<Bridges>,
    pub(crate) model: Arc<dyn Model>,
    pub(crate) setup: ArcSwap<QuerySetup>,
    pub(crate) metrics: Arc<Metrics>,
    scraping: Mutex<()>,
    pub(super) limits: AgentLimits,
    pub(super) spending: Arc<DailySpending>,
    pub(crate) conversations: ConversationStore,
    pub(super) traces: Traces,
    max_queries: usize,
    table: Mutex<QueryTable>,
    pub(super) tasks: TaskTracker,
    draining: AtomicBool,
    /// Cancelled when the agent shuts down.
    pub(super) stopping: CancellationToken,
}

/// The parts with which queries are answered.
pub(crate) struct QueriesConfig {
    pub(crate) bridges: Arc<Bridges>,
    pub(crate) model: Arc<dyn Model>,
    pub(crate) setup: QuerySetup,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) limits: AgentLimits,
    pub(crate) budgets: BudgetSettings,
    pub(crate) max_queries: usize,
    pub(crate) conversations: ConversationStore,
    pub(crate) traces: Traces,
}

impl QueriesConfig {
    /// Returns what queries without sources are answered with.
    #[cfg(test)]
    pub(super) fn for_test(
        bridge: crate::bridge::AgentBridge,
        model: Arc<dyn Model>,
        max_queries: usize,
    ) -> Self {
        let settings = crate::config::ConversationSettings::default();
        Self {
            bridges: Arc::new(Bridges::only(bridge)),
            model,
            setup: QuerySetup::for_test(),
            metrics: Arc::new(Metrics::new()),
            limits: AgentLimits::default(),
            budgets: BudgetSettings::default(),
            max_queries,
            conversations: ConversationStore::open(&settings).unwrap(),
            traces: Traces::default(),
        }
    }
}

/// All frontends together use at most one of this many parts of the queries, and of the memory for
/// bodies: the bridge always has the rest for its pages.
pub(super) const FRONTENDS_SHARE: usize = 2;

#[derive(Default)]
struct QueryTable {
    /// Pages choose the ids, so that those of two bridges can be the same.
    running: HashMap<(BridgeId, QueryId), RunningQuery>,
    /// How many of these each bridge has, if it has any.
    by_bridge: HashMap<BridgeId, usize>,
    /// How many of these frontends have sent themselves.
    frontends: usize,
    recent: RecentQueries,
}

impl QueryTable {
    /// Finds a running query of this owner.
    fn find(&self, id: &QueryId, owner: QueryOwner) -> Result<&RunningQuery, AgentFailure> {
        let query = self.running.get(&(owner.bridge, id.clone()));
        let query = query.filter(|it| it.owner == owner);
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
pub(crate) struct QueryOwner {
    /// The bridge of the page.
    pub(crate) bridge: BridgeId,
    /// The hash of the token of a frontend; `None` if the bridge has sent the query.
    pub(crate) frontend: Option<TokenHash>,
}

impl QueryOwner {
    pub(crate) fn bridge(bridge: BridgeId) -> Self {
        Self {
            bridge,
            frontend: None,
        }
    }

    pub(crate) fn frontend(bridge: BridgeId, token: TokenHash) -> Self {
        Self {
            bridge,
            frontend: Some(token),
        }
    }

    fn is_frontend(self) -> bool {
        self.frontend.is_some()
    }
}

impl RunningQueries {
    pub(crate) fn new(config: QueriesConfig) -> Self {
        Self {
            bridges: config.bridges,
            model: config.model,
            setup: ArcSwap::from_pointee(config.setup),
            metrics: config.metrics,
            scraping: Mutex::default(),
            limits: config.limits,
            spending: Arc::new(DailySpending::new(config.budgets)),
            conversations: config.conversations,
            traces: config.traces,
            max_queries: config.max_queries,
            table: Mutex::default(),
            tasks: TaskTracker::new(),
            draining: AtomicBool::new(false),
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
        if self.is_stopping() {
            return Err(shutting_down());
        }
        let mut guard = self.table();
        let table = &mut *guard;
        let key = (owner.bridge, id.clone());
        if table.recent.contains(&key) {
            return Err(duplicate_query());
        }
        let is_frontend = owner.is_frontend();
        let frontends_max = self.max_queries.div_ceil(FRONTENDS_SHARE);
        let of_bridge = table.by_bridge.get(&owner.bridge).copied();
        let bridge_max = self.bridges.get(owner.bridge).max_queries;
        let is_full = table.running.len() >= self.max_queries
            || of_bridge.unwrap_or_default() >= bridge_max
            || is_frontend && table.frontends >= frontends_max;
        let Entry::Vacant(vacant) = table.running.entry(key) else {
            return Err(duplicate_query());
        };
        if is_full {
            return Err(self.limit_exceeded());
        }
        let permit = QueryPermit {
            queries: Arc::clone(self),
            bridge: owner.bridge,
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
        *table.by_bridge.entry(owner.bridge).or_default() += 1;
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

    /// Whether the agent shuts down, or will when its queries have ended.
    pub(crate) fn is_stopping(&self) -> bool {
        self.draining.load(Ordering::SeqCst) || self.stopping.is_cancelled()
    }

    /// Refuses new queries from now on, and completes when those that run have ended.
    pub(crate) async fn drain(&self) {
        self.draining.store(true, Ordering::SeqCst);
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Answers queries that begin from now on with another setup. The former sources are stopped when
    /// the queries that use them have ended.
    pub(crate) fn replace_setup(&self, setup: QuerySetup) {
        let former = self.setup.swap(Arc::new(setup));
        self.tasks
            .spawn(async move { former.stop_after_queries().await });
    }

    /// Returns the number of running queries.
    pub(crate) fn running_count(&self) -> usize {
        self.table().running.len()
    }

    /// Returns the metrics as text.
    pub(crate) fn metrics_text(&self) -> String {
        // The values of sources are removed and set again.
        let _one_at_a_time = self.scraping.lock().unwrap_or_else(PoisonError::into_inner);
        self.setup.load().sources.update_metrics();
        let spans = self.traces.counts().unwrap_or_default();
        self.metrics.set_trace_spans(spans);
        self.metrics.encode(self.running_count())
    }

    /// Refuses new queries, ends all that run, waits for their tasks, and stops the sources.
    pub(crate) async fn stop(&self) {
        self.stopping.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        self.setup.load_full().sources.stop().await;
        self.traces.stop().await;
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
    pub(super) bridge: BridgeId,
    pub(super) id: QueryId,
    pub(super) state: Arc<QueryState>,
    pub(super) cancelled: CancellationToken,
    pub(super) finished: CancellationToken,
    /// Whether the task that answers the query was started. If not, the same uuid may be used
    /// again.
    pub(super) is_started: bool,
}

impl QueryPermit {
    /// Returns the bridge of the page, the only one that the query uses.
    pub(super) fn served_bridge(&self) -> &ServedBridge {
        self.queries.bridges.get(self.bridge)
    }
}

impl Drop for QueryPermit {
    fn drop(&mut self) {
        self.finished.cancel();
        let key = (self.bridge, self.id.clone());
        let mut guard = self.queries.table();
        let table = &mut *guard;
        if let Some(removed) = table.running.remove(&key) {
            table.frontends -= usize::from(removed.owner.is_frontend());
            if let Entry::Occupied(mut running) = table.by_bridge.entry(self.bridge) {
                *running.get_mut() -= 1;
                if *running.get() == 0 {
                    running.remove();
                }
            }
        }
        if self.is_started {
            table.recent.insert(key);
        }
    }
}
