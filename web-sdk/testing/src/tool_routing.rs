//! The page that gets the call of a tool.

use std::sync::Arc;

use bridge_protocol::{Kind, SessionId};
use bridge_realm::definition::Definition;
use bridge_realm::definition::tool::Tool;
use bridge_realm::realm::{Realm, RoutingError, Target};
use bridge_results::arguments::{Arguments, SessionArgument};

/// Finds the session and the tool, and removes `session_id` from the arguments unless the tool
/// itself has an argument of that name.
pub(crate) fn route(
    realm: &Realm,
    name: &str,
    arguments: &mut Arguments,
    default: &Target,
) -> Result<(SessionId, Arc<Tool>), RoutingError> {
    let find = |target: &Target| match realm.route(Kind::Tool, name, target)? {
        (session, Definition::Tool(tool)) => Ok((session, tool)),
        _ => Err(RoutingError::NoSessions),
    };
    let by_argument = match arguments.session_argument() {
        None => return find(default),
        Some(SessionArgument::NotString) => find(default),
        Some(SessionArgument::Session(session)) => find(&Target::Session(session)),
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
