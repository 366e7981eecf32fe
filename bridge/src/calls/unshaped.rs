//! A request whose ending the leg shapes by rules of its own.

use std::sync::Arc;

use bridge_protocol::{ErrorCode, SessionId};
use serde_json::value::RawValue;

use super::tools::checked_input;
use super::{Arguments, Caller, Outcome, attend};
use crate::hub::Hub;
use crate::realm::{Ending, Failure, Request};
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

/// The arguments, if they fit the tool's input schema.
pub(crate) async fn checked_arguments(
    tool: &Arc<Tool>,
    arguments: Box<RawValue>,
) -> Result<Box<RawValue>, Failure> {
    let checked = checked_input(tool, Arguments::raw(arguments)).await;
    checked.map_err(|why| Failure::new(ErrorCode::InvalidArguments, why))
}
