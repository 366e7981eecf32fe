//! Answers that are large: read, measured and cut away from the threads that serve sockets.

use std::sync::Arc;

use bridge_protocol::ErrorCode;
use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};

use super::{CallError, Caller, Takes};
use crate::auth::RealmId;
use crate::config::TextLimit;
use crate::hub::Hub;
use crate::kept::Handle;
use crate::off_thread::{self, LARGE_BYTES};
use crate::realm::{Answer, Failure};
use crate::result::ToolResult;
use crate::result::fit::{Cap, fit};
use crate::result::size::{self, ENVELOPE_BYTES};

/// An MCP result object.
type Object = Map<String, Value>;

impl Takes {
    /// What a result may have.
    ///
    /// `of_tool`: the characters that the tool says for itself. `promised`: the client was promised
    /// structured content.
    pub(super) fn cap(&self, of_tool: Option<usize>, promised: bool) -> Option<Cap> {
        Some(Cap {
            bytes: self.bytes?,
            text: self.text_count.limit(self.text_chars, of_tool),
            links: self.links,
            promised,
        })
    }
}

/// The tool whose result a client gets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FittedTool<'a> {
    pub(crate) tool: &'a str,
    /// The characters that it says it may answer.
    pub(crate) text_chars: Option<usize>,
    /// The client was promised structured content.
    pub(crate) promised: bool,
}

impl<'a> FittedTool<'a> {
    /// A tool of the bridge's own.
    pub(crate) fn own(tool: &'a str) -> Self {
        Self {
            tool,
            text_chars: None,
            promised: false,
        }
    }
}

/// A tool's result as the client takes it. What was cut off is kept.
pub(crate) async fn fitted(
    hub: &Hub,
    caller: &Caller<'_>,
    called: FittedTool<'_>,
    result: ToolResult,
) -> ToolResult {
    let Some(mut cap) = caller.takes.cap(called.text_chars, called.promised) else {
        return result;
    };
    let as_event = caller.takes.event_bytes.filter(|bytes| *bytes < cap.bytes);
    if let Some(bytes) = as_event.filter(|_| !caller.client.answers_whole()) {
        cap.bytes = bytes;
    }
    let least = cap.text.map_or(usize::MAX, TextLimit::least);
    let least = least.min(cap.bytes.saturating_sub(ENVELOPE_BYTES));
    if size::is_surely_within(&result, least) {
        return result;
    }
    let tool = called.tool;
    let (shelf, realm, name) = (Arc::clone(&hub.kept), caller.realm, tool.to_owned());
    let query = caller.context.query_id.clone();
    let is_small = size::is_surely_within(&result, LARGE_BYTES);
    let work = move || {
        let keep = |whole, bytes| shelf.keep(realm, query, &name, whole, bytes);
        fit(result, cap, keep)
    };
    if is_small {
        return work();
    }
    off_thread::run(work).await.unwrap_or_else(stopped)
}

/// The same with a result that is kept already.
pub(super) async fn fitted_again(
    caller: &Caller<'_>,
    result: Arc<ToolResult>,
    handle: Handle,
) -> ToolResult {
    let cap = caller.takes.cap(None, false);
    let work = move || {
        let result = Arc::unwrap_or_clone(result);
        match cap {
            Some(cap) => fit(result, cap, |_, _| Ok(handle)),
            None => result,
        }
    };
    off_thread::run(work).await.unwrap_or_else(stopped)
}

/// A fault of the bridge, as a result.
pub(super) fn stopped() -> ToolResult {
    let message = "the bridge failed while it read the result: report this, and ask for less";
    ToolResult::failure(&Failure::new(ErrorCode::InternalError, message.to_owned()))
}

/// The MCP result object that a page answered.
pub(super) fn object(what: &str, answer: Answer) -> Result<Object, CallError> {
    let Answer::Value(Some(raw)) = answer else {
        return Err(CallError::failed(
            ErrorCode::InvalidResult,
            format!("the page's answer for {what} is no object"),
        ));
    };
    serde_json::from_str(raw.get()).map_err(|error| {
        let message = format!("the page's answer for {what} cannot be passed on: {error}");
        CallError::failed(ErrorCode::InvalidResult, message)
    })
}

/// The same with an array in this field.
pub(super) async fn object_with(
    what: &str,
    field: &str,
    answer: Answer,
) -> Result<Object, CallError> {
    let result = if answer.bytes() < LARGE_BYTES {
        object(what, answer)?
    } else {
        let what = what.to_owned();
        let read = off_thread::run(move || object(&what, answer)).await;
        read.unwrap_or_else(|| {
            Err(CallError::failed(
                ErrorCode::InternalError,
                "reading stopped",
            ))
        })?
    };
    if !result.get(field).is_some_and(Value::is_array) {
        let message = format!("the page's answer for {what} has no `{field}`");
        return Err(CallError::failed(ErrorCode::InvalidResult, message));
    }
    Ok(result)
}

/// An answer that the client takes as a whole, or its size.
async fn measured(takes: Takes, result: Object) -> Result<Object, (Object, TooLarge)> {
    let Some(limit) = takes.bytes else {
        return Ok(result);
    };
    let most = limit.saturating_sub(ENVELOPE_BYTES);
    if size::are_surely_within(&result, most) {
        return Ok(result);
    }
    let measure = move || {
        let bytes = size::encoded(&result);
        (result, bytes)
    };
    match off_thread::run(measure).await {
        Some((result, bytes)) if bytes <= most => Ok(result),
        Some((result, bytes)) => Err((result, TooLarge { bytes, limit })),
        // Counting does not panic.
        None => Ok(Object::new()),
    }
}

/// What a client does not take.
struct TooLarge {
    bytes: usize,
    limit: usize,
}

impl TooLarge {
    fn error(&self, what: &str, how: &str, kept: Option<&Handle>) -> CallError {
        let (bytes, limit) = (self.bytes, self.limit);
        let mut data = json!({ "bytes": bytes, "limit": limit });
        if let Some(handle) = kept {
            data["handle"] = json!(handle.as_str());
        }
        let message =
            format!("{what} has {bytes} bytes as it is sent, and this client takes {limit}: {how}");
        CallError::Failed(Failure {
            data: to_raw_value(&data).ok(),
            ..Failure::new(ErrorCode::ResultTooLarge, message)
        })
    }
}

/// An answer that cannot be cut.
pub(super) async fn whole(
    caller: &Caller<'_>,
    what: &str,
    result: Object,
) -> Result<Object, CallError> {
    let measured = measured(caller.takes, result).await;
    measured.map_err(|(_, too_large)| too_large.error(what, "ask for less", None))
}

/// The contents of a resource. Texts that are too large can be read in parts.
pub(crate) async fn contents(
    hub: &Hub,
    (realm, takes): (RealmId, Takes),
    what: &str,
    result: Object,
    kept: Option<Handle>,
) -> Result<Object, CallError> {
    let (result, too_large) = match measured(takes, result).await {
        Ok(result) => return Ok(result),
        Err(larger) => larger,
    };
    let kept = kept.or_else(|| {
        let text = Arc::new(ToolResult::text(text_of(&result)?));
        hub.kept.keep(realm, None, what, text, too_large.bytes).ok()
    });
    let how = match &kept {
        Some(handle) => format!(
            "read its text in parts, beginning with the tool get_result {{\"handle\": \
             \"{handle}\", \"offset\": 0}}"
        ),
        None => "it cannot be read in parts".to_owned(),
    };
    Err(too_large.error(what, &how, kept.as_ref()))
}

/// The text of contents that are nothing but text.
fn text_of(contents: &Object) -> Option<String> {
    let contents = contents.get("contents")?.as_array()?;
    let texts = contents.iter().map(|content| content.get("text")?.as_str());
    let texts: Option<Vec<_>> = texts.collect();
    Some(texts?.join("\n"))
}
