//! Which session a call goes to, and which tools are listed.

use std::sync::Arc;

use bridge_protocol::SessionId;
use indexmap::IndexMap;

use super::Session;
use super::session::SessionSummary;
use crate::tool::Tool;

/// What the caller said about the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// This one (argument `session_id`, `_meta.sessionId`, or the client's pin).
    Session(SessionId),
    /// The only one that has the tool.
    Any,
}

/// Why a call has nowhere to go.
#[derive(Debug)]
pub(crate) enum RouteError {
    /// No page is connected.
    NoSessions,
    /// The named session is not there.
    SessionNotFound {
        session: SessionId,
        available: Vec<SessionSummary>,
    },
    /// No session has the tool, or the named one has not.
    ToolNotFound {
        tool: String,
        available: Vec<String>,
    },
    /// Several have it.
    Ambiguous {
        tool: String,
        available: Vec<SessionSummary>,
    },
}

type Sessions = IndexMap<SessionId, Session>;

pub(super) fn route(
    sessions: &Sessions,
    tool: &str,
    target: &Target,
) -> Result<(SessionId, Arc<Tool>), RouteError> {
    if sessions.is_empty() {
        return Err(RouteError::NoSessions);
    }
    match target {
        Target::Session(id) => {
            let session = sessions
                .get(id)
                .ok_or_else(|| RouteError::SessionNotFound {
                    session: id.clone(),
                    available: summaries(sessions.iter()),
                })?;
            let found = session
                .tool(tool)
                .ok_or_else(|| not_found(tool, [session]))?;
            Ok((id.clone(), found.clone()))
        }
        Target::Any => {
            let having: Vec<_> = sessions
                .iter()
                .filter_map(|(id, session)| Some((id, session, session.tool(tool)?)))
                .collect();
            match having[..] {
                [] => Err(not_found(tool, sessions.values())),
                [(id, _, found)] => Ok((id.clone(), found.clone())),
                _ => Err(RouteError::Ambiguous {
                    tool: tool.to_owned(),
                    available: summaries(having.iter().map(|(id, session, _)| (*id, *session))),
                }),
            }
        }
    }
}

pub(super) fn published<'a>(sessions: impl Iterator<Item = &'a Session>) -> Vec<Arc<Tool>> {
    let mut by_name: IndexMap<&str, (u64, &Arc<Tool>)> = IndexMap::new();
    for session in sessions {
        for tool in session.tools.values() {
            let entry = (tool.registration, &tool.definition);
            by_name
                .entry(&tool.definition.published_name)
                .and_modify(|listed| {
                    if listed.0 < entry.0 {
                        *listed = entry;
                    }
                })
                .or_insert(entry);
        }
    }
    by_name
        .into_values()
        .map(|(_, tool)| tool.clone())
        .collect()
}

fn summaries<'a>(
    sessions: impl Iterator<Item = (&'a SessionId, &'a Session)>,
) -> Vec<SessionSummary> {
    sessions.map(|(id, session)| session.summary(id)).collect()
}

fn not_found<'a>(tool: &str, sessions: impl IntoIterator<Item = &'a Session>) -> RouteError {
    let available = published(sessions.into_iter())
        .iter()
        .map(|tool| tool.published_name.clone())
        .collect();
    RouteError::ToolNotFound {
        tool: tool.to_owned(),
        available,
    }
}
