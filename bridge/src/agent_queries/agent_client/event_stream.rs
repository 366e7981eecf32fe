//! The event stream with which an agent responds to a query.

use std::time::Duration;

use bridge_edge::http_client;
use bridge_protocol::sse::{SseDecoder, SseText, SseTooLong};
use bridge_protocol::{ErrorCode, QueryId};
use bridge_realm::realm::QueryError;
use reqwest::Response;

use crate::agent_queries::agent_event::{self, AgentEvent};

/// The maximum size of the data of an event.
const MAX_EVENT_BYTES: usize = 1024 * 1024;

/// The event stream of an agent. Dropping it closes the connection.
#[derive(Debug)]
pub(in crate::agent_queries) struct AgentEventStream {
    response: Response,
    silence_timeout: Duration,
    decoder: SseDecoder<SseText>,
}

impl AgentEventStream {
    pub(super) fn new(response: Response, silence_timeout: Duration) -> Self {
        Self {
            response,
            silence_timeout,
            decoder: SseDecoder::new(MAX_EVENT_BYTES),
        }
    }

    /// Returns the next event of this query. A stream that ends before its query is an error.
    pub(in crate::agent_queries) async fn next(
        &mut self,
        id: &QueryId,
    ) -> Result<AgentEvent, QueryError> {
        loop {
            if let Some(event) = self.decoder.next_event() {
                let event = event.map_err(too_long)?;
                // An event without data has no meaning but for browsers.
                let Some(data) = event.data else {
                    continue;
                };
                return agent_event::parse(&event.name, &data.into_string(), id);
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
            self.decoder.decode(&bytes);
        }
    }

    /// Reads and discards the rest of the stream, until the agent ends it.
    pub(in crate::agent_queries) async fn drain(&mut self) {
        while let Ok(Some(_)) = self.response.chunk().await {}
    }
}

fn too_long(SseTooLong { limit }: SseTooLong) -> QueryError {
    let error = format!("The agent sent an event of more than {limit} bytes");
    QueryError::new(ErrorCode::AgentFailed, error, None)
}

fn stream_lost(error: &str) -> QueryError {
    let remedy = "ask again, and see the agent's log";
    QueryError::new(ErrorCode::AgentUnavailable, error, Some(remedy))
}
