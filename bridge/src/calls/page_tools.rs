//! `tools/call`.

use std::sync::Arc;

use bridge_protocol::{ErrorCode, Kind, SessionId};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::{
    Arguments, CallError, CallOptions, RoundOutcome, delivery_limits, in_flight, query_scope,
    validation,
};
use crate::calls::background::{continue_in_background, detach_after, handle_result};
use crate::calls::delivery_limits::enforce_limit;
use crate::calls::in_flight::{DriveResult, InFlightCall};
use crate::calls::tool_outcome::finish_result;
use crate::hub::Hub;
use crate::results::tool_result::ToolResult;
use bridge_realm::definition::Definition;
use bridge_realm::definition::tool::{SESSION_ARGUMENT, Tool};
use bridge_realm::realm::{
    CallFailure, CallOutcome, PageProtocol, PageRequest, RouteError, Target,
};

/// Which tool, with what. The argument `session_id` goes before the caller's session.
pub(crate) struct CallRequest<'a> {
    pub(crate) caller: CallOptions<'a>,
    pub(crate) tool: String,
    pub(crate) arguments: Arguments,
}

/// How a client calls a page's tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Invocation {
    /// As it is listed: the client knows its output schema.
    Direct,
    /// Through another tool, which has none.
    ViaBuiltin,
}

/// Runs a page's tool.
pub(crate) async fn call_page_tool(
    hub: &Arc<Hub>,
    mut request: CallRequest<'_>,
    invocation: Invocation,
) -> Result<RoundOutcome<ToolResult>, CallError> {
    let (tool, in_flight) = match request.caller.resume_token.take() {
        Some(resume_token) => match in_flight::resume(hub, &mut request.caller, resume_token)? {
            (PageRequest::Tool { tool, .. }, in_flight) => (tool, in_flight),
            _ => return Err(CallError::NothingToResume),
        },
        None => match start_call(hub, &mut request).await? {
            Ok(started) => started,
            Err(refused) => return Ok(refused.into()),
        },
    };
    let caller = &request.caller;
    let requires_structured_content =
        invocation == Invocation::Direct && tool.output_validator().is_some();
    let background_call = caller
        .limits
        .client_timeout
        .is_some()
        .then(|| in_flight.background_call());
    let detach = detach_after(hub, caller, background_call);
    let outcome = match in_flight::drive_until(hub, caller, in_flight, detach).await {
        DriveResult::Finished(outcome) => outcome,
        DriveResult::Detached(in_flight, pending_result) => {
            let handle = handle_result(
                tool.name(),
                pending_result.handle(),
                requires_structured_content,
            );
            continue_in_background(hub, caller.realm, tool, in_flight, pending_result);
            return Ok(handle.into());
        }
    };
    match outcome {
        RoundOutcome::InputRequired {
            resume_token,
            requests,
        } => Ok(RoundOutcome::InputRequired {
            resume_token,
            requests,
        }),
        RoundOutcome::Complete(CallOutcome::Failed(failure))
            if failure.code == ErrorCode::ClientCapabilityMissing
                && caller.client.uses_input_required() =>
        {
            Err(CallError::Failed(failure))
        }
        RoundOutcome::Complete(outcome) => {
            let result = finish_result(&tool, outcome).await;
            let spec = delivery_limits::ToolResultSpec {
                tool: tool.name(),
                // Through another tool the client goes by that one's definition.
                max_text_chars: tool
                    .max_text_chars()
                    .filter(|_| invocation == Invocation::Direct),
                requires_structured_content,
            };
            let limited = enforce_limit(hub, caller, spec, result).await;
            Ok(limited.into())
        }
    }
}

/// The call has begun, or the page never heard of it.
type CallStart = Result<(Arc<Tool>, InFlightCall), ToolResult>;

async fn start_call(hub: &Hub, request: &mut CallRequest<'_>) -> Result<CallStart, CallError> {
    let caller = &request.caller;
    if let (Some(query), Some(lifetime)) = (&caller.call_context.query_id, &caller.query_lifetime) {
        query_scope::wait_for_page(hub, caller.realm, query, lifetime).await;
    }
    if let Err(rejected) = query_scope::pin_to_asking_page(hub, request) {
        return Ok(Err(*rejected));
    }
    let destination = match route(hub, request) {
        Ok(Ok(destination)) => destination,
        Ok(Err(error)) => return route_error_result(error).map(Err),
        Err(error) => return Ok(Err(failure_result(ErrorCode::InvalidArguments, error))),
    };
    let Destination { session, tool, .. } = &destination;
    let arguments = std::mem::take(&mut request.arguments);
    let input = match destination.dialect {
        // It reads its arguments itself, and takes what its published schema refuses: its bridge held
        // nothing against that.
        PageProtocol::V1 => arguments.into_raw(),
        PageProtocol::V2 => validate_input(tool, arguments).await,
    };
    let input = match input {
        Ok(input) => input,
        Err(message) => return Ok(Err(failure_result(ErrorCode::InvalidArguments, message))),
    };
    let page_request = PageRequest::Tool {
        tool: Arc::clone(tool),
        input,
    };
    Ok(
        match in_flight::begin(hub, &mut request.caller, session, page_request) {
            Ok(in_flight) => Ok((destination.tool, in_flight)),
            Err(failure) => Err(ToolResult::from_failure(&failure)),
        },
    )
}

/// The text of arguments that fit. It is not read where the tool takes any.
pub(super) async fn validate_input(
    tool: &Arc<Tool>,
    mut arguments: Arguments,
) -> Result<Box<RawValue>, String> {
    if !tool.input_validator().accepts_any_object() {
        let parsed = arguments.take_parsed()?;
        let checked = validation::validate(tool, |tool| Some(tool.input_validator()), parsed).await;
        arguments.restore_parsed(checked.map_err(|failure| {
            let name = tool.name();
            format!("the arguments of `{name}` do not fit its input schema: {failure}")
        })?);
    }
    arguments.into_raw()
}

/// Where a call goes.
struct Destination {
    session: SessionId,
    tool: Arc<Tool>,
    /// That of the session's page.
    dialect: PageProtocol,
}

/// Where a call goes, or why nowhere.
type RouteResult = Result<Destination, RouteError>;

/// Finds the session, and takes `session_id` out of the arguments where it is ours. An error says
/// why the arguments cannot be read.
fn route(hub: &Hub, request: &mut CallRequest<'_>) -> Result<RouteResult, String> {
    let find = |target: &Target| {
        let found = hub.with_realm_mut(request.caller.realm, |realm| {
            let (session, definition) = realm.route_call(&request.tool, target)?;
            let dialect = realm.session(&session).map(|(_, page)| page.protocol());
            match (definition, dialect) {
                (Definition::Tool(tool), Some(dialect)) => Ok(Destination {
                    session,
                    tool,
                    dialect,
                }),
                _ => Err(RouteError::NoSessions),
            }
        });
        found.unwrap_or(Err(RouteError::NoSessions))
    };
    let default_target = request.caller.target();
    if !request.arguments.mentions_session() {
        return Ok(find(&default_target));
    }
    let arguments = request.arguments.parsed()?;
    let requested_session = arguments.get(SESSION_ARGUMENT).and_then(Value::as_str);
    let Some(requested_session) = requested_session else {
        return Ok(match find(&default_target) {
            Ok(destination) => {
                let arguments = request.arguments.parsed_mut()?;
                destination.tool.take_session_argument(arguments);
                Ok(destination)
            }
            Err(error) => Err(error),
        });
    };
    let by_argument = find(&Target::Session(SessionId::from(requested_session)));
    let by_argument = match by_argument {
        Ok(destination) if !destination.tool.has_own_session_argument() => {
            let arguments = request.arguments.parsed_mut()?;
            destination.tool.take_session_argument(arguments);
            return Ok(Ok(destination));
        }
        other => other,
    };
    // The argument may be the tool's own: then it does not route.
    Ok(match find(&default_target) {
        Ok(destination) if destination.tool.has_own_session_argument() => Ok(destination),
        other => by_argument.and(other),
    })
}

fn route_error_result(error: RouteError) -> Result<ToolResult, CallError> {
    match error {
        RouteError::NotFound { name, available } => Err(CallError::ItemNotFound {
            kind: Kind::Tool,
            name,
            available,
        }),
        RouteError::NoSessions => Ok(failure_result(
            ErrorCode::NoSessionsFound,
            "no page is connected for this token: open the app in a browser and retry".to_owned(),
        )),
        RouteError::AppNotOpen { name, app } => Ok(failure_result(
            ErrorCode::NoSessionsFound,
            super::error::app_not_open(&name, &app),
        )),
        RouteError::SessionNotFound { session, available } => {
            let message = super::error::session_not_found(&session);
            let details = Map::from_iter([("available_sessions".to_owned(), json!(available))]);
            Ok(ToolResult::error_with_details(
                ErrorCode::SessionNotFound,
                &message,
                details,
            ))
        }
        RouteError::Ambiguous { name, available } => {
            let message = format!(
                "several pages have `{name}`: repeat the call with `{SESSION_ARGUMENT}` set to one \
                 of available_sessions"
            );
            let details = Map::from_iter([("available_sessions".to_owned(), json!(available))]);
            Ok(ToolResult::error_with_details(
                ErrorCode::SessionNotSpecified,
                &message,
                details,
            ))
        }
    }
}

fn failure_result(code: ErrorCode, message: String) -> ToolResult {
    ToolResult::from_failure(&CallFailure::new(code, message))
}
