//! The registry of the queries whose agents the bridge knows.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use bridge_auth::query_token::{QueryToken, TokenHash, is_query_token};
use bridge_auth::{AuthError, Principal, RealmId};
use bridge_protocol::{ErrorCode, Query, QueryId, Subject};
use bridge_realm::realm::{AgentEffect, QueryError};
use dashmap::DashMap;
use dashmap::mapref::entry::Entry as MapEntry;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use super::agent_client::AgentClient;
use super::agent_process;
use super::query_lifetime::QueryLifetime;
use super::query_task::QueryTask;
use crate::config::Config;
use crate::hub::{AgentPort, Hub};

/// How long an agent may take to end the stream of a query that is over.
const STREAM_DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// See the module documentation.
#[derive(Debug, Default)]
pub(crate) struct AgentQueries {
    agent: Option<Arc<AgentClient>>,
    pub(super) active: DashMap<QueryId, ActiveQuery>,
    pub(super) tokens: DashMap<TokenHash, QueryId>,
    tasks: TaskTracker,
    hub: OnceLock<Weak<Hub>>,
    /// The agent that the bridge runs itself; its process ends with the task.
    agent_process: Mutex<Option<AbortOnDropHandle<()>>>,
}

/// A query whose id means something to somebody.
#[derive(Debug)]
pub(super) struct ActiveQuery {
    pub(super) realm: RealmId,
    /// Of the agent, where it needs one.
    pub(super) token_hash: Option<TokenHash>,
    /// Whose page asks.
    pub(super) subject: Option<Arc<Subject>>,
    pub(super) lifetime: QueryLifetime,
    /// Asks the agent, or tells it to stop.
    pub(super) task: Option<AbortOnDropHandle<()>>,
}

impl AgentQueries {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            agent: AgentClient::from_config(&config.agent).map(Arc::new),
            ..Self::default()
        }
    }

    /// Runs the agent beside the bridge, which listens here.
    pub(crate) fn start_agent(&self, bridge: SocketAddr) {
        if let Some(agent) = self.agent.clone() {
            let task = tokio::spawn(agent_process::supervise(agent, bridge));
            *self.agent_process() = Some(AbortOnDropHandle::new(task));
        }
    }

    fn agent_process(&self) -> MutexGuard<'_, Option<AbortOnDropHandle<()>>> {
        self.agent_process
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Whom to tell how it went.
    pub(crate) fn set_hub(&self, hub: &Arc<Hub>) {
        let _ = self.hub.set(Arc::downgrade(hub));
    }

    /// Waits until agents have been told what they must hear. The bridge's own ends.
    pub(crate) async fn stop(&self) {
        self.tasks.close();
        self.tasks.wait().await;
        let child = self.agent_process().take();
        if let Some(child) = child {
            child.abort();
            let _ = child.await;
        }
    }

    // ---- what realms want ----

    fn start_query(
        &self,
        realm: RealmId,
        query: Query,
        with_token: bool,
        subject: Option<Arc<Subject>>,
    ) {
        let (Some(agent), Some(hub)) = (self.agent.clone(), self.hub.get().cloned()) else {
            return;
        };
        let id = query.uuid.clone();
        let MapEntry::Vacant(vacant) = self.active.entry(id.clone()) else {
            // Under the realm's lock it cannot be told.
            self.tasks.spawn(async move {
                let Some(hub) = hub.upgrade() else { return };
                hub.apply(realm, |realm, now| {
                    ((), realm.query_refused(&id, id_taken_error(), now))
                });
            });
            return;
        };
        let token = with_token.then(QueryToken::new);
        let token_hash = token.as_ref().map(QueryToken::hash);
        if let Some(token_hash) = token_hash {
            self.tokens.insert(token_hash, id.clone());
        }
        let lifetime = QueryLifetime::default();
        let task = QueryTask {
            hub,
            realm,
            id,
            agent_cancelled: lifetime.agent_cancelled.clone(),
        };
        let task = self.tasks.spawn(task.run(agent, query, token));
        vacant.insert(ActiveQuery {
            realm,
            token_hash,
            subject,
            lifetime,
            task: Some(AbortOnDropHandle::new(task)),
        });
    }

    /// A request that is under way is left to its end: an agent that has just taken the query must
    /// know of it when it hears that it is over.
    fn cancel_agent(&self, realm: RealmId, id: &QueryId) {
        let query_task = self.end_query(realm, id);
        if let Some(life) = self.lifetime_of(id) {
            life.agent_cancelled.cancel();
        }
        let (Some(agent), Some(hub)) = (self.agent.clone(), self.hub.get().cloned()) else {
            return;
        };
        let Some(mut query) = self.active.get_mut(id).filter(|it| it.realm == realm) else {
            return;
        };
        let id = id.clone();
        let task = self.tasks.spawn(async move {
            agent.cancel_query(&id).await;
            drop(query_task);
            if let Some(hub) = hub.upgrade() {
                hub.apply(realm, |realm, _| ((), realm.agent_cancelled(&id)));
                hub.remove_if_empty(realm);
            }
        });
        query.task = Some(AbortOnDropHandle::new(task));
    }

    /// The agent knows: it hears the answers to its calls, and has a moment to end its stream.
    fn drain_query(&self, realm: RealmId, id: &QueryId) {
        if let Some(query_task) = self.end_query(realm, id) {
            self.tasks.spawn(async move {
                // One that does not is cut.
                let _ = tokio::time::timeout(STREAM_DRAIN_TIMEOUT, query_task).await;
            });
        }
    }

    /// The token is void; what asked the agent is given up, unless somebody holds on to it.
    fn end_query(&self, realm: RealmId, id: &QueryId) -> Option<AbortOnDropHandle<()>> {
        let mut query = self.active.get_mut(id).filter(|it| it.realm == realm)?;
        if let Some(token) = query.token_hash.take() {
            self.tokens.remove(&token);
        }
        query.lifetime.ended.cancel();
        query.task.take()
    }

    // ---- what agents want ----

    /// Whom the token of a query names; `None` if this is no such token.
    pub(crate) fn principal_for_token(&self, token: &str) -> Option<Result<Principal, AuthError>> {
        if !is_query_token(token) {
            return None;
        }
        let query = self.find_by_token(token);
        Some(
            query
                .map(|(id, realm)| self.agent_principal(realm, id))
                .ok_or_else(|| AuthError {
                    code: ErrorCode::InvalidAuthentication,
                    message:
                        "the token is that of a query that has ended, or of none: nothing more is \
                      wanted of its agent"
                            .to_owned(),
                }),
        )
    }

    /// The agent of a query, and whom it acts for.
    pub(crate) fn agent_principal(&self, realm: RealmId, id: QueryId) -> Principal {
        let subject = self.active.get(&id).and_then(|asked| asked.subject.clone());
        Principal::for_query(realm, id, subject.as_deref())
    }

    /// The query that a token is for.
    pub(crate) fn find_by_token(&self, token: &str) -> Option<(QueryId, RealmId)> {
        let id = self.tokens.get(&TokenHash::from_token(token))?.clone();
        let realm = self.realm_of(&id)?;
        Some((id, realm))
    }

    /// The realm that knows a query.
    pub(crate) fn realm_of(&self, id: &QueryId) -> Option<RealmId> {
        Some(self.active.get(id)?.realm)
    }

    /// The lifetime of the query whose agent this is.
    pub(crate) fn lifetime_for(&self, principal: &Principal) -> Option<QueryLifetime> {
        self.lifetime_of(principal.query.as_ref()?)
    }

    /// As long as its id means something.
    pub(crate) fn lifetime_of(&self, id: &QueryId) -> Option<QueryLifetime> {
        Some(self.active.get(id)?.lifetime.clone())
    }
}

impl AgentPort for AgentQueries {
    fn perform(&self, realm: RealmId, effect: AgentEffect) {
        match effect {
            AgentEffect::Start {
                query,
                with_token,
                subject,
            } => self.start_query(realm, *query, with_token, subject),
            AgentEffect::PageAttached { query } => {
                if let Some(lifetime) = self.lifetime_of(&query) {
                    lifetime.page_attached.notify_waiters();
                }
            }
            AgentEffect::Cancel { query } => self.cancel_agent(realm, &query),
            AgentEffect::Revoke { query } => self.drain_query(realm, &query),
            AgentEffect::Forget { query } => {
                self.active
                    .remove_if(&query, |_, query| query.realm == realm);
            }
        }
    }
}

/// Ids are in one namespace: whoever knows one could be its agent.
pub(super) fn id_taken_error() -> QueryError {
    QueryError::duplicate_uuid()
}
