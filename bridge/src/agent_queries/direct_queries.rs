//! Queries that a frontend sends to its agent directly. The bridge issues a token with which the
//! agent calls the tools of a page, and receives a report when the query ends.

use std::sync::Arc;
use std::time::Duration;

use bridge_protocol::{ErrorCode, QueryCaller, QueryId, SessionId};
use dashmap::mapref::entry::Entry as MapEntry;

use super::active_queries::{ActiveQuery, AgentQueries, id_taken_error};
use super::query_lifetime::QueryLifetime;
use crate::hub::Hub;
use bridge_auth::query_token::QueryToken;
use bridge_auth::{Principal, RealmId};
use bridge_protocol::Subject;
use bridge_realm::realm::{QueryError, QueryPage, QueryPolicy, Realm};

/// An open query, for which an agent may call tools.
pub(crate) struct DirectQuery {
    pub(crate) token: QueryToken,
    /// The caller of the query.
    pub(crate) caller: QueryCaller,
    /// How long the query may take.
    pub(crate) timeout: Duration,
}

impl AgentQueries {
    /// Opens a query for the tools of one page of this principal: the page of `session`, or else
    /// its only page.
    pub(crate) fn open_query(
        &self,
        hub: &Hub,
        principal: &Principal,
        id: &QueryId,
        session: Option<&SessionId>,
        policy: QueryPolicy,
    ) -> Result<DirectQuery, QueryError> {
        if hub.is_stopping() {
            return Err(QueryError::bridge_stopping());
        }
        let realm = principal.realm;
        let token = self.reserve_id(realm, id, principal.subject())?;
        let opened = hub.apply(realm, |realm, now| {
            let opened = resolve_page(realm, session, principal).and_then(|page| {
                let (timeout, effects) = realm.query_opened(id, &page.session, policy, now)?;
                Ok(((timeout, page), effects))
            });
            match opened {
                Ok((opened, effects)) => (Ok(opened), effects),
                Err(error) => (Err(error), Vec::new()),
            }
        });
        match opened.unwrap_or_else(|| Err(no_page_error())) {
            Ok((timeout, page)) => Ok(DirectQuery {
                token,
                caller: self.caller(principal.realm, page),
                timeout,
            }),
            Err(error) => {
                self.release_id(realm, id);
                Err(error)
            }
        }
    }
}

/// Finds the page of a request of its frontend: the page of `requested`, or else the only page of
/// the principal.
pub(super) fn resolve_page(
    realm: &Realm,
    requested: Option<&SessionId>,
    principal: &Principal,
) -> Result<QueryPage, QueryError> {
    let session = resolve_session(realm, requested)?;
    let page = realm.query_page(&session).ok_or_else(no_page_error)?;
    Ok(QueryPage {
        subject: principal.subject(),
        ..page
    })
}

fn resolve_session(realm: &Realm, requested: Option<&SessionId>) -> Result<SessionId, QueryError> {
    if let Some(requested) = requested {
        let found = realm.session(requested).map(|(id, _)| id.clone());
        return found.ok_or_else(|| {
            let error = "There is no page with this `sessionId`";
            let remedy = "name one of `GET /sessions`";
            QueryError::new(ErrorCode::SessionNotFound, error, Some(remedy))
        });
    }
    if let Some(only) = realm.only_session() {
        return Ok(only.clone());
    }
    if realm.session_count() == 0 {
        return Err(no_page_error());
    }
    let error = "Several pages are connected with this token";
    let remedy = "name one in `sessionId`";
    let code = ErrorCode::SessionNotSpecified;
    Err(QueryError::new(code, error, Some(remedy)))
}

pub(super) fn no_page_error() -> QueryError {
    let error = "No page is connected for this token";
    let remedy = "open the app in a browser and ask again";
    QueryError::new(ErrorCode::NoSessionsFound, error, Some(remedy))
}

impl AgentQueries {
    /// Reserves the id before the query exists in its realm, so that no other realm can use it.
    fn reserve_id(
        &self,
        realm: RealmId,
        id: &QueryId,
        subject: Option<Arc<Subject>>,
    ) -> Result<QueryToken, QueryError> {
        let MapEntry::Vacant(vacant) = self.active.entry(id.clone()) else {
            return Err(id_taken_error());
        };
        let token = self.new_token();
        self.tokens.insert(token.hash(), id.clone());
        vacant.insert(ActiveQuery {
            realm,
            token_hash: Some(token.hash()),
            id_is_credential: false,
            subject,
            lifetime: QueryLifetime::default(),
            task: None,
        });
        Ok(token)
    }

    fn release_id(&self, realm: RealmId, id: &QueryId) {
        let removed = self.active.remove_if(id, |_, query| query.realm == realm);
        if let Some(token) = removed.and_then(|(_, query)| query.token_hash) {
            self.tokens.remove(&token);
        }
    }
}
