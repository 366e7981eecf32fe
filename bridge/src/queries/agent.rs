//! The agent, over HTTP.

use std::collections::VecDeque;
use std::time::Duration;

use bridge_protocol::{ErrorCode, PageToBridge, Query, QueryId};
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{Method, RequestBuilder, Response, StatusCode, Url};
use tokio::sync::{OnceCell, watch};

use super::events::{Event, Reader};
use super::said::{self, Said};
use super::token::QueryToken;
use crate::config::{self, Secret};
use crate::outgoing;
use crate::realm::QueryFailed;

/// Carries the token that the agent calls tools and reports with.
const TOKEN_HEADER: &str = "mcp-web-query-token";

const EVENT_STREAM: &str = "text/event-stream";

/// Where an agent listens.
#[derive(Debug)]
pub(super) enum Address {
    At(Url),
    /// It is being started.
    Awaited,
    /// It cannot be started.
    Nowhere,
}

/// Where queries go.
#[derive(Debug)]
pub(super) struct Agent {
    address: watch::Sender<Address>,
    credential: Option<Secret>,
    within: Duration,
    silence: Duration,
    /// Made at the first query: the roots of trust are read from the system.
    http: OnceCell<reqwest::Client>,
}

impl Agent {
    /// `None` when none is configured. One that the bridge runs says where it is, and is asked with a
    /// credential that nobody else has.
    pub(super) fn of(config: &config::Agent) -> Option<Self> {
        let (address, credential) = match &config.agent_url {
            _ if config.run_agent => (Address::Awaited, Some(Secret::random())),
            Some(url) => {
                let url = Url::parse(url.as_str()).ok()?;
                (Address::At(url), config.agent_token.clone())
            }
            None => return None,
        };
        Some(Self {
            address: watch::Sender::new(address),
            credential,
            within: config.agent_timeout,
            silence: config.agent_silence,
            http: OnceCell::new(),
        })
    }

    /// The agent listens somewhere else now, or does not.
    pub(super) fn moved(&self, address: Address) {
        self.address.send_replace(address);
    }

    pub(super) fn credential(&self) -> Option<&Secret> {
        self.credential.as_ref()
    }

    /// Asks. Any 2xx accepts. A stream of events is read to the end of the query; of another answer
    /// nothing else is read: the agent reports by requests of its own.
    pub(super) async fn ask(
        &self,
        query: Query,
        token: Option<QueryToken>,
    ) -> Result<Taken, QueryFailed> {
        let id = query.uuid.clone();
        let body = PageToBridge::Query(query).encode();
        let put = |request: RequestBuilder| {
            let request = request.header(CONTENT_TYPE, "application/json");
            let request = request.header(ACCEPT, EVENT_STREAM);
            let request = match &token {
                Some(token) => request.header(TOKEN_HEADER, token.as_str()),
                None => request,
            };
            request.body(body)
        };
        let response = self.request(Method::PUT, &id, put).await?;
        if !response.status().is_success() {
            return Err(not_taken(response.status()));
        }
        let media_type = response.headers().get(CONTENT_TYPE);
        let streams =
            media_type.is_some_and(|it| it.as_bytes().starts_with(EVENT_STREAM.as_bytes()));
        Ok(match streams {
            true => Taken::Streams(Box::new(Stream::new(response, self.silence))),
            false => Taken::ReportsElsewhere,
        })
    }

    /// Says that a query has ended. An agent that does not hear it finds its token void.
    pub(super) async fn stop(&self, id: &QueryId) {
        match self.request(Method::DELETE, id, |request| request).await {
            Ok(response) if response.status().is_success() => {}
            Ok(response) => {
                tracing::debug!(status = %response.status(), "the agent did not stop a query");
            }
            Err(why) => tracing::warn!(
                "the agent did not hear that a query has ended: {}",
                why.error
            ),
        }
    }

    async fn request(
        &self,
        method: Method,
        id: &QueryId,
        fill: impl FnOnce(RequestBuilder) -> RequestBuilder,
    ) -> Result<Response, QueryFailed> {
        let answered = tokio::time::timeout(self.within, async {
            let url = self.url().await?;
            let client = self.http.get_or_try_init(|| client(&url)).await;
            let client = client.map_err(|error| unreachable(&error))?;
            let mut request = fill(client.request(method, of_query(url, id)));
            if let Some(credential) = &self.credential {
                request = request.bearer_auth(credential.text());
            }
            let response = request.send().await;
            response.map_err(|error| unreachable(&outgoing::last_cause(&error)))
        });
        let late = |_| unavailable(format!("Agent did not answer within {:?}", self.within));
        answered.await.map_err(late)?
    }

    /// Once it is known.
    async fn url(&self) -> Result<Url, QueryFailed> {
        let mut address = self.address.subscribe();
        let known = address.wait_for(|address| !matches!(address, Address::Awaited));
        match known.await.as_deref() {
            Ok(Address::At(url)) => Ok(url.clone()),
            _ => {
                let error = "The agent that the bridge runs cannot start";
                let remedy = "see what it says in the bridge's log";
                let code = ErrorCode::AgentUnavailable;
                Err(QueryFailed::new(code, error, Some(remedy)))
            }
        }
    }
}

fn of_query(mut url: Url, id: &QueryId) -> Url {
    if let Ok(mut path) = url.path_segments_mut() {
        path.push(id.as_str());
    }
    url
}

/// How an agent has taken a query.
#[derive(Debug)]
pub(super) enum Taken {
    /// It reports by requests of its own, as agents of mcp-web 0.1 do.
    ReportsElsewhere,
    /// Its answer is the stream of what the page hears.
    Streams(Box<Stream>),
}

/// The events of an agent. Dropping it closes the connection.
#[derive(Debug)]
pub(super) struct Stream {
    response: Response,
    silence: Duration,
    reader: Reader,
    heard: VecDeque<Event>,
}

impl Stream {
    fn new(response: Response, silence: Duration) -> Self {
        Self {
            response,
            silence,
            reader: Reader::default(),
            heard: VecDeque::new(),
        }
    }

    /// What the agent says next of this query. An end before the query's is an error.
    pub(super) async fn next(&mut self, id: &QueryId) -> Result<Said, QueryFailed> {
        loop {
            if let Some(event) = self.heard.pop_front() {
                return said::read(&event, id);
            }
            let more = tokio::time::timeout(self.silence, self.response.chunk()).await;
            let bytes = match more {
                Ok(Ok(Some(bytes))) => bytes,
                Ok(Ok(None)) => return Err(lost("The agent ended its stream before the query")),
                Ok(Err(error)) => {
                    let cause = outgoing::last_cause(&error);
                    return Err(lost(&format!("The stream of the agent broke: {cause}")));
                }
                Err(_) => {
                    let silence = self.silence;
                    return Err(lost(&format!("The agent said nothing for {silence:?}")));
                }
            };
            let heard = self
                .reader
                .take(&bytes, |event| self.heard.push_back(event));
            heard.map_err(|too_long| {
                QueryFailed::new(ErrorCode::AgentFailed, too_long.message(), None)
            })?;
        }
    }

    /// Reads on to the agent's own end of the stream. Nothing of it counts any more.
    pub(super) async fn drain(&mut self) {
        while let Ok(Some(_)) = self.response.chunk().await {}
    }
}

fn lost(error: &str) -> QueryFailed {
    let remedy = "ask again, and see the agent's log";
    QueryFailed::new(ErrorCode::AgentUnavailable, error, Some(remedy))
}

/// The agent has answered, and not with a 2xx.
fn not_taken(status: StatusCode) -> QueryFailed {
    let reason = status.canonical_reason().unwrap_or_default();
    let error = format!("Agent responded with {}: {reason}", status.as_u16());
    let (code, remedy) = match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => (
            ErrorCode::AgentUnavailable,
            "the agent refuses the bridge's credential: give both the same (`agent_token`)",
        ),
        StatusCode::CONFLICT => (
            ErrorCode::QueryCompleted,
            "the agent knows this uuid: ask with a new one",
        ),
        StatusCode::TOO_MANY_REQUESTS => (
            ErrorCode::QueryLimitExceeded,
            "the agent has as many queries as it may have: ask again later",
        ),
        _ => return unavailable(error),
    };
    QueryFailed::new(code, error, Some(remedy))
}

fn unreachable(cause: &str) -> QueryFailed {
    unavailable(format!("Agent cannot be reached: {cause}"))
}

fn unavailable(error: String) -> QueryFailed {
    let remedy = "see that the agent runs and that `agent_url` is its address";
    QueryFailed::new(ErrorCode::AgentUnavailable, error, Some(remedy))
}

async fn client(url: &Url) -> Result<reqwest::Client, String> {
    let url = url.clone();
    let made = tokio::task::spawn_blocking(move || outgoing::client(&url)).await;
    made.map_err(|error| error.to_string())?
}
