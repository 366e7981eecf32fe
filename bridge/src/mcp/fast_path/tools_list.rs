//! The MCP method `tools/list`, from definitions that are encoded once.

use bridge_results::request_error::CallError;
use std::sync::LazyLock;

use axum::response::Response;
use bridge_protocol::Kind;
use bridge_realm::definition::Definition;
use bridge_realm::realm::CallFailure;
use http::StatusCode;
use serde_json::value::RawValue;

use crate::calls::builtin_tools;
use crate::hub::tool_list_work;
use crate::mcp::convert;
use crate::mcp::fast_path::call_stream::EncodedResponse;
use crate::mcp::fast_path::eligibility::FastPathRequest;
use crate::mcp::fast_path::tools_call::{begin_response, encode_call_error, single_response};

/// The encoded definitions of the bridge's own tools.
static BUILTIN_TOOLS: LazyLock<Vec<Box<str>>> = LazyLock::new(|| {
    let own = builtin_tools::DEFINITIONS.iter();
    own.filter_map(convert::to_list_entry).collect()
});

/// Serves the list, or returns `None` if rmcp must serve it.
pub(super) async fn serve(request: &FastPathRequest<'_>) -> Option<Response> {
    let params = request.params;
    let is_other = request.client.published_result_size().is_some();
    if params.name.is_some() || params.arguments.is_some() || is_other {
        return None;
    }
    let _open = request
        .session
        .as_ref()
        .map(|session| session.begin_activity());
    let response = match encode_response(request).await {
        Ok(response) => response,
        Err(failure) => {
            encode_call_error(request.id, CallError::Failed(failure), request.is_modern())
        }
    };
    Some(single_response(response, request.events_only))
}

/// Encodes the response with the list. A long list is built in the CPU pool.
async fn encode_response(request: &FastPathRequest<'_>) -> Result<EncodedResponse, CallFailure> {
    let (hub, realm) = (&request.mcp.state.hub, request.principal.realm);
    let published = hub.with_realm(realm, |realm| realm.published(Kind::Tool));
    let published = published.unwrap_or_default();
    let is_modern = request.is_modern();
    let tools = published.iter().filter_map(|definition| match definition {
        Definition::Tool(tool) => Some(tool),
        _ => None,
    });
    let order = tool_list_work(realm, tools, |tool| tool.has_list_entry(is_modern));
    let answer = match order {
        None => encode_list(request.id, is_modern, &published),
        Some(order) => {
            let id = request.id.to_owned();
            let work = move || encode_list(&id, is_modern, &published);
            hub.run_work(order, work).await?
        }
    };
    Ok(EncodedResponse {
        status: StatusCode::OK,
        lease: hub.lease_answer(realm, answer.len())?,
        json: answer.into(),
    })
}

fn encode_list(id: &RawValue, is_modern: bool, published: &[Definition]) -> Vec<u8> {
    let pages = published.iter().filter_map(|definition| match definition {
        Definition::Tool(tool) => tool.list_entry(is_modern, convert::to_list_entry),
        _ => None,
    });
    let tools: Vec<&str> = BUILTIN_TOOLS
        .iter()
        .map(AsRef::as_ref)
        .chain(pages)
        .collect();
    let capacity = tools.iter().map(|tool| tool.len() + 1).sum();
    let mut out = begin_response(id, capacity);
    out.extend_from_slice(b",\"result\":{");
    if is_modern {
        // As rmcp sets them. A page can change its tools at any time, so the result must not be
        // cached.
        let hints = br#""resultType":"complete","ttlMs":0,"cacheScope":"private","#;
        out.extend_from_slice(hints);
    }
    out.extend_from_slice(b"\"tools\":[");
    for (index, tool) in tools.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(tool.as_bytes());
    }
    out.extend_from_slice(b"]}}");
    out
}
