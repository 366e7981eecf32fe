//! The HTTP server of the mock provider.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, Uri, header};
use axum::serve::ListenerExt;
use futures_util::stream;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time;

use super::exchange_log::{ExchangeGuard, ExchangeLog, ExchangeOutcome};
use super::format::Format;
use super::formats::{ProviderError, TurnContext, TurnFrames};
use super::recording::{Recording, Recordings, Upstream};
use super::script::{BreakMode, Fault, Script, Scripts, TokenUsage, Turn};
use crate::provider_rules::{Accepted, ChatServer, Check, Issued, ProviderRequest, refuse};

/// The source of the responses.
#[derive(Debug)]
pub enum ResponseSource {
    /// They follow scripts.
    Scripts(Scripts),
    /// They are replayed from recordings.
    Recordings(Recordings),
    /// A real provider sends them, and they are recorded.
    Upstream(Arc<Upstream>),
}

impl From<Scripts> for ResponseSource {
    fn from(scripts: Scripts) -> Self {
        Self::Scripts(scripts)
    }
}

impl From<Script> for ResponseSource {
    fn from(script: Script) -> Self {
        Self::Scripts(script.into())
    }
}

impl From<Turn> for ResponseSource {
    fn from(turn: Turn) -> Self {
        Self::Scripts(turn.into())
    }
}

/// The state that all requests share.
#[derive(Debug)]
pub(super) struct ServerState {
    source: ResponseSource,
    requests: RequestPolicy,
    issued: Mutex<Issued>,
    log: Arc<ExchangeLog>,
    resume_permits: Arc<Semaphore>,
}

/// Which requests are answered.
#[derive(Clone, Copy, Debug)]
pub(super) enum RequestPolicy {
    /// Requests that the provider accepts. Its chat completions are those of this server.
    ByRules(ChatServer),
    /// All, also those that a client for a later version of the API sends.
    All,
}

/// An answer to an accepted request.
pub(super) struct Answer<'a> {
    number: usize,
    usage: TokenUsage,
    fault: Option<&'a Fault>,
    turn: &'a Turn,
    pub(super) frames: TurnFrames,
    pub(super) accepted: Accepted,
}

impl ServerState {
    pub(super) fn new(source: ResponseSource, requests: RequestPolicy) -> Self {
        Self {
            source,
            requests,
            issued: Mutex::default(),
            log: ExchangeLog::new(),
            resume_permits: Arc::new(Semaphore::new(0)),
        }
    }

    fn chat_server(&self) -> ChatServer {
        match self.requests {
            RequestPolicy::ByRules(server) => server,
            RequestPolicy::All => ChatServer::OpenAi,
        }
    }

    fn issued(&self) -> MutexGuard<'_, Issued> {
        self.issued.lock().expect("no holder panics")
    }

    /// Checks a request by the rules of its provider.
    pub(super) fn check(&self, format: Format, request: &ProviderRequest<'_>) -> Check<Accepted> {
        match self.requests {
            RequestPolicy::ByRules(server) => format.check(request, server, &self.issued()),
            // Clients of Gemini expect signatures.
            RequestPolicy::All => Ok(Accepted {
                thinks: format == Format::Gemini,
                ..Accepted::default()
            }),
        }
    }

    /// Answers a request with the turn of the script that its history selects.
    pub(super) fn answer<'a>(
        &self,
        format: Format,
        request: &ProviderRequest<'_>,
        script: &'a Script,
    ) -> Check<Answer<'a>> {
        let accepted = self.check(format, request)?;
        let number = format.turns_before(request.body);
        let turn = script.turns.get(number).ok_or_else(|| {
            let number = number.to_string();
            refuse("mock.script_end", &[("number", &number)])
        })?;
        let fault = turn.fault_at(self.log.count_attempt(request.body));
        let server = self.chat_server();
        let answered = turn.for_request(&accepted, server);
        let context = TurnContext {
            request,
            accepted: &accepted,
            server,
            turn: &answered,
            fault,
            first_thought: answered.first_thought(&accepted),
            steps: &answered.steps(fault),
        };
        Ok(Answer {
            number,
            usage: answered.usage,
            fault,
            turn,
            frames: format.encode(&context, &mut self.issued()),
            accepted,
        })
    }

    pub(super) fn log(&self) -> &Arc<ExchangeLog> {
        &self.log
    }

    /// Resumes one paused response.
    pub(super) fn resume_one(&self) {
        self.resume_permits.add_permits(1);
    }
}

/// Serves requests until the future is dropped.
pub(super) async fn serve(listener: TcpListener, state: Arc<ServerState>) {
    let router = Router::new()
        .fallback(handle_request)
        .layer(axum::extract::DefaultBodyLimit::disable())
        .with_state(state);
    // Real providers do not delay small chunks, so Nagle's algorithm is also off here.
    let listener = listener.tap_io(|socket| {
        let _ = socket.set_nodelay(true);
    });
    let _ = axum::serve(listener, router).await;
}

async fn handle_request(
    State(state): State<Arc<ServerState>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let Some(format) = Format::from_path(uri.path()) else {
        return plain(StatusCode::NOT_FOUND, "no provider has this path");
    };
    let json: Value = serde_json::from_slice(&body).unwrap_or_default();
    let exchange = state.log.begin(format, uri.path(), &headers, &json);
    let request = ProviderRequest {
        headers: &headers,
        path: uri.path_and_query().map_or("/", |path| path.as_str()),
        body: &json,
    };
    match &state.source {
        ResponseSource::Scripts(scripts) => {
            let script = scripts.select(request.model(), request.body);
            respond(&state, format, &request, script, exchange).await
        }
        ResponseSource::Recordings(recordings) => match recordings.find(format, request.body) {
            Some(recording) => replay(&state, recording, exchange),
            None => {
                eprintln!("error: nothing is recorded for this turn of a conversation");
                error_response(&exchange, &format.error_response(400), &[])
            }
        },
        ResponseSource::Upstream(upstream) => {
            let path = uri.path_and_query().map_or("/", |path| path.as_str());
            let done = move || exchange.finish(ExchangeOutcome::Complete);
            let upstream = upstream.clone();
            match upstream
                .forward(format, path, headers.clone(), body, done)
                .await
            {
                Ok(response) => response,
                Err(error) => {
                    eprintln!("error: {error}");
                    plain(StatusCode::BAD_GATEWAY, "the provider cannot be reached")
                }
            }
        }
    }
}

async fn respond(
    state: &ServerState,
    format: Format,
    request: &ProviderRequest<'_>,
    script: &Script,
    exchange: ExchangeGuard,
) -> Response<Body> {
    if format.has_unknown_key(request) {
        return error_response(&exchange, &format.unknown_key(), &[]);
    }
    let answer = match state.answer(format, request, script) {
        Ok(answer) => answer,
        Err(refusal) => {
            exchange.set_refused_by(refusal.rule);
            let error = format.refusal(state.chat_server(), &refusal);
            return error_response(&exchange, &error, &[]);
        }
    };
    exchange.set_turn(answer.number, answer.usage, &answer.accepted.effects);
    match answer.fault {
        Some(Fault::Rejected { status, headers }) => {
            return error_response(&exchange, &format.error_response(*status), headers);
        }
        Some(Fault::Silent) => return std::future::pending().await,
        _ => {}
    }
    let stream = ResponseStream {
        actions: stream_actions(format, &answer),
        exchange,
        resume_permits: state.resume_permits.clone(),
        pace: answer.turn.pace.map(Duration::from_millis),
    };
    let mut response = stream.response();
    let content_type = HeaderValue::from_static(format.content_type());
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, content_type);
    response
}

/// Replays a recording.
fn replay(state: &ServerState, recording: &Recording, exchange: ExchangeGuard) -> Response<Body> {
    let frames = recording.frames.iter().cloned();
    let frames = frames.map(|frame| StreamAction::Send(frame.into()));
    let stream = ResponseStream {
        actions: frames
            .chain([StreamAction::End(ExchangeOutcome::Complete)])
            .collect(),
        exchange,
        resume_permits: state.resume_permits.clone(),
        pace: None,
    };
    let mut response = stream.response();
    *response.status_mut() = StatusCode::from_u16(recording.status).unwrap();
    for (name, value) in &recording.headers {
        let name: HeaderName = name.parse().unwrap();
        response.headers_mut().insert(name, value.parse().unwrap());
    }
    response
}

fn error_response(
    exchange: &ExchangeGuard,
    error: &ProviderError,
    extra_headers: &[(String, String)],
) -> Response<Body> {
    exchange.finish(ExchangeOutcome::Rejected(error.status));
    let mut response = Response::new(Body::from(error.body.to_string()));
    *response.status_mut() = StatusCode::from_u16(error.status).unwrap();
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    for (name, value) in extra_headers {
        let name: HeaderName = name.parse().unwrap();
        headers.insert(name, value.parse().unwrap());
    }
    response
}

fn plain(status: StatusCode, text: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    response
}

/// The next step of the server while it streams a response.
#[derive(Debug)]
enum StreamAction {
    Send(Bytes),
    /// Waits for the time that the script sets between steps.
    Delay,
    /// Waits until it is resumed.
    Pause,
    /// Keeps the connection open and sends nothing more.
    Hang,
    /// Closes the connection in the middle of the body.
    Cut,
    /// Records the outcome; nothing more is sent.
    End(ExchangeOutcome),
}

fn stream_actions(format: Format, answer: &Answer<'_>) -> VecDeque<StreamAction> {
    let frames = &answer.frames;
    let (steps, break_mode) = match answer.fault {
        Some(Fault::Broken { after, how }) => (*after, Some(how)),
        _ => (frames.steps.len(), None),
    };
    let turn = answer.turn;
    let mut actions: VecDeque<StreamAction> = send_actions(&frames.opening, turn).collect();
    for (number, frames) in frames.steps.iter().enumerate().take(steps) {
        push_pauses(turn, number, &mut actions);
        actions.extend(send_actions(frames, turn));
        actions.push_back(StreamAction::Delay);
    }
    push_pauses(turn, steps, &mut actions);
    match break_mode {
        None => {
            actions.extend(send_actions(&frames.closing, turn));
            let outcome = match answer.fault {
                Some(_) => ExchangeOutcome::Broken,
                None => ExchangeOutcome::Complete,
            };
            actions.push_back(StreamAction::End(outcome));
        }
        Some(BreakMode::Error) => {
            actions.extend(send_actions(&[format.stream_error()], turn));
            actions.push_back(StreamAction::End(ExchangeOutcome::Broken));
        }
        Some(BreakMode::Cut) => actions.push_back(StreamAction::Cut),
        Some(BreakMode::End) => actions.push_back(StreamAction::End(ExchangeOutcome::Broken)),
        Some(BreakMode::Hang) => actions.push_back(StreamAction::Hang),
    }
    actions
}

fn push_pauses(turn: &Turn, after: usize, actions: &mut VecDeque<StreamAction>) {
    if turn.pause_after_steps.contains(&after) {
        actions.push_back(StreamAction::Pause);
    }
}

fn send_actions(frames: &[String], turn: &Turn) -> impl Iterator<Item = StreamAction> {
    let max = turn.max_chunk_bytes.unwrap_or(usize::MAX).max(1);
    let bytes: Vec<Bytes> = frames
        .iter()
        .flat_map(|frame| frame.as_bytes().chunks(max.min(frame.len().max(1))))
        .map(Bytes::copy_from_slice)
        .collect();
    bytes.into_iter().map(StreamAction::Send)
}

/// A response that is being streamed.
struct ResponseStream {
    actions: VecDeque<StreamAction>,
    exchange: ExchangeGuard,
    resume_permits: Arc<Semaphore>,
    pace: Option<Duration>,
}

impl ResponseStream {
    fn response(self) -> Response<Body> {
        Response::new(Body::from_stream(stream::unfold(self, Self::next)))
    }

    async fn next(mut self) -> Option<(io::Result<Bytes>, Self)> {
        while let Some(action) = self.actions.pop_front() {
            match action {
                StreamAction::Send(bytes) => {
                    // Lets hyper write the previous chunk first, so that each chunk arrives
                    // separately.
                    tokio::task::yield_now().await;
                    self.exchange.mark_first_byte();
                    return Some((Ok(bytes), self));
                }
                StreamAction::Delay => self.sleep_pace().await,
                StreamAction::Pause => self.wait_for_resume().await,
                StreamAction::Hang => {
                    let never: Infallible = std::future::pending().await;
                    match never {}
                }
                StreamAction::Cut => {
                    tokio::task::yield_now().await;
                    self.exchange.finish(ExchangeOutcome::Broken);
                    // An error makes hyper close the connection in the middle of the body.
                    return Some((
                        Err(io::Error::other("the script closes the connection")),
                        self,
                    ));
                }
                StreamAction::End(outcome) => self.exchange.finish(outcome),
            }
        }
        None
    }

    async fn sleep_pace(&self) {
        if let Some(pace) = self.pace {
            let mut clock = time::interval(pace);
            // The first tick completes immediately.
            clock.tick().await;
            clock.tick().await;
        }
    }

    async fn wait_for_resume(&self) {
        self.exchange.set_paused(true);
        let permit = self.resume_permits.acquire().await;
        permit.expect("the semaphore is never closed").forget();
        self.exchange.set_paused(false);
    }
}
