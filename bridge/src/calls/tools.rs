//! `tools/call`.

use std::sync::Arc;

use bridge_protocol::{ErrorCode, Kind, SessionId};
use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};

use super::{CallError, Caller, Outcome, attend};
use crate::definition::Definition;
use crate::hub::Hub;
use crate::meta_tools;
use crate::realm::{Answer, Ending, Failure, Request, RouteError, Target};
use crate::result::ToolResult;
use crate::schema;
use crate::tool::{SESSION_ARGUMENT, Tool};

/// Which tool, with what. The argument `session_id` goes before the caller's session.
pub(crate) struct CallRequest<'a> {
    pub(crate) caller: Caller<'a>,
    pub(crate) tool: String,
    pub(crate) arguments: Map<String, Value>,
}

/// Runs a tool: one of the bridge's own or one of a page.
pub(crate) async fn call(
    hub: &Arc<Hub>,
    request: CallRequest<'_>,
) -> Result<Outcome<ToolResult>, CallError> {
    if meta_tools::is_one(&request.tool) && request.caller.resumes.is_none() {
        return meta_tools::call(hub, request).await;
    }
    call_page(hub, request).await
}

/// Runs a page's tool.
pub(crate) async fn call_page(
    hub: &Hub,
    mut request: CallRequest<'_>,
) -> Result<Outcome<ToolResult>, CallError> {
    let (tool, outcome) = match request.caller.resumes.take() {
        Some(ticket) => match attend::resume(hub, &mut request.caller, ticket).await? {
            (Request::Tool { tool, .. }, outcome) => (tool, outcome),
            _ => return Err(CallError::NothingToResume),
        },
        None => match start(hub, &mut request).await? {
            Started::Refused(result) => return Ok(result.into()),
            Started::Ran(tool, outcome) => (tool, outcome),
        },
    };
    match outcome {
        Outcome::InputRequired { ticket, requests } => {
            Ok(Outcome::InputRequired { ticket, requests })
        }
        Outcome::Done(Ending::Failed(failure))
            if failure.code == ErrorCode::ClientCapabilityMissing
                && request.caller.client.answers_in_rounds() =>
        {
            Err(CallError::Failed(failure))
        }
        Outcome::Done(Ending::Failed(failure)) => Ok(ToolResult::failure(&failure).into()),
        Outcome::Done(Ending::Answered(answer)) => Ok(answered(&tool, answer).await.into()),
    }
}

enum Started {
    /// Before the page heard of it.
    Refused(ToolResult),
    Ran(Arc<Tool>, Outcome<Ending>),
}

async fn start(hub: &Hub, request: &mut CallRequest<'_>) -> Result<Started, CallError> {
    let (session, tool) = match route(hub, request) {
        Ok(found) => found,
        Err(error) => return no_route(error).map(Started::Refused),
    };
    let arguments = Value::Object(std::mem::take(&mut request.arguments));
    if let Err(misfit) = schema::check(&tool, |tool| Some(tool.input()), arguments.clone()).await {
        let message = format!(
            "the arguments of `{}` do not fit its input schema: {misfit}",
            tool.name
        );
        return Ok(Started::Refused(failed(
            ErrorCode::InvalidArguments,
            message,
        )));
    }
    let Ok(input) = to_raw_value(&arguments) else {
        let message = "the arguments cannot be encoded".to_owned();
        return Ok(Started::Refused(failed(ErrorCode::InternalError, message)));
    };
    let run = Request::Tool {
        tool: Arc::clone(&tool),
        input,
    };
    let outcome = attend::start(hub, &mut request.caller, &session, run).await;
    Ok(Started::Ran(tool, outcome))
}

/// Raw JSON passes through where no value is made of it: deeper nesting and larger numbers too.
fn unreadable(tool: &Tool, error: &str) -> String {
    format!("the result of `{}` cannot be passed on: {error}", tool.name)
}

/// Finds the session, and takes `session_id` out of the arguments where it is ours.
fn route(hub: &Hub, request: &mut CallRequest<'_>) -> Result<(SessionId, Arc<Tool>), RouteError> {
    let find = |target: &Target| {
        let found = hub.read(request.caller.realm, |realm| {
            realm.route(Kind::Tool, &request.tool, target)
        });
        match found.unwrap_or(Err(RouteError::NoSessions))? {
            (session, Definition::Tool(tool)) => Ok((session, tool)),
            _ => Err(RouteError::NoSessions),
        }
    };
    let otherwise = request.caller.target();
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
            let message = format!("no session {session:?}: choose one of available_sessions");
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

async fn answered(tool: &Arc<Tool>, answer: Answer) -> ToolResult {
    let result = match shaped(answer) {
        Ok(result) => result,
        Err(error) => return failed(ErrorCode::InvalidResult, unreadable(tool, &error)),
    };
    if tool.output().is_none() {
        return result;
    }
    let Some(structured) = result.structured.clone() else {
        let message = format!(
            "`{}` has an output schema, but its result has no structured content: return an object",
            tool.name
        );
        return failed(ErrorCode::InvalidResult, message);
    };
    match schema::check(tool, Tool::output, structured).await {
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

fn shaped(answer: Answer) -> Result<ToolResult, String> {
    let parse = |raw: Box<serde_json::value::RawValue>| {
        serde_json::from_str::<Value>(raw.get()).map_err(|error| {
            format!("{error}. Return less nested data, and numbers as JavaScript has them")
        })
    };
    match answer {
        Answer::Value(value) => Ok(ToolResult::from_value(value.map(parse).transpose()?)),
        Answer::Content {
            content,
            structured,
            meta,
        } => ToolResult::from_content(
            parse(content)?,
            structured.map(parse).transpose()?,
            meta.map(parse).transpose()?,
        ),
    }
}

fn failed(code: ErrorCode, message: String) -> ToolResult {
    ToolResult::failure(&Failure::new(code, message))
}
