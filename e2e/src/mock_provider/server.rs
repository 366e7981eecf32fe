//! The HTTP server of the mock provider.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::sync::Arc;
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
use super::formats::{ProviderError, ProviderRequest, TurnContext};
use super::recording::{Recording, Recordings, Upstream};
use super::script::{BreakMode, Fault, Script, Scripts, Turn};

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
    log: Arc<ExchangeLog>,
    resume_permits: Arc<Semaphore>,
}

impl ServerState {
    pub(super) fn new(source: ResponseSource) -> Self {
        Self {
            source,
            log: ExchangeLog::new(),
            resume_permits: Arc::new(Semaphore::new(0)),
        }
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
    let Some((format, model)) = Format::from_path(uri.path()) else {
        return plain(StatusCode::NOT_FOUND, "no provider has this path");
    };
    let json: Value = serde_json::from_slice(&body).unwrap_or_default();
    let exchange = state.log.begin(format, uri.path(), &headers, &json);
    let request = ProviderRequest {
        headers: &headers,
        body: &json,
        model,
        query: uri.query().unwrap_or_default(),
    };
    match &state.source {
        ResponseSource::Scripts(scripts) => {
            let script = scripts.select(request.model(), request.body);
            play_turn(&state, format, &request, script, exchange).await
        }
        ResponseSource::Recordings(recordings) => match recordings.find(format, &request) {
            Some(recording) => replay(&state, recording, exchange),
            None => {
                let message = "nothing is recorded for this turn of a conversation".to_owned();
                error_response(&exchange, format.error_response(400, Some(message)), &[])
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

async fn play_turn(
    state: &ServerState,
    format: Format,
    request: &ProviderRequest<'_>,
    script: &Script,
    exchange: ExchangeGuard,
) -> Response<Body> {
    let number = format.turns_before(request);
    if let Err(error) = format.validate(request, script) {
        return error_response(&exchange, error, &[]);
    }
    let Some(turn) = script.turns.get(number) else {
        let message = format!("the script of this mock has no turn {number}");
        return error_response(&exchange, format.error_response(400, Some(message)), &[]);
    };
    exchange.set_turn(number);
    let fault = turn.fault_at(state.log.count_attempt(request.body));
    match fault {
        Some(Fault::Rejected { status, headers }) => {
            return error_response(&exchange, format.error_response(*status, None), headers);
        }
        Some(Fault::Silent) => return std::future::pending().await,
        _ => {}
    }
    let context = TurnContext {
        request,
        turn,
        fault,
        number,
        steps: &turn.steps(fault),
    };
    let stream = ResponseStream {
        actions: stream_actions(format, &context),
        exchange,
        resume_permits: state.resume_permits.clone(),
        pace: turn.pace.map(Duration::from_millis),
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
    error: ProviderError,
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

fn stream_actions(format: Format, context: &TurnContext<'_>) -> VecDeque<StreamAction> {
    let frames = format.encode(context);
    let (steps, break_mode) = match context.fault {
        Some(Fault::Broken { after, how }) => (*after, Some(how)),
        _ => (frames.steps.len(), None),
    };
    let turn = context.turn;
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
            let outcome = match context.fault {
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
