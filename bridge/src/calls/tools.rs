//! `tools/call` for the tools of pages.

use bridge_mcp_results::request_error::RequestError;
use std::sync::Arc;

use bridge_protocol::{ErrorCode, Kind, SessionId};
use serde_json::value::RawValue;

use super::validation;
use super::{Arguments, CallRequest, RoundOutcome, in_flight, query_scope};
use crate::budget::WorkError;
use crate::calls::background::{continue_in_background, detach_after, handle_result};
use crate::calls::delivery_limits::{ToolResultSpec, enforce_limit};
use crate::calls::in_flight::{DriveResult, InFlightCall};
use crate::calls::tool_outcome::finish_result;
use crate::hub::Hub;
use bridge_auth::RealmId;
use bridge_mcp_results::arguments::SessionArgument;
use bridge_mcp_results::schema_violation::invalid_arguments;
use bridge_mcp_results::tool_call::routing_error_result;
use bridge_mcp_results::tool_result::CallToolResult;
use bridge_realm::definition::SharedDefinition;
use bridge_realm::definition::tool::SharedTool;
use bridge_realm::realm::{
    CallFailure, CallOutcome, PageAbilities, PageRequest, RoutingError, SessionTarget,
};

/// How a client calls a tool of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Invocation {
    /// By its listed name: the client knows its output schema.
    Direct,
    /// Through the built-in tool `call_session_tool`, which has no output schema.
    ViaBuiltin,
}

/// Runs a page's tool: finds the page, validates the arguments, drives the call, and builds the
/// result within the limits of the client.
pub(crate) async fn call_page_tool(
    hub: &Arc<Hub>,
    mut request: CallRequest<'_>,
    invocation: Invocation,
) -> Result<RoundOutcome<CallToolResult>, RequestError> {
    let (tool, in_flight) = match start_or_resume(hub, &mut request).await? {
        CallStart::Started(tool, in_flight) => (tool, in_flight),
        CallStart::Rejected(result) => return Ok((*result).into()),
    };
    let caller = &request.caller;
    let requires_structured_content =
        invocation == Invocation::Direct && tool.output_validator().is_some();
    let has_timeout = caller.limits.client_timeout.is_some();
    let background_call = has_timeout.then(|| in_flight.background_call());
    let begin_detach = || detach_after(hub, caller, background_call.clone());
    let outcome = match in_flight::drive_until(hub, caller, in_flight, begin_detach).await {
        DriveResult::Finished(outcome) => outcome,
        DriveResult::Detached(in_flight, pending_result) => {
            let handle = pending_result.handle();
            let result = handle_result(tool.name(), handle, requires_structured_content);
            continue_in_background(hub, caller, tool, in_flight, pending_result);
            return Ok(result.into());
        }
    };
    let outcome = match outcome {
        RoundOutcome::InputRequired {
            resume_token,
            requests,
        } => {
            return Ok(RoundOutcome::InputRequired {
                resume_token,
                requests,
            });
        }
        RoundOutcome::Complete(CallOutcome::Failed(failure))
            if failure.code == ErrorCode::ClientCapabilityMissing
                && caller.client.uses_input_required() =>
        {
            return Err(RequestError::Failed(failure));
        }
        RoundOutcome::Complete(outcome) => outcome,
    };
    let result = finish_result(hub, caller.realm, &tool, outcome).await;
    // A client that calls through a built-in tool knows only the definition of the built-in tool.
    let max_text_chars = match invocation {
        Invocation::Direct => tool.max_text_chars(),
        Invocation::ViaBuiltin => None,
    };
    let spec = ToolResultSpec {
        tool: tool.name(),
        max_text_chars,
        requires_structured_content,
    };
    Ok(enforce_limit(hub, caller, spec, result).await.into())
}

/// The outcome of the attempt to start a call.
enum CallStart {
    /// The call was sent to the page.
    Started(Arc<SharedTool>, InFlightCall),
    /// The call was not sent to a page. The result states why.
    Rejected(Box<CallToolResult>),
}

impl From<&CallFailure> for CallStart {
    fn from(failure: &CallFailure) -> Self {
        Self::Rejected(Box::new(CallToolResult::from_failure(failure)))
    }
}

async fn start_or_resume(
    hub: &Hub,
    request: &mut CallRequest<'_>,
) -> Result<CallStart, RequestError> {
    let Some(resume_token) = request.caller.resume_token.take() else {
        return start_call(hub, request).await;
    };
    match in_flight::resume(hub, &mut request.caller, resume_token)? {
        (PageRequest::Tool { tool, .. }, in_flight) => Ok(CallStart::Started(tool, in_flight)),
        _ => Err(RequestError::NothingToResume),
    }
}

async fn start_call(hub: &Hub, request: &mut CallRequest<'_>) -> Result<CallStart, RequestError> {
    let caller = &request.caller;
    if let (Some(query), Some(lifetime)) = (&caller.call_context.query_id, &caller.query_lifetime) {
        query_scope::wait_for_page(hub, caller.realm, query, lifetime).await;
    }
    if let Err(rejection) = query_scope::pin_to_asking_page(hub, request) {
        return Ok(CallStart::Rejected(rejection));
    }
    let destination = match route(hub, request).await {
        Ok(destination) => destination,
        Err(RouteFailure::Route(error)) => {
            let error = query_scope::restrict_routing_error(hub, request, error);
            return Ok(CallStart::Rejected(Box::new(routing_error_result(error)?)));
        }
        Err(RouteFailure::Failed(failure)) => return Ok(CallStart::from(&failure)),
    };
    let Destination {
        session,
        tool,
        abilities,
    } = destination;
    if let Err(failure) = query_scope::check_destination(hub, request, &session, &tool) {
        return Ok(CallStart::from(&failure));
    }
    let arguments = std::mem::take(&mut request.arguments);
    let input = if abilities.validates_arguments {
        arguments.into_raw().map_err(invalid_arguments)
    } else {
        validate_input(hub, request.caller.realm, &tool, arguments).await
    };
    let input = match input {
        Ok(input) => input,
        Err(failure) => return Ok(CallStart::from(&failure)),
    };
    let page_request = PageRequest::Tool {
        tool: Arc::clone(&tool),
        input,
    };
    Ok(
        match in_flight::begin(hub, &mut request.caller, &session, page_request) {
            Ok(in_flight) => CallStart::Started(tool, in_flight),
            Err(failure) => CallStart::from(&failure),
        },
    )
}

/// Validates arguments and returns their JSON text.
pub(super) async fn validate_input(
    hub: &Hub,
    realm: RealmId,
    tool: &Arc<SharedTool>,
    arguments: Arguments,
) -> Result<Box<RawValue>, CallFailure> {
    let input = arguments.into_raw().map_err(invalid_arguments)?;
    validation::validate_input(hub, realm, tool, input).await
}

/// The page and the tool that a call is routed to.
struct Destination {
    session: SessionId,
    tool: Arc<SharedTool>,
    /// The abilities of the session's page.
    abilities: PageAbilities,
}

/// Why a call cannot be routed.
enum RouteFailure {
    Route(RoutingError),
    /// The definition of the tool was not parsed, or the bridge stops.
    Failed(CallFailure),
}

impl From<WorkError> for RouteFailure {
    fn from(error: WorkError) -> Self {
        Self::Failed(error.into())
    }
}

impl From<RoutingError> for RouteFailure {
    fn from(error: RoutingError) -> Self {
        Self::Route(error)
    }
}

/// Finds the session and the tool, and removes `session_id` from the arguments unless the tool
/// itself has an argument of that name.
async fn route(hub: &Hub, request: &mut CallRequest<'_>) -> Result<Destination, RouteFailure> {
    let find = |target: &SessionTarget| {
        let found = hub.with_realm_mut(request.caller.realm, |realm| {
            let (session, definition) = realm.route_call(&request.tool, target)?;
            let abilities = realm.session(&session).map(|(_, page)| page.abilities());
            match (definition, abilities) {
                (SharedDefinition::Tool(tool), Some(abilities)) => Ok(Destination {
                    session,
                    tool,
                    abilities,
                }),
                _ => Err(RoutingError::NoSessions),
            }
        });
        found.unwrap_or(Err(RoutingError::NoSessions))
    };
    let find_parsed = async |target: &SessionTarget| {
        let destination = find(target)?;
        let parsed = hub.parse_tool(request.caller.realm, &destination.tool);
        parsed.await?;
        Ok::<_, RouteFailure>(destination)
    };
    let default_target = request.caller.target();
    let realm = request.caller.realm;
    let scan_bytes = request.arguments.scan_bytes();
    let scan_turn = async || hub.budgets.cpu_pool.scan_turn(realm, scan_bytes).await;
    let turn = scan_turn().await?;
    let session = request.arguments.session_argument();
    drop(turn);
    let named = match &session {
        Some(SessionArgument::Session(session)) => Some(SessionTarget::Session(session.clone())),
        _ => None,
    };
    // The definition is not parsed to find out whose argument it is.
    let awaited = named.as_ref().unwrap_or(&default_target);
    let waited = request
        .caller
        .wait_for_item(hub, (Kind::Tool, &request.tool), awaited);
    waited.await.map_err(RouteFailure::Failed)?;
    let by_argument = find_parsed(awaited).await;
    if named.is_none() {
        return by_argument;
    }
    let has_own_argument = |destination: &Destination| destination.tool.has_own_session_argument();
    match by_argument {
        Ok(destination) if !has_own_argument(&destination) => {
            let turn = scan_turn().await?;
            request.arguments.remove_session_argument();
            drop(turn);
            Ok(destination)
        }
        // If the argument belongs to the tool itself, it does not select a session.
        by_argument => match find_parsed(&default_target).await {
            Ok(destination) if has_own_argument(&destination) => Ok(destination),
            other => by_argument.and(other),
        },
    }
}
