//! The MCP methods, answered from the realm.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock, Weak};

use bridge_protocol::{ConnectedClient, Kind, SessionId};
use http::request::Parts;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, Extensions,
    GetPromptRequestParams, GetPromptResponse, InitializeRequestParams, InitializeResult,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ServerConfig,
    SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, Tool as McpTool,
    UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde::de::DeserializeOwned;
use serde_json::value::to_raw_value;
use serde_json::{Map, Value};

use super::clients::Client;
use super::encoding::Large;
use super::known::{Known, Wishes, event_bytes};
use super::reach::Reach;
use super::rounds::{Asked, Seal};
use super::session::{Open, Session};
use super::session_choice::{BARE_SESSION_KEY, NO_SESSION_TEXT, SESSION_KEY, SessionChoice};
use super::sessions::BoundSessions;
use super::{REALM, capabilities, convert};
use crate::auth::{Principal, RealmId};
use crate::calls::{self, CallRequest, Caller, CompletionRequest, Outcome, PromptRequest};
use crate::config::RESULT_SIZE_KEY;
use crate::definition::Definition;
use crate::hub::Hub;
use crate::off_thread::LARGE_BYTES;
use crate::realm::Refusal;
use crate::result::size;
use crate::{meta_tools, own_resources};

/// The header with which a client pins itself to a page.
pub(super) const SESSION_PIN: &str = "mcp-web-session";

/// The key of a request's `_meta` with the client's capabilities (MCP 2026-07-28, "Lifecycle").
const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// One per MCP session, or per request where there are no sessions.
pub(super) struct Handler {
    hub: Arc<Hub>,
    seal: Arc<Seal>,
    sessions: Weak<BoundSessions>,
    /// The MCP session, from `initialize` on.
    session: OnceLock<Arc<Session>>,
}

impl Handler {
    pub(super) fn new(hub: Arc<Hub>, seal: Arc<Seal>, sessions: Weak<BoundSessions>) -> Self {
        Self {
            hub,
            seal,
            sessions,
            session: OnceLock::new(),
        }
    }

    /// Gives a client its place in the realm. Where the token has no more, its session that has been
    /// idle for longest makes room.
    async fn connect(
        &self,
        realm: RealmId,
        client: ConnectedClient,
    ) -> Result<Option<Client>, ErrorData> {
        loop {
            let refusal = match Client::connect(&self.hub, realm, client.clone()) {
                Ok(connected) => return Ok(connected),
                Err(refusal) => refusal,
            };
            let Some(sessions) = self.sessions.upgrade() else {
                return Err(refused(refusal));
            };
            if !sessions.evict_idle(realm).await {
                return Err(refused(refusal));
            }
        }
    }

    /// A request of this session is being answered as long as this lives, whether or not its client
    /// still reads.
    fn open(&self) -> Option<Open> {
        self.session.get().map(Session::open)
    }

    /// What is listed of a kind, as far as the model takes it: the bridge's own first.
    fn list<T: DeserializeOwned>(
        &self,
        own: &[Map<String, Value>],
        kind: Kind,
        context: &RequestContext<RoleServer>,
    ) -> Result<Vec<T>, ErrorData> {
        let principal = principal_of(context)?;
        let (own, pages) = match &principal.query {
            // Its tools are all that an agent may see.
            Some(query) => {
                let tools = calls::tools_of_query(&self.hub, principal.realm, query);
                (&[][..], tools)
            }
            None => (own, self.published(principal.realm, kind)),
        };
        let modern = Reach::new(context).modern();
        let pages = pages.iter().map(|page| page.published_for(modern));
        Ok(own
            .iter()
            .map(Cow::Borrowed)
            .chain(pages)
            .filter_map(|definition| convert::model(&definition).ok())
            .collect())
    }

    fn published(&self, realm: RealmId, kind: Kind) -> Vec<Definition> {
        let published = self.hub.read(realm, |realm| realm.published(kind));
        published.unwrap_or_default()
    }

    /// The caller behind a request, with what it brings back from an earlier round.
    fn caller<'a>(
        &self,
        context: &RequestContext<RoleServer>,
        reach: &'a Reach<'a>,
        asked: Asked,
        is_tool: bool,
    ) -> Result<Caller<'a>, ErrorData> {
        let principal = principal_of(context)?;
        let headers = &parts(&context.extensions)?.headers;
        let wishes = Wishes {
            event_bytes: event_bytes(headers),
            session: session_of(&self.hub, principal.realm, context)?,
            progress: context.meta.get_progress_token().is_some(),
            log_level: match self.session.get() {
                Some(session) => Some(session.log_level()),
                None => context.meta.log_level().map(convert::log_level),
            },
        };
        let known = self.known(context);
        let caller = match is_tool {
            true => known.tool_caller(principal, wishes, reach),
            false => known.caller(principal, wishes, reach),
        };
        Ok(Caller {
            resumes: self.seal.open(principal.realm, &asked)?,
            answers: convert::answers(asked.responses),
            ..caller
        })
    }

    fn known(&self, context: &RequestContext<RoleServer>) -> Known {
        let declared = match context.meta.0.get(CLIENT_CAPABILITIES) {
            Some(declared) => to_raw_value(declared).ok(),
            None => context
                .client_capabilities()
                .and_then(|declared| to_raw_value(&declared).ok()),
        };
        // Without a session rmcp makes a client up. Clients may leave out who they are.
        let info = match self.session.get() {
            Some(_) => context.client_info(),
            None => context.meta.client_info(),
        };
        let version = context.protocol_version();
        Known::new(&self.hub.config, info, version, declared)
    }
}

/// Runs a request. Dropping it cancels it in the page.
async fn unless_cancelled<T>(
    session: Option<&Arc<Session>>,
    context: &RequestContext<RoleServer>,
    run: impl Future<Output = Result<T, calls::CallError>>,
    modern: bool,
) -> Result<T, ErrorData> {
    let session_ended = async {
        match session {
            Some(session) => session.ended().await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = session_ended => {
            Err(ErrorData::internal_error("the MCP session has ended", None))
        }
        () = context.ct.cancelled() => {
            Err(ErrorData::internal_error("the call was cancelled", None))
        }
        outcome = run => outcome.map_err(|error| convert::error(error, modern)),
    }
}

fn refused(refusal: Refusal) -> ErrorData {
    ErrorData::internal_error(refusal.message, None)
}

fn parts(extensions: &Extensions) -> Result<&Parts, ErrorData> {
    let parts = extensions.get::<Parts>();
    parts.ok_or_else(|| ErrorData::internal_error("the request came without its HTTP head", None))
}

fn principal_of(context: &RequestContext<RoleServer>) -> Result<&Principal, ErrorData> {
    let principal = parts(&context.extensions)?.extensions.get::<Principal>();
    principal.ok_or_else(|| ErrorData::internal_error("the request came without its token", None))
}

fn realm_of(context: &RequestContext<RoleServer>) -> Result<RealmId, ErrorData> {
    Ok(principal_of(context)?.realm)
}

/// The MCP session that the request opens.
fn session_in(context: &RequestContext<RoleServer>) -> Option<Arc<Session>> {
    let parts = context.extensions.get::<Parts>()?;
    parts.extensions.get::<Arc<Session>>().cloned()
}

/// The page that a request names.
fn session_of(
    hub: &Hub,
    realm: RealmId,
    context: &RequestContext<RoleServer>,
) -> Result<Option<SessionId>, ErrorData> {
    let meta = &context.meta.0;
    let own = match meta.get(SESSION_KEY) {
        Some(own) => {
            let not_text = || ErrorData::invalid_params(NO_SESSION_TEXT, None);
            Some(own.as_str().ok_or_else(not_text)?)
        }
        None => None,
    };
    let headers = &parts(&context.extensions)?.headers;
    let choice = SessionChoice {
        own,
        bare: meta.get(BARE_SESSION_KEY).and_then(Value::as_str),
        pin: headers.get(SESSION_PIN).and_then(|pin| pin.to_str().ok()),
    };
    Ok(choice.resolve(hub, realm))
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        capabilities::server(&self.hub.config)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        let answer = self.negotiate_initialize(&request)?;
        let version = answer.protocol_version.clone();
        if let Some(session) = session_in(&context) {
            let _ = self.session.set(session);
        }
        if let Some(session) = self.session.get() {
            let declared = to_raw_value(&request.capabilities).ok();
            let (info, version) = (request.client_info.clone(), version.clone());
            let known = Known::new(&self.hub.config, Some(info), Some(version), declared);
            session.initialized_by(known.able_to(&request.capabilities));
        }
        let client = convert::connected_client(Some(request.client_info), Some(version));
        let realm = realm_of(&context)?;
        match self.session.get() {
            Some(session) => {
                // It makes no room for itself.
                let _open = session.open();
                // A client that initialises again is still one client.
                session.connected(None);
                session.connected(self.connect(realm, client).await?);
            }
            None => {
                return Err(ErrorData::internal_error(
                    "the request opens no session",
                    None,
                ));
            }
        }
        Ok(answer)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        if let Some(session) = self.session.get() {
            session.ready(context.peer);
        }
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if let Some(session) = self.session.get() {
            session.set_log_level(convert::log_level(request.level));
        }
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        let context = subscription.request_context();
        let client = convert::connected_client(context.client_info(), context.protocol_version());
        match self.connect(realm_of(context)?, client).await? {
            Some(client) => client.listen(subscription).await.map_err(refused),
            None => {
                subscription.cancelled().await;
                Ok(())
            }
        }
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let subscribe = |client: &Client| client.subscribe(request.uri);
        let session = self.session.get();
        let subscribed = session.and_then(|session| session.with_client(subscribe));
        subscribed.unwrap_or(Ok(())).map_err(refused)
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if let Some(session) = self.session.get() {
            session.with_client(|client| client.unsubscribe(&request.uri));
        }
        Ok(())
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        calls::page_of_query(&self.hub, principal_of(&context)?).await;
        let mut tools: Vec<McpTool> = self.list(&meta_tools::DEFINITIONS, Kind::Tool, &context)?;
        if let Some(chars) = self.known(&context).result_size_to_publish() {
            for tool in &mut tools {
                let meta = tool.meta.get_or_insert_default();
                meta.0.entry(RESULT_SIZE_KEY).or_insert(chars.into());
            }
        }
        Ok(ListToolsResult::with_all_items(tools))
    }

    /// rmcp asks before a call, outside any request context.
    fn get_tool(&self, name: &str) -> Option<McpTool> {
        let pages = self.published(REALM.try_get().ok()?, Kind::Tool);
        let pages = pages.iter().map(Definition::published);
        meta_tools::DEFINITIONS
            .iter()
            .chain(pages)
            .find(|definition| definition.get("name").is_some_and(|own| own == name))
            .and_then(|definition| convert::model(definition).ok())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let _open = self.open();
        let reach = Reach::new(&context);
        let asked = Asked {
            what: format!("tools/call {}", request.name),
            state: request.request_state,
            responses: request.input_responses,
        };
        let what = asked.what.clone();
        let caller = self.caller(&context, &reach, asked, true)?;
        let realm = caller.realm;
        let call = CallRequest {
            caller,
            tool: request.name.into_owned(),
            arguments: request.arguments.unwrap_or_default().into(),
        };
        let run = calls::call(&self.hub, call);
        match unless_cancelled(self.session.get(), &context, run, reach.modern()).await? {
            Outcome::Done(result) => {
                if !size::is_surely_within(&result, LARGE_BYTES) {
                    Large::expect(&context);
                }
                Ok(convert::result(result)?.into())
            }
            Outcome::InputRequired { ticket, requests } => Ok(self
                .seal
                .input_required(realm, &what, &ticket, requests)?
                .into()),
        }
    }

    async fn list_prompts(
        &self,
        _page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let prompts = self.list(&[], Kind::Prompt, &context)?;
        Ok(ListPromptsResult::with_all_items(prompts))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let _open = self.open();
        let reach = Reach::new(&context);
        let asked = Asked {
            what: format!("prompts/get {}", request.name),
            state: request.request_state,
            responses: request.input_responses,
        };
        let what = asked.what.clone();
        let caller = self.caller(&context, &reach, asked, false)?;
        let realm = caller.realm;
        let prompt = PromptRequest {
            caller,
            name: request.name,
            arguments: request.arguments.unwrap_or_default(),
        };
        let run = calls::get_prompt(&self.hub, prompt);
        match unless_cancelled(self.session.get(), &context, run, reach.modern()).await? {
            Outcome::Done(result) => Ok(GetPromptResponse::Complete(convert::answer(result)?)),
            Outcome::InputRequired { ticket, requests } => Ok(self
                .seal
                .input_required(realm, &what, &ticket, requests)?
                .into()),
        }
    }

    async fn list_resources(
        &self,
        _page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resources = self.list(&own_resources::DEFINITIONS, Kind::Resource, &context)?;
        Ok(ListResourcesResult::with_all_items(resources))
    }

    async fn list_resource_templates(
        &self,
        _page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates = self.list(&[], Kind::ResourceTemplate, &context)?;
        Ok(ListResourceTemplatesResult::with_all_items(templates))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let _open = self.open();
        let uri = request.uri;
        let reach = Reach::new(&context);
        if own_resources::is_one(&uri) {
            let caller = self.caller(&context, &reach, Asked::nothing(), false)?;
            let read = own_resources::read(&self.hub, &caller, &uri).await;
            let read = read.map_err(|error| convert::error(error, reach.modern()))?;
            return Ok(ReadResourceResponse::Complete(convert::answer(read)?));
        }
        let asked = Asked {
            what: format!("resources/read {uri}"),
            state: request.request_state,
            responses: request.input_responses,
        };
        let what = asked.what.clone();
        let caller = self.caller(&context, &reach, asked, false)?;
        let realm = caller.realm;
        let run = calls::read_resource(&self.hub, caller, uri);
        match unless_cancelled(self.session.get(), &context, run, reach.modern()).await? {
            Outcome::Done(result) => Ok(ReadResourceResponse::Complete(convert::answer(result)?)),
            Outcome::InputRequired { ticket, requests } => Ok(self
                .seal
                .input_required(realm, &what, &ticket, requests)?
                .into()),
        }
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let reach = Reach::mute(&context);
        let completion = CompletionRequest {
            caller: self.caller(&context, &reach, Asked::nothing(), false)?,
            reference: convert::reference(request.r#ref)?,
            argument: convert::argument(request.argument),
            arguments: request
                .context
                .and_then(|context| context.arguments)
                .unwrap_or_default()
                .into_iter()
                .collect(),
        };
        let run = calls::complete(&self.hub, completion);
        let proposals = unless_cancelled(self.session.get(), &context, run, reach.modern()).await?;
        Ok(convert::completion(proposals))
    }
}
