//! Starts the requests of clients.

use std::sync::Arc;
use std::time::Duration;

use bridge_mcp_results::arguments::Arguments;
use bridge_mcp_results::prompt_arguments;
use bridge_mcp_results::request_error::RequestError;
use bridge_mcp_results::schema_violation::invalid_arguments;
use bridge_mcp_results::tool_call::routing_error_result;
use bridge_mcp_results::tool_result::CallToolResult;
use bridge_protocol::{CallContext, Kind, SessionId};
use bridge_realm::realm::{ClientId, Effects, PageRequest, ResourceMatch};
use serde_json::value::RawValue;

use super::received_request::{ReceivedRequest, Started};
use super::{OpenRequest, Server};
use crate::event::ErrorResponse;
use crate::limits::{CALL_TIMEOUT, MAX_CALL_TIMEOUT};
use crate::outcome::{RequestTarget, to_raw, validate_input};
use crate::params::{
    self, CommonParams, CompletionParams, PromptParams, ResourceParams, ToolParams,
};
use crate::tool_routing;

/// JSON-RPC 2.0, section 5.1.
const METHOD_NOT_FOUND: i32 = -32601;

/// The message to a page for a request, and the target of its answer.
struct PageCall {
    session: SessionId,
    request: PageRequest,
    timeout: Duration,
    target: RequestTarget,
}

impl Server {
    /// Starts a request, or answers it immediately.
    pub(super) fn start(
        &mut self,
        method: &str,
        request: ReceivedRequest<'_>,
    ) -> Result<Started, ErrorResponse> {
        let list = |field: &str, kind| {
            let items = self.bridge.listed(kind).join(",");
            raw(format!("{{\"{field}\":[{items}]}}"))
        };
        let started = match method {
            "tools/list" => Ok(Started::Result(list("tools", Kind::Tool))),
            "prompts/list" => Ok(Started::Result(list("prompts", Kind::Prompt))),
            "resources/list" => Ok(Started::Result(list("resources", Kind::Resource))),
            "resources/templates/list" => {
                let list = list("resourceTemplates", Kind::ResourceTemplate);
                Ok(Started::Result(list))
            }
            "tools/call" => self.call_tool(request),
            "prompts/get" => self.get_prompt(request),
            "resources/read" => self.read_resource(request),
            "completion/complete" => self.complete(request),
            "resources/subscribe" => self.subscribe(request),
            "resources/unsubscribe" => self.unsubscribe(request),
            _ => {
                return Err(ErrorResponse {
                    code: METHOD_NOT_FOUND,
                    message: format!("the test kit has no method `{method}`"),
                    data: None,
                });
            }
        };
        started.map_err(|error| error.into_json_rpc(false).into())
    }

    fn call_tool(&mut self, received: ReceivedRequest<'_>) -> Result<Started, RequestError> {
        let params = received.params;
        let ToolParams { name, arguments } = params::parse(params)?;
        let target = params::target(params)?;
        let mut arguments = arguments.map_or_else(Arguments::default, Arguments::from_raw);
        let routed = tool_routing::route(self.bridge.realm(), &name, &mut arguments, &target);
        let (session, tool) = match routed {
            Ok(destination) => destination,
            Err(error) => return Ok(tool_result(&routing_error_result(error)?)),
        };
        let input = arguments.into_raw().map_err(invalid_arguments);
        let request = match input.and_then(|input| validate_input(&tool, input)) {
            Ok(input) => PageRequest::Tool {
                tool: Arc::clone(&tool),
                input,
            },
            Err(failure) => return Ok(tool_result(&CallToolResult::from_failure(&failure))),
        };
        let timeout = tool
            .timeout()
            .map_or(CALL_TIMEOUT, |timeout| timeout.min(MAX_CALL_TIMEOUT));
        let target = RequestTarget::Tool(tool);
        let call = PageCall {
            session,
            request,
            timeout,
            target,
        };
        self.ask_page(received, call)
    }

    fn get_prompt(&mut self, received: ReceivedRequest<'_>) -> Result<Started, RequestError> {
        let params = received.params;
        let PromptParams { name, arguments } = params::parse(params)?;
        let target = RequestTarget::Prompt(format!("prompt `{name}`"));
        let target_session = params::target(params)?;
        let routed = self
            .bridge
            .realm()
            .route(Kind::Prompt, &name, &target_session);
        let (session, prompt) = routed.map_err(RequestError::not_routed(Kind::Prompt))?;
        prompt_arguments::validate(&prompt, &arguments)?;
        let request = PageRequest::Prompt {
            name: prompt.name().to_owned(),
            arguments: to_raw(&arguments),
        };
        let call = PageCall {
            session,
            request,
            timeout: CALL_TIMEOUT,
            target,
        };
        self.ask_page(received, call)
    }

    fn read_resource(&mut self, received: ReceivedRequest<'_>) -> Result<Started, RequestError> {
        let params = received.params;
        let ResourceParams { uri } = params::parse(params)?;
        let target = RequestTarget::Resource(uri.clone());
        let target_session = params::target(params)?;
        let routed = self.bridge.realm().route_resource(&uri, &target_session);
        let (session, matched) = routed.map_err(RequestError::not_routed(Kind::Resource))?;
        let template = match matched {
            ResourceMatch::Exact => None,
            ResourceMatch::Template(template, variables) => Some((template, variables)),
        };
        let request = PageRequest::Resource { uri, template };
        let call = PageCall {
            session,
            request,
            timeout: CALL_TIMEOUT,
            target,
        };
        self.ask_page(received, call)
    }

    fn complete(&mut self, received: ReceivedRequest<'_>) -> Result<Started, RequestError> {
        let params = received.params;
        let asked: CompletionParams = params::parse(params)?;
        let item = asked.item();
        let routed = self
            .bridge
            .realm()
            .route(item.kind, &item.name, &params::target(params)?);
        let (session, definition) = routed.map_err(RequestError::not_routed(item.kind))?;
        let request = PageRequest::Completion {
            reference: definition.item(),
            argument: asked.argument,
            arguments: asked.context.arguments,
        };
        let target = RequestTarget::Completion;
        let call = PageCall {
            session,
            request,
            timeout: CALL_TIMEOUT,
            target,
        };
        self.ask_page(received, call)
    }

    fn subscribe(&mut self, received: ReceivedRequest<'_>) -> Result<Started, RequestError> {
        let ReceivedRequest {
            client, params, at, ..
        } = received;
        let ResourceParams { uri } = params::parse(params)?;
        let mut refusal = None;
        let outputs = self.bridge.with_realm(at, |realm| {
            let effects = realm.resource_subscribed(ClientId(client), uri);
            effects.unwrap_or_else(|refused| {
                refusal = Some(refused);
                Effects::new()
            })
        });
        self.apply(outputs);
        match refusal {
            Some(refused) => Err(RequestError::failed(refused.code, refused.message)),
            None => Ok(Started::Result(raw("{}".to_owned()))),
        }
    }

    fn unsubscribe(&mut self, received: ReceivedRequest<'_>) -> Result<Started, RequestError> {
        let ReceivedRequest {
            client, params, at, ..
        } = received;
        let ResourceParams { uri } = params::parse(params)?;
        let outputs = self.bridge.with_realm(at, |realm| {
            realm.resource_unsubscribed(ClientId(client), &uri)
        });
        self.apply(outputs);
        Ok(Started::Result(raw("{}".to_owned())))
    }

    /// Sends a request to its page.
    fn ask_page(
        &mut self,
        received: ReceivedRequest<'_>,
        call: PageCall,
    ) -> Result<Started, RequestError> {
        let ReceivedRequest {
            client,
            id,
            params,
            at,
        } = received;
        let PageCall {
            session,
            request,
            timeout,
            target,
        } = call;
        let CommonParams { meta } = params::parse(params)?;
        let context = CallContext {
            client: self.clients.get(&client).cloned(),
            progress: meta.progress_token.is_some(),
            log_level: meta.log_level,
            timeout_ms: u64::try_from(timeout.as_millis()).ok(),
            ..CallContext::default()
        };
        let started = self
            .bridge
            .start_call(&session, request, context, timeout, at);
        let (call, outputs) = match (started, &target) {
            (Ok(started), _) => started,
            (Err(failure), RequestTarget::Tool(_)) => {
                return Ok(tool_result(&CallToolResult::from_failure(&failure)));
            }
            (Err(failure), _) => return Err(RequestError::Failed(failure)),
        };
        let request = OpenRequest {
            id,
            client,
            progress_token: meta.progress_token,
            target,
        };
        self.open.insert(call, request);
        self.apply(outputs);
        Ok(Started::Waiting)
    }
}

fn tool_result(result: &CallToolResult) -> Started {
    Started::Result(to_raw(result))
}

/// Converts JSON that was assembled from JSON.
fn raw(json: String) -> Box<RawValue> {
    RawValue::from_string(json).unwrap_or_default()
}
