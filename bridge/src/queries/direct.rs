//! Queries that frontends ask their agents themselves: the bridge gives the agent a token for the
//! tools of a page, and hears how the query ends.

use std::sync::Arc;
use std::time::Duration;

use bridge_protocol::{ErrorCode, QueryId, SessionId};
use dashmap::mapref::entry::Entry as MapEntry;

use super::token::QueryToken;
use super::{Asked, Life, Queries, id_is_taken};
use crate::auth::{Person, Principal, RealmId};
use crate::hub::Hub;
use crate::realm::{QueryFailed, Realm, Terms};

/// A query that an agent may call tools for.
pub(crate) struct Opened {
    pub(crate) token: QueryToken,
    /// How long it may take.
    pub(crate) time: Duration,
}

impl Hub {
    /// Opens a query for the tools of a page of this principal; of its only one, if none is named.
    pub(crate) fn open_query(
        &self,
        principal: &Principal,
        id: &QueryId,
        session: Option<&SessionId>,
        terms: Terms,
    ) -> Result<Opened, QueryFailed> {
        if self.is_stopping() {
            return Err(QueryFailed::bridge_stopping());
        }
        let realm = principal.realm;
        let token = self.queries.claim(realm, id, principal.person())?;
        let opened = self.change(realm, |realm, now| {
            let opened = session_of(realm, session)
                .and_then(|session| realm.query_opened(id, &session, terms, now));
            (opened, Vec::new())
        });
        match opened.unwrap_or_else(|| Err(no_page())) {
            Ok(time) => Ok(Opened { token, time }),
            Err(refused) => {
                self.queries.unclaim(realm, id);
                Err(refused)
            }
        }
    }
}

fn session_of(realm: &Realm, named: Option<&SessionId>) -> Result<SessionId, QueryFailed> {
    let sessions = realm.sessions();
    let mut ids = sessions.into_iter().map(|session| session.session_id);
    if let Some(named) = named {
        return ids.find(|id| id == named).ok_or_else(|| {
            let error = "There is no page with this `sessionId`";
            let remedy = "name one of `GET /sessions`";
            QueryFailed::new(ErrorCode::SessionNotFound, error, Some(remedy))
        });
    }
    match (ids.next(), ids.next()) {
        (None, _) => Err(no_page()),
        (Some(only), None) => Ok(only),
        (Some(_), Some(_)) => {
            let error = "Several pages are connected with this token";
            let remedy = "name one in `sessionId`";
            let code = ErrorCode::SessionNotSpecified;
            Err(QueryFailed::new(code, error, Some(remedy)))
        }
    }
}

fn no_page() -> QueryFailed {
    let error = "No page is connected for this token";
    let remedy = "open the app in a browser and ask again";
    QueryFailed::new(ErrorCode::NoSessionsFound, error, Some(remedy))
}

impl Queries {
    /// Takes the id before its realm knows of it, so that no other realm does.
    fn claim(
        &self,
        realm: RealmId,
        id: &QueryId,
        person: Option<Arc<Person>>,
    ) -> Result<QueryToken, QueryFailed> {
        let MapEntry::Vacant(vacant) = self.asked.entry(id.clone()) else {
            return Err(id_is_taken());
        };
        let token = QueryToken::new();
        self.tokens.insert(token.hashed(), id.clone());
        vacant.insert(Asked {
            realm,
            token: Some(token.hashed()),
            person,
            life: Life::default(),
            task: None,
        });
        Ok(token)
    }

    fn unclaim(&self, realm: RealmId, id: &QueryId) {
        let claimed = self.asked.remove_if(id, |_, asked| asked.realm == realm);
        if let Some(token) = claimed.and_then(|(_, asked)| asked.token) {
            self.tokens.remove(&token);
        }
    }
}
