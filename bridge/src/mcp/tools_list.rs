//! The MCP method `tools/list`, from definitions that are encoded once.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use axum::response::Response;
use bridge_mcp_results::request_error::RequestError;
use bridge_protocol::{Kind, event_data};
use bridge_realm::definition::SharedDefinition;
use bridge_realm::definition::tool::{RESULT_SIZE_KEY, SchemaSupport, SharedTool};
use bridge_realm::realm::CallFailure;
use http::StatusCode;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::checked_request::CheckedRequest;
use super::http_response::single_response;
use super::json_rpc_message::json_string;
use super::json_rpc_response::{EncodedResponse, begin_response, encode_call_error};
use super::list_page::{LeftOutEntries, ListPage};
use super::rmcp_conversions;
use crate::calls::{self, builtin_tools};
use crate::hub::tool_list_work;

/// The encoded definitions of the bridge's own tools.
static BUILTIN_TOOLS: LazyLock<Vec<Box<str>>> = LazyLock::new(|| {
    let own = builtin_tools::DEFINITIONS.iter();
    own.filter_map(rmcp_conversions::to_list_entry).collect()
});

/// Serves the list.
pub(super) async fn serve(request: &CheckedRequest<'_>) -> Response {
    let _open = request
        .session
        .as_ref()
        .map(|session| session.begin_activity());
    let response = match encode_response(request).await {
        Ok(response) => response,
        Err(failure) => {
            encode_call_error(request.id, RequestError::Failed(failure), request.is_modern)
        }
    };
    single_response(response, request.events_only)
}

/// The name of a tool and its encoded entry.
type ListedTool<'a> = (&'a str, Cow<'a, str>);

/// The tools that a client lists, and how it does.
struct ToolList {
    builtin: &'static [Box<str>],
    published: Vec<SharedDefinition>,
    is_modern: bool,
    schema_support: SchemaSupport,
    /// The limit to publish for each tool without its own, see
    /// [`RequestingClient::published_result_size`](super::requesting_client::RequestingClient).
    result_size: Option<usize>,
    /// Where the page of the list begins.
    cursor: Option<String>,
    /// The maximum size of the response, if the client ends at a larger one.
    max_bytes: Option<usize>,
}

impl ToolList {
    async fn of(request: &CheckedRequest<'_>) -> Self {
        let (hub, principal) = (&request.mcp.state.hub, request.principal);
        let (builtin, published) = match &principal.query {
            // An agent sees only the tools of its page.
            Some(query) => {
                let queries = &request.mcp.state.agent_queries;
                if let Some(lifetime) = queries.lifetime_of(query) {
                    calls::wait_for_query_page(hub, principal, &lifetime).await;
                }
                let tools = calls::tools_for_query(hub, principal.realm, query);
                (&[][..], tools)
            }
            None => {
                let until = request.pages_awaited_until;
                calls::wait_for_any_page(hub, principal.realm, until).await;
                let published = hub.with_realm(principal.realm, |it| it.published(Kind::Tool));
                (&BUILTIN_TOOLS[..], published.unwrap_or_default())
            }
        };
        Self {
            builtin,
            published,
            is_modern: request.is_modern,
            schema_support: request.client.schema_support(),
            result_size: request.client.published_result_size(),
            cursor: request
                .params
                .cursor
                .and_then(json_string)
                .map(Cow::into_owned),
            max_bytes: request.client.max_message_bytes(),
        }
    }

    fn page_tools(&self) -> impl Iterator<Item = &Arc<SharedTool>> {
        self.published
            .iter()
            .filter_map(|definition| match definition {
                SharedDefinition::Tool(tool) => Some(tool),
                _ => None,
            })
    }

    /// Returns the encoded response, and the tools that are missing in it.
    fn encode(&self, id: &RawValue) -> (Vec<u8>, Option<LeftOutEntries>) {
        let page_tools = self.page_tools().filter_map(|tool| {
            let entry = tool.list_entry(self.schema_support, rmcp_conversions::to_list_entry)?;
            Some((tool.published_name(), entry))
        });
        // The bridge's own tools fit into any message, so that their names are not needed.
        let builtin = self.builtin.iter().map(|tool| ("", &**tool));
        let tools: Vec<ListedTool<'_>> = builtin
            .chain(page_tools)
            .map(|(name, entry)| match self.result_size {
                Some(chars) => (name, with_result_size(entry, chars)),
                None => (name, Cow::Borrowed(entry)),
            })
            .collect();
        let encoded_len =
            |(_, entry): &ListedTool<'_>| entry.len() + event_data::added_bytes(entry.as_bytes());
        let cursor = self.cursor.as_deref();
        let page = ListPage::new(tools, cursor, self.max_bytes, encoded_len, |tool| tool.0);
        let encoded = encode_list(id, self.is_modern, &page);
        (encoded, page.left_out)
    }
}

/// Adds the limit to the `_meta` of a tool without its own.
fn with_result_size(tool: &str, chars: usize) -> Cow<'_, str> {
    let with_limit = || {
        let mut tool: Map<String, Value> = serde_json::from_str(tool).ok()?;
        let meta = tool.entry("_meta").or_insert_with(|| json!({}));
        let meta = meta.as_object_mut()?;
        meta.entry(RESULT_SIZE_KEY).or_insert(chars.into());
        serde_json::to_string(&tool).ok()
    };
    with_limit().map_or(Cow::Borrowed(tool), Cow::Owned)
}

/// Encodes the response with the list. A long list is built in the CPU pool.
async fn encode_response(request: &CheckedRequest<'_>) -> Result<EncodedResponse, CallFailure> {
    let (hub, realm) = (&request.mcp.state.hub, request.principal.realm);
    let list = ToolList::of(request).await;
    let is_encoded =
        |tool: &SharedTool| list.result_size.is_none() && tool.has_list_entry(list.schema_support);
    let order = tool_list_work(realm, list.page_tools(), is_encoded);
    let (answer, left_out) = match order {
        None => list.encode(request.id),
        Some(order) => {
            let id = request.id.to_owned();
            hub.run_work(order, move || list.encode(&id)).await?
        }
    };
    if let Some(left_out) = left_out {
        left_out.record(&hub.budgets.refusals, request.address);
    }
    let lease = hub.lease_answer(realm, request.address, answer.len())?;
    Ok(EncodedResponse {
        lease,
        ..EncodedResponse::new(StatusCode::OK, answer)
    })
}

fn encode_list(id: &RawValue, is_modern: bool, page: &ListPage<ListedTool<'_>>) -> Vec<u8> {
    let tools = &page.entries;
    let capacity = tools.iter().map(|(_, entry)| entry.len() + 1).sum();
    let mut out = begin_response(id, capacity);
    out.extend_from_slice(b",\"result\":{");
    if is_modern {
        // As rmcp sets them. A page can change its tools at any time, so the result must not be
        // cached.
        let hints = br#""resultType":"complete","ttlMs":0,"cacheScope":"private","#;
        out.extend_from_slice(hints);
    }
    if let Some(cursor) = &page.next_cursor {
        out.extend_from_slice(format!("\"nextCursor\":\"{cursor}\",").as_bytes());
    }
    out.extend_from_slice(b"\"tools\":[");
    for (index, (_, entry)) in tools.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(entry.as_bytes());
    }
    out.extend_from_slice(b"]}}");
    out
}
