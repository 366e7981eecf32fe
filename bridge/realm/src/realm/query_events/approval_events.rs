//! The answers of people to the agent's requests for approval.

use bridge_protocol::{QueryAnswer, QueryContent, QueryId, SessionId};

use super::QueryError;
use crate::realm::query::{AfterSending, QueryOrigin};
use crate::realm::{AgentEffect, ConnectionId, Effect, Effects, Realm};

impl Realm {
    /// A person has answered a request for approval. Ignored if nothing waits for the answer: the
    /// query has ended or is another page's, or the request was answered before.
    pub fn approval_answered(
        &mut self,
        session: &SessionId,
        connection: ConnectionId,
        answer: QueryAnswer,
    ) -> Effects {
        if self.session_on(session, connection).is_none() {
            return Effects::new();
        }
        let query = self.queries.get_mut(&answer.uuid).filter(|query| {
            let is_of_page = query.origin != QueryOrigin::Frontend;
            query.session == *session && is_of_page && !query.has_response
        });
        let Some(round) = query.and_then(|query| query.approvals.begin_sending(&answer.id)) else {
            return Effects::new();
        };
        Effects::from([Effect::Agent(AgentEffect::SendApproval {
            query: answer.uuid,
            call: answer.id,
            round,
            approved: answer.approved,
        })])
    }

    /// The agent has received the answer of a person, or could not be reached. In the second case
    /// the page is notified and may answer again. `round` is that of [`AgentEffect::SendApproval`].
    pub fn approval_sent(
        &mut self,
        id: &QueryId,
        call: &str,
        round: u64,
        outcome: Result<(), QueryError>,
    ) -> Effects {
        let Some(query) = self.queries.get_mut(id) else {
            return Effects::new();
        };
        let after = query.approvals.record_sent(call, round, outcome.is_ok());
        let Err(error) = outcome else {
            return Effects::new();
        };
        let next = match after {
            AfterSending::Open => "answer again",
            AfterSending::Closed => "the call will not run",
            AfterSending::RequestedAgain => return Effects::new(),
        };
        let text = format!(
            "The answer did not reach the agent: {}; {next}",
            error.error
        );
        let note = QueryContent::Note { text }.to_raw();
        query.delivery.push_progress(note);
        self.send_query_updates(id)
    }
}
