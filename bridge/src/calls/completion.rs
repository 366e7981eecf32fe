//! `completion/complete`.

use std::collections::BTreeMap;

use bridge_protocol::{Argument, ErrorCode, Item};
use serde::Deserialize;
use serde_json::Value;

use super::fitting::object;
use super::{CallError, Caller, Outcome, attend, no_route};
use crate::hub::Hub;
use crate::realm::{Ending, Request, RouteError};

/// MCP's limit for one answer (specification, "Completion").
const MAX_VALUES: usize = 100;

/// What to complete.
pub(crate) struct CompletionRequest<'a> {
    pub(crate) caller: Caller<'a>,
    pub(crate) reference: Item,
    pub(crate) argument: Argument,
    pub(crate) arguments: BTreeMap<String, String>,
}

/// The values that a page proposes.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Proposals {
    pub(crate) values: Vec<String>,
    pub(crate) total: Option<u32>,
    pub(crate) has_more: Option<bool>,
}

impl Proposals {
    fn shortened(mut self) -> Self {
        if self.values.len() > MAX_VALUES {
            self.total = self.total.or_else(|| u32::try_from(self.values.len()).ok());
            self.has_more = Some(true);
            self.values.truncate(MAX_VALUES);
        }
        self
    }
}

/// Has a page complete an argument.
pub(crate) async fn complete(
    hub: &Hub,
    request: CompletionRequest<'_>,
) -> Result<Proposals, CallError> {
    let mut caller = request.caller;
    let kind = request.reference.kind;
    let found = hub.read(caller.realm, |realm| {
        realm.route(kind, &request.reference.name, &caller.target())
    });
    let (session, definition) = match found.unwrap_or(Err(RouteError::NoSessions)) {
        Ok(found) => found,
        Err(error) => return Err(no_route(kind, error)),
    };
    let request = Request::Completion {
        reference: definition.item(),
        argument: request.argument,
        arguments: request.arguments,
    };
    match attend::start(hub, &mut caller, &session, request).await {
        Outcome::Done(Ending::Answered(answer)) => {
            let result = object("a completion", answer)?;
            let proposals: Proposals =
                serde_json::from_value(Value::Object(result)).map_err(|error| {
                    let message = format!("the page's answer for a completion: {error}");
                    CallError::failed(ErrorCode::InvalidResult, message)
                })?;
            Ok(proposals.shortened())
        }
        Outcome::Done(Ending::Failed(failure)) => Err(CallError::Failed(failure)),
        // MCP answers no completion with a round, and no completer can ask.
        Outcome::InputRequired { .. } => Err(CallError::failed(
            ErrorCode::ProtocolViolation,
            "a completer cannot ask the client",
        )),
    }
}
