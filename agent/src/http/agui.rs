//! `POST /agui`: the AG-UI protocol over HTTP with an event stream.

use std::convert::Infallible;
use std::sync::Arc;

use agent_tools::AgentFailure;
use axum::body::Body;
use axum::extract::State;
use axum::http::request::Parts;
use axum::response::Response;
use axum::response::sse;
use bridge_protocol::{ErrorCode, Query, QueryCaller, QueryId, SessionId};
use bridge_settings::Secret;
use bridge_traces::RemoteContext;
use futures_util::{StreamExt, stream};
use uuid::Uuid;

use super::caller::RequestCaller;
use super::problem::Rejection;
use super::query_request::is_query_id;
use super::state::AgentState;
use super::{body, event_stream};
use crate::agui::{AguiEvent, AguiRun, RunInput, RunPhase, SuspendedRuns, ThreadKey};
use crate::conversations::ConversationOwner;
use crate::queries::{
    AcceptedQuery, BodyReservation, EventTarget, QueryOwner, QueryPermit, StreamWriter,
};

/// Answers the request of a run.
pub(super) async fn post_run(
    State(state): State<AgentState>,
    parts: Parts,
    body: Body,
) -> Result<Response, Rejection> {
    let caller = RequestCaller::authorize_query(&parts.headers, state.bridges())?;
    let owner = caller.owner();
    let RequestCaller::Frontend { bearer, .. } = caller else {
        let message = "a bridge sends queries to PUT /query; POST /agui is for frontends";
        return Err(Rejection::new(ErrorCode::ProtocolViolation, message));
    };
    if !event_stream::accepts_event_stream(&parts.headers) {
        return Err(event_stream::event_stream_required());
    }
    let parse = |body: &[u8]| RunInput::parse(body).map_err(Rejection::from);
    let (input, reservation) = body::read(body, &state, owner.into(), parse).await?;
    let thread = (owner, input.thread_id.clone());
    let (known_calls, has_prompt) = (input.known_calls(), !input.prompt().is_empty());
    let is_continued = |run: &AguiRun| run.is_continued_by(&known_calls, has_prompt);
    let run = match state.suspended_runs.take_if(&thread, is_continued) {
        Some(mut run) => {
            run.resume(&input, reservation);
            run
        }
        None if !input.gives_up_interrupts() => return Err(nothing_asked(&input).into()),
        None => {
            let trace = RemoteContext::from_headers(&parts.headers);
            start_run(&state, &thread, (&bearer, trace), &input, reservation).await?
        }
    };
    Ok(respond(run, thread, Arc::clone(&state.suspended_runs)))
}

/// Sends a query for the new messages of a thread.
async fn start_run(
    state: &AgentState,
    thread: &ThreadKey,
    (bearer, trace): (&Secret, Option<RemoteContext>),
    input: &RunInput,
    reservation: BodyReservation,
) -> Result<AguiRun, Rejection> {
    let (owner, _) = *thread;
    let prompt = input.prompt();
    if prompt.is_empty() {
        return Err(nothing_asked(input).into());
    }
    let permit = acquire(state, owner, &input.run_id)?;
    let props = &input.forwarded_props;
    let mut query = Query {
        context: input.context_items(),
        tools: props.tools.clone(),
        restrict_tools: props.restrict_tools,
        timeout: props.timeout,
        approve: props.approve.clone(),
        attachments: prompt.attachments.clone(),
        local_time: props.local_time.clone(),
        profile: props.profile.clone(),
        ..Query::new(permit.id().clone(), prompt.text.clone())
    };
    let session_id = props.session_id.clone().map(SessionId::from);
    let authorized = permit.authorize(bearer, &query, session_id).await?;
    end_former_query(state, thread).await;
    if let Some(caller) = &authorized.caller {
        query.conversation = Some(input.thread_id.clone());
        continue_conversation(state, caller, input, &mut query).await?;
    } else {
        // A bridge of mcp-web 0.1 does not send the caller, and without one there are no
        // conversations.
        query.context.extend(input.history_item());
    }
    let mut query = AcceptedQuery::of_frontend(query, authorized, reservation)?;
    query.client_tools = input.client_tools();
    query.trace = trace;
    let (writer, messages) = StreamWriter::channel();
    let id = permit.id().to_string();
    let query_state = Arc::clone(permit.state());
    if let Some(shared) = input.shared_state() {
        query_state.shared.share(shared);
    }
    let mut run = AguiRun::start(input.identity(), &id, messages, query_state);
    run.note_omitted_files(&prompt);
    let is_direct = true;
    permit.spawn(query, EventTarget::Stream { writer, is_direct });
    Ok(run)
}

/// Cancels the query of a thread that still waits for its client, which has not continued it. When this
/// returns, the conversation has that query as far as it came.
async fn end_former_query(state: &AgentState, thread: &ThreadKey) {
    if let Some(run) = state.suspended_runs.take_if(thread, |_| true) {
        let query = run.query();
        drop(run);
        // It fails if the query has ended.
        let _ = state.queries.cancel(&query, thread.0).await;
    }
}

/// Lets a query continue the conversation of its thread. If the person has changed an earlier message,
/// the conversation continues before that message. A thread that begins with the new message has no
/// earlier messages that could be changed: such a client does not keep them. If the agent has no
/// conversation, the model gets the messages of the thread as context.
async fn continue_conversation(
    state: &AgentState,
    caller: &QueryCaller,
    input: &RunInput,
    query: &mut Query,
) -> Result<(), AgentFailure> {
    let conversations = &state.queries.conversations;
    let key = ConversationOwner::new(caller).key(&input.thread_id)?;
    let Some(history) = input.history_item() else {
        return Ok(());
    };
    let kept = conversations.keep_prompts(key, input.earlier_prompts());
    if kept.await? == 0 {
        query.context.push(history);
    }
    Ok(())
}

/// Acquires the permit for a query with the id of its run, or with another one if that was used, or
/// cannot be the id of a query at the bridge.
fn acquire(
    state: &AgentState,
    owner: QueryOwner,
    run_id: &str,
) -> Result<QueryPermit, AgentFailure> {
    let new = || QueryId(Uuid::new_v4().to_string());
    let id = if is_query_id(run_id) {
        QueryId::from(run_id)
    } else {
        new()
    };
    match state.queries.acquire(&id, owner) {
        Err(failure) if failure.code == ErrorCode::QueryCompleted => {
            state.queries.acquire(&new(), owner)
        }
        acquired => acquired,
    }
}

fn nothing_asked(input: &RunInput) -> AgentFailure {
    let (message, remedy) = if !input.resume.is_empty() {
        (
            "the run that this request resumes does not wait any more",
            "send the message of the user again, without `resume` or with its entries `cancelled`",
        )
    } else if input.has_new_result() {
        (
            "the run that this result of a call belongs to does not wait any more",
            "send the message of the user again",
        )
    } else {
        let message = "the thread has no message of the user after the last one of the assistant";
        return AgentFailure::new(ErrorCode::ProtocolViolation, message)
            .with_remedy("add what to ask");
    };
    AgentFailure::new(ErrorCode::QueryNotFound, message).with_remedy(remedy)
}

/// Responds with the events of a run. When it is suspended, it is stored before its last event is
/// sent, because that is when the client may continue it.
fn respond(run: AguiRun, thread: ThreadKey, suspended_runs: Arc<SuspendedRuns>) -> Response {
    let chunks = stream::unfold(Some(run), move |run| {
        let (thread, suspended_runs) = (thread.clone(), Arc::clone(&suspended_runs));
        async move {
            let mut run = run?;
            let events = run.next_events().await;
            let rest = match run.phase() {
                RunPhase::Running => Some(run),
                RunPhase::Suspended => {
                    suspended_runs.insert(thread, run);
                    None
                }
                RunPhase::Ended => None,
            };
            Some((stream::iter(events), rest))
        }
    });
    let events = chunks
        .flatten()
        .map(|event| Ok::<_, Infallible>(encode(&event)));
    event_stream::respond_with(events)
}

fn encode(event: &AguiEvent) -> sse::Event {
    // The event consists of strings, numbers and JSON values: encoding it cannot fail.
    let json = serde_json::to_string(event).unwrap_or_default();
    event_stream::with_json(sse::Event::default(), json)
}
