//! One request of a client, from its leg to the page and back: route, check, run, check.
//!
//! Every leg (MCP, plain HTTP) is a client of this. Dropping the future cancels the call.
//! [`attend`] stays with a call while it runs: it carries progress, logs and what the page asks the
//! client. Each kind of request has a module of its own. A client without the patience for a long
//! call gets a handle, and the result by [`get_result`]; [`fitting`] cuts what is too large for one.

mod arguments;
mod attend;
mod completion;
mod fitting;
mod for_query;
mod get_result;
mod leaving;
mod progress;
mod prompts;
mod resources;
mod tools;
mod unreachable;
mod unshaped;

use std::time::Duration;

use bridge_protocol::{
    CallContext, CallId, ClientRequest, ClientResponse, ErrorCode, Kind, SessionId,
};
use serde_json::json;
use serde_json::value::to_raw_value;

use crate::auth::RealmId;
use crate::config::TextCount;
use crate::realm::{ClosedApp, Failure, RouteError, Target};

pub(crate) use arguments::Arguments;
pub(crate) use attend::Client;
pub(crate) use completion::{CompletionRequest, Proposals, complete};
pub(crate) use fitting::{FittedTool, contents, fitted};
pub(crate) use for_query::{page_of_query, tools_of_query};
pub(crate) use get_result::get_result;
pub(crate) use prompts::{PromptRequest, get_prompt};
pub(crate) use resources::read_resource;
pub(crate) use tools::{CallRequest, Called, call, call_page};
pub(crate) use unreachable::{NOBODY, Unreachable};
pub(crate) use unshaped::{checked_arguments, run};

/// Who asks, and how it can be reached meanwhile.
pub(crate) struct Caller<'a> {
    pub(crate) realm: RealmId,
    /// The session that the request or the client's pin names.
    pub(crate) session: Option<SessionId>,
    /// What the page's handler may know.
    pub(crate) context: CallContext,
    /// The client itself.
    pub(crate) client: &'a dyn Client,
    pub(crate) takes: Takes,
    /// Answers to what the handler asks the client.
    pub(crate) answers: Vec<ClientResponse>,
    /// The call that these answers go on with.
    pub(crate) resumes: Option<Ticket>,
}

impl Caller<'_> {
    fn target(&self) -> Target {
        self.session.clone().map_or(Target::Any, Target::Session)
    }
}

/// What a client can take.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Takes {
    /// The largest answer, in bytes as it is sent.
    pub(crate) bytes: Option<usize>,
    /// The largest answer that goes out as an event of a stream, where that may be less.
    pub(crate) event_bytes: Option<usize>,
    /// The characters of all texts together, where the tool says nothing else.
    pub(crate) text_chars: Option<usize>,
    pub(crate) text_count: TextCount,
    /// Whether it knows `resource_link` blocks.
    pub(crate) links: bool,
    /// How long it waits for the answer to a tool call.
    pub(crate) patience: Option<Duration>,
}

/// A round of a call that waits for its client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ticket {
    pub(crate) call: CallId,
    pub(crate) round: u64,
}

/// What a client hears.
#[derive(Debug)]
pub(crate) enum Outcome<T> {
    Done(T),
    /// It must answer these and ask again with the ticket.
    InputRequired {
        ticket: Ticket,
        requests: Vec<ClientRequest>,
    },
}

impl<T> From<T> for Outcome<T> {
    fn from(done: T) -> Self {
        Outcome::Done(done)
    }
}

/// A request that has no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    /// There is no such tool, prompt, or template to complete.
    #[error("unknown {} `{name}`: {}", kind_name(*.kind), hint(*.kind, .available))]
    Unknown {
        kind: Kind,
        name: String,
        available: Vec<String>,
    },
    #[error("no resource `{uri}`: {why}")]
    ResourceNotFound { uri: String, why: String },
    #[error("{0}")]
    InvalidArguments(String),
    /// The `requestState` was good, and nothing waits for it.
    #[error(
        "the call that this `requestState` belongs to has ended, or went on with another answer: \
         send the request again without `requestState`"
    )]
    NothingToResume,
    #[error("{}", .0.message)]
    Failed(Failure),
}

impl CallError {
    fn failed(code: ErrorCode, message: impl Into<String>) -> Self {
        Self::Failed(Failure::new(code, message.into()))
    }
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Tool => "tool",
        Kind::Prompt => "prompt",
        Kind::Resource => "resource",
        Kind::ResourceTemplate => "resource template",
    }
}

/// An error names so many of what there is. The list has them all.
const HINTED_NAMES: usize = 32;

fn hint(kind: Kind, available: &[String]) -> String {
    match available {
        [] => format!("no page has registered a {} yet", kind_name(kind)),
        names if names.len() <= HINTED_NAMES => format!("there are {}", names.join(", ")),
        names => {
            let (some, more) = names.split_at(HINTED_NAMES);
            format!("there are {} and {} more", some.join(", "), more.len())
        }
    }
}

/// What a prompt or a completion hears of a route that leads nowhere.
fn no_route(kind: Kind, error: RouteError) -> CallError {
    let choose = |code, message: String, available: Vec<_>| {
        let data = to_raw_value(&json!({ "available_sessions": available })).ok();
        CallError::Failed(Failure {
            data,
            ..Failure::new(code, message)
        })
    };
    match error {
        RouteError::NotFound { name, available } if kind == Kind::Resource => {
            CallError::ResourceNotFound {
                uri: name,
                why: hint(kind, &available),
            }
        }
        RouteError::NotFound { name, available } => CallError::Unknown {
            kind,
            name,
            available,
        },
        RouteError::NoSessions => CallError::failed(
            ErrorCode::NoSessionsFound,
            "no page is connected for this token: open the app in a browser and retry",
        ),
        RouteError::AppNotOpen { name, app } => {
            CallError::failed(ErrorCode::NoSessionsFound, not_open(&name, &app))
        }
        RouteError::SessionNotFound { session, available } => {
            choose(ErrorCode::SessionNotFound, no_session(&session), available)
        }
        RouteError::Ambiguous { name, available } => choose(
            ErrorCode::SessionNotSpecified,
            format!(
                "several pages have `{name}`: name one of available_sessions in \
                 `_meta[\"mcp-web/sessionId\"]`"
            ),
            available,
        ),
    }
}

/// What a caller hears that names a session which is not there.
fn no_session(session: &SessionId) -> String {
    format!("no session `{session}`: choose one of available_sessions")
}

/// What a caller hears whose app has left, while what it offered is still listed.
fn not_open(name: &str, app: &ClosedApp) -> String {
    let place = match &app.origin {
        Some(origin) => format!(" ({origin})"),
        None => String::new(),
    };
    format!(
        "`{name}` belongs to \"{}\", and no page of it is open now: open the app{place} in a browser \
         and retry",
        app.name
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_some_of_many() {
        let names: Vec<_> = (0..HINTED_NAMES + 2).map(|n| format!("t{n}")).collect();
        let some = hint(Kind::Tool, &names[..HINTED_NAMES]);
        assert!(some.ends_with(", t31"), "{some}");
        let more = hint(Kind::Tool, &names);
        assert!(more.ends_with(", t31 and 2 more"), "{more}");
    }
}
