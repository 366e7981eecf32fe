//! Whose pages a request sees.

use bridge_protocol::{CallContext, ErrorCode, QueryId, SessionId, Via};
use tokio_util::sync::CancellationToken;

use super::{Asked, Leg};
use crate::auth::{Principal, RealmId, Scope};
use crate::calls::{self, Caller, Takes, Unreachable};
use crate::realm::{QueryRefusal, Realm, is_secret};
use crate::v1::message::{Message, Refused};
use crate::v1::pages::Pages;

/// A caller that hears the result and nothing else.
static UNREACHABLE: Unreachable =
    Unreachable("the client was built for mcp-web 0.1: it cannot be asked");

/// Whose pages a request sees.
#[derive(Debug)]
pub(super) struct Sight {
    realm: RealmId,
    /// The query that it belongs to, and the only page that it sees.
    query: Option<(QueryId, SessionId)>,
    caller: Option<bridge_protocol::Caller>,
}

impl Sight {
    pub(super) fn realm(&self) -> RealmId {
        self.realm
    }

    pub(super) fn caller(&self) -> Caller<'_> {
        Caller {
            realm: self.realm,
            session: None,
            context: CallContext {
                caller: self.caller.clone(),
                query_id: self.query.as_ref().map(|(query, _)| query.clone()),
                ..CallContext::default()
            },
            client: &UNREACHABLE,
            takes: Takes::default(),
            answers: Vec::new(),
            resumes: None,
        }
    }
}

impl Leg {
    /// Whom the token names, if it is good for this.
    pub(crate) async fn principal(
        &self,
        token: Option<&str>,
        needed: Option<Scope>,
    ) -> Result<Principal, ErrorCode> {
        let of_query = token.and_then(|token| self.hub.queries.principal(token));
        let principal = match of_query {
            Some(principal) => principal,
            None => self.tokens.verify(token).await,
        };
        let principal = principal.map_err(|refusal| match refusal.code {
            ErrorCode::MissingAuthentication => ErrorCode::MissingAuthentication,
            _ => ErrorCode::InvalidAuthentication,
        })?;
        match needed.map_or(Ok(()), |scope| principal.needs(scope)) {
            Ok(()) => Ok(principal),
            Err(_) => Err(ErrorCode::InvalidAuthentication),
        }
    }

    /// The agent of the query that a request names. Where its id is a secret, that is enough; else
    /// the token must be the query's or its page's, and good for this.
    pub(super) async fn agent_of(
        &self,
        query: &str,
        token: Option<&str>,
        needed: Option<Scope>,
    ) -> Result<Principal, ErrorCode> {
        let id = QueryId::from(query);
        let realm = self.hub.queries.realm_of(&id);
        let is_known = match self.hub.config.uuids_are_secrets() {
            true => is_secret(&id),
            false => {
                let principal = self.principal(token, needed).await?;
                let other = principal.query.as_ref().is_some_and(|own| *own != id);
                !other && realm == Some(principal.realm)
            }
        };
        let realm = realm.filter(|_| is_known).ok_or(ErrorCode::QueryNotFound)?;
        Ok(self.hub.queries.agent_of(realm, id))
    }

    /// The MCP session of an agent ends with its query, unless agents are known by no token: those
    /// may keep one for all their queries.
    pub(super) fn until(&self, principal: &Principal) -> CancellationToken {
        let query = principal.query.as_ref();
        let query = query.filter(|_| !self.hub.config.uuids_are_secrets());
        let life = query.and_then(|query| self.hub.queries.life_of(query));
        life.map(|life| life.over()).unwrap_or_default()
    }

    /// Whose pages the request sees: those of its query, or else of its token.
    pub(super) async fn sight(
        &self,
        asked: &Asked<'_>,
        message: &Message<'_>,
    ) -> Result<Sight, Refused> {
        let needed = Some(match message.method.as_ref() {
            "tools/call" => Scope::ToolsCall,
            _ => Scope::ToolsRead,
        });
        let principal = match message.params.meta().query() {
            Some(query) => self.agent_of(&query, asked.token, needed).await,
            None => self.principal(asked.token, needed).await,
        };
        let principal = principal.map_err(Refused::Request)?;
        calls::page_of_query(&self.hub, &principal).await;
        self.sight_of(principal)
    }

    /// All pages of a token, or the one of a query.
    fn sight_of(&self, principal: Principal) -> Result<Sight, Refused> {
        let caller = Some(principal.caller(Via::Mcp));
        let page = |id: &QueryId| {
            let read = |realm: &Realm| realm.session_of_query(id).cloned();
            let page = self.hub.read(principal.realm, read);
            let page = page.unwrap_or(Err(QueryRefusal::NotFound));
            page.map_err(|refusal| Refused::Request(refusal.code()))
        };
        let query = match principal.query {
            Some(id) => Some((id.clone(), page(&id)?)),
            None => None,
        };
        Ok(Sight {
            realm: principal.realm,
            query,
            caller,
        })
    }

    /// Looks at the pages; `None` when there is none.
    pub(super) fn look<T>(&self, sight: &Sight, look: impl FnOnce(Pages<'_>) -> T) -> Option<T> {
        let read = |realm: &Realm| {
            let (query, only) = sight
                .query
                .as_ref()
                .map(|(query, only)| (query, only))
                .unzip();
            let pages = Pages::of(realm, only, query);
            (pages.count() > 0).then(|| look(pages))
        };
        self.hub.read(sight.realm, read).flatten()
    }
}
