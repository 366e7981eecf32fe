//! The handler of the MCP methods that rmcp serves, which responds from the realm.

use std::sync::{Arc, OnceLock, Weak};

use bridge_auth::RealmId;
use bridge_protocol::{ConnectedClient, Kind};
use bridge_realm::definition;
use bridge_realm::definition::Definition;
use bridge_realm::realm::Refusal;
use bridge_service::ClientAddress;
use rmcp::model::{
    CompleteRequestParams, CompleteResult, GetPromptRequestParams, GetPromptResponse,
    InitializeRequestParams, InitializeResult, InputRequiredResult, InputResponses,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ServerConfig, SetLevelRequestParams,
    SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde::de::DeserializeOwned;
use serde_json::value::to_raw_value;
use serde_json::{Map, Value};

use super::request_context::{
    address_of, chosen_session, client_capabilities, http_parts, opening_session, principal_of,
    realm_of,
};
use super::session::{ActivityGuard, McpSession};
use super::{capabilities, convert};
use crate::calls::builtin_resources;
use crate::calls::{self, CallOptions, CompletionRequest, PromptRequest, RoundOutcome};
use crate::cpu_pool::WorkOrder;
use crate::hub::Hub;
use crate::mcp::input_required::RequestStateSealer;
use crate::mcp::large_body::LargeBodyHint;
use crate::mcp::notifier::ClientNotifier;
use crate::mcp::peer_client::PeerClient;
use crate::mcp::request_digest::RequestDigest;
use crate::mcp::requesting_client::{RequestOptions, RequestingClient, max_event_bytes};
use crate::mcp::session_manager::RealmSessionManager;
use bridge_results::request_error::CallError;

/// The parameters with which a request resumes a call.
struct ResumeParams {
    /// The digest of the request. A request state is valid for no other request.
    digest: RequestDigest,
    request_state: Option<String>,
    input_responses: Option<InputResponses>,
}

/// The handler of one MCP session, or of one request where there are no sessions.
pub(super) struct Handler {
    hub: Arc<Hub>,
    sealer: Arc<RequestStateSealer>,
    sessions: Weak<RealmSessionManager>,
    /// The MCP session, set by `initialize`.
    session: OnceLock<Arc<McpSession>>,
}

impl Handler {
    pub(super) fn new(
        hub: Arc<Hub>,
        sealer: Arc<RequestStateSealer>,
        sessions: Weak<RealmSessionManager>,
    ) -> Self {
        Self {
            hub,
            sealer,
            sessions,
            session: OnceLock::new(),
        }
    }

    /// Connects a client to the realm. At the limit of clients of the token, the token's session
    /// that has been idle for longest is evicted.
    async fn connect_client(
        &self,
        realm: RealmId,
        address: ClientAddress,
        client: ConnectedClient,
    ) -> Result<Option<ClientNotifier>, ErrorData> {
        loop {
            let connected = ClientNotifier::connect(&self.hub, realm, address, client.clone());
            let refusal = match connected {
                Ok(connected) => return Ok(connected),
                Err(refusal) => refusal,
            };
            let Some(sessions) = self.sessions.upgrade() else {
                return Err(refusal_to_error(refusal));
            };
            if !sessions.evict_idle(realm).await {
                return Err(refusal_to_error(refusal));
            }
        }
    }

    /// Marks the session as active while the returned guard exists, whether or not its client still
    /// reads.
    fn begin_activity(&self) -> Option<ActivityGuard> {
        self.session.get().map(McpSession::begin_activity)
    }

    /// Returns the definitions of a kind that rmcp's model accepts. The bridge's own are the first.
    async fn list_definitions<T: DeserializeOwned + Send + 'static>(
        &self,
        builtin: &[Map<String, Value>],
        kind: Kind,
        context: &RequestContext<RoleServer>,
    ) -> Result<Vec<T>, ErrorData> {
        let principal = principal_of(context)?;
        let definitions = self
            .hub
            .with_realm(principal.realm, |realm| realm.published(kind))
            .unwrap_or_default();
        let modern = PeerClient::new(context).is_modern();
        let bytes = definitions.iter().map(Definition::bytes).sum();
        let convert = move || -> Vec<T> {
            let definitions = definitions.iter().map(|page| page.published_for(modern));
            let models = definitions.map(|definition| convert::to_model(&definition));
            models.filter_map(Result::ok).collect()
        };
        let failed = |failure| convert::to_error_data(CallError::Failed(failure), modern);
        let lease = self.hub.lease_answer(principal.realm, bytes);
        let lease = lease.map_err(failed)?;
        if lease.is_some() {
            LargeBodyHint::set(context, lease);
        }
        let order = WorkOrder::for_definitions(principal.realm, bytes);
        let converted = self.hub.run_work_unless_small(order, convert).await;
        let pages = converted.map_err(|error| failed(error.into()))?;
        let builtin = builtin.iter().map(convert::to_model);
        Ok(builtin.filter_map(Result::ok).chain(pages).collect())
    }

    /// Returns the caller behind a request that resumes nothing.
    fn call_options<'a>(
        &self,
        context: &RequestContext<RoleServer>,
        client: &'a PeerClient<'a>,
    ) -> Result<CallOptions<'a>, ErrorData> {
        let principal = principal_of(context)?;
        let headers = &http_parts(&context.extensions)?.headers;
        let options = RequestOptions {
            address: address_of(context)?,
            max_event_bytes: max_event_bytes(headers),
            session: chosen_session(&self.hub, principal.realm, context)?,
            // The token of a query is valid only for tools.
            query_lifetime: None,
            wants_progress: context.meta.get_progress_token().is_some(),
            log_level: match self.session.get() {
                Some(session) => Some(session.log_level()),
                None => context.meta.log_level().map(convert::log_level),
            },
        };
        let requesting = self.requesting_client(context);
        Ok(requesting.call_options(principal, options, client))
    }

    /// Runs a call until it completes or its client must answer requests.
    async fn run_round<'a, T, R: From<InputRequiredResult>, F>(
        &self,
        context: &RequestContext<RoleServer>,
        client: &'a PeerClient<'a>,
        resume: ResumeParams,
        start: impl FnOnce(CallOptions<'a>) -> F,
        complete: impl FnOnce(T) -> Result<R, ErrorData>,
    ) -> Result<R, ErrorData>
    where
        F: Future<Output = Result<RoundOutcome<T>, CallError>>,
    {
        let digest = resume.digest;
        let mut options = self.call_options(context, client)?;
        let realm = options.realm;
        let state = resume.request_state.as_deref();
        let unseal = |state| self.sealer.unseal(realm, &digest, state);
        options.resume_token = state.map(unseal).transpose()?;
        options.client_responses = convert::client_responses(resume.input_responses);
        let call = start(options);
        match run_until_cancelled(self.session.get(), context, call, client.is_modern()).await? {
            RoundOutcome::Complete(result) => complete(result),
            RoundOutcome::InputRequired {
                resume_token: token,
                requests,
            } => {
                let sealer = &self.sealer;
                let result = sealer.input_required(realm, &digest, &token, requests)?;
                Ok(result.into())
            }
        }
    }

    fn requesting_client(&self, context: &RequestContext<RoleServer>) -> RequestingClient {
        let capabilities = client_capabilities(context);
        // Without a session, rmcp returns a placeholder for the client's info. In `_meta` the info
        // is optional.
        let info = match self.session.get() {
            Some(_) => context.client_info(),
            None => context.meta.client_info(),
        };
        let version = context.protocol_version();
        RequestingClient::new(&self.hub.config, info, version, capabilities)
    }
}

/// Runs a request until its session ends or it is cancelled. Dropping `run` cancels the call in the
/// page.
async fn run_until_cancelled<T>(
    session: Option<&Arc<McpSession>>,
    context: &RequestContext<RoleServer>,
    run: impl Future<Output = Result<T, CallError>>,
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
        outcome = run => outcome.map_err(|error| convert::to_error_data(error, modern)),
    }
}

fn refusal_to_error(refusal: Refusal) -> ErrorData {
    ErrorData::internal_error(refusal.message, None)
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        capabilities::server_config(&self.hub.config)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        let answer = self.negotiate_initialize(&request)?;
        let version = answer.protocol_version.clone();
        if let Some(session) = opening_session(&context) {
            let _ = self.session.set(session);
        }
        if let Some(session) = self.session.get() {
            let capabilities = to_raw_value(&request.capabilities).ok();
            let (info, version) = (request.client_info.clone(), version.clone());
            let client =
                RequestingClient::new(&self.hub.config, Some(info), Some(version), capabilities);
            session.set_client(client, context.peer.clone());
        }
        let client = convert::connected_client(Some(request.client_info), Some(version));
        let realm = realm_of(&context)?;
        match self.session.get() {
            Some(session) => {
                // The session must not be evicted for its own client.
                let _activity = session.begin_activity();
                // A client that initialises again is still one client.
                session.set_notifier(None);
                let connected = self.connect_client(realm, session.address, client);
                session.set_notifier(connected.await?);
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
            session.start_notifications(context.peer);
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
        let (realm, address) = (realm_of(context)?, address_of(context)?);
        match self.connect_client(realm, address, client).await? {
            Some(client) => client.listen(subscription).await.map_err(refusal_to_error),
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
        let subscribe = |notifier: &ClientNotifier| notifier.subscribe(request.uri);
        let session = self.session.get();
        let subscribed = session.and_then(|session| session.with_notifier(subscribe));
        subscribed.unwrap_or(Ok(())).map_err(refusal_to_error)
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if let Some(session) = self.session.get() {
            session.with_notifier(|client| client.unsubscribe(&request.uri));
        }
        Ok(())
    }

    async fn list_prompts(
        &self,
        _page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let prompts = self.list_definitions(&[], Kind::Prompt, &context).await?;
        Ok(ListPromptsResult::with_all_items(prompts))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let _activity = self.begin_activity();
        let client = PeerClient::new(&context);
        let resume = ResumeParams {
            digest: RequestDigest::new("prompts/get", &request.name, request.arguments.as_ref()),
            request_state: request.request_state,
            input_responses: request.input_responses,
        };
        let start = |caller| {
            let prompt = PromptRequest {
                caller,
                name: request.name,
                arguments: request.arguments.unwrap_or_default(),
            };
            calls::get_prompt(&self.hub, prompt)
        };
        let complete = |result| {
            Ok(GetPromptResponse::Complete(convert::to_page_result(
                result,
            )?))
        };
        self.run_round(&context, &client, resume, start, complete)
            .await
    }

    async fn list_resources(
        &self,
        _page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resources = self
            .list_definitions(&builtin_resources::DEFINITIONS, Kind::Resource, &context)
            .await?;
        Ok(ListResourcesResult::with_all_items(resources))
    }

    async fn list_resource_templates(
        &self,
        _page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates = self
            .list_definitions(&[], Kind::ResourceTemplate, &context)
            .await?;
        Ok(ListResourceTemplatesResult::with_all_items(templates))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let _activity = self.begin_activity();
        let uri = request.uri;
        let client = PeerClient::new(&context);
        if definition::reserved::is_builtin_resource(&uri) {
            let options = self.call_options(&context, &client)?;
            let read = builtin_resources::read(&self.hub, &options, &uri).await;
            let read = read.map_err(|error| convert::to_error_data(error, client.is_modern()))?;
            return Ok(ReadResourceResponse::Complete(convert::to_page_result(
                read,
            )?));
        }
        let resume = ResumeParams {
            digest: RequestDigest::new("resources/read", &uri, None),
            request_state: request.request_state,
            input_responses: request.input_responses,
        };
        let start = |caller| calls::read_resource(&self.hub, caller, uri);
        let complete = |result| {
            Ok(ReadResourceResponse::Complete(convert::to_page_result(
                result,
            )?))
        };
        self.run_round(&context, &client, resume, start, complete)
            .await
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let client = PeerClient::muted(&context);
        let completion = CompletionRequest {
            caller: self.call_options(&context, &client)?,
            reference: convert::reference(request.r#ref)?,
            argument: convert::argument(request.argument),
            arguments: request
                .context
                .and_then(|context| context.arguments)
                .unwrap_or_default()
                .into_iter()
                .collect(),
        };
        let future = calls::complete(&self.hub, completion);
        let proposals =
            run_until_cancelled(self.session.get(), &context, future, client.is_modern()).await?;
        Ok(convert::to_complete_result(proposals))
    }
}
