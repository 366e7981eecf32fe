//! A request whose ending the leg shapes by rules of its own.

use std::sync::Arc;

use bridge_protocol::{ErrorCode, SessionId};

use super::{Caller, Outcome, attend};
use crate::hub::Hub;
use crate::realm::{Ending, Failure, Request};
use crate::schema;
use crate::tool::Tool;

/// Has a page do it.
pub(crate) async fn run(
    hub: &Hub,
    mut caller: Caller<'_>,
    session: &SessionId,
    request: Request,
) -> Ending {
    match attend::start(hub, &mut caller, session, request).await {
        Outcome::Done(ending) => ending,
        // A client that answers in rounds has a leg that knows them.
        Outcome::InputRequired { .. } => Ending::Failed(Failure::page_gone()),
    }
}

/// Whether the arguments, an object, fit the tool's input schema.
pub(crate) async fn check_arguments(tool: &Arc<Tool>, arguments: &str) -> Result<(), Failure> {
    let misfitting = |why: String| {
        let name = &tool.name;
        let message = format!("the arguments of `{name}` do not fit its input schema: {why}");
        Failure::new(ErrorCode::InvalidArguments, message)
    };
    let value = serde_json::from_str(arguments).map_err(|error| misfitting(error.to_string()))?;
    let checked = schema::check(tool, |tool| Some(tool.input()), value).await;
    checked.map_err(|misfit| misfitting(misfit.to_string()))?;
    Ok(())
}
