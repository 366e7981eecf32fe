//! Authentication of requests, and the pages that they can see.

use bridge_compat::json_rpc::{CompatMessage, RpcError};
use bridge_protocol::{CallContext, CallerTransport, ErrorCode, QueryId, SessionId};
use tokio_util::sync::CancellationToken;

use crate::agent_queries::QueryLifetime;
use crate::calls::{self, CallOptions, SilentClient};
use crate::compat::service::{CompatRequest, CompatService, TokenCheck};
use crate::compat::visible_pages::VisiblePages;
use bridge_auth::{Principal, RealmId, Scope};
use bridge_edge::ClientAddress;
use bridge_realm::realm::{Realm, ReportRejected};

/// Clients of mcp-web 0.1 receive only the result of a call: they cannot answer requests of a
/// handler.
static SILENT_CLIENT: SilentClient =
    SilentClient("the client was built for mcp-web 0.1: it cannot be asked");

/// The pages that a request can see: those of its query or of its token.
#[derive(Debug)]
pub(super) struct RequestScope {
    realm: RealmId,
    address: ClientAddress,
    /// The query of the request, and the only page that it can see.
    query: Option<(QueryId, SessionId)>,
    query_lifetime: Option<QueryLifetime>,
    identity: Option<bridge_protocol::Caller>,
}

impl RequestScope {
    pub(super) fn realm(&self) -> RealmId {
        self.realm
    }

    pub(super) fn address(&self) -> ClientAddress {
        self.address
    }

    /// The options for a call within this scope.
    pub(super) fn call_options(&self) -> CallOptions<'_> {
        CallOptions {
            query_lifetime: self.query_lifetime.clone(),
            call_context: CallContext {
                caller: self.identity.clone(),
                query_id: self.query.as_ref().map(|(query, _)| query.clone()),
                ..CallContext::default()
            },
            ..CallOptions::new(self.realm, self.address, &SILENT_CLIENT)
        }
    }
}

/// The principal of a caller, if its token has this scope.
pub(crate) fn authorize(
    caller: &TokenCheck,
    scope: Option<Scope>,
) -> Result<&Principal, ErrorCode> {
    let principal = caller.as_ref().map_err(|code| *code)?;
    match scope.map_or(Ok(()), |scope| principal.require_scope(scope)) {
        Ok(()) => Ok(principal),
        Err(_) => Err(ErrorCode::InvalidAuthentication),
    }
}

impl CompatService {
    /// The principal of a token. A refused token is logged, and counted for the address: the
    /// request may be answered all the same.
    pub(crate) async fn authenticate(
        &self,
        token: Option<&str>,
        address: ClientAddress,
    ) -> TokenCheck {
        let query_principal = token.and_then(|token| self.agent_queries.principal_for_token(token));
        let principal = match query_principal {
            Some(principal) => principal,
            None => {
                let verified = self.authenticator.verify(token, address).await;
                if let Err(error) = &verified
                    && error.code != ErrorCode::MissingAuthentication
                {
                    self.hub
                        .budgets
                        .record_refused_token(address, "compat", error);
                }
                verified
            }
        };
        principal.map_err(|error| match error.code {
            ErrorCode::MissingAuthentication => ErrorCode::MissingAuthentication,
            // The most similar code of mcp-web 0.1 that is not final.
            ErrorCode::AuthenticationUnavailable => ErrorCode::InternalError,
            _ => ErrorCode::InvalidAuthentication,
        })
    }

    /// The agent of the query that a request names. If the id of the query is a credential, it is
    /// enough. Otherwise the token must be that of the query or of its page, and have this scope.
    pub(super) fn authorize_query(
        &self,
        query: &str,
        caller: &TokenCheck,
        scope: Option<Scope>,
    ) -> Result<Principal, ErrorCode> {
        let id = QueryId::from(query);
        let queries = &self.agent_queries;
        if let Some(realm) = queries.realm_of_credential(&id) {
            return Ok(queries.agent_principal(realm, id));
        }
        let realm = queries.realm_of(&id);
        if realm.is_none() && self.hub.config.query_ids_are_credentials() {
            return Err(ErrorCode::QueryNotFound);
        }
        let principal = authorize(caller, scope)?;
        let is_other_query = principal.query.as_ref().is_some_and(|own| *own != id);
        if is_other_query || realm != Some(principal.realm) {
            return Err(ErrorCode::QueryNotFound);
        }
        Ok(queries.agent_principal(principal.realm, id))
    }

    /// Returns a token that is cancelled when the MCP session must end: the session of an agent
    /// ends with its query. Where the id of a query is a credential, agents may use one session for
    /// all their queries.
    pub(super) fn query_end_token(&self, principal: &Principal) -> CancellationToken {
        let is_credential = |id: &QueryId| self.agent_queries.realm_of_credential(id).is_some();
        let query = principal.query.as_ref().filter(|id| !is_credential(id));
        let lifetime = query.and_then(|query| self.agent_queries.lifetime_of(query));
        lifetime
            .map(|lifetime| lifetime.ended_token())
            .unwrap_or_default()
    }

    /// The pages that the request can see: those of its query, or else of its token.
    pub(super) async fn resolve_scope(
        &self,
        request: &CompatRequest<'_>,
        message: &CompatMessage<'_>,
    ) -> Result<RequestScope, RpcError> {
        let required_scope = Some(match message.method.as_ref() {
            "tools/call" => Scope::ToolsCall,
            _ => Scope::ToolsRead,
        });
        let principal = match message.params.meta().query() {
            Some(query) => self.authorize_query(&query, request.caller, required_scope),
            None => authorize(request.caller, required_scope).cloned(),
        };
        let principal = principal.map_err(RpcError::InvalidRequest)?;
        if let Some(lifetime) = self.agent_queries.lifetime_for(&principal) {
            calls::wait_for_query_page(&self.hub, &principal, &lifetime).await;
        }
        self.scope_for(principal, request.address)
    }

    /// The scope of a principal: all pages of a token, or the page of a query.
    fn scope_for(
        &self,
        principal: Principal,
        address: ClientAddress,
    ) -> Result<RequestScope, RpcError> {
        let caller = Some(principal.caller(CallerTransport::Mcp));
        let page = |id: &QueryId| {
            let read = |realm: &Realm| realm.query_session(id).cloned();
            let page = self.hub.with_realm(principal.realm, read);
            let page = page.unwrap_or(Err(ReportRejected::NotFound));
            page.map_err(|rejection| RpcError::InvalidRequest(rejection.code()))
        };
        let query_lifetime = self.agent_queries.lifetime_for(&principal);
        let query = match principal.query {
            Some(id) => Some((id.clone(), page(&id)?)),
            None => None,
        };
        Ok(RequestScope {
            realm: principal.realm,
            address,
            query,
            query_lifetime,
            identity: caller,
        })
    }

    /// Calls `f` with the visible pages; `None` if there are none.
    pub(super) fn with_pages<T>(
        &self,
        scope: &RequestScope,
        f: impl FnOnce(VisiblePages<'_>) -> T,
    ) -> Option<T> {
        let read = |realm: &Realm| {
            let (query, only) = scope
                .query
                .as_ref()
                .map(|(query, only)| (query, only))
                .unzip();
            let pages = VisiblePages::new(realm, only, query);
            (pages.count() > 0).then(|| f(pages))
        };
        self.hub.with_realm(scope.realm, read).flatten()
    }
}
