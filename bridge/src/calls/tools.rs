//! `tools/call`.

use std::sync::Arc;

use bridge_protocol::{ErrorCode, Kind, SessionId};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::attend::{Attended, Line};
use super::fitting::{fitted, stopped};
use super::leaving::{go_on, patience, still_running};
use super::{Arguments, CallError, Caller, Outcome, attend, fitting, for_query};
use crate::definition::Definition;
use crate::hub::Hub;
use crate::json::Json;
use crate::meta_tools;
use crate::off_thread::{self, LARGE_BYTES};
use crate::realm::{Answer, Dialect, Ending, Failure, Request, RouteError, Target};
use crate::result::ToolResult;
use crate::schema::{self, Misfit};
use crate::tool::{SESSION_ARGUMENT, Tool};

/// Which tool, with what. The argument `session_id` goes before the caller's session.
pub(crate) struct CallRequest<'a> {
    pub(crate) caller: Caller<'a>,
    pub(crate) tool: String,
    pub(crate) arguments: Arguments,
}

/// Runs a tool: one of the bridge's own or one of a page.
pub(crate) async fn call(
    hub: &Arc<Hub>,
    request: CallRequest<'_>,
) -> Result<Outcome<ToolResult>, CallError> {
    let for_query = request.caller.context.query_id.is_some();
    if meta_tools::is_one(&request.tool) && request.caller.resumes.is_none() && !for_query {
        return Box::pin(meta_tools::call(hub, request)).await;
    }
    if for_query && for_query::reads_a_result(hub, &request) {
        return meta_tools::call(hub, request).await;
    }
    if meta_tools::is_meant(hub, &request) && !for_query {
        return Box::pin(meta_tools::call(hub, request)).await;
    }
    call_page(hub, request, Called::ByName).await
}

/// How a client calls a page's tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Called {
    /// As it is listed: the client knows its output schema.
    ByName,
    /// Through another tool, which has none.
    Through,
}

/// Runs a page's tool.
pub(crate) async fn call_page(
    hub: &Arc<Hub>,
    mut request: CallRequest<'_>,
    called: Called,
) -> Result<Outcome<ToolResult>, CallError> {
    let (tool, line) = match request.caller.resumes.take() {
        Some(ticket) => match attend::reopen(hub, &mut request.caller, ticket)? {
            (Request::Tool { tool, .. }, line) => (tool, line),
            _ => return Err(CallError::NothingToResume),
        },
        None => match start(hub, &mut request).await? {
            Ok(started) => started,
            Err(refused) => return Ok(refused.into()),
        },
    };
    let caller = &request.caller;
    let promised = called == Called::ByName && tool.output().is_some();
    let running = caller.takes.patience.is_some().then(|| line.running());
    let leave = patience(hub, caller, running);
    let outcome = match attend::attend_until(hub, caller, line, leave).await {
        Attended::Whole(outcome) => outcome,
        Attended::Left(line, place) => {
            let early = still_running(tool.name(), place.handle(), promised);
            go_on(hub, caller.realm, tool, line, place);
            return Ok(early.into());
        }
    };
    match outcome {
        Outcome::InputRequired { ticket, requests } => {
            Ok(Outcome::InputRequired { ticket, requests })
        }
        Outcome::Done(Ending::Failed(failure))
            if failure.code == ErrorCode::ClientCapabilityMissing
                && caller.client.answers_in_rounds() =>
        {
            Err(CallError::Failed(failure))
        }
        Outcome::Done(ending) => {
            let result = ended(&tool, ending).await;
            let of_tool = fitting::FittedTool {
                tool: tool.name(),
                // Through another tool the client goes by that one's definition.
                text_chars: tool.text_chars().filter(|_| called == Called::ByName),
                promised,
            };
            let fitted = fitted(hub, caller, of_tool, result).await;
            Ok(fitted.into())
        }
    }
}

/// The call has begun, or the page never heard of it.
type Started = Result<(Arc<Tool>, Line), ToolResult>;

async fn start(hub: &Hub, request: &mut CallRequest<'_>) -> Result<Started, CallError> {
    if let Some(query) = &request.caller.context.query_id {
        for_query::page_is_there(hub, request.caller.realm, query).await;
    }
    if let Err(refused) = for_query::aim(hub, request) {
        return Ok(Err(*refused));
    }
    let destination = match route(hub, request) {
        Ok(Ok(destination)) => destination,
        Ok(Err(error)) => return no_route(error).map(Err),
        Err(unreadable) => return Ok(Err(failed(ErrorCode::InvalidArguments, unreadable))),
    };
    let Destination { session, tool, .. } = &destination;
    let arguments = std::mem::take(&mut request.arguments);
    let input = match destination.dialect {
        // It reads its arguments itself, and takes what its published schema refuses: its bridge held
        // nothing against that.
        Dialect::V1 => arguments.into_raw(),
        Dialect::V2 => checked_input(tool, arguments).await,
    };
    let input = match input {
        Ok(input) => input,
        Err(message) => return Ok(Err(failed(ErrorCode::InvalidArguments, message))),
    };
    let run = Request::Tool {
        tool: Arc::clone(tool),
        input,
    };
    Ok(match attend::open(hub, &mut request.caller, session, run) {
        Ok(line) => Ok((destination.tool, line)),
        Err(failure) => Err(ToolResult::failure(&failure)),
    })
}

/// The text of arguments that fit. It is not read where the tool takes any.
pub(super) async fn checked_input(
    tool: &Arc<Tool>,
    mut arguments: Arguments,
) -> Result<Box<RawValue>, String> {
    if !tool.input().takes_any_object() {
        let read = arguments.take_read()?;
        let checked = schema::check(tool, |tool| Some(tool.input()), read).await;
        arguments.put_back(checked.map_err(|misfit| {
            let name = tool.name();
            format!("the arguments of `{name}` do not fit its input schema: {misfit}")
        })?);
    }
    arguments.into_raw()
}

/// Where a call goes.
struct Destination {
    session: SessionId,
    tool: Arc<Tool>,
    /// That of the session's page.
    dialect: Dialect,
}

/// Where a call goes, or why nowhere.
type Routed = Result<Destination, RouteError>;

/// Finds the session, and takes `session_id` out of the arguments where it is ours. An error says
/// why the arguments cannot be read.
fn route(hub: &Hub, request: &mut CallRequest<'_>) -> Result<Routed, String> {
    let find = |target: &Target| {
        let found = hub.look(request.caller.realm, |realm| {
            let (session, definition) = realm.route_call(&request.tool, target)?;
            let dialect = realm.session(&session).map(|(_, page)| page.dialect());
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
    let otherwise = request.caller.target();
    if !request.arguments.name_a_session() {
        return Ok(find(&otherwise));
    }
    let arguments = request.arguments.read()?;
    let named = arguments.get(SESSION_ARGUMENT).and_then(Value::as_str);
    let Some(named) = named else {
        return Ok(match find(&otherwise) {
            Ok(destination) => {
                let arguments = request.arguments.change()?;
                destination.tool.take_session_argument(arguments);
                Ok(destination)
            }
            Err(error) => Err(error),
        });
    };
    let by_argument = find(&Target::Session(SessionId::from(named)));
    let by_argument = match by_argument {
        Ok(destination) if !destination.tool.has_own_session_argument() => {
            let arguments = request.arguments.change()?;
            destination.tool.take_session_argument(arguments);
            return Ok(Ok(destination));
        }
        other => other,
    };
    // The argument may be the tool's own: then it does not route.
    Ok(match find(&otherwise) {
        Ok(destination) if destination.tool.has_own_session_argument() => Ok(destination),
        other => by_argument.and(other),
    })
}

fn no_route(error: RouteError) -> Result<ToolResult, CallError> {
    match error {
        RouteError::NotFound { name, available } => Err(CallError::Unknown {
            kind: Kind::Tool,
            name,
            available,
        }),
        RouteError::NoSessions => Ok(failed(
            ErrorCode::NoSessionsFound,
            "no page is connected for this token: open the app in a browser and retry".to_owned(),
        )),
        RouteError::AppNotOpen { name, app } => Ok(failed(
            ErrorCode::NoSessionsFound,
            super::not_open(&name, &app),
        )),
        RouteError::SessionNotFound { session, available } => {
            let message = super::no_session(&session);
            let details = Map::from_iter([("available_sessions".to_owned(), json!(available))]);
            Ok(ToolResult::error_object(
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
            Ok(ToolResult::error_object(
                ErrorCode::SessionNotSpecified,
                &message,
                details,
            ))
        }
    }
}

/// What a call's ending looks like to the client.
pub(super) async fn ended(tool: &Arc<Tool>, ending: Ending) -> ToolResult {
    let answer = match ending {
        Ending::Failed(failure) => return ToolResult::failure(&failure),
        Ending::Answered(answer) => answer,
    };
    // Of what was looked at when it came, nothing is to be done but to check it.
    let is_ready =
        matches!(&answer, Answer::Value(Some(Json::Within(_)))) && tool.output().is_none();
    let ended = if is_ready || answer.bytes() < LARGE_BYTES {
        checked(tool, answer).await
    } else {
        let tool = Arc::clone(tool);
        let checked = off_thread::run(move || checked_here(&tool, answer));
        checked.await.unwrap_or_else(|| Ok(stopped()))
    };
    ended.unwrap_or_else(|failure| ToolResult::failure(&failure))
}

/// The result that was promised, or what is wrong with it.
async fn checked(tool: &Arc<Tool>, answer: Answer) -> Result<ToolResult, Failure> {
    let mut result = shaped(tool, answer)?;
    if tool.output().is_some()
        && let Some(structured) = structured(tool, &mut result)?
    {
        let checked = schema::check(tool, Tool::output, structured).await;
        result.put_back_structured(checked.map_err(|misfit| misfitting(tool, &misfit))?);
    }
    Ok(result)
}

/// The same on a thread that may take its time.
fn checked_here(tool: &Tool, answer: Answer) -> Result<ToolResult, Failure> {
    let mut result = shaped(tool, answer)?;
    if let Some(output) = tool.output()
        && let Some(structured) = structured(tool, &mut result)?
    {
        let checked = output.check(&structured);
        checked.map_err(|misfit| misfitting(tool, &misfit))?;
        result.put_back_structured(structured);
    }
    Ok(result)
}

fn structured(tool: &Tool, result: &mut ToolResult) -> Result<Option<Value>, Failure> {
    let read = result.read_structured();
    read.map_err(|error| not_passed_on(tool, &error))
}

fn misfitting(tool: &Tool, misfit: &Misfit) -> Failure {
    let message = format!(
        "the result of `{}` does not fit its output schema: {misfit}",
        tool.name()
    );
    Failure::new(ErrorCode::InvalidResult, message)
}

fn shaped(tool: &Tool, answer: Answer) -> Result<ToolResult, Failure> {
    let shaped = match answer {
        Answer::Value(value) => ToolResult::of_value(value),
        Answer::Content {
            content,
            structured,
            meta,
        } => ToolResult::of_blocks(content, structured, meta),
    };
    let result = shaped.map_err(|error| not_passed_on(tool, &error))?;
    if tool.output().is_some() && !result.is_structured() {
        let message = format!(
            "`{}` has an output schema, but its result has no structured content: return an object",
            tool.name()
        );
        return Err(Failure::new(ErrorCode::InvalidResult, message));
    }
    Ok(result)
}

fn not_passed_on(tool: &Tool, error: &str) -> Failure {
    let message = format!(
        "the result of `{}` cannot be passed on: {error}",
        tool.name()
    );
    Failure::new(ErrorCode::InvalidResult, message)
}

fn failed(code: ErrorCode, message: String) -> ToolResult {
    ToolResult::failure(&Failure::new(code, message))
}
