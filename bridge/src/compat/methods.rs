//! The JSON-RPC methods of mcp-web 0.1.
//!
//! No request is looked up by its id: clients of mcp-web 0.1 use the same id for several concurrent
//! calls.

mod routing;
mod scope;

use std::sync::Arc;

use bridge_auth::RealmId;
use bridge_compat::arguments::CompatArguments;
use bridge_compat::call_rejection::CallRejection;
use bridge_compat::json_rpc::{self, CompatMessage, Params, Reply, RpcError};
use bridge_compat::lists::{CONNECTION_STATUS, ItemList, NOT_CONNECTED, ToolList, empty_list};
use bridge_compat::page_selector::PageSelector;
use bridge_compat::results::{self, ResultWriter};
use bridge_protocol::{ClientInfo, ErrorCode};
use serde_json::json;
use serde_json::value::RawValue;

use super::lists;
use crate::budget::{Delivery, INLINE_LIMIT, ScanTurn, WorkError, WorkOrder};
use crate::calls::{self, CallRecord, Recorded};
use crate::compat::service::{CompatRequest, CompatService};
use crate::counters::CountedEnd;
use bridge_realm::definition::tool::SharedTool;
use bridge_realm::realm::{CallFailure, CallOutcome, PageRequest};
use routing::{CallTarget, builtin_resource, route_call, route_resource};
use scope::RequestScope;

impl CompatService {
    /// Answers a JSON-RPC message, which is parsed in the first poll. `scan_turn` is the turn of its
    /// body.
    pub(crate) async fn answer(
        &self,
        request: CompatRequest<'_>,
        scan_turn: Option<ScanTurn>,
    ) -> Reply {
        let message = CompatMessage::parse(request.body);
        drop(scan_turn);
        let Some(message) = message else {
            return RpcError::InvalidBody.into_reply(None);
        };
        let id = message.id;
        if message.method.starts_with("notifications/") {
            let _request = request
                .mcp_session
                .map(|id| self.sessions.begin_request(id));
            return Reply::Accepted;
        }
        if message.method == "initialize" {
            return match self.initialize(&request, &message.params).await {
                Ok(session) => self.initialize_reply(id, session),
                Err(error) => error.into_reply(id),
            };
        }
        let request_guard = match request
            .mcp_session
            .map(|id| self.sessions.begin_request(id))
        {
            Some(None) => return Reply::NoSuchMcpSession,
            request_guard => request_guard.flatten(),
        };
        let reply = match self.resolve_scope(&request, &message).await {
            // The session of another token is treated as if it did not exist.
            Ok(scope)
                if request_guard
                    .as_ref()
                    .is_some_and(|guard| !guard.belongs_to(scope.realm())) =>
            {
                return Reply::NoSuchMcpSession;
            }
            Ok(scope) => {
                let mut record = None;
                let reply = self.dispatch(&scope, &message, &mut record).await;
                let reply = reply.and_then(|reply| self.lease_reply(&scope, reply));
                if let Some(mut record) = record {
                    if let Err(RpcError::InvalidRequest(code)) = &reply {
                        record.set_answer(CountedEnd::Failed(Some(*code)));
                    }
                    record.delivered();
                }
                reply
            }
            Err(error) => Err(error),
        };
        reply.unwrap_or_else(|error| error.into_reply(id))
    }

    /// Waits until a part of a request may be scanned on this thread.
    async fn scan_turn(&self, realm: RealmId, bytes: usize) -> Result<Option<ScanTurn>, RpcError> {
        let turn = self.hub.budgets.cpu_pool.scan_turn(realm, bytes).await;
        turn.map_err(work_failed)
    }

    /// Acquires a lease on the bytes of a large reply until the client has read it.
    fn lease_reply(&self, scope: &RequestScope, reply: Reply) -> Result<Reply, RpcError> {
        let Reply::Message { body, mcp_session } = reply else {
            return Ok(reply);
        };
        let leased = self
            .hub
            .lease_answer(scope.realm(), scope.address(), body.len());
        let body = match leased {
            Ok(Some(lease)) => lease.attach_to(body),
            Ok(None) => body,
            Err(failure) => return Err(RpcError::InvalidRequest(failure.code)),
        };
        Ok(Reply::Message { body, mcp_session })
    }

    async fn initialize(
        &self,
        request: &CompatRequest<'_>,
        params: &Params<'_>,
    ) -> Result<String, RpcError> {
        let principal = match params.meta().query() {
            Some(query) => self.authorize_query(&query, request.caller, None),
            None => request.caller.clone(),
        };
        let principal = principal.map_err(RpcError::InvalidRequest)?;
        let default_info = || ClientInfo {
            name: "a client of mcp-web 0.1".to_owned(),
            version: None,
            title: None,
        };
        let info = params.client_info().unwrap_or_else(default_info);
        let ended = self.query_end_token(&principal);
        let session = self.sessions.open(&principal, request.address, info, ended);
        session.map_err(|_| RpcError::InvalidRequest(ErrorCode::SessionLimitExceeded))
    }

    fn initialize_reply(&self, id: Option<&RawValue>, session: String) -> Reply {
        let result = json!({
            "protocolVersion": "2024-11-05",
            "capabilities": { "tools": { "listChanged": true }, "resources": {}, "prompts": {} },
            "serverInfo": self.hub.config.info.to_json(),
        });
        match json_rpc::result_reply(id, result.to_string().as_bytes()) {
            Reply::Message { body, .. } => Reply::Message {
                body,
                mcp_session: Some(session),
            },
            other => other,
        }
    }

    /// Answers a request. `record` becomes the record of its call, if it is one.
    async fn dispatch(
        &self,
        scope: &RequestScope,
        message: &CompatMessage<'_>,
        record: &mut Option<CallRecord>,
    ) -> Result<Reply, RpcError> {
        let (id, params) = (message.id, &message.params);
        let mut out = json_rpc::begin_response(id, 1024);
        let selector = || PageSelector::from_raw(params.meta().session());
        match message.method.as_ref() {
            "tools/call" => *record = self.call_tool(scope, params, &mut out).await?,
            "tools/list" => {
                let tools = self.with_pages(scope, |pages| lists::tools(pages, &selector()));
                let order = match &tools {
                    Some(Some(tools)) => lists::work_order(tools, scope.realm()),
                    _ => None,
                };
                let write = move || {
                    write_list(tools, "tools/list", &mut out, ToolList::write).map(|()| out)
                };
                let written = self.hub.run_work_unless_small(order, write).await;
                out = written.map_err(work_failed)??;
            }
            "resources/list" => {
                let items = self.with_pages(scope, |pages| lists::resources(pages, &selector()));
                write_list(items, "resources/list", &mut out, ItemList::write)?;
            }
            "prompts/list" => {
                let items = self.with_pages(scope, |pages| lists::prompts(pages, &selector()));
                write_list(items, "prompts/list", &mut out, ItemList::write)?;
            }
            "resources/read" => *record = self.read_resource(scope, params, &mut out).await?,
            _ if self.with_pages(scope, |_| ()).is_none() => {
                return Err(RpcError::InvalidRequest(ErrorCode::NoSessionsFound));
            }
            _ => return Err(RpcError::UnknownMethod),
        }
        Ok(json_rpc::finish_response(out))
    }

    async fn call_tool(
        &self,
        scope: &RequestScope,
        params: &Params<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Option<CallRecord>, RpcError> {
        let results = ResultWriter::new(self.hub.config.results.max_result_bytes);
        let name = params.name();
        let bytes = params
            .arguments
            .map_or(0, |arguments| arguments.get().len());
        let scan_turn = self.scan_turn(scope.realm(), bytes).await?;
        let arguments = CompatArguments::parse(params.arguments);
        drop(scan_turn);
        let selector = match &arguments {
            Ok(arguments) => arguments.selector.clone(),
            Err(_) => PageSelector::Any,
        };
        let routed = self.with_pages(scope, |pages| {
            let selector = selector.or_else(|| pages.selector_from_meta(&params.meta()));
            route_call(pages, name.as_deref(), &selector, results)
        });
        let target = match routed {
            Some(Ok(target)) => target,
            Some(Err(answer)) => {
                out.extend_from_slice(&answer);
                return Ok(None);
            }
            None if name.as_deref() == Some(CONNECTION_STATUS) => {
                results.write_success(&NOT_CONNECTED, out);
                return Ok(None);
            }
            None => {
                results.write_no_page(out);
                return Ok(None);
            }
        };
        let Ok(arguments) = arguments else {
            results.write_error(&CallRejection::invalid_arguments(), out);
            return Ok(None);
        };
        let results = results.for_page(target.abilities);
        let (outcome, mut record) = match self.run_tool(scope, target, arguments.input).await {
            Ok(Recorded { outcome, record }) => (outcome, Some(record)),
            Err(failure) => (CallOutcome::Failed(failure), None),
        };
        let failure = self.write_outcome(scope, results, outcome, out).await;
        if let (Some(code), Some(record)) = (failure, &mut record) {
            record.set_answer(CountedEnd::Failed(Some(code)));
        }
        Ok(record)
    }

    async fn run_tool(
        &self,
        scope: &RequestScope,
        target: CallTarget<Arc<SharedTool>>,
        input: Box<RawValue>,
    ) -> Result<Recorded<CallOutcome>, CallFailure> {
        let tool = target.item;
        self.hub.parse_tool(scope.realm(), &tool).await?;
        let input = if target.abilities.validates_arguments {
            Ok(input)
        } else {
            calls::validate_raw_arguments(&self.hub, scope.realm(), &tool, input).await
        };
        let request = PageRequest::Tool {
            tool,
            input: input?,
        };
        let options = scope.call_options();
        Ok(calls::call_raw(&self.hub, options, &target.session, request).await)
    }

    /// Writes the outcome of a call. A large one is encoded in the CPU pool. Returns the code of a
    /// failure that replaces the outcome.
    async fn write_outcome(
        &self,
        scope: &RequestScope,
        results: ResultWriter,
        outcome: CallOutcome,
        out: &mut Vec<u8>,
    ) -> Option<ErrorCode> {
        let bytes = match &outcome {
            CallOutcome::Answered(answer) => answer.bytes(),
            CallOutcome::Failed(_) => 0,
        };
        if bytes < INLINE_LIMIT {
            results.write_outcome(outcome, out);
            return None;
        }
        let order = WorkOrder::for_json(scope.realm(), bytes);
        let mut body = out.clone();
        let work = move || {
            results.write_outcome(outcome, &mut body);
            body
        };
        match self.hub.run_work(order, work).await {
            Ok(body) => {
                *out = body;
                None
            }
            Err(error) => {
                let failure = error.after_call();
                let code = failure.code;
                results.write_outcome(CallOutcome::Failed(failure), out);
                Some(code)
            }
        }
    }

    async fn read_resource(
        &self,
        scope: &RequestScope,
        params: &Params<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Option<CallRecord>, RpcError> {
        let uri = params.uri();
        let selector = PageSelector::from_raw(params.meta().session());
        let routed = self.with_pages(scope, |pages| {
            route_resource(pages, uri.as_deref(), &selector)
        });
        let no_page = || match uri.as_deref() {
            Some(bridge_protocol::STATUS_URI) => {
                let status = json!(NOT_CONNECTED);
                Ok(Err(builtin_resource(bridge_protocol::STATUS_URI, &status)))
            }
            _ => Err(RpcError::InvalidRequest(ErrorCode::NoSessionsFound)),
        };
        match routed.map_or_else(no_page, Ok)? {
            Err(answer) => {
                out.extend_from_slice(&answer);
                Ok(None)
            }
            Ok(target) => {
                let (session, request) = (target.session, target.item);
                let options = scope.call_options();
                let called = calls::call_raw(&self.hub, options, &session, request).await;
                results::write_resource(&called.outcome, out);
                Ok(Some(called.record))
            }
        }
    }
}

fn work_failed(error: WorkError) -> RpcError {
    RpcError::InvalidRequest(CallFailure::from(error).code)
}

/// Writes the result of a list method. There is no list while no page is connected.
fn write_list<T>(
    list: Option<Option<T>>,
    method: &str,
    out: &mut Vec<u8>,
    write: impl FnOnce(&T, &mut Vec<u8>),
) -> Result<(), RpcError> {
    match list {
        Some(Some(list)) => write(&list, out),
        Some(None) => return Err(RpcError::NoSuchSession),
        None => {
            let empty = empty_list(method).unwrap_or_default();
            out.extend_from_slice(empty.as_bytes());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use bridge_auth::Authenticator;
    use futures_util::FutureExt;

    use super::*;
    use crate::agent_queries::AgentQueries;
    use crate::config::Config;
    use crate::hub::Hub;

    #[tokio::test]
    async fn a_long_message_is_parsed_in_the_turn_of_its_body() {
        let agent_queries = Arc::<AgentQueries>::default();
        let hub = Hub::new(Config::default(), |_, _| Ok(()), agent_queries.clone());
        let tokens = Authenticator::new(&[], &hub.config.identity.jwt_settings()).unwrap();
        let address = std::net::IpAddr::from([127, 0, 0, 1]).into();
        let token = Some("token-of-a-test-0123456789");
        let principal = tokens.verify(token, address).await;
        let realm = principal.as_ref().unwrap().realm;
        let service = CompatService::new(&hub, &agent_queries, &Arc::new(tokens));
        // All turns are taken, and another text waits for one.
        let mut turns = Vec::new();
        let waiting = loop {
            let pool = &hub.budgets.cpu_pool;
            let mut turn = Box::pin(pool.scan_turn(realm, INLINE_LIMIT + 1));
            match (&mut turn).now_or_never() {
                Some(granted) => turns.push(granted.unwrap()),
                None => break turn,
            }
        };
        let padding = " ".repeat(INLINE_LIMIT);
        let body = json!({ "method": "notifications/x", "params": { "name": padding } });
        let body = body.to_string();
        let request = CompatRequest {
            body: body.as_bytes(),
            caller: &Ok(principal.unwrap()),
            mcp_session: None,
            address: std::net::IpAddr::from([127, 0, 0, 1]).into(),
        };
        let reply = service.answer(request, turns.pop().flatten());
        assert!(matches!(reply.now_or_never(), Some(Reply::Accepted)));
        assert!(waiting.now_or_never().is_some());
    }
}
