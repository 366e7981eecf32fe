//! Queries outside their realm: the agent that is asked, its tokens, and which realm knows an id.
//!
//! A realm says what must happen ([`Effect::AskAgent`], [`Effect::StopAgent`] …); here it happens,
//! in a task for each query, and the realm hears how it went. Only [`agent`] knows reqwest.

mod agent;
mod asking;
mod child;
mod credential;
mod direct;
mod events;
mod life;
mod said;
mod token;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use bridge_protocol::{ErrorCode, Query, QueryId, SessionId};
use dashmap::DashMap;
use dashmap::mapref::entry::Entry as MapEntry;
use serde_json::value::RawValue;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use crate::auth::{Person, Principal, RealmId, TokenRefusal};
use crate::config::Config;
use crate::hub::Hub;
use crate::realm::{Effect, QueryFailed, QueryRefusal, Realm};
use agent::Agent;
use asking::Asking;
use token::{Hashed, QueryToken};

pub(crate) use child::program as agent_program;
pub(crate) use credential::fill_in as fill_in_credential;
pub(crate) use life::Life;
pub(crate) use token::looks_like_one;

/// How long an agent may take to end the stream of a query that is over.
const LINGER: Duration = Duration::from_secs(1);

/// See the module documentation.
#[derive(Debug, Default)]
pub(crate) struct Queries {
    agent: Option<Arc<Agent>>,
    asked: DashMap<QueryId, Asked>,
    tokens: DashMap<Hashed, QueryId>,
    tasks: TaskTracker,
    hub: OnceLock<Weak<Hub>>,
    /// The agent that the bridge runs itself; its process ends with the task.
    child: Mutex<Option<AbortOnDropHandle<()>>>,
}

/// A query whose id means something to somebody.
#[derive(Debug)]
struct Asked {
    realm: RealmId,
    /// Of the agent, where it needs one.
    token: Option<Hashed>,
    /// Whose page asks.
    person: Option<Arc<Person>>,
    life: Life,
    /// Asks the agent, or tells it to stop.
    task: Option<AbortOnDropHandle<()>>,
}

impl Queries {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            agent: Agent::of(&config.agent).map(Arc::new),
            ..Self::default()
        }
    }

    /// Runs the agent beside the bridge, which listens here.
    pub(crate) fn run_agent(&self, bridge: SocketAddr) {
        if let Some(agent) = self.agent.clone() {
            let task = tokio::spawn(child::run(agent, bridge));
            *self.child() = Some(AbortOnDropHandle::new(task));
        }
    }

    fn child(&self) -> MutexGuard<'_, Option<AbortOnDropHandle<()>>> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whom to tell how it went.
    pub(crate) fn start(&self, hub: &Arc<Hub>) {
        let _ = self.hub.set(Arc::downgrade(hub));
    }

    /// Waits until agents have been told what they must hear. The bridge's own ends.
    pub(crate) async fn stop(&self) {
        self.tasks.close();
        self.tasks.wait().await;
        let child = self.child().take();
        if let Some(child) = child {
            child.abort();
            let _ = child.await;
        }
    }

    // ---- what realms want ----

    /// Carries out what concerns the agent; other effects come back. Called under the realm's lock.
    pub(crate) fn carry_out(&self, realm: RealmId, effect: Effect) -> Option<Effect> {
        match effect {
            Effect::AskAgent {
                query,
                with_token,
                person,
            } => self.ask(realm, *query, with_token, person),
            Effect::QueryHasPage { query } => {
                if let Some(life) = self.life_of(&query) {
                    life.has_page.notify_waiters();
                }
            }
            Effect::StopAgent { query } => self.stop_agent(realm, &query),
            Effect::QueryEnded { query } => self.let_end(realm, &query),
            Effect::QueryForgotten { query } => {
                self.asked
                    .remove_if(&query, |_, asked| asked.realm == realm);
            }
            other => return Some(other),
        }
        None
    }

    fn ask(&self, realm: RealmId, query: Query, with_token: bool, person: Option<Arc<Person>>) {
        let (Some(agent), Some(hub)) = (self.agent.clone(), self.hub.get().cloned()) else {
            return;
        };
        let id = query.uuid.clone();
        let MapEntry::Vacant(vacant) = self.asked.entry(id.clone()) else {
            // Under the realm's lock it cannot be told.
            self.tasks.spawn(async move {
                let Some(hub) = hub.upgrade() else { return };
                hub.change(realm, |realm, now| {
                    ((), realm.query_refused(&id, id_is_taken(), now))
                });
            });
            return;
        };
        let token = with_token.then(QueryToken::new);
        let hashed = token.as_ref().map(QueryToken::hashed);
        if let Some(hashed) = hashed {
            self.tokens.insert(hashed, id.clone());
        }
        let life = Life::default();
        let asking = Asking {
            hub,
            realm,
            id,
            stopped: life.stopped.clone(),
        };
        let task = self.tasks.spawn(asking.run(agent, query, token));
        vacant.insert(Asked {
            realm,
            token: hashed,
            person,
            life,
            task: Some(AbortOnDropHandle::new(task)),
        });
    }

    /// A request that is under way is left to its end: an agent that has just taken the query must
    /// know of it when it hears that it is over.
    fn stop_agent(&self, realm: RealmId, id: &QueryId) {
        let asking = self.ended(realm, id);
        if let Some(life) = self.life_of(id) {
            life.stopped.cancel();
        }
        let (Some(agent), Some(hub)) = (self.agent.clone(), self.hub.get().cloned()) else {
            return;
        };
        let Some(mut asked) = self.asked.get_mut(id).filter(|it| it.realm == realm) else {
            return;
        };
        let id = id.clone();
        let task = self.tasks.spawn(async move {
            agent.stop(&id).await;
            drop(asking);
            if let Some(hub) = hub.upgrade() {
                hub.change(realm, |realm, _| ((), realm.agent_stopped(&id)));
                hub.forget_if_empty(realm);
            }
        });
        asked.task = Some(AbortOnDropHandle::new(task));
    }

    /// The agent knows: it hears the answers to its calls, and has a moment to end its stream.
    fn let_end(&self, realm: RealmId, id: &QueryId) {
        if let Some(asking) = self.ended(realm, id) {
            self.tasks.spawn(async move {
                // One that does not is cut.
                let _ = tokio::time::timeout(LINGER, asking).await;
            });
        }
    }

    /// The token is void; what asked the agent is given up, unless somebody holds on to it.
    fn ended(&self, realm: RealmId, id: &QueryId) -> Option<AbortOnDropHandle<()>> {
        let mut asked = self.asked.get_mut(id).filter(|it| it.realm == realm)?;
        if let Some(token) = asked.token.take() {
            self.tokens.remove(&token);
        }
        asked.life.over.cancel();
        asked.task.take()
    }

    // ---- what agents want ----

    /// Whom the token of a query names; `None` if this is no such token.
    pub(crate) fn principal(&self, token: &str) -> Option<Result<Principal, TokenRefusal>> {
        if !looks_like_one(token) {
            return None;
        }
        let named = self.named_by(token);
        Some(
            named
                .map(|(id, realm)| self.agent_of(realm, id))
                .ok_or_else(|| TokenRefusal {
                    code: ErrorCode::InvalidAuthentication,
                    message:
                        "the token is that of a query that has ended, or of none: nothing more is \
                      wanted of its agent"
                            .to_owned(),
                }),
        )
    }

    /// The agent of a query, and whom it acts for.
    pub(crate) fn agent_of(&self, realm: RealmId, id: QueryId) -> Principal {
        let person = self.asked.get(&id).and_then(|asked| asked.person.clone());
        Principal::of_query(realm, id, person.as_deref())
    }

    /// The query that a token is for.
    pub(crate) fn named_by(&self, token: &str) -> Option<(QueryId, RealmId)> {
        let id = self.tokens.get(&Hashed::of(token))?.clone();
        let realm = self.realm_of(&id)?;
        Some((id, realm))
    }

    /// The realm that knows a query.
    pub(crate) fn realm_of(&self, id: &QueryId) -> Option<RealmId> {
        Some(self.asked.get(id)?.realm)
    }

    /// As long as its id means something.
    pub(crate) fn life_of(&self, id: &QueryId) -> Option<Life> {
        Some(self.asked.get(id)?.life.clone())
    }
}

/// Ids are in one namespace: whoever knows one could be its agent.
fn id_is_taken() -> QueryFailed {
    QueryFailed::asked_before()
}

/// What an agent reports.
#[derive(Debug)]
pub(crate) enum Report {
    Progress(Box<RawValue>),
    Complete(Option<Box<RawValue>>),
    Fail(QueryFailed),
    Cancel(Option<String>),
}

impl Hub {
    /// The session that asked, while it is there.
    pub(crate) fn session_of_query(&self, realm: RealmId, id: &QueryId) -> Option<SessionId> {
        let session = |realm: &Realm| realm.session_of_query(id).ok().cloned();
        self.read(realm, session).flatten()
    }

    /// An agent reports on a query of this realm.
    pub(crate) fn report(
        &self,
        realm: RealmId,
        id: &QueryId,
        report: Report,
    ) -> Result<(), QueryRefusal> {
        let reported = self.change(realm, |realm, now| match report {
            Report::Progress(content) => match realm.query_progressed(id, content) {
                Ok(effects) => (Ok(()), effects),
                Err(refusal) => (Err(refusal), Vec::new()),
            },
            Report::Complete(result) => realm.query_completed(id, result, now),
            Report::Fail(why) => realm.query_failed(id, why, now),
            Report::Cancel(reason) => realm.query_cancelled(id, reason, now),
        });
        reported.unwrap_or(Err(QueryRefusal::NotFound))
    }
}
