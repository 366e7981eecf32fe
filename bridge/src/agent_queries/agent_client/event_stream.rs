//! The event stream with which an agent responds to a query.

use std::collections::VecDeque;
use std::time::Duration;

use bridge_edge::http_client;
use bridge_protocol::{ErrorCode, QueryId};
use bridge_realm::realm::QueryError;
use reqwest::Response;

use crate::agent_queries::agent_event::{self, AgentEvent};
use crate::agent_queries::sse::{AgentSseEvent, SseDecoder};

/// The event stream of an agent. Dropping it closes the connection.
#[derive(Debug)]
pub(in crate::agent_queries) struct AgentEventStream {
    response: Response,
    silence_timeout: Duration,
    decoder: SseDecoder,
    events: VecDeque<AgentSseEvent>,
}

impl AgentEventStream {
    pub(super) fn new(response: Response, silence_timeout: Duration) -> Self {
        Self {
            response,
            silence_timeout,
            decoder: SseDecoder::default(),
            events: VecDeque::new(),
        }
    }

    /// Returns the next event of this query. A stream that ends before its query is an error.
    pub(in crate::agent_queries) async fn next(
        &mut self,
        id: &QueryId,
    ) -> Result<AgentEvent, QueryError> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return agent_event::parse(&event, id);
            }
            let chunk = tokio::time::timeout(self.silence_timeout, self.response.chunk()).await;
            let bytes = match chunk {
                Ok(Ok(Some(bytes))) => bytes,
                Ok(Ok(None)) => {
                    return Err(stream_lost("The agent ended its stream before the query"));
                }
                Ok(Err(error)) => {
                    let cause = http_client::last_cause(&error);
                    return Err(stream_lost(&format!(
                        "The stream of the agent broke: {cause}"
                    )));
                }
                Err(_) => {
                    let timeout = self.silence_timeout;
                    return Err(stream_lost(&format!(
                        "The agent said nothing for {timeout:?}"
                    )));
                }
            };
            let decoded = self
                .decoder
                .decode(&bytes, |event| self.events.push_back(event));
            decoded.map_err(|too_long| {
                QueryError::new(ErrorCode::AgentFailed, too_long.message(), None)
            })?;
        }
    }

    /// Reads and discards the rest of the stream, until the agent ends it.
    pub(in crate::agent_queries) async fn drain(&mut self) {
        while let Ok(Some(_)) = self.response.chunk().await {}
    }
}

fn stream_lost(error: &str) -> QueryError {
    let remedy = "ask again, and see the agent's log";
    QueryError::new(ErrorCode::AgentUnavailable, error, Some(remedy))
}
