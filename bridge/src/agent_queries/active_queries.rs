//! The registry of the active queries and of the tokens of their agents.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use bridge_auth::query_token::{QueryToken, is_query_token};
use bridge_auth::{AuthError, Principal, RealmId};
use bridge_edge::TokenHash;
use bridge_edge::credential_file::CredentialFileError;
use bridge_output::LogFormat;
use bridge_protocol::{ErrorCode, Query, QueryId, Subject};
use bridge_realm::realm::{AgentEffect, QueryError, QueryPage, is_unguessable_id};
use bridge_settings::Secret;
use dashmap::DashMap;
use dashmap::mapref::entry::Entry as MapEntry;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use super::agent_client::{AgentClient, QueryCredentials};
use super::agent_process;
use super::agents::Agents;
use super::query_lifetime::QueryLifetime;
use super::query_task::QueryTask;
use crate::config::{self, Config};
use crate::hub::{AgentPort, Hub};

/// How long an agent may take to end the stream of a query that has ended.
const STREAM_DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// The active queries of all realms, and the agents that answer them.
#[derive(Debug, Default)]
pub(crate) struct AgentQueries {
    pub(super) agents: Agents,
    pub(super) active: DashMap<QueryId, ActiveQuery>,
    pub(super) tokens: DashMap<TokenHash, QueryId>,
    /// Whether pages generate their tokens themselves.
    pub(super) tokens_are_self_made: bool,
    log_format: LogFormat,
    tasks: TaskTracker,
    hub: OnceLock<Weak<Hub>>,
    /// The name of this bridge in the tokens of its queries, if it is one of several.
    node: OnceLock<String>,
    /// The task that runs the bridge's own agent. The process ends with it.
    agent_process: Mutex<Option<AbortOnDropHandle<()>>>,
}

/// An active query, whose id is in use.
#[derive(Debug)]
pub(super) struct ActiveQuery {
    pub(super) realm: RealmId,
    /// The hash of the agent's token, if the agent needs one.
    pub(super) token_hash: Option<TokenHash>,
    /// Whether the id alone authenticates the agent, which has no token. This is so for queries of
    /// mcp-web 0.1 pages where [`Config::query_ids_are_credentials`].
    pub(super) id_is_credential: bool,
    /// The subject of the page that sent the query.
    pub(super) subject: Option<Arc<Subject>>,
    pub(super) lifetime: QueryLifetime,
    /// The task that sends the query to the agent, or that cancels it there.
    pub(super) task: Option<AbortOnDropHandle<()>>,
}

impl AgentQueries {
    /// `credential` is the one that the operator has set for the agents. `tokens_are_self_made` is
    /// whether pages generate their tokens themselves.
    pub(crate) fn new(
        config: &Config,
        credential: Option<Secret>,
        tokens_are_self_made: bool,
    ) -> Self {
        Self {
            agents: Agents::from_config(&config.agent, credential.as_ref()),
            tokens_are_self_made,
            log_format: config.monitoring.log_format,
            ..Self::default()
        }
    }

    /// Loads `agent_token_file` again, if it is set. An agent gets its credential with the next query.
    pub(crate) fn reload_credential(
        &self,
        config: &config::Agent,
    ) -> Result<(), CredentialFileError> {
        if config.agent_token_file.is_some()
            && !config.run_agent
            && let Some(credential) = config.load_credential()?
        {
            for agent in self.agents.all() {
                agent.set_credential(credential.clone());
            }
        }
        Ok(())
    }

    /// Runs the agent of a program as a child process. `bridge` is the address on which the bridge listens,
    /// and `url` the URL at which the agent reaches it, if that does not follow from the address.
    pub(crate) fn start_agent(&self, program: PathBuf, bridge: SocketAddr, url: Option<String>) {
        if let Some(agent) = self.agents.all().next().cloned() {
            let process = agent_process::supervise(agent, program, bridge, url, self.log_format);
            let task = tokio::spawn(process);
            *self.agent_process() = Some(AbortOnDropHandle::new(task));
        }
    }

    fn agent_process(&self) -> MutexGuard<'_, Option<AbortOnDropHandle<()>>> {
        self.agent_process
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the hub whose realms receive the outcomes of queries.
    pub(crate) fn set_hub(&self, hub: &Arc<Hub>) {
        let _ = self.hub.set(Arc::downgrade(hub));
    }

    /// Sets the name of this bridge in the tokens of its queries.
    pub(crate) fn set_node(&self, node: String) {
        let _ = self.node.set(node);
    }

    /// Generates the token of a query.
    pub(super) fn new_token(&self) -> QueryToken {
        QueryToken::random(self.node.get().map(String::as_str))
    }

    /// Waits until agents have been notified of the end of their queries, and stops the bridge's
    /// own agent.
    pub(crate) async fn stop(&self) {
        self.tasks.close();
        self.tasks.wait().await;
        let process = self.agent_process().take();
        if let Some(process) = process {
            process.abort();
            let _ = process.await;
        }
    }

    /// Returns the agent of a user, and the hub.
    fn agent_and_hub(&self, realm: RealmId) -> Option<(Arc<AgentClient>, Weak<Hub>)> {
        Some((self.agents.of(realm)?.clone(), self.hub.get()?.clone()))
    }

    /// Sends a query to the agent, or rejects it if its id is in use.
    fn start_query(&self, realm: RealmId, query: Query, with_token: bool, page: QueryPage) {
        let Some((agent, hub)) = self.agent_and_hub(realm) else {
            return;
        };
        let id = query.uuid.clone();
        let MapEntry::Vacant(vacant) = self.active.entry(id.clone()) else {
            // The caller holds the realm's lock, so the rejection needs a task.
            self.tasks.spawn(async move {
                let Some(hub) = hub.upgrade() else { return };
                hub.apply(realm, |realm, now| {
                    ((), realm.query_refused(&id, id_taken_error(), now))
                });
            });
            return;
        };
        let token = with_token.then(|| self.new_token());
        let token_hash = token.as_ref().map(QueryToken::hash);
        if let Some(token_hash) = token_hash {
            self.tokens.insert(token_hash, id.clone());
        }
        let subject = page.subject.clone();
        let credentials = QueryCredentials {
            token,
            caller: self.caller(realm, page),
        };
        let lifetime = QueryLifetime::default();
        let task = QueryTask {
            hub,
            realm,
            id,
            agent_cancelled: lifetime.agent_cancelled.clone(),
        };
        let task = self.tasks.spawn(task.run(agent, query, credentials));
        let id_is_credential = !with_token && is_unguessable_id(vacant.key());
        vacant.insert(ActiveQuery {
            realm,
            token_hash,
            id_is_credential,
            subject,
            lifetime,
            task: Some(AbortOnDropHandle::new(task)),
        });
    }

    /// Cancels a query at the agent. A request to the agent that is still running is completed
    /// first: an agent that has just accepted the query must know it when the cancellation arrives.
    fn cancel_agent(&self, realm: RealmId, id: &QueryId) {
        let query_task = self.end_query(realm, id);
        if let Some(lifetime) = self.lifetime_of(id) {
            lifetime.agent_cancelled.cancel();
        }
        let Some((agent, hub)) = self.agent_and_hub(realm) else {
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

    /// Sends the answer of a person to the agent, unless the query ends first.
    fn send_approval(&self, realm: RealmId, id: QueryId, call: String, round: u64, approved: bool) {
        let Some((agent, hub)) = self.agent_and_hub(realm) else {
            return;
        };
        let Some(lifetime) = self.lifetime_of(&id) else {
            return;
        };
        self.tasks.spawn(async move {
            let outcome = tokio::select! {
                outcome = agent.send_approval(&id, &call, approved) => outcome,
                () = lifetime.ended.cancelled() => return,
            };
            if let Some(hub) = hub.upgrade() {
                hub.apply(realm, |realm, _| {
                    ((), realm.approval_sent(&id, &call, round, outcome))
                });
            }
        });
    }

    /// Ends a query of which the agent knows that it has ended. The agent still receives the
    /// responses to its calls, and has [`STREAM_DRAIN_TIMEOUT`] to end its stream.
    fn drain_query(&self, realm: RealmId, id: &QueryId) {
        if let Some(query_task) = self.end_query(realm, id) {
            self.tasks.spawn(async move {
                // Dropping the task after the timeout closes the stream.
                let _ = tokio::time::timeout(STREAM_DRAIN_TIMEOUT, query_task).await;
            });
        }
    }

    /// Revokes the token of a query and marks the query as ended. Returns its task, which is
    /// aborted when it is dropped.
    fn end_query(&self, realm: RealmId, id: &QueryId) -> Option<AbortOnDropHandle<()>> {
        let mut query = self.active.get_mut(id).filter(|it| it.realm == realm)?;
        if let Some(token) = query.token_hash.take() {
            self.tokens.remove(&token);
        }
        query.lifetime.ended.cancel();
        query.task.take()
    }

    /// Returns the principal of a query token, or `None` if the token is not a query token.
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

    /// Returns the principal of the agent of a query, with the subject that it acts for.
    pub(crate) fn agent_principal(&self, realm: RealmId, id: QueryId) -> Principal {
        let subject = self.active.get(&id).and_then(|query| query.subject.clone());
        Principal::for_query(realm, id, subject.as_deref())
    }

    /// Returns the query with this token, and its realm.
    pub(crate) fn find_by_token(&self, token: &str) -> Option<(QueryId, RealmId)> {
        let id = self.tokens.get(&TokenHash::from_token(token))?.clone();
        let realm = self.realm_of(&id)?;
        Some((id, realm))
    }

    /// Returns the realm of a query.
    pub(crate) fn realm_of(&self, id: &QueryId) -> Option<RealmId> {
        Some(self.active.get(id)?.realm)
    }

    /// Returns the realm of a query whose id alone authenticates its agent.
    pub(crate) fn realm_of_credential(&self, id: &QueryId) -> Option<RealmId> {
        let query = self.active.get(id)?;
        query.id_is_credential.then_some(query.realm)
    }

    /// Returns the lifetime of the query whose agent is this principal.
    pub(crate) fn lifetime_for(&self, principal: &Principal) -> Option<QueryLifetime> {
        self.lifetime_of(principal.query.as_ref()?)
    }

    /// Returns the lifetime of a query, while its id is in use.
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
                page,
            } => self.start_query(realm, *query, with_token, *page),
            AgentEffect::SendApproval {
                query,
                call,
                round,
                approved,
            } => self.send_approval(realm, query, call, round, approved),
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

/// Query ids are unique across realms, because an id can authenticate the agent of its query.
pub(super) fn id_taken_error() -> QueryError {
    QueryError::duplicate_uuid()
}
