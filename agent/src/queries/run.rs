//! Answers one query, from its acceptance to its outcome.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use agent_tools::{AgentFailure, SourceAccess};
use bridge_protocol::{
    ErrorCode, Query, QueryCaller, QueryContent, QueryId, QueryUsage, TokenUsage,
};
use bridge_settings::Secret;
use bridge_traces::attributes::INVOKE_AGENT;
use bridge_traces::{RemoteContext, SpanRole, TraceSpan, Traces, attributes};
use futures_util::FutureExt;
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::body_memory::BodyReservation;
use super::bridge_authorization::{AuthorizedQuery, OpenQuery};
use super::event_sink::{EventSink, EventTarget};
use super::outcome::QueryOutcome;
use super::query_setup::{QuerySetup, UsedSetup, profile_name};
use super::running_queries::{QueryPermit, shutting_down};
use crate::agent_loop::{self, QueryInput, QueryState};
use crate::bridge::AllowedTools;
use crate::bridge::QueryReporter;
use crate::conversations::{ConversationKey, ConversationOwner, StoredQuery};
use crate::model::{Model, ModelTool};

/// The name of the agent in traces.
pub(crate) const AGENT_NAME: &str = "mcp-web-agent";

/// The number of pieces of progress that are buffered before they are forwarded. When the buffer is
/// full, the loop waits.
const PROGRESS_BUFFER: usize = 32;

/// A query to be answered.
pub(crate) struct AcceptedQuery {
    pub(crate) message: Query,
    /// The token of the query, for tools and reports.
    pub(crate) token: Secret,
    /// The timeout that the bridge has set, if it has set one.
    timeout: Option<Duration>,
    /// The caller, if the bridge has sent it.
    caller: Option<QueryCaller>,
    /// The memory of the body with which it was sent, until the query has ended.
    _body: BodyReservation,
    /// The tools that the client executes itself.
    pub(crate) client_tools: Vec<ModelTool>,
    /// The conversation that the query continues, if it continues one.
    conversation: Option<ConversationKey>,
    /// The query that the bridge has opened for a frontend.
    open_query: Option<OpenQuery>,
    /// The trace of the request.
    pub(crate) trace: Option<RemoteContext>,
}

impl AcceptedQuery {
    /// Creates a query that has its own token. `caller` is set if the bridge has sent it.
    pub(crate) fn new(
        message: Query,
        token: Secret,
        caller: Option<QueryCaller>,
        body: BodyReservation,
    ) -> Result<Self, AgentFailure> {
        let conversation = match &message.conversation {
            Some(id) => Some(conversation_owner(caller.as_ref())?.key(id)?),
            None => None,
        };
        Ok(Self {
            message,
            token,
            timeout: None,
            caller,
            _body: body,
            client_tools: Vec::new(),
            conversation,
            open_query: None,
            trace: None,
        })
    }

    /// Creates a query that the bridge has opened for a frontend.
    pub(crate) fn of_frontend(
        message: Query,
        authorized: AuthorizedQuery,
        body: BodyReservation,
    ) -> Result<Self, AgentFailure> {
        let AuthorizedQuery {
            token,
            timeout,
            caller,
            open_query,
        } = authorized;
        Ok(Self {
            timeout: Some(timeout),
            open_query: Some(open_query),
            ..Self::new(message, token, caller, body)?
        })
    }
}

fn conversation_owner(caller: Option<&QueryCaller>) -> Result<ConversationOwner, AgentFailure> {
    caller.map(ConversationOwner::new).ok_or_else(|| {
        let message = "the bridge does not tell who asks, so that there can be no conversation";
        let failure = AgentFailure::new(ErrorCode::ProtocolViolation, message);
        failure.with_remedy("update the bridge, or ask without `conversation`")
    })
}

impl QueryPermit {
    pub(crate) fn id(&self) -> &QueryId {
        &self.id
    }

    /// Returns what others see of the query while it is answered.
    pub(crate) fn state(&self) -> &Arc<QueryState> {
        &self.state
    }

    /// Starts a task that answers the query and reports its progress to `target`.
    pub(crate) fn spawn(mut self, mut query: AcceptedQuery, target: EventTarget) {
        self.is_started = true;
        if let Some(open_query) = query.open_query.take() {
            open_query.start();
        }
        let tasks = self.queries.tasks.clone();
        let span = begin_span(&self.queries.traces, query.trace.take());
        tasks.spawn(async move {
            let answering = run_query(self, query, target, &span);
            span.scope().run(answering).await;
        });
    }
}

/// Begins the span of a query. The names of the query and of its user are deliberately absent.
fn begin_span(traces: &Traces, trace: Option<RemoteContext>) -> TraceSpan {
    let scope = traces.scope(|| trace);
    let span = scope.begin(SpanRole::Server, || format!("{INVOKE_AGENT} {AGENT_NAME}"));
    span.set_text(attributes::GEN_AI_OPERATION_NAME, INVOKE_AGENT);
    span.set_text(attributes::GEN_AI_AGENT_NAME, AGENT_NAME);
    span
}

/// Answers a query, reports its progress, and releases its permit.
async fn run_query(
    permit: QueryPermit,
    query: AcceptedQuery,
    target: EventTarget,
    span: &TraceSpan,
) {
    let id = permit.id.clone();
    let reporter = QueryReporter::new(&permit.served_bridge().client, &query.token, &id);
    let sink = EventSink::new(id, target, reporter);
    sink.send_accepted().await;
    let profile = query.message.profile.as_deref();
    let caller = query.caller.as_ref();
    let account = permit.queries.spending.account(permit.bridge, caller);
    permit.state.meter.charge(account);
    let bridge = &permit.served_bridge().name;
    let used = UsedSetup::of(&permit.queries.setup);
    let setup = &*used.setup;
    let sources = (setup.sources).access(bridge, caller, profile, &permit.id);
    let (outcome, model) = match sources {
        Ok(sources) => {
            let model = setup.model_for(&sources, &permit.queries.model);
            let outcome = run_to_outcome(&permit, &query, (setup, &sources), &*model, &sink).await;
            (outcome, model)
        }
        Err(failure) => {
            let model = Arc::clone(&permit.queries.model);
            (QueryOutcome::Failed(failure), model)
        }
    };
    remember(&permit, &query, &outcome).await;
    permit.finished.cancel();
    let usage = permit.state.meter.usage();
    let user = query.caller.as_ref().map(|caller| caller.user.as_str());
    log_end(&permit, user, model.name(), &outcome, &usage);
    if !matches!(outcome, QueryOutcome::Answered(_)) {
        span.fail(outcome.name());
    }
    if let QueryOutcome::Failed(failure) = &outcome {
        log_failure(&permit.id, failure);
    }
    sink.finish(outcome, usage).await;
}

/// Appends a query that has ended to its conversation, before the page is notified of its end.
async fn remember(permit: &QueryPermit, query: &AcceptedQuery, outcome: &QueryOutcome) {
    let Some(key) = &query.conversation else {
        return;
    };
    let ending = match outcome {
        QueryOutcome::Answered(_) => None,
        QueryOutcome::Failed(failure) => Some(format!("(Not answered: {}.)", failure.message)),
        QueryOutcome::Cancelled(_) => Some("(The request was cancelled.)".to_owned()),
    };
    let transcript = permit.state.transcript.finish(ending.as_deref());
    if let Some(mut transcript) = transcript {
        if let QueryOutcome::Failed(failure) = outcome
            && failure.is_about_messages
        {
            // The provider would refuse the same in all later queries.
            transcript.drop_media_and_thoughts();
        }
        let stored = StoredQuery::new(&query.message, transcript);
        // The store has logged its error. The answer is worth more than the next question.
        let _ = permit
            .queries
            .conversations
            .append(key.clone(), stored)
            .await;
    }
}

/// Logs one line for each query and counts it, for the operator who wants to know what is used.
fn log_end(
    permit: &QueryPermit,
    user: Option<&str>,
    model: &str,
    outcome: &QueryOutcome,
    usage: &QueryUsage,
) {
    let models = usage.models.values().copied();
    let tokens = models.fold(TokenUsage::default(), TokenUsage::saturating_add);
    let cost = permit.state.meter.cost().dollars();
    permit
        .queries
        .metrics
        .count_query(outcome.name(), tokens, cost);
    tracing::info!(
        query = %permit.id,
        user,
        model,
        end = outcome.name(),
        input_tokens = tokens.input,
        output_tokens = tokens.output,
        cached_tokens = tokens.cached,
        thinking_tokens = tokens.thinking,
        estimated_tokens = permit.state.meter.estimated_tokens(),
        cost_usd = cost,
        calls = permit.state.meter.calls(),
        milliseconds = usage.milliseconds,
        "a query has ended"
    );
}

/// Logs why a query has failed. The message may quote the conversation, so it is only sent to the
/// page, and logged at the level `debug`.
fn log_failure(query: &QueryId, failure: &AgentFailure) {
    let cause = failure.log_message.as_deref();
    tracing::warn!(%query, code = %failure.code, cause, "a query has failed");
    tracing::debug!(%query, message = %failure.message, "the message for the page");
}

/// Returns the first outcome and drops everything else: the connection to the provider is closed,
/// and open calls are cancelled.
async fn run_to_outcome(
    permit: &QueryPermit,
    query: &AcceptedQuery,
    sources: (&QuerySetup, &SourceAccess),
    model: &dyn Model,
    sink: &EventSink,
) -> QueryOutcome {
    let timeout = query_timeout(permit, query);
    let answering = answer_query(permit, query, sources, model, sink);
    let answering = AssertUnwindSafe(answering).catch_unwind();
    tokio::select! {
        biased;
        () = permit.queries.stopping.cancelled() => QueryOutcome::Failed(shutting_down()),
        () = permit.cancelled.cancelled() => QueryOutcome::Cancelled("it was cancelled".to_owned()),
        () = sink.reader_closed() => {
            QueryOutcome::Cancelled("nobody reads the answer any more".to_owned())
        }
        outcome = answering => outcome.unwrap_or_else(|_| QueryOutcome::Failed(AgentFailure::fault())),
        () = sleep(timeout) => QueryOutcome::Failed(timed_out(timeout)),
    }
}

/// Returns the shortest of the timeouts that the page, the bridge and the operator have set.
fn query_timeout(permit: &QueryPermit, query: &AcceptedQuery) -> Duration {
    let from_page = query.message.timeout.map(Duration::from_millis);
    let timeouts = [from_page, query.timeout].into_iter().flatten();
    timeouts.fold(permit.queries.limits.query_timeout, Duration::min)
}

/// Checks the timeout that a frontend sets, in milliseconds.
pub(crate) fn check_timeout(timeout: Option<u64>) -> Result<(), AgentFailure> {
    if timeout != Some(0) {
        return Ok(());
    }
    let failure = AgentFailure::new(
        ErrorCode::ProtocolViolation,
        "`timeout` must be at least 1 ms",
    );
    Err(failure.with_remedy("leave it out for the longest that is allowed"))
}

fn timed_out(timeout: Duration) -> AgentFailure {
    let message = format!("the query was not answered within {timeout:?}");
    AgentFailure::new(ErrorCode::QueryTimeout, message)
        .with_remedy("ask for less at a time, or give it more time")
}

async fn answer_query(
    permit: &QueryPermit,
    query: &AcceptedQuery,
    sources: (&QuerySetup, &SourceAccess),
    model: &dyn Model,
    sink: &EventSink,
) -> QueryOutcome {
    let (sender, progress) = mpsc::channel::<QueryContent>(PROGRESS_BUFFER);
    let queries = &permit.queries;
    let (setup, sources) = sources;
    let answering = async move {
        let conversation = match &query.conversation {
            Some(key) => queries.conversations.messages(key.clone()).await?,
            None => Vec::new(),
        };
        // Connecting is over soon, and its future is large.
        let connecting =
            AllowedTools::connect(&permit.served_bridge().client, &query.token, &permit.id);
        let tools = Box::pin(connecting).await?;
        // `sender` is dropped at the end of this block, which ends the forwarding.
        agent_loop::answer(QueryInput {
            query: &query.message,
            page_tools: &tools,
            sources,
            model,
            system: setup.system_prompts.for_profile(profile_name(sources)),
            limits: &queries.limits,
            progress: &sender,
            state: &permit.state,
            conversation: &conversation,
            caller: query.caller.as_ref(),
            client_tools: &query.client_tools,
        })
        .await
    };
    // All progress is forwarded before a failure is.
    match tokio::try_join!(answering.map(Ok), sink.forward_progress(progress)) {
        Ok((Ok(answer), ())) => QueryOutcome::Answered(answer),
        Ok((Err(failure), ())) => QueryOutcome::Failed(failure),
        Err(outcome) => outcome,
    }
}
