//! The server: takes requests, refuses some, and says what the script says.

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

use super::formats::{Format, ProviderError, ProviderRequest, TurnContext};
use super::script::{BreakMode, Fault, Script, Scripts, Turn};
use crate::mock_provider::exchange_log::{ExchangeGuard, ExchangeLog, ExchangeOutcome};
use crate::mock_provider::recording::{Recording, Recordings, Upstream};

/// Where the answers come from.
#[derive(Debug)]
pub enum ResponseSource {
    /// They are made up.
    Scripts(Scripts),
    /// They were recorded.
    Tape(Recordings),
    /// A real provider gives them, and they are recorded.
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

/// What the server knows.
#[derive(Debug)]
pub(super) struct ServerState {
    source: ResponseSource,
    records: Arc<ExchangeLog>,
    go_on: Arc<Semaphore>,
}

impl ServerState {
    pub(super) fn new(source: ResponseSource) -> Self {
        Self {
            source,
            records: ExchangeLog::new(),
            go_on: Arc::new(Semaphore::new(0)),
        }
    }

    pub(super) fn records(&self) -> &Arc<ExchangeLog> {
        &self.records
    }

    pub(super) fn go_on(&self) {
        self.go_on.add_permits(1);
    }
}

/// Serves until it is dropped.
pub(super) async fn serve(listener: TcpListener, stage: Arc<ServerState>) {
    let router = Router::new()
        .fallback(handle_request)
        .layer(axum::extract::DefaultBodyLimit::disable())
        .with_state(stage);
    // A provider's pieces are not held back, and neither are its mock's.
    let listener = listener.tap_io(|socket| {
        let _ = socket.set_nodelay(true);
    });
    let _ = axum::serve(listener, router).await;
}

async fn handle_request(
    State(stage): State<Arc<ServerState>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let Some((format, model)) = Format::from_path(uri.path()) else {
        return plain(StatusCode::NOT_FOUND, "no provider has this path");
    };
    let read: Value = serde_json::from_slice(&body).unwrap_or_default();
    let underway = stage.records.begin(format, uri.path(), &headers, &read);
    let asked = ProviderRequest {
        headers: &headers,
        body: &read,
        model,
        query: uri.query().unwrap_or_default(),
    };
    match &stage.source {
        ResponseSource::Scripts(scripts) => {
            let script = scripts.select(asked.model(), asked.body);
            play_turn(&stage, format, &asked, script, underway).await
        }
        ResponseSource::Tape(tape) => match tape.find(format, &asked) {
            Some(recording) => replay(&stage, recording, underway),
            None => {
                let missing = "nothing is recorded for this turn of a conversation";
                error_response(&underway, format.unexpected_request(missing), &[])
            }
        },
        ResponseSource::Upstream(upstream) => {
            let path = uri.path_and_query().map_or("/", |path| path.as_str());
            let done = move || underway.finish(ExchangeOutcome::Complete);
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
    stage: &ServerState,
    format: Format,
    asked: &ProviderRequest<'_>,
    script: &Script,
    underway: ExchangeGuard,
) -> Response<Body> {
    let number = format.turns_before(asked);
    if let Err(refusal) = format.validate(asked, script) {
        return error_response(&underway, refusal, &[]);
    }
    let Some(turn) = script.turns.get(number) else {
        let message = format!("the script of this mock has no turn {number}");
        return error_response(&underway, format.unexpected_request(&message), &[]);
    };
    underway.set_turn(number);
    let fault = turn.fault_at(stage.records.count_attempt(asked.body));
    match fault {
        Some(Fault::Refused { status, headers }) => {
            return error_response(&underway, format.error_response(*status), headers);
        }
        Some(Fault::Silent) => return std::future::pending().await,
        _ => {}
    }
    let scene = TurnContext {
        request: asked,
        turn,
        fault,
        number,
        steps: &turn.steps(fault),
    };
    let performance = ResponseStream {
        actions: stream_actions(format, &scene),
        underway,
        go_on: stage.go_on.clone(),
        pace: turn.pace.map(Duration::from_millis),
    };
    let mut response = performance.response();
    let content_type = HeaderValue::from_static(format.content_type());
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, content_type);
    response
}

/// Plays a recording.
fn replay(stage: &ServerState, recording: &Recording, underway: ExchangeGuard) -> Response<Body> {
    let sent = recording.frames.iter().cloned();
    let sent = sent.map(|frame| StreamAction::Send(frame.into()));
    let performance = ResponseStream {
        actions: sent
            .chain([StreamAction::End(ExchangeOutcome::Complete)])
            .collect(),
        underway,
        go_on: stage.go_on.clone(),
        pace: None,
    };
    let mut response = performance.response();
    *response.status_mut() = StatusCode::from_u16(recording.status).unwrap();
    for (name, value) in &recording.headers {
        let name: HeaderName = name.parse().unwrap();
        response.headers_mut().insert(name, value.parse().unwrap());
    }
    response
}

fn error_response(
    underway: &ExchangeGuard,
    refusal: ProviderError,
    more: &[(String, String)],
) -> Response<Body> {
    underway.finish(ExchangeOutcome::Refused(refusal.status));
    let mut response = Response::new(Body::from(refusal.body.to_string()));
    *response.status_mut() = StatusCode::from_u16(refusal.status).unwrap();
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    for (name, value) in more {
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

/// What the server does next in an answer.
#[derive(Debug)]
enum StreamAction {
    Send(Bytes),
    /// A step is over.
    Delay,
    /// Until it is told to go on.
    Pause,
    Hang,
    Cut,
    /// All was sent that is sent.
    End(ExchangeOutcome),
}

fn stream_actions(format: Format, scene: &TurnContext<'_>) -> VecDeque<StreamAction> {
    let frames = format.encode(scene);
    let (steps, how) = match scene.fault {
        Some(Fault::Broken { after, how }) => (*after, Some(how)),
        _ => (frames.steps.len(), None),
    };
    let turn = scene.turn;
    let mut acts: VecDeque<StreamAction> = send_actions(&frames.opening, turn).collect();
    for (number, frames) in frames.steps.iter().enumerate().take(steps) {
        push_pauses(turn, number, &mut acts);
        acts.extend(send_actions(frames, turn));
        acts.push_back(StreamAction::Delay);
    }
    push_pauses(turn, steps, &mut acts);
    match how {
        None => {
            acts.extend(send_actions(&frames.closing, turn));
            let ending = match scene.fault {
                Some(_) => ExchangeOutcome::Broken,
                None => ExchangeOutcome::Complete,
            };
            acts.push_back(StreamAction::End(ending));
        }
        Some(BreakMode::Error) => {
            acts.extend(send_actions(&[format.stream_error()], turn));
            acts.push_back(StreamAction::End(ExchangeOutcome::Broken));
        }
        Some(BreakMode::Cut) => acts.push_back(StreamAction::Cut),
        Some(BreakMode::End) => acts.push_back(StreamAction::End(ExchangeOutcome::Broken)),
        Some(BreakMode::Hang) => acts.push_back(StreamAction::Hang),
    }
    acts
}

fn push_pauses(turn: &Turn, after: usize, acts: &mut VecDeque<StreamAction>) {
    if turn.pauses.contains(&after) {
        acts.push_back(StreamAction::Pause);
    }
}

fn send_actions(frames: &[String], turn: &Turn) -> impl Iterator<Item = StreamAction> {
    let most = turn.shreds.unwrap_or(usize::MAX).max(1);
    let bytes: Vec<Bytes> = frames
        .iter()
        .flat_map(|frame| frame.as_bytes().chunks(most.min(frame.len().max(1))))
        .map(Bytes::copy_from_slice)
        .collect();
    bytes.into_iter().map(StreamAction::Send)
}

/// An answer that is being sent.
struct ResponseStream {
    actions: VecDeque<StreamAction>,
    underway: ExchangeGuard,
    go_on: Arc<Semaphore>,
    pace: Option<Duration>,
}

impl ResponseStream {
    fn response(self) -> Response<Body> {
        Response::new(Body::from_stream(stream::unfold(self, Self::next)))
    }

    async fn next(mut self) -> Option<(io::Result<Bytes>, Self)> {
        while let Some(act) = self.actions.pop_front() {
            match act {
                StreamAction::Send(bytes) => {
                    // What was sent before leaves first: each piece comes for itself.
                    tokio::task::yield_now().await;
                    self.underway.mark_first_byte();
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
                    self.underway.finish(ExchangeOutcome::Broken);
                    // An error here makes hyper drop the connection in the midst of the body.
                    return Some((Err(io::Error::other("the script cuts here")), self));
                }
                StreamAction::End(ending) => self.underway.finish(ending),
            }
        }
        None
    }

    async fn sleep_pace(&self) {
        if let Some(pace) = self.pace {
            let mut clock = time::interval(pace);
            // The first tick is at once.
            clock.tick().await;
            clock.tick().await;
        }
    }

    async fn wait_for_resume(&self) {
        self.underway.set_paused(true);
        let permit = self.go_on.acquire().await;
        permit.expect("it is never closed").forget();
        self.underway.set_paused(false);
    }
}
