//! One tool call, from the caller to the page and back: route, validate, run, validate.
//!
//! Every leg (rmcp, plain HTTP) is a client of this. Dropping the future cancels the call.

use std::sync::Arc;

use bridge_protocol::{CallId, ClientInfo, ErrorCode, SessionId};
use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};

use crate::auth::RealmId;
use crate::hub::Hub;
use crate::meta_tools;
use crate::realm::{Ending, Failure, NewCall, RouteError, Target};
use crate::result::ToolResult;
use crate::schema::Misfit;
use crate::tool::{SESSION_ARGUMENT, Tool};

/// Values larger than this many bytes are validated on a thread of their own.
const VALIDATE_INLINE_BYTES: usize = 64 * 1024;

/// A call as it comes from a leg.
#[derive(Debug)]
pub(crate) struct CallRequest {
    pub(crate) realm: RealmId,
    pub(crate) tool: String,
    pub(crate) arguments: Map<String, Value>,
    /// The session that the request or the client's pin names; the argument `session_id` wins.
    pub(crate) session: Option<SessionId>,
    pub(crate) client: Option<ClientInfo>,
}

/// A call that is a fault of the request itself, not a result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    #[error("unknown tool `{tool}`: {}", hint(.available))]
    UnknownTool {
        tool: String,
        available: Vec<String>,
    },
}

fn hint(available: &[String]) -> String {
    match available {
        [] => "the page has registered no tools yet".to_owned(),
        names => format!("there are {}", names.join(", ")),
    }
}

/// Runs a tool: one of the bridge's own or one of a page.
pub(crate) async fn call(hub: &Arc<Hub>, request: CallRequest) -> Result<ToolResult, CallError> {
    if meta_tools::is_one(&request.tool) {
        return meta_tools::call(hub, request).await;
    }
    call_page(hub, request).await
}

/// Runs a page's tool.
pub(crate) async fn call_page(
    hub: &Arc<Hub>,
    mut request: CallRequest,
) -> Result<ToolResult, CallError> {
    let (session, tool) = match route(hub, &mut request) {
        Ok(found) => found,
        Err(error) => return no_route(error),
    };
    let arguments = Value::Object(request.arguments);
    if let Err(misfit) = check(&tool, Part::Input, arguments.clone()).await {
        let message = format!(
            "the arguments of `{}` do not fit its input schema: {misfit}",
            tool.name
        );
        return Ok(failed(ErrorCode::InvalidArguments, message));
    }
    let Ok(input) = to_raw_value(&arguments) else {
        return Ok(failed(
            ErrorCode::InternalError,
            "the arguments cannot be encoded".to_owned(),
        ));
    };
    let call = NewCall {
        id: hub.new_call_id(),
        tool: Arc::clone(&tool),
        input,
        client: request.client,
        timeout: hub.config.call_timeout,
    };
    match run(hub, request.realm, &session, call).await {
        Ending::Failed(failure) => Ok(ToolResult::failure(&failure)),
        Ending::Answered(None) => Ok(answered(&tool, None).await),
        Ending::Answered(Some(raw)) => match serde_json::from_str(raw.get()) {
            Ok(value) => Ok(answered(&tool, Some(value)).await),
            Err(error) => Ok(failed(ErrorCode::InvalidResult, unreadable(&tool, &error))),
        },
    }
}

/// Raw JSON passes through where no value is made of it: deeper nesting and larger numbers too.
fn unreadable(tool: &Tool, error: &serde_json::Error) -> String {
    format!(
        "the result of `{}` cannot be passed on: {error}. Return less nested data, and numbers as \
         JavaScript has them",
        tool.name
    )
}

/// A call in flight. Dropped before its ending, it is cancelled.
struct InFlight<'a> {
    hub: &'a Hub,
    realm: RealmId,
    call: CallId,
    ended: bool,
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.hub.cancel_call(
                self.realm,
                &self.call,
                "the client cancelled or disconnected",
            );
        }
    }
}

async fn run(hub: &Hub, realm: RealmId, session: &SessionId, call: NewCall) -> Ending {
    let mut in_flight = InFlight {
        hub,
        realm,
        call: call.id.clone(),
        ended: false,
    };
    let ending = match hub.start_call(realm, session, call) {
        Ok(ending) => ending.await.unwrap_or_else(|_| {
            Ending::Failed(Failure::new(
                ErrorCode::PageGone,
                "the page is gone: retry".to_owned(),
            ))
        }),
        Err(failure) => Ending::Failed(failure),
    };
    in_flight.ended = true;
    ending
}

/// Finds the session, and takes `session_id` out of the arguments where it is ours.
fn route(hub: &Hub, request: &mut CallRequest) -> Result<(SessionId, Arc<Tool>), RouteError> {
    let find = |target: &Target| {
        hub.read(request.realm, |realm| realm.route(&request.tool, target))
            .unwrap_or(Err(RouteError::NoSessions))
    };
    let otherwise = request.session.clone().map_or(Target::Any, Target::Session);
    let named = request
        .arguments
        .get(SESSION_ARGUMENT)
        .and_then(Value::as_str);
    let Some(named) = named else {
        let (session, tool) = find(&otherwise)?;
        tool.take_session_argument(&mut request.arguments);
        return Ok((session, tool));
    };
    let by_argument = find(&Target::Session(SessionId::from(named)));
    if let Ok((session, tool)) = &by_argument
        && !tool.has_own_session_argument()
    {
        let found = (session.clone(), Arc::clone(tool));
        tool.take_session_argument(&mut request.arguments);
        return Ok(found);
    }
    // The argument may be the tool's own: then it does not route.
    match find(&otherwise) {
        Ok((session, tool)) if tool.has_own_session_argument() => Ok((session, tool)),
        other => by_argument.and(other),
    }
}

fn no_route(error: RouteError) -> Result<ToolResult, CallError> {
    match error {
        RouteError::ToolNotFound { tool, available } => {
            Err(CallError::UnknownTool { tool, available })
        }
        RouteError::NoSessions => Ok(failed(
            ErrorCode::NoSessionsFound,
            "no page is connected for this token: open the app in a browser and retry".to_owned(),
        )),
        RouteError::SessionNotFound { session, available } => {
            let message = format!("no session {session:?}: choose one of available_sessions");
            let details = Map::from_iter([("available_sessions".to_owned(), json!(available))]);
            Ok(ToolResult::error_object(
                ErrorCode::SessionNotFound,
                &message,
                details,
            ))
        }
        RouteError::Ambiguous { tool, available } => {
            let message = format!(
                "several pages have `{tool}`: repeat the call with `{SESSION_ARGUMENT}` set to one \
                 of available_sessions"
            );
            let details = Map::from_iter([("available_sessions".to_owned(), json!(available))]);
            Ok(ToolResult::error_object(
                ErrorCode::SessionNotSpecified,
                &message,
                details,
            ))
        }
    }
}

async fn answered(tool: &Arc<Tool>, value: Option<Value>) -> ToolResult {
    if tool.output().is_none() {
        return ToolResult::from_value(value);
    }
    let result = ToolResult::from_value(value);
    let Some(structured) = result.structured.clone() else {
        let message = format!(
            "`{}` has an output schema, but its result is no object",
            tool.name
        );
        return failed(ErrorCode::InvalidResult, message);
    };
    match check(tool, Part::Output, structured).await {
        Ok(()) => result,
        Err(misfit) => failed(
            ErrorCode::InvalidResult,
            format!(
                "the result of `{}` does not fit its output schema: {misfit}",
                tool.name
            ),
        ),
    }
}

#[derive(Clone, Copy)]
enum Part {
    Input,
    Output,
}

async fn check(tool: &Arc<Tool>, part: Part, value: Value) -> Result<(), Misfit> {
    fn check(tool: &Tool, part: Part, value: &Value) -> Result<(), Misfit> {
        match part {
            Part::Input => tool.input().check(value),
            Part::Output => tool.output().map_or(Ok(()), |schema| schema.check(value)),
        }
    }
    if rough_bytes(&value) <= VALIDATE_INLINE_BYTES {
        return check(tool, part, &value);
    }
    let tool = Arc::clone(tool);
    let checked = tokio::task::spawn_blocking(move || check(&tool, part, &value)).await;
    checked.unwrap_or_else(|_| Err(Misfit::BadSchema("validation stopped".to_owned())))
}

/// About how much there is to look at.
fn rough_bytes(value: &Value) -> usize {
    match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| key.len() + rough_bytes(value))
            .sum(),
        Value::Array(items) => items.iter().map(rough_bytes).sum(),
        Value::String(text) => text.len(),
        _ => 8,
    }
}

fn failed(code: ErrorCode, message: String) -> ToolResult {
    ToolResult::failure(&Failure::new(code, message))
}
