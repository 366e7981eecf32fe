//! JSON-RPC of mcp-web 0.1: what each method answers.
//!
//! A request stands for itself: nothing is looked up by its id, since clients of mcp-web 0.1 use an
//! id for several calls at a time.

mod places;
mod sight;

use std::sync::Arc;

use bridge_protocol::{ClientInfo, ErrorCode};
use serde_json::json;
use serde_json::value::RawValue;

use super::arguments::Arguments;
use super::message::{self, Message, Params, Refused, Reply};
use super::pages::Wanted;
use super::results::{self, Results};
use super::shapes::{self, CallRefused, Things, Tools};
use super::streams::McpSessions;
use crate::auth::Tokens;
use crate::calls;
use crate::hub::Hub;
use crate::off_thread::{self, LARGE_BYTES};
use crate::realm::{Dialect, Ending, Request};
use crate::tool::Tool;
use places::{Place, own_resource, place, resource};
use sight::Sight;

/// The leg of clients built for mcp-web 0.1.
#[derive(Debug)]
pub(crate) struct Leg {
    hub: Arc<Hub>,
    tokens: Arc<Tokens>,
    pub(crate) sessions: McpSessions,
}

/// A request as it came.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) body: &'a [u8],
    pub(crate) token: Option<&'a str>,
    pub(crate) mcp_session: Option<&'a str>,
}

impl Leg {
    pub(crate) fn new(hub: &Arc<Hub>, tokens: &Arc<Tokens>) -> Self {
        Self {
            hub: Arc::clone(hub),
            tokens: Arc::clone(tokens),
            sessions: McpSessions::new(hub),
        }
    }

    /// Answers a message.
    pub(crate) async fn answer(&self, asked: Asked<'_>) -> Reply {
        let Some(message) = Message::read(asked.body) else {
            return Refused::Body.reply(None);
        };
        let id = message.id;
        if message.method.starts_with("notifications/") {
            let _used = asked.mcp_session.map(|id| self.sessions.answering(id));
            return Reply::Accepted;
        }
        if message.method == "initialize" {
            return match self.initialize(&asked, &message.params).await {
                Ok(session) => self.welcome(id, session),
                Err(refused) => refused.reply(id),
            };
        }
        let answering = match asked.mcp_session.map(|id| self.sessions.answering(id)) {
            Some(None) => return Reply::NoSuchMcpSession,
            answering => answering.flatten(),
        };
        let answered = match self.sight(&asked, &message).await {
            // A session of another token is as good as none.
            Ok(sight)
                if answering
                    .as_ref()
                    .is_some_and(|of| !of.is_of(sight.realm())) =>
            {
                return Reply::NoSuchMcpSession;
            }
            Ok(sight) => self.method(&sight, &message).await,
            Err(refused) => Err(refused),
        };
        answered.unwrap_or_else(|refused| refused.reply(id))
    }

    async fn initialize(&self, asked: &Asked<'_>, params: &Params<'_>) -> Result<String, Refused> {
        let principal = match params.meta().query() {
            Some(query) => self.agent_of(&query, asked.token, None).await,
            None => self.principal(asked.token, None).await,
        };
        let principal = principal.map_err(Refused::Request)?;
        let unnamed = || ClientInfo {
            name: "a client of mcp-web 0.1".to_owned(),
            version: None,
            title: None,
        };
        let info = params.client_info().unwrap_or_else(unnamed);
        let opened = self.sessions.open(&principal, info, self.until(&principal));
        opened.map_err(|_| Refused::Request(ErrorCode::SessionLimitExceeded))
    }

    fn welcome(&self, id: Option<&RawValue>, session: String) -> Reply {
        let result = json!({
            "protocolVersion": "2024-11-05",
            "capabilities": { "tools": { "listChanged": true }, "resources": {}, "prompts": {} },
            "serverInfo": self.hub.config.about(),
        });
        match message::result(id, result.to_string().as_bytes()) {
            Reply::Message { body, .. } => Reply::Message {
                body,
                mcp_session: Some(session),
            },
            other => other,
        }
    }

    async fn method(&self, sight: &Sight, message: &Message<'_>) -> Result<Reply, Refused> {
        let (id, params) = (message.id, &message.params);
        let mut out = message::begin(id, 1024);
        let wanted = || Wanted::named(params.meta().session());
        match message.method.as_ref() {
            "tools/call" => self.call(sight, params, &mut out).await?,
            "tools/list" => {
                let tools = self.look(sight, |pages| Tools::of(pages, &wanted()));
                self.list(tools, "tools/list", &mut out, Tools::write)?;
            }
            "resources/list" => {
                let things = self.look(sight, |pages| Things::resources(pages, &wanted()));
                self.list(things, "resources/list", &mut out, Things::write)?;
            }
            "prompts/list" => {
                let things = self.look(sight, |pages| Things::prompts(pages, &wanted()));
                self.list(things, "prompts/list", &mut out, Things::write)?;
            }
            "resources/read" => self.read(sight, params, &mut out).await?,
            _ if self.look(sight, |_| ()).is_none() => {
                return Err(Refused::Request(ErrorCode::NoSessionsFound));
            }
            _ => return Err(Refused::UnknownMethod),
        }
        Ok(message::end(out))
    }

    fn list<T>(
        &self,
        list: Option<Option<T>>,
        method: &str,
        out: &mut Vec<u8>,
        write: impl FnOnce(&T, &mut Vec<u8>),
    ) -> Result<(), Refused> {
        match list {
            Some(Some(list)) => write(&list, out),
            Some(None) => return Err(Refused::NoSuchSession),
            None => {
                let empty = shapes::without_pages(method).unwrap_or_default();
                out.extend_from_slice(empty.as_bytes());
            }
        }
        Ok(())
    }

    async fn call(
        &self,
        sight: &Sight,
        params: &Params<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Refused> {
        let results = Results::new(self.hub.config.max_result_bytes);
        let name = params.name();
        let arguments = Arguments::read(params.arguments);
        let wanted = match &arguments {
            Ok(arguments) => arguments.wanted.clone(),
            Err(_) => Wanted::Any,
        };
        let found = self.look(sight, |pages| {
            let wanted = wanted.or(|| pages.named_in_meta(&params.meta()));
            place(pages, name.as_deref(), &wanted, results)
        });
        let place = match found {
            Some(Ok(place)) => place,
            Some(Err(answer)) => {
                out.extend_from_slice(&answer);
                return Ok(());
            }
            None if name.as_deref() == Some(shapes::CONNECTION_STATUS) => {
                results.told(&shapes::NOT_CONNECTED, out);
                return Ok(());
            }
            None => {
                results.no_page(out);
                return Ok(());
            }
        };
        let Ok(arguments) = arguments else {
            results.refused(&CallRefused::arguments(), out);
            return Ok(());
        };
        let results = results.of(place.dialect);
        let ending = self.run_tool(sight, place, arguments.input).await;
        self.shaped(results, ending, out).await;
        Ok(())
    }

    async fn run_tool(
        &self,
        sight: &Sight,
        place: Place<Arc<Tool>>,
        input: Box<RawValue>,
    ) -> Ending {
        let tool = place.what;
        let input = match place.dialect {
            // It reads its arguments itself: nobody else did.
            Dialect::V1 => Ok(input),
            Dialect::V2 => calls::checked_arguments(&tool, input).await,
        };
        let input = match input {
            Ok(input) => input,
            Err(misfit) => return Ending::Failed(misfit),
        };
        let run = Request::Tool { tool, input };
        calls::run(&self.hub, sight.caller(), &place.session, run).await
    }

    /// Writes what came of a call; what takes long is written on another thread.
    async fn shaped(&self, results: Results, ending: Ending, out: &mut Vec<u8>) {
        let large = matches!(&ending, Ending::Answered(answer) if answer.bytes() >= LARGE_BYTES);
        if !large {
            return results.called(ending, out);
        }
        let mut begun = std::mem::take(out);
        let written = off_thread::run(move || {
            results.called(ending, &mut begun);
            begun
        });
        *out = written.await.unwrap_or_default();
    }

    async fn read(
        &self,
        sight: &Sight,
        params: &Params<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Refused> {
        let uri = params.uri();
        let wanted = Wanted::named(params.meta().session());
        let found = self.look(sight, |pages| resource(pages, uri.as_deref(), &wanted));
        let no_page = || match uri.as_deref() {
            Some(bridge_protocol::STATUS_URI) => {
                let status = json!(shapes::NOT_CONNECTED);
                Ok(Err(own_resource(bridge_protocol::STATUS_URI, &status)))
            }
            _ => Err(Refused::Request(ErrorCode::NoSessionsFound)),
        };
        match found.map_or_else(no_page, Ok)? {
            Err(answer) => out.extend_from_slice(&answer),
            Ok(place) => {
                let (session, run) = (place.session, place.what);
                let ending = calls::run(&self.hub, sight.caller(), &session, run).await;
                results::read(&ending, out);
            }
        }
        Ok(())
    }
}
