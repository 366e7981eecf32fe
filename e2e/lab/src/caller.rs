//! Callers that make the next call as soon as they have an answer.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::json;

use crate::answer::{AnswerChecker, AnswerForm};
use crate::clients::{Client, Era, arguments};
use crate::connection::{Connection, EventStream};
use crate::page::PageProtocol;
use crate::request::{CALL_IDS, Endpoint, Request, rpc};
use crate::tools::called_tool;

/// How callers reach the server, and which kind of server it is.
#[derive(Clone, Copy)]
pub(crate) enum Route {
    /// The floor.
    Floor,
    /// `POST /tool-call`.
    ToolCall,
    /// `/mcp`, as this client uses it.
    Mcp(&'static Client),
    /// `POST /` as clients of mcp-web 0.1 send it: no `initialize`, no session, any media type.
    V1,
}

impl Route {
    /// Returns the protocol of the pages that are called on this route.
    pub(crate) fn page_protocol(self) -> PageProtocol {
        match self {
            Self::Floor => PageProtocol::Floor,
            Self::V1 => PageProtocol::V1,
            Self::ToolCall | Self::Mcp(_) => PageProtocol::Current,
        }
    }

    fn answer_form(self) -> AnswerForm {
        match self {
            Self::Floor => AnswerForm::Bytes,
            Self::ToolCall => AnswerForm::Result,
            Self::Mcp(_) => AnswerForm::Rpc,
            Self::V1 => AnswerForm::RpcV1,
        }
    }

    /// Returns the call of a page's tool.
    fn call(self, endpoint: &Endpoint, session: Option<&str>, page: usize) -> Request {
        let tool = called_tool(page);
        match self {
            Self::Mcp(client) => client.call(endpoint, session, &tool),
            Self::Floor | Self::ToolCall => {
                let body = json!({ "toolName": tool, "toolInput": arguments() });
                Request::new("POST /tool-call", endpoint, &[("accept", "*/*")], &body)
            }
            Self::V1 => {
                // With several pages, a call on this route must name its session.
                let meta = json!({ "sessionId": page_session(page) });
                let params = json!({ "name": tool, "arguments": arguments(), "_meta": meta });
                let body = rpc("tools/call", params);
                Request::new("POST /", endpoint, &[("accept", "*/*")], &body)
            }
        }
    }
}

/// Returns the session id of a page.
pub(crate) fn page_session(page: usize) -> String {
    format!("page-{page}")
}

/// The conversation of an MCP client with a bridge.
pub(crate) struct Conversation {
    endpoint: Endpoint,
    /// The MCP session; a client of 2026-07-28 has none.
    pub(crate) session: Option<String>,
    /// The client's stream of notifications, if it is open.
    _stream: Option<EventStream>,
}

impl Conversation {
    /// Opens an MCP session if the client uses one, and its stream if `with_stream`.
    pub(crate) async fn open(
        client: &Client,
        connection: &mut Connection,
        endpoint: &Endpoint,
        with_stream: bool,
    ) -> Result<Self> {
        let session = match client.era {
            Era::Session => Some(initialize(client, connection, endpoint).await?),
            Era::Stateless => None,
        };
        let mut stream = None;
        if with_stream {
            let request = client.open_stream(endpoint, session.as_deref());
            let connection = Connection::open(endpoint).await?;
            stream = Some(connection.into_event_stream(&request).await?);
        }
        Ok(Self {
            endpoint: endpoint.clone(),
            session,
            _stream: stream,
        })
    }

    /// Ends the MCP session, and closes the stream.
    pub(crate) async fn end(self, client: &Client, connection: &mut Connection) -> Result<()> {
        if let Some(session) = &self.session {
            let request = client.end_session(&self.endpoint, session);
            connection.request(&request).await?.require_status(204)?;
        }
        Ok(())
    }
}

async fn initialize(
    client: &Client,
    connection: &mut Connection,
    endpoint: &Endpoint,
) -> Result<String> {
    let initialize = client.initialize(endpoint);
    let answer = connection.request(&initialize).await?;
    answer.require_status(200).context("`initialize`")?;
    let session = answer.mcp_session.context("no MCP session")?;
    let initialized = client.initialized(endpoint, &session);
    let answer = connection.request(&initialized).await?;
    answer
        .require_status(202)
        .context("`notifications/initialized`")?;
    Ok(session)
}

/// A client with one connection, and the stream that it has besides.
pub(crate) struct Caller {
    connection: Connection,
    /// A prepared call for each page.
    requests: Vec<Request>,
    checker: AnswerChecker,
    /// The page that is called next.
    next: usize,
    _conversation: Option<Conversation>,
}

impl Caller {
    /// Connects a caller of `pages` pages, whose tools return `payload`. It begins with the page
    /// `first`.
    pub(crate) async fn open(
        route: Route,
        endpoint: &Endpoint,
        pages: usize,
        payload: &str,
        first: usize,
    ) -> Result<Self> {
        let mut connection = Connection::open(endpoint).await?;
        let conversation = match route {
            Route::Mcp(client) => {
                let opens_stream = client.opens_stream;
                Some(Conversation::open(client, &mut connection, endpoint, opens_stream).await?)
            }
            _ => None,
        };
        let session = conversation.as_ref().and_then(|it| it.session.as_deref());
        let requests = (0..pages).map(|page| route.call(endpoint, session, page));
        Ok(Self {
            requests: requests.collect(),
            connection,
            checker: AnswerChecker::new(route.answer_form(), payload.to_owned()),
            next: first,
            _conversation: conversation,
        })
    }

    /// Calls one page after the other until `end`, and returns when each call ended and how long it
    /// took.
    pub(crate) async fn run(mut self, end: Instant) -> Result<Vec<(Instant, Duration)>> {
        let mut calls = Vec::new();
        for id in CALL_IDS {
            let begin = Instant::now();
            if begin >= end {
                break;
            }
            self.call(id).await.with_context(|| format!("call {id}"))?;
            calls.push((Instant::now(), begin.elapsed()));
        }
        Ok(calls)
    }

    /// Makes one call, and returns an error unless its answer is correct.
    pub(crate) async fn call(&mut self, id: u64) -> Result<()> {
        let page = self.next % self.requests.len();
        self.next += 1;
        let request = self.requests[page].with_id(id);
        let answer = self.connection.request(request).await?;
        answer.require_status(200)?;
        self.checker.check(&answer.message, id)
    }
}
