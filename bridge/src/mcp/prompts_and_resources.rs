//! The MCP methods with which clients get prompts and resources of pages, and complete their arguments:
//! `prompts/get`, `resources/read` and `completion/complete`.

use std::sync::Arc;

use axum::response::Response;
use bridge_mcp_results::encoded_size;
use bridge_mcp_results::request_error::RequestError;
use bridge_realm::definition::reserved::is_builtin_resource;
use bytes::Bytes;
use rmcp::ErrorData;
use rmcp::model::{CompleteRequestParams, GetPromptResult, ReadResourceResult};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::call_input::{CallInput, invalid_arguments};
use super::checked_request::CheckedRequest;
use super::json_rpc_message::params_of;
use super::json_rpc_response::EncodedResponse;
use super::page_call::{self, PageCall};
use super::rmcp_conversions;
use crate::budget::{INLINE_LIMIT, WorkOrder};
use crate::calls::{
    self, CallOptions, CompletionRequest, DETACHED_CLIENT, PromptRequest, Recorded,
    builtin_resources,
};
use crate::web::run_in_current_request;

/// Serves a `prompts/get` with this body. Returns `None` if its session has ended meanwhile.
pub(super) async fn get_prompt(request: &CheckedRequest<'_>, body: &Bytes) -> Option<Response> {
    let prepared = CallInput::new(request, "prompts/get", body)
        .and_then(|input| Ok((input, options(request)?, prompt_arguments(request)?)));
    let (mut input, options, arguments) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => return Some(page_call::refuse(request, &error)),
    };
    let call = Arc::new(PageCall::new(request));
    let messages = Arc::clone(&call.client.messages);
    let run = async move {
        let caller = match call.options(options, &mut input).await {
            Ok(caller) => caller,
            Err(refused) => return refused,
        };
        let prompt = PromptRequest {
            caller,
            name: input.name.clone(),
            arguments,
        };
        let Recorded { outcome, record } = calls::get_prompt(&call.hub, prompt).await;
        let response = match call.encode_incomplete(&input, outcome).await {
            Ok(prompt) => encode_page_result::<GetPromptResult>(&call, prompt, false).await,
            Err(incomplete) => incomplete,
        };
        response.recorded(record)
    };
    page_call::serve(request, messages, Box::pin(run)).await
}

fn prompt_arguments(request: &CheckedRequest<'_>) -> Result<Map<String, Value>, ErrorData> {
    let Some(arguments) = request.arguments() else {
        return Ok(Map::new());
    };
    serde_json::from_str(arguments.get()).map_err(|error| invalid_arguments(&error))
}

/// Serves a `resources/read` with this body. Returns `None` if its session has ended meanwhile.
pub(super) async fn read_resource(request: &CheckedRequest<'_>, body: &Bytes) -> Option<Response> {
    let prepared = CallInput::new(request, "resources/read", body)
        .and_then(|input| Ok((input, options(request)?)));
    let (mut input, options) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => return Some(page_call::refuse(request, &error)),
    };
    let call = Arc::new(PageCall::new(request));
    let messages = Arc::clone(&call.client.messages);
    let run = async move {
        let uri = input.name.clone();
        if is_builtin_resource(&uri) {
            return match builtin_resources::read(&call.hub, &options, &uri).await {
                Ok(contents) => {
                    encode_page_result::<ReadResourceResult>(&call, contents, true).await
                }
                Err(error) => call.encode_call_error(error),
            };
        }
        let caller = match call.options(options, &mut input).await {
            Ok(caller) => caller,
            Err(refused) => return refused,
        };
        let Recorded { outcome, record } = calls::read_resource(&call.hub, caller, uri).await;
        let response = match call.encode_incomplete(&input, outcome).await {
            Ok(contents) => encode_page_result::<ReadResourceResult>(&call, contents, true).await,
            Err(incomplete) => incomplete,
        };
        response.recorded(record)
    };
    page_call::serve(request, messages, Box::pin(run)).await
}

/// Serves a `completion/complete` with this body. Its client is neither asked nor notified, because
/// MCP defines nothing for it. Returns `None` if its session has ended meanwhile.
pub(super) async fn complete(request: &CheckedRequest<'_>, body: &Bytes) -> Option<Response> {
    let completion = match completion(request, body) {
        Ok(completion) => completion,
        Err(error) => return Some(page_call::refuse(request, &error)),
    };
    let call = Arc::new(PageCall::new(request));
    let messages = Arc::clone(&call.client.messages);
    let run = async move {
        let Recorded { outcome, record } = calls::complete(&call.hub, completion).await;
        let response = match outcome {
            Ok(values) => {
                let completion = rmcp_conversions::to_completion(values);
                let result = Map::from_iter([("completion".to_owned(), completion)]);
                call.encode_object(&result, false)
            }
            Err(error) => call.encode_call_error(error),
        };
        response.recorded(record)
    };
    page_call::serve(request, messages, Box::pin(run)).await
}

fn completion(
    request: &CheckedRequest<'_>,
    body: &Bytes,
) -> Result<CompletionRequest<'static>, ErrorData> {
    let params: CompleteRequestParams = params_of(body)?;
    let arguments = params.context.and_then(|context| context.arguments);
    Ok(CompletionRequest {
        caller: options(request)?,
        reference: rmcp_conversions::reference(params.r#ref)?,
        argument: rmcp_conversions::argument(params.argument),
        arguments: arguments.unwrap_or_default().into_iter().collect(),
    })
}

fn options(request: &CheckedRequest<'_>) -> Result<CallOptions<'static>, ErrorData> {
    let options = request.options()?;
    let client = &request.client;
    Ok(client.call_options(request.principal, options, &DETACHED_CLIENT))
}

/// Encodes the answer of a page unchanged, if it has the form that MCP requires. Large answers are
/// encoded in the CPU pool.
async fn encode_page_result<T: DeserializeOwned>(
    call: &Arc<PageCall>,
    mut result: Map<String, Value>,
    is_cacheable: bool,
) -> EncodedResponse {
    let own_call = Arc::clone(call);
    let bytes = encoded_size::encoded_len(&result);
    let order = (bytes > INLINE_LIMIT).then(|| WorkOrder::for_json(call.realm, bytes));
    let encode = move || {
        // The page does not decide these.
        for own in ["ttlMs", "cacheScope"] {
            result.shift_remove(own);
        }
        result.insert("resultType".to_owned(), json!("complete"));
        let checked = T::deserialize(&result);
        result.shift_remove("resultType");
        match checked {
            Ok(_) => own_call.encode_object(&result, is_cacheable),
            Err(error) => own_call.encode_error(&rmcp_conversions::invalid_result(&error)),
        }
    };
    let encode = run_in_current_request(encode);
    let failed = |failure| call.encode_call_error(RequestError::Failed(failure));
    match call.hub.run_work_unless_small(order, encode).await {
        Ok(response) => call.with_lease(response, failed),
        Err(error) => failed(error.after_call()),
    }
}
