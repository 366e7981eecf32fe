//! JSON-RPC of mcp-web 0.1: what each method answers.
//!
//! A request stands for itself: nothing is looked up by its id, since clients of mcp-web 0.1 use an
//! id for several calls at a time.

use std::sync::Arc;

use bridge_protocol::{CallContext, ClientInfo, ErrorCode, QueryId, SessionId, Via};
use serde_json::json;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::arguments::Arguments;
use super::message::{self, Message, Params, Refused, Reply};
use super::pages::{Pages, Wanted};
use super::results::{self, Results};
use super::shapes::{self, CallRefused, Things, Tools};
use super::streams::McpSessions;
use crate::auth::{Principal, RealmId, Scope, Tokens};
use crate::calls::{self, Caller, Takes, Unreachable};
use crate::hub::Hub;
use crate::off_thread::{self, LARGE_BYTES};
use crate::realm::{Dialect, Ending, QueryRefusal, Realm, Request, Served, Session, is_secret};
use crate::tool::Tool;

/// A caller that hears the result and nothing else.
static UNREACHABLE: Unreachable =
    Unreachable("the client was built for mcp-web 0.1: it cannot be asked");

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

/// Whose pages a request sees.
#[derive(Debug)]
struct Sight {
    realm: RealmId,
    /// The query that it belongs to, and the only page that it sees.
    query: Option<(QueryId, SessionId)>,
    caller: Option<bridge_protocol::Caller>,
}

/// Where a request goes.
struct Place<T> {
    session: SessionId,
    dialect: Dialect,
    what: T,
}

/// A place, or what answers at once.
type Found<T> = Result<Place<T>, Vec<u8>>;

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
            self.sessions.touch(asked.mcp_session);
            return Reply::Accepted;
        }
        if message.method == "initialize" {
            return match self.initialize(&asked, &message.params).await {
                Ok(session) => self.welcome(id, session),
                Err(refused) => refused.reply(id),
            };
        }
        if asked.mcp_session.is_some() && !self.sessions.touch(asked.mcp_session) {
            return Reply::NoSuchMcpSession;
        }
        let answered = match self.sight(&asked, &message).await {
            Ok(sight) => self.method(&sight, &message).await,
            Err(refused) => Err(refused),
        };
        answered.unwrap_or_else(|refused| refused.reply(id))
    }

    /// Whom the token names, if it is good for this.
    pub(crate) async fn principal(
        &self,
        token: Option<&str>,
        needed: Option<Scope>,
    ) -> Result<Principal, ErrorCode> {
        let of_query = token.and_then(|token| self.hub.queries.principal(token));
        let principal = match of_query {
            Some(principal) => principal,
            None => self.tokens.verify(token).await,
        };
        let principal = principal.map_err(|refusal| match refusal.code {
            ErrorCode::MissingAuthentication => ErrorCode::MissingAuthentication,
            _ => ErrorCode::InvalidAuthentication,
        })?;
        match needed.map_or(Ok(()), |scope| principal.needs(scope)) {
            Ok(()) => Ok(principal),
            Err(_) => Err(ErrorCode::InvalidAuthentication),
        }
    }

    /// The agent of the query that a request names. Where its id is a secret, that is enough; else
    /// the token must be the query's or its page's, and good for this.
    async fn agent_of(
        &self,
        query: &str,
        token: Option<&str>,
        needed: Option<Scope>,
    ) -> Result<Principal, ErrorCode> {
        let id = QueryId::from(query);
        let realm = self.hub.queries.realm_of(&id);
        let is_known = match self.hub.config.uuids_are_secrets() {
            true => is_secret(&id),
            false => {
                let principal = self.principal(token, needed).await?;
                let other = principal.query.as_ref().is_some_and(|own| *own != id);
                !other && realm == Some(principal.realm)
            }
        };
        let realm = realm.filter(|_| is_known).ok_or(ErrorCode::QueryNotFound)?;
        Ok(Principal::of_query(realm, id))
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

    /// The MCP session of an agent ends with its query, unless agents are known by no token: those
    /// may keep one for all their queries.
    fn until(&self, principal: &Principal) -> CancellationToken {
        let query = principal.query.as_ref();
        let query = query.filter(|_| !self.hub.config.uuids_are_secrets());
        let life = query.and_then(|query| self.hub.queries.life_of(query));
        life.map(|life| life.over()).unwrap_or_default()
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

    /// Whose pages the request sees: those of its query, or else of its token.
    async fn sight(&self, asked: &Asked<'_>, message: &Message<'_>) -> Result<Sight, Refused> {
        let needed = Some(match message.method.as_ref() {
            "tools/call" => Scope::ToolsCall,
            _ => Scope::ToolsRead,
        });
        let principal = match message.params.meta().query() {
            Some(query) => self.agent_of(&query, asked.token, needed).await,
            None => self.principal(asked.token, needed).await,
        };
        self.sight_of(principal.map_err(Refused::Request)?)
    }

    /// All pages of a token, or the one of a query.
    fn sight_of(&self, principal: Principal) -> Result<Sight, Refused> {
        let caller = Some(principal.caller(Via::Mcp));
        let page = |id: &QueryId| {
            let read = |realm: &Realm| realm.session_of_query(id).cloned();
            let page = self.hub.read(principal.realm, read);
            let page = page.unwrap_or(Err(QueryRefusal::NotFound));
            page.map_err(|refusal| Refused::Request(refusal.code()))
        };
        let query = match principal.query {
            Some(id) => Some((id.clone(), page(&id)?)),
            None => None,
        };
        Ok(Sight {
            realm: principal.realm,
            query,
            caller,
        })
    }

    /// Looks at the pages; `None` when there is none.
    fn look<T>(&self, sight: &Sight, look: impl FnOnce(Pages<'_>) -> T) -> Option<T> {
        let read = |realm: &Realm| {
            let (query, only) = sight
                .query
                .as_ref()
                .map(|(query, only)| (query, only))
                .unzip();
            let pages = Pages::of(realm, only, query);
            (pages.count() > 0).then(|| look(pages))
        };
        self.hub.read(sight.realm, read).flatten()
    }

    async fn method(&self, sight: &Sight, message: &Message<'_>) -> Result<Reply, Refused> {
        let (id, params) = (message.id, &message.params);
        let mut out = message::begin(id, 1024);
        let wanted = || Wanted::named(params.meta().session);
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
        let wanted = wanted.or(|| Wanted::named(params.meta().session));
        let found = self.look(sight, |pages| {
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
            None => return Err(Refused::Request(ErrorCode::NoSessionsFound)),
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
        let wanted = Wanted::named(params.meta().session);
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

impl<T> Place<T> {
    fn of(id: &SessionId, page: &Session, what: T) -> Self {
        Self {
            session: id.clone(),
            dialect: page.dialect(),
            what,
        }
    }
}

impl Sight {
    fn caller(&self) -> Caller<'_> {
        Caller {
            realm: self.realm,
            session: None,
            context: CallContext {
                caller: self.caller.clone(),
                query_id: self.query.as_ref().map(|(query, _)| query.clone()),
                ..CallContext::default()
            },
            client: &UNREACHABLE,
            takes: Takes::default(),
            answers: Vec::new(),
            resumes: None,
        }
    }
}

/// Where a call goes, or what answers it at once.
fn place(
    pages: Pages<'_>,
    name: Option<&str>,
    wanted: &Wanted,
    results: Results,
) -> Found<Arc<Tool>> {
    let mut answer = Vec::new();
    let refused = match name {
        None => CallRefused::because(ErrorCode::ToolNameRequired),
        Some(name) => match (pages.allows(name), pages.meant(wanted)) {
            (Err(allowed), _) => CallRefused::not_allowed(allowed),
            (Ok(()), _) if name == shapes::LIST_SESSIONS => {
                results.told(&json!({ "sessions": pages.entries() }), &mut answer);
                return Err(answer);
            }
            (Ok(()), None) => CallRefused::session(pages),
            (Ok(()), Some((id, page))) => match page.tool(name) {
                Some(tool) => return Ok(Place::of(id, page, Arc::clone(tool))),
                None => CallRefused::tool(page),
            },
        },
    };
    results.refused(&refused, &mut answer);
    Err(answer)
}

/// Which page reads a resource, or what answers at once.
fn resource(pages: Pages<'_>, uri: Option<&str>, wanted: &Wanted) -> Found<Request> {
    let not_read = |why| {
        let mut answer = Vec::new();
        results::not_read(why, &mut answer);
        answer
    };
    let uri = match uri {
        None => return Err(not_read("Resource URI is required")),
        Some(bridge_protocol::SESSIONS_URI) => {
            let sessions = json!(pages.entries());
            return Err(own_resource(bridge_protocol::SESSIONS_URI, &sessions));
        }
        Some(uri) => uri,
    };
    let found = match pages.meant(wanted) {
        Some((id, page)) => page.serving(uri).map(|served| (id, page, served)),
        None => pages
            .each()
            .find_map(|(id, page)| Some((id, page, page.serving(uri)?))),
    };
    let (id, page, served) = found.ok_or_else(|| not_read("Resource not found"))?;
    let template = match served {
        Served::Itself => None,
        Served::Through(template, variables) => Some((template, variables)),
    };
    let uri = uri.to_owned();
    Ok(Place::of(id, page, Request::Resource { uri, template }))
}

/// The content of a resource of the bridge's own, printed with two spaces.
fn own_resource(uri: &str, content: &serde_json::Value) -> Vec<u8> {
    let text = format!("{content:#}");
    let content = json!({ "uri": uri, "mimeType": "application/json", "text": text });
    json!({ "contents": [content] }).to_string().into_bytes()
}
