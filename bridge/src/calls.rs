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
mod validation;

use std::time::Duration;

use bridge_protocol::{
    CallContext, CallId, ClientRequest, ClientResponse, ErrorCode, Kind, SessionId,
};
use serde_json::json;
use serde_json::value::to_raw_value;

use crate::config::TextLimitRule;
use bridge_auth::RealmId;
use bridge_realm::realm::{CallFailure, OfflineApp, RouteError, Target};

pub(crate) use arguments::Arguments;
pub(crate) use attend::ClientChannel;
pub(crate) use completion::{CompletionRequest, CompletionValues, complete};
pub(crate) use fitting::{ToolResultSpec, enforce_contents_limit, enforce_limit};
pub(crate) use for_query::{tools_for_query, wait_for_query_page};
pub(crate) use get_result::get_result;
pub(crate) use prompts::{PromptRequest, get_prompt};
pub(crate) use resources::read_resource;
pub(crate) use tools::{CallRequest, Invocation, call, call_page_tool};
pub(crate) use unreachable::{DETACHED_CLIENT, SilentClient};
pub(crate) use unshaped::{call_raw, validate_raw_arguments};

/// Who asks, and how it can be reached meanwhile.
pub(crate) struct CallerContext<'a> {
    pub(crate) realm: RealmId,
    /// The session that the request or the client's pin names.
    pub(crate) session: Option<SessionId>,
    /// What the page's handler may know.
    pub(crate) call_context: CallContext,
    /// The client itself.
    pub(crate) client: &'a dyn ClientChannel,
    pub(crate) limits: DeliveryLimits,
    /// Answers to what the handler asks the client.
    pub(crate) client_responses: Vec<ClientResponse>,
    /// The call that these answers go on with.
    pub(crate) resume_token: Option<ResumeToken>,
}

impl CallerContext<'_> {
    fn target(&self) -> Target {
        self.session.clone().map_or(Target::Any, Target::Session)
    }
}

/// What a client can take.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DeliveryLimits {
    /// The largest answer, in bytes as it is sent.
    pub(crate) max_bytes: Option<usize>,
    /// The largest answer that goes out as an event of a stream, where that may be less.
    pub(crate) max_event_bytes: Option<usize>,
    /// The characters of all texts together, where the tool says nothing else.
    pub(crate) max_text_chars: Option<usize>,
    pub(crate) text_count: TextLimitRule,
    /// Whether it knows `resource_link` blocks.
    pub(crate) resource_links: bool,
    /// How long it waits for the answer to a tool call.
    pub(crate) client_timeout: Option<Duration>,
}

/// A round of a call that waits for its client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ResumeToken {
    pub(crate) call: CallId,
    pub(crate) round: u64,
}

/// What a client hears.
#[derive(Debug)]
pub(crate) enum RoundOutcome<T> {
    Complete(T),
    /// It must answer these and ask again with the ticket.
    InputRequired {
        resume_token: ResumeToken,
        requests: Vec<ClientRequest>,
    },
}

impl<T> From<T> for RoundOutcome<T> {
    fn from(done: T) -> Self {
        RoundOutcome::Complete(done)
    }
}

/// A request that has no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    /// There is no such tool, prompt, or template to complete.
    #[error("unknown {} `{name}`: {}", kind_name(*.kind), hint(*.kind, .available))]
    ItemNotFound {
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
    Failed(CallFailure),
}

impl CallError {
    fn failed(code: ErrorCode, message: impl Into<String>) -> Self {
        Self::Failed(CallFailure::new(code, message.into()))
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
const MAX_HINTED_NAMES: usize = 32;

fn hint(kind: Kind, available: &[String]) -> String {
    match available {
        [] => format!("no page has registered a {} yet", kind_name(kind)),
        names if names.len() <= MAX_HINTED_NAMES => format!("there are {}", names.join(", ")),
        names => {
            let (some, more) = names.split_at(MAX_HINTED_NAMES);
            format!("there are {} and {} more", some.join(", "), more.len())
        }
    }
}

/// What a prompt or a completion hears of a route that leads nowhere.
fn route_error(kind: Kind, error: RouteError) -> CallError {
    let choose = |code, message: String, available: Vec<_>| {
        let data = to_raw_value(&json!({ "available_sessions": available })).ok();
        CallError::Failed(CallFailure {
            data,
            ..CallFailure::new(code, message)
        })
    };
    match error {
        RouteError::NotFound { name, available } if kind == Kind::Resource => {
            CallError::ResourceNotFound {
                uri: name,
                why: hint(kind, &available),
            }
        }
        RouteError::NotFound { name, available } => CallError::ItemNotFound {
            kind,
            name,
            available,
        },
        RouteError::NoSessions => CallError::failed(
            ErrorCode::NoSessionsFound,
            "no page is connected for this token: open the app in a browser and retry",
        ),
        RouteError::AppNotOpen { name, app } => {
            CallError::failed(ErrorCode::NoSessionsFound, app_not_open(&name, &app))
        }
        RouteError::SessionNotFound { session, available } => choose(
            ErrorCode::SessionNotFound,
            session_not_found(&session),
            available,
        ),
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
fn session_not_found(session: &SessionId) -> String {
    format!("no session `{session}`: choose one of available_sessions")
}

/// What a caller hears whose app has left, while what it offered is still listed.
fn app_not_open(name: &str, app: &OfflineApp) -> String {
    let origin = match &app.origin {
        Some(origin) => format!(" ({origin})"),
        None => String::new(),
    };
    format!(
        "`{name}` belongs to \"{}\", and no page of it is open now: open the app{origin} in a browser \
         and retry",
        app.name
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_lists_a_limited_number_of_names() {
        let names: Vec<_> = (0..MAX_HINTED_NAMES + 2).map(|n| format!("t{n}")).collect();
        let some = hint(Kind::Tool, &names[..MAX_HINTED_NAMES]);
        assert!(some.ends_with(", t31"), "{some}");
        let more = hint(Kind::Tool, &names);
        assert!(more.ends_with(", t31 and 2 more"), "{more}");
    }
}
