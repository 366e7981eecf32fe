//! `prompts/get`.

use bridge_protocol::Kind;
use serde_json::value::to_raw_value;
use serde_json::{Map, Value};

use super::fitting::{object_with, whole};
use super::{CallError, Caller, Outcome, attend, no_route};
use crate::definition::Definition;
use crate::hub::Hub;
use crate::realm::{Ending, Request, RouteError};

/// Which prompt, with what.
pub(crate) struct PromptRequest<'a> {
    pub(crate) caller: Caller<'a>,
    pub(crate) name: String,
    pub(crate) arguments: Map<String, Value>,
}

/// Has a page fill in a prompt: the MCP `GetPromptResult`, as the page wrote it.
pub(crate) async fn get_prompt(
    hub: &Hub,
    request: PromptRequest<'_>,
) -> Result<Outcome<Map<String, Value>>, CallError> {
    let mut caller = request.caller;
    let what = format!("prompt `{}`", request.name);
    let outcome = match caller.resumes.take() {
        Some(ticket) => attend::resume(hub, &mut caller, ticket).await?,
        None => {
            let found = hub.read(caller.realm, |realm| {
                realm.route(Kind::Prompt, &request.name, &caller.target())
            });
            let (session, prompt) = found
                .unwrap_or(Err(RouteError::NoSessions))
                .map_err(|error| no_route(Kind::Prompt, error))?;
            check_arguments(&prompt, &request.arguments)?;
            let arguments = to_raw_value(&request.arguments).map_err(|error| {
                CallError::InvalidArguments(format!("the arguments cannot be encoded: {error}"))
            })?;
            let request = Request::Prompt {
                name: prompt.name().to_owned(),
                arguments,
            };
            attend::start(hub, &mut caller, &session, request).await
        }
    };
    match outcome {
        Outcome::InputRequired { ticket, requests } => {
            Ok(Outcome::InputRequired { ticket, requests })
        }
        Outcome::Done(Ending::Failed(failure)) => Err(CallError::Failed(failure)),
        Outcome::Done(Ending::Answered(answer)) => {
            let result = object_with(&what, "messages", answer).await?;
            whole(&caller, &what, result).await.map(Outcome::Done)
        }
    }
}

fn check_arguments(prompt: &Definition, given: &Map<String, Value>) -> Result<(), CallError> {
    let Definition::Prompt(prompt) = prompt else {
        return Ok(());
    };
    if let Some((name, _)) = given.iter().find(|(_, value)| !value.is_string()) {
        let message = format!("the argument `{name}` must be a string, as all of prompts");
        return Err(CallError::InvalidArguments(message));
    }
    match &prompt.missing_arguments(given)[..] {
        [] => Ok(()),
        missing => Err(CallError::InvalidArguments(format!(
            "prompt `{}` needs the arguments {}",
            prompt.name,
            missing.join(", ")
        ))),
    }
}
