//! The caller of a query, in the form that agents receive.

use bridge_auth::RealmId;
use bridge_protocol::QueryCaller;
use bridge_realm::realm::QueryPage;

use super::active_queries::AgentQueries;

impl AgentQueries {
    /// Describes the page of a query and its user for the agent.
    pub(super) fn caller(&self, realm: RealmId, page: QueryPage) -> QueryCaller {
        let subject = page.subject.as_deref();
        QueryCaller {
            user: realm.user_id(),
            sub: subject.and_then(|subject| subject.sub.clone()),
            roles: subject
                .map(|subject| subject.roles.clone())
                .unwrap_or_default(),
            self_made: self.tokens_are_self_made,
            app: page.app.unwrap_or_default(),
            app_description: page.app_description,
            origin: page.origin,
            session: page.session,
        }
        .bounded()
    }
}
