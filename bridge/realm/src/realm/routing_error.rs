//! The errors of requests for which no page can be chosen, with their codes and messages. The edges
//! add only the form that an error has in their protocol.

use bridge_protocol::{ErrorCode, Kind, SessionId};

use super::catalogue::OfflineApp;
use super::session::SessionSummary;
use crate::definition::tool::SESSION_ARGUMENT;

/// The reason why no session can be chosen for a call.
#[derive(Debug)]
pub enum RoutingError {
    /// No page is connected.
    NoSessions,
    /// No session has the given id or name.
    SessionNotFound {
        session: SessionId,
        available: Vec<SessionSummary>,
    },
    /// No session has the item, or the requested session does not have it.
    NotFound {
        name: String,
        available: Vec<String>,
    },
    /// An app without an open page has the item in the catalogue.
    AppNotOpen { name: String, app: OfflineApp },
    /// Several sessions have the item.
    Ambiguous {
        name: String,
        available: Vec<SessionSummary>,
    },
}

impl RoutingError {
    /// The code of the error of a request for an item of this kind.
    pub fn code(&self, kind: Kind) -> ErrorCode {
        match self {
            Self::NoSessions | Self::AppNotOpen { .. } => ErrorCode::NoSessionsFound,
            Self::SessionNotFound { .. } => ErrorCode::SessionNotFound,
            Self::Ambiguous { .. } => ErrorCode::SessionNotSpecified,
            Self::NotFound { .. } => match kind {
                Kind::Tool => ErrorCode::ToolNotFound,
                Kind::Prompt => ErrorCode::PromptNotFound,
                Kind::Resource | Kind::ResourceTemplate => ErrorCode::ResourceNotFound,
            },
        }
    }

    /// The message for the client that has requested an item of this kind.
    pub fn message(&self, kind: Kind) -> String {
        match self {
            Self::NoSessions => {
                "no page is connected for this token: open the app in a browser and retry"
                    .to_owned()
            }
            Self::SessionNotFound { session, .. } => {
                format!("no session `{session}`: choose one of available_sessions")
            }
            Self::NotFound { name, available } if kind == Kind::Resource => {
                resource_not_found(name, &available_names(kind, available))
            }
            Self::NotFound { name, available } => {
                let (kind_name, available) = (kind_name(kind), available_names(kind, available));
                format!("unknown {kind_name} `{name}`: {available}")
            }
            Self::AppNotOpen { name, app } => {
                let origin = match &app.origin {
                    Some(origin) => format!(" ({origin})"),
                    None => String::new(),
                };
                format!(
                    "`{name}` belongs to \"{}\", and no page of it is open now: open the \
                     app{origin} in a browser and retry",
                    app.name
                )
            }
            Self::Ambiguous { name, .. } if kind == Kind::Tool => format!(
                "several pages have `{name}`: repeat the call with `{SESSION_ARGUMENT}` set to one \
                 of available_sessions"
            ),
            Self::Ambiguous { name, .. } => format!(
                "several pages have `{name}`: name one of available_sessions in \
                 `_meta[\"mcp-web/sessionId\"]`"
            ),
        }
    }

    /// The sessions that the client can choose, if it can choose one.
    pub fn available_sessions(&self) -> Option<&[SessionSummary]> {
        match self {
            Self::SessionNotFound { available, .. } | Self::Ambiguous { available, .. } => {
                Some(available)
            }
            Self::NoSessions | Self::NotFound { .. } | Self::AppNotOpen { .. } => None,
        }
    }
}

/// The message for a resource that does not exist, according to the bridge or to its page.
pub fn resource_not_found(uri: &str, why: &str) -> String {
    format!("no resource `{uri}`: {why}")
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Tool => "tool",
        Kind::Prompt => "prompt",
        Kind::Resource => "resource",
        Kind::ResourceTemplate => "resource template",
    }
}

/// The maximum number of available names that an error lists.
const MAX_LISTED_NAMES: usize = 32;

/// The part of a message with the names that are available, or that there are none yet.
fn available_names(kind: Kind, available: &[String]) -> String {
    match available {
        [] => format!("no open page has a {} now", kind_name(kind)),
        names if names.len() <= MAX_LISTED_NAMES => format!("there are {}", names.join(", ")),
        names => {
            let (some, more) = names.split_at(MAX_LISTED_NAMES);
            format!("there are {} and {} more", some.join(", "), more.len())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_lists_a_limited_number_of_names() {
        let names: Vec<_> = (0..MAX_LISTED_NAMES + 2).map(|n| format!("t{n}")).collect();
        let some = available_names(Kind::Tool, &names[..MAX_LISTED_NAMES]);
        assert!(some.ends_with(", t31"), "{some}");
        let more = available_names(Kind::Tool, &names);
        assert!(more.ends_with(", t31 and 2 more"), "{more}");
    }
}
