//! Reports of agents on their queries.

use bridge_protocol::QueryId;
use serde_json::value::RawValue;

use crate::hub::Hub;
use bridge_auth::RealmId;
use bridge_realm::realm::{CompletedQuery, QueryError, ReportRejected};

/// A report of an agent on its query.
#[derive(Debug)]
pub(crate) enum AgentReport {
    Progress(Box<RawValue>),
    Complete(CompletedQuery),
    Fail(QueryError),
    Cancel(Option<String>),
}

impl Hub {
    /// Applies the report of an agent to a query of this realm.
    pub(crate) fn apply_agent_report(
        &self,
        realm: RealmId,
        id: &QueryId,
        report: AgentReport,
    ) -> Result<(), ReportRejected> {
        let result = self.apply(realm, |realm, now| match report {
            AgentReport::Progress(content) => match realm.query_progressed(id, content, now) {
                Ok(effects) => (Ok(()), effects),
                Err(rejection) => (Err(rejection), Vec::new()),
            },
            AgentReport::Complete(result) => realm.query_completed(id, result, now),
            AgentReport::Fail(error) => realm.query_failed(id, error, now),
            AgentReport::Cancel(reason) => realm.query_cancelled(id, reason, now),
        });
        result.unwrap_or(Err(ReportRejected::NotFound))
    }
}
