//! The page that gets the call of a tool.

use std::sync::Arc;

use bridge_mcp_results::arguments::{Arguments, SessionArgument};
use bridge_protocol::{Kind, SessionId};
use bridge_realm::definition::SharedDefinition;
use bridge_realm::definition::tool::SharedTool;
use bridge_realm::realm::{Realm, RoutingError, SessionTarget};

/// Finds the session and the tool, and removes `session_id` from the arguments unless the tool
/// itself has an argument of that name.
pub(crate) fn route(
    realm: &Realm,
    name: &str,
    arguments: &mut Arguments,
    default: &SessionTarget,
) -> Result<(SessionId, Arc<SharedTool>), RoutingError> {
    let find = |target: &SessionTarget| match realm.route(Kind::Tool, name, target)? {
        (session, SharedDefinition::Tool(tool)) => Ok((session, tool)),
        _ => Err(RoutingError::NoSessions),
    };
    let by_argument = match arguments.session_argument() {
        None => return find(default),
        Some(SessionArgument::NotString) => find(default),
        Some(SessionArgument::Session(session)) => find(&SessionTarget::Session(session)),
    };
    match by_argument {
        Ok((session, tool)) if !tool.has_own_session_argument() => {
            arguments.remove_session_argument();
            Ok((session, tool))
        }
        // If the argument belongs to the tool itself, it does not select a session.
        by_argument => match find(default) {
            Ok((session, tool)) if tool.has_own_session_argument() => Ok((session, tool)),
            other => by_argument.and(other),
        },
    }
}
