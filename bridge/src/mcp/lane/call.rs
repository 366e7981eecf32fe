//! `tools/call`.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};
use rmcp::model::{ErrorCode, ErrorData, RequestId};
use serde_json::value::RawValue;

use super::hearer::{Hearer, Notifications};
use super::request::{Request, text};
use super::running::{Answer, Held, Next, Running};
use super::stream;
use crate::calls::{self, Arguments, CallError, CallRequest, Caller, NOBODY, Outcome};
use crate::hub::Hub;
use crate::mcp::convert;
use crate::mcp::session::request_key;
use crate::meta_tools;
use crate::off_thread::{self, LARGE_BYTES};
use crate::result::{ToolResult, size};

/// An answer that comes within this, with nothing before it, is one JSON body. What takes longer is a
/// stream: the client hears that its call goes on, and in an MCP session where to come back to. Nobody
/// loses much with a connection that breaks so early, and some clients read no long events, but
/// bodies of any length. Clients wait at least five seconds for the head of an answer.
const WHOLE_WITHIN: Duration = Duration::from_secs(2);

/// rmcp's clients take no longer body, while the longest event is theirs to set: longer answers are
/// events.
const MAX_BODY_BYTES: usize = 16 * 1024 * 1024;

pub(super) async fn serve(request: Request<'_>) -> Option<Response> {
    let call = Call::of(&request)?;
    match &request.session {
        Some(_) => in_session(&request, call).await,
        None => Some(alone(&request, call).await),
    }
}

/// A call that is the lane's.
struct Call {
    hub: Arc<Hub>,
    request: CallRequest<'static>,
    id: Box<RawValue>,
    hearer: Hearer,
    is_modern: bool,
}

impl Call {
    fn of(request: &Request<'_>) -> Option<Self> {
        let hub = &request.edge.hub;
        let tool = text(request.params.name?)?;
        let arguments = match request.params.arguments.map(RawValue::get) {
            None | Some("null") => Arguments::default(),
            Some(object) if object.starts_with('{') => {
                Arguments::raw(request.params.arguments?.to_owned())
            }
            Some(_) => return None,
        };
        let is_modern = request.is_modern();
        let is_silent = !request.known.can_be_asked();
        if !(is_silent || never_asks(request, &tool)) || is_modern && reads_headers(request, &tool)
        {
            return None;
        }
        let wishes = request.wishes();
        let token = match request.params.meta.progress_token {
            Some(token) => Some(checked_token(token)?.to_owned()),
            None => None,
        };
        let caller = request
            .known
            .tool_caller(request.principal, wishes, &NOBODY);
        Some(Self {
            hub: Arc::clone(hub),
            request: CallRequest {
                caller,
                tool: tool.into_owned(),
                arguments,
            },
            id: request.id.to_owned(),
            hearer: Hearer {
                token,
                in_rounds: is_modern && is_silent,
                notifications: Arc::default(),
            },
            is_modern,
        })
    }

    fn notifications(&self) -> Arc<Notifications> {
        Arc::clone(&self.hearer.notifications)
    }

    async fn run(self) -> Answer {
        let caller = Caller {
            client: &self.hearer,
            ..self.request.caller
        };
        let request = CallRequest {
            caller,
            ..self.request
        };
        let outcome = calls::call(&self.hub, request).await;
        let (id, is_modern) = (self.id, self.is_modern);
        match outcome {
            Ok(Outcome::Done(result))
                if result.is_within() || size::is_surely_within(&result, LARGE_BYTES) =>
            {
                answered(&id, &result, is_modern)
            }
            Ok(Outcome::Done(result)) => {
                let encoded = off_thread::run(move || answered(&id, &result, is_modern));
                encoded.await.unwrap_or_else(|| Answer {
                    status: StatusCode::INTERNAL_SERVER_ERROR,
                    json: Vec::new().into(),
                })
            }
            // Nobody is asked who has declared nothing.
            Ok(Outcome::InputRequired { .. }) => {
                let message = "the call waits for input, and the client declared that it has none";
                failed(&id, &ErrorData::internal_error(message, None), is_modern)
            }
            Err(error) => refused(&id, error, is_modern),
        }
    }
}

/// A call of MCP 2026-07-28, which ends with its connection.
async fn alone(request: &Request<'_>, call: Call) -> Response {
    let events_only = request.events_only;
    let notifications = call.notifications();
    let mut running = Running::new(call.run(), Arc::clone(&notifications), None);
    match next_within(&notifications, running.next(), events_only).await {
        None => stream::unkept(None, running),
        Some(Next::Message(first)) => stream::unkept(Some(first), running),
        Some(Next::Answer(answer)) => whole(answer, events_only),
        Some(Next::Cancelled) => stream::none(),
    }
}

/// A call of an MCP session, which outlives its connection.
async fn in_session(request: &Request<'_>, call: Call) -> Option<Response> {
    let session = request.session.as_ref()?;
    let key = key_of(request.id)?;
    let in_flight = session.call(key)?;
    let (notifications, hub) = (call.notifications(), Arc::clone(&call.hub));
    let running = Running::new(call.run(), Arc::clone(&notifications), Some(in_flight));
    let mut held = Held::new(running, &hub);
    let first = match next_within(&notifications, held.next(), request.events_only).await {
        Some(Next::Answer(answer)) => {
            held.release();
            return Some(whole(answer, false));
        }
        Some(Next::Cancelled) => {
            held.release();
            return Some(stream::none());
        }
        Some(Next::Message(first)) => Some(first),
        None => None,
    };
    let events = request.edge.mcp.sessions.events();
    let primes = request.known.knows_priming_events();
    Some(stream::kept(first, held, events, &hub, primes))
}

/// What comes of a call first. `None`: nothing within the time in which an answer is a body of its
/// own, and from now on everything is an event.
async fn next_within(
    notifications: &Notifications,
    next: impl Future<Output = Next>,
    events_only: bool,
) -> Option<Next> {
    if events_only {
        notifications.is_streamed();
        return None;
    }
    let mut next = pin!(next);
    let first = match tokio::time::timeout(WHOLE_WITHIN, &mut next).await {
        Ok(first) => first,
        Err(_) if notifications.is_streamed() => return None,
        // The answer is being shaped as a body.
        Err(_) => next.await,
    };
    if let Next::Message(_) = first {
        notifications.is_streamed();
    }
    Some(first)
}

/// Whether each page that has the tool says that it does not ask.
fn never_asks(request: &Request<'_>, tool: &str) -> bool {
    if meta_tools::is_one(tool) {
        return tool != meta_tools::CALL_SESSION_TOOL;
    }
    all_named(request, tool, |tool| tool.asks_client).is_none_or(|asks| !asks)
}

/// Whether arguments of the tool are in headers too (SEP-2243).
fn reads_headers(request: &Request<'_>, tool: &str) -> bool {
    request.edge.hub.definitions.have_header_arguments()
        && all_named(request, tool, |tool| tool.has_header_arguments()).unwrap_or(false)
}

/// Whether this is true of one of the tools that a client could mean.
fn all_named(
    request: &Request<'_>,
    name: &str,
    is_so: impl Fn(&crate::tool::Tool) -> bool,
) -> Option<bool> {
    let hub = &request.edge.hub;
    hub.look(request.principal.realm, |realm| realm.any_tool(name, is_so))
}

/// A progress token that is as MCP has it: a string or an integer.
fn checked_token(token: &RawValue) -> Option<&RawValue> {
    let text = token.get();
    (text.starts_with('"') || text.parse::<i64>().is_ok()).then_some(token)
}

/// As a cancel names it: what is plain is written as [`request_key`] writes it. What rmcp does not
/// take as an id has none.
fn key_of(id: &RawValue) -> Option<Box<str>> {
    let text = id.get();
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit()) && text.len() < 18
        || text.starts_with('"') && !text.contains('\\');
    if is_plain {
        return Some(text.into());
    }
    let id: RequestId = serde_json::from_str(text).ok()?;
    Some(request_key(&id))
}

/// An answer that nothing came before.
fn whole(answer: Answer, events_only: bool) -> Response {
    let as_events = events_only || answer.json.len() > MAX_BODY_BYTES;
    if as_events && answer.status == StatusCode::OK {
        return stream::whole(answer.json);
    }
    json(answer.status, answer.json)
}

pub(super) fn json(status: StatusCode, json: impl Into<Body>) -> Response {
    let mut response = Response::new(json.into());
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

/// How a response begins: what follows is the member `result` or `error`.
pub(super) fn begin(id: &RawValue, room: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(room + 128);
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    out.extend_from_slice(id.get().as_bytes());
    out
}

fn answered(id: &RawValue, result: &ToolResult, is_modern: bool) -> Answer {
    let mut out = begin(id, 1024);
    out.extend_from_slice(b",\"result\":{");
    if is_modern {
        out.extend_from_slice(b"\"resultType\":\"complete\",");
    }
    let tail: &[u8] = match result.is_error {
        true => b"}}",
        false => b",\"isError\":false}}",
    };
    Answer {
        status: StatusCode::OK,
        json: result.written(out, tail),
    }
}

fn refused(id: &RawValue, error: CallError, is_modern: bool) -> Answer {
    failed(id, &convert::error(error, is_modern), is_modern)
}

fn failed(id: &RawValue, error: &ErrorData, is_modern: bool) -> Answer {
    let mut out = begin(id, 256);
    out.extend_from_slice(b",\"error\":");
    // Writing into memory cannot fail.
    let _ = serde_json::to_writer(&mut out, error);
    out.push(b'}');
    let is_bad_request = is_modern && error.code == ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY;
    Answer {
        status: match is_bad_request {
            true => StatusCode::BAD_REQUEST,
            false => StatusCode::OK,
        },
        json: out.into(),
    }
}

#[cfg(test)]
mod tests;
