//! A client without the patience for a long call leaves with a handle; the call goes on.

use std::sync::Arc;

use bridge_protocol::CallContext;
use serde_json::{Map, json};

use super::attend::{self, Line};
use super::tools::ended;
use super::unreachable::NOBODY;
use super::{Caller, Outcome, Takes};
use crate::auth::RealmId;
use crate::hub::Hub;
use crate::kept::{Handle, Place, Running};
use crate::off_thread;
use crate::realm::{Ending, Failure};
use crate::result::{ToolResult, size};
use crate::tool::Tool;

/// The key in `_meta` of the answer that comes before the result.
const HANDLE_META: &str = "mcp-web/handle";

/// When the client's patience is over, and there is a place for what it will not hear. Without a
/// place the client has to wait.
pub(super) async fn patience(hub: &Hub, caller: &Caller<'_>, call: Option<Running>) -> Place {
    if let (Some(patience), Some(call)) = (caller.takes.patience, call) {
        tokio::time::sleep(patience).await;
        let query = caller.context.query_id.clone();
        if let Some(place) = hub.kept.place(caller.realm, query, call) {
            return place;
        }
    }
    std::future::pending().await
}

/// Stays with a call in place of its caller.
pub(super) fn go_on(hub: &Arc<Hub>, realm: RealmId, tool: Arc<Tool>, line: Line, place: Place) {
    let hub_of_task = Arc::clone(hub);
    hub.kept.spawn(async move {
        let caller = Caller {
            realm,
            session: None,
            context: CallContext::default(),
            client: &NOBODY,
            takes: Takes::default(),
            answers: Vec::new(),
            resumes: None,
        };
        let ending = match attend::attend(&hub_of_task, &caller, line).await {
            Outcome::Done(ending) => ending,
            // Nobody answers in rounds.
            Outcome::InputRequired { .. } => Ending::Failed(Failure::page_gone()),
        };
        let result = ended(&tool, ending).await;
        leave_it(place, result).await;
    });
}

async fn leave_it(place: Place, result: ToolResult) {
    let work = move || {
        let bytes = size::of(&result);
        place.end(result, bytes);
    };
    // A place that is lost says so.
    let _ = off_thread::run(work).await;
}

/// What a client hears instead of the result. One that was promised structured content refuses a
/// success without it (TypeScript SDK and rmcp), so that it hears of a failure in the same words.
pub(super) fn still_running(tool: &str, handle: &Handle, promised: bool) -> ToolResult {
    let text = format!(
        "`{tool}` is still running in the page. Call get_result with {{\"handle\": \"{handle}\"}} \
         to wait for its result."
    );
    let mut result = ToolResult::text(text);
    result.is_error = promised;
    result.meta = Some(Map::from_iter([(
        HANDLE_META.to_owned(),
        json!(handle.as_str()),
    )]));
    result
}
