//! Enforces the limits of a client on results. Large results are parsed, measured and truncated in
//! the CPU pool, not on the threads that serve sockets.

use bridge_mcp_results::page_object::{self, AnswerList};
use bridge_mcp_results::request_error::RequestError;
use std::sync::Arc;

use bridge_protocol::ErrorCode;
use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};

use super::{CallOptions, DeliveryLimits};
use crate::budget::{INLINE_LIMIT, WorkOrder};
use crate::calls::media_budget::{may_have_media, object_media_len};
use crate::calls::truncate::{ResultLimit, truncate};
use crate::config::TextLimit;
use crate::hub::Hub;
use crate::result_store::ResultHandle;
use bridge_auth::RealmId;
use bridge_mcp_results::encoded_size::{self, ENVELOPE_BYTES};
use bridge_mcp_results::tool_result::CallToolResult;
use bridge_realm::realm::{CallFailure, PageAnswer};

/// An MCP result object.
type Object = Map<String, Value>;

impl DeliveryLimits {
    /// Returns the limits for the result of a tool, or `None` if the client has none.
    ///
    /// `tool_text_chars` is the text length that the tool sets for itself.
    pub(super) fn result_limit(
        &self,
        tool_text_chars: Option<usize>,
        requires_structured_content: bool,
    ) -> Option<ResultLimit> {
        Some(ResultLimit {
            bytes: self.max_bytes?,
            text: self.text_count.limit(self.max_text_chars, tool_text_chars),
            links: self.resource_links,
            requires_structured_content,
        })
    }
}

/// The properties of a call, besides its client, that determine the limits for its result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ToolResultSpec<'a> {
    pub(crate) tool: &'a str,
    /// The text length that the tool sets for itself.
    pub(crate) max_text_chars: Option<usize>,
    /// Whether the result must keep its structured content.
    pub(crate) requires_structured_content: bool,
}

impl<'a> ToolResultSpec<'a> {
    /// Describes the result of a built-in tool.
    pub(crate) fn builtin(tool: &'a str) -> Self {
        Self {
            tool,
            max_text_chars: None,
            requires_structured_content: false,
        }
    }
}

/// Truncates the result of a tool to the limits of the client. If it has to be truncated, the whole
/// result is stored.
pub(crate) async fn enforce_limit(
    hub: &Hub,
    caller: &CallOptions<'_>,
    spec: ToolResultSpec<'_>,
    result: CallToolResult,
) -> CallToolResult {
    let Some(mut limit) = caller
        .limits
        .result_limit(spec.max_text_chars, spec.requires_structured_content)
    else {
        return result;
    };
    let event_bytes = caller
        .limits
        .max_event_bytes
        .filter(|bytes| *bytes < limit.bytes);
    if let Some(bytes) = event_bytes.filter(|_| !caller.client.uses_single_response()) {
        limit.bytes = bytes;
    }
    let smallest = limit.text.map_or(usize::MAX, TextLimit::minimum);
    let smallest = smallest.min(limit.bytes.saturating_sub(ENVELOPE_BYTES));
    let media = caller.media.clone();
    let media = media.filter(|_| may_have_media(&result));
    if media.is_none() && encoded_size::fits_within(&result, smallest) {
        return result;
    }
    let tool = spec.tool;
    let (store, party) = (Arc::clone(&hub.result_store), hub.party(caller.realm));
    let name = tool.to_owned();
    let query = caller.call_context.query_id.clone();
    let is_small = encoded_size::fits_within(&result, INLINE_LIMIT);
    let order = WorkOrder::for_result(caller.realm, &result);
    let work = move || {
        let insert = |whole, bytes| store.insert(party, query, &name, whole, bytes);
        truncate(result, limit, media.as_ref(), insert)
    };
    if is_small {
        return work();
    }
    let truncated = hub.run_work(order, work).await;
    truncated.unwrap_or_else(|error| CallToolResult::from_failure(&error.after_call()))
}

/// Truncates a result that is already stored to the limits of the client.
pub(super) async fn enforce_limit_on_stored(
    hub: &Hub,
    caller: &CallOptions<'_>,
    result: Arc<CallToolResult>,
    handle: ResultHandle,
) -> CallToolResult {
    let limit = caller.limits.result_limit(None, false);
    let media = caller.media.clone();
    let order = WorkOrder::for_result(caller.realm, &result);
    let work = move || {
        let result = Arc::unwrap_or_clone(result);
        match limit {
            Some(limit) => truncate(result, limit, media.as_ref(), |_, _| Ok(handle)),
            None => result,
        }
    };
    let truncated = hub.run_work(order, work).await;
    truncated.unwrap_or_else(|error| CallToolResult::from_failure(&error.into()))
}

/// Parses the MCP result object in the answer of a page.
pub(super) async fn parse_object(
    hub: &Hub,
    realm: RealmId,
    what: &str,
    answer: PageAnswer,
) -> Result<Object, RequestError> {
    parse_with(hub, realm, what, answer, page_object::parse).await
}

/// Parses an MCP result object that has such a list, and validates the list.
pub(super) async fn parse_list(
    hub: &Hub,
    realm: RealmId,
    (what, list): (&str, AnswerList),
    answer: PageAnswer,
) -> Result<Object, RequestError> {
    let parse = move |what: &str, answer| page_object::parse_list(what, list, answer);
    parse_with(hub, realm, what, answer, parse).await
}

async fn parse_with(
    hub: &Hub,
    realm: RealmId,
    what: &str,
    answer: PageAnswer,
    parse: impl FnOnce(&str, PageAnswer) -> Result<Object, RequestError> + Send + 'static,
) -> Result<Object, RequestError> {
    if answer.bytes() < INLINE_LIMIT {
        return parse(what, answer);
    }
    let order = WorkOrder::for_json(realm, answer.bytes());
    let what = what.to_owned();
    let parsed = hub.run_work(order, move || parse(&what, answer)).await;
    parsed.unwrap_or_else(|error| Err(RequestError::Failed(error.into())))
}

/// Returns the result, and its size if that exceeds the limit of the client.
async fn measure(
    hub: &Hub,
    (realm, limits): (RealmId, DeliveryLimits),
    result: Object,
) -> Result<(Object, Option<TooLarge>), RequestError> {
    let Some(limit) = limits.max_bytes else {
        return Ok((result, None));
    };
    let max_bytes = limit.saturating_sub(ENVELOPE_BYTES);
    if encoded_size::object_fits_within(&result, max_bytes) {
        return Ok((result, None));
    }
    let order = WorkOrder::for_object(realm, &result);
    let work = move || {
        let bytes = encoded_size::encoded_len(&result);
        (result, bytes)
    };
    let measured = hub.run_work(order, work).await;
    let (result, bytes) = measured.map_err(|error| RequestError::Failed(error.into()))?;
    let too_large = (bytes > max_bytes).then_some(TooLarge { bytes, limit });
    Ok((result, too_large))
}

/// The size of a result that exceeds the limit of the client.
struct TooLarge {
    bytes: usize,
    limit: usize,
}

impl TooLarge {
    fn to_call_error(
        &self,
        what: &str,
        advice: &str,
        handle: Option<&ResultHandle>,
    ) -> RequestError {
        let (bytes, limit) = (self.bytes, self.limit);
        let mut data = json!({ "bytes": bytes, "limit": limit });
        if let Some(handle) = handle {
            data["handle"] = json!(handle.as_str());
        }
        let message = format!(
            "{what} has {bytes} bytes as it is sent, and this client takes {limit}: {advice}"
        );
        RequestError::Failed(CallFailure {
            data: to_raw_value(&data).ok(),
            ..CallFailure::new(ErrorCode::ResultTooLarge, message)
        })
    }
}

/// Rejects a result that exceeds the limit of the client and cannot be truncated.
pub(super) async fn enforce_object_limit(
    hub: &Hub,
    caller: &CallOptions<'_>,
    what: &str,
    result: Object,
) -> Result<Object, RequestError> {
    match measure(hub, (caller.realm, caller.limits), result).await? {
        (result, None) => limit_media(hub, caller, what, result).await,
        (_, Some(too_large)) => Err(too_large.to_call_error(what, "ask for less", None)),
    }
}

/// Takes the media of a result from those that the client may still receive. Rejects a result of
/// which nothing else remains, or which exceeds the limit of the client with the notes in their place.
async fn limit_media(
    hub: &Hub,
    caller: &CallOptions<'_>,
    what: &str,
    mut result: Object,
) -> Result<Object, RequestError> {
    let bytes = object_media_len(&result);
    let Some(budget) = caller.media.as_ref().filter(|it| !it.take(bytes)) else {
        return Ok(result);
    };
    if let Err(reason) = budget.take_from_object(&mut result) {
        let data = json!({ "bytes": bytes, "media": budget.max() });
        let message = format!("{what} has {bytes} bytes of media, and {reason}");
        return Err(RequestError::Failed(CallFailure {
            data: to_raw_value(&data).ok(),
            ..CallFailure::new(ErrorCode::ResultTooLarge, message)
        }));
    }
    match measure(hub, (caller.realm, caller.limits), result).await? {
        (result, None) => Ok(result),
        (_, Some(too_large)) => Err(too_large.to_call_error(what, "ask for less", None)),
    }
}

/// Rejects contents of a resource that exceed the limit of the client. Contents that are text are
/// stored, so that the client can read them in parts; `stored` is the handle of contents that are
/// stored already.
pub(crate) async fn enforce_contents_limit(
    hub: &Hub,
    caller: &CallOptions<'_>,
    what: &str,
    result: Object,
    stored: Option<ResultHandle>,
) -> Result<Object, RequestError> {
    let realm = caller.realm;
    let (result, too_large) = match measure(hub, (realm, caller.limits), result).await? {
        (result, None) => return limit_media(hub, caller, what, result).await,
        (result, Some(too_large)) => (result, too_large),
    };
    let stored = stored.or_else(|| {
        let text = Arc::new(CallToolResult::text(joined_text(&result)?));
        hub.result_store
            .insert(hub.party(realm), None, what, text, too_large.bytes)
            .ok()
    });
    let advice = match &stored {
        Some(handle) => format!(
            "read its text in parts, beginning with the tool get_result {{\"handle\": \
             \"{handle}\", \"offset\": 0}}"
        ),
        None => "it cannot be read in parts".to_owned(),
    };
    Err(too_large.to_call_error(what, &advice, stored.as_ref()))
}

/// Returns the joined text of contents that are all text.
fn joined_text(contents: &Object) -> Option<String> {
    let contents = contents.get("contents")?.as_array()?;
    let texts = contents.iter().map(|content| content.get("text")?.as_str());
    let texts: Option<Vec<_>> = texts.collect();
    Some(texts?.join("\n"))
}
