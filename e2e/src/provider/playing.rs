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

use super::formats::{Asked, Format, Refusal, Scene};
use super::records::{Ending, Records, Underway};
use super::script::{Break, Fault, Script, Scripts, Turn};
use super::tape::{Recording, Tape, Upstream};

/// Where the answers come from.
#[derive(Debug)]
pub enum Voice {
    /// They are made up.
    Scripts(Scripts),
    /// They were recorded.
    Tape(Tape),
    /// A real provider gives them, and they are recorded.
    Upstream(Arc<Upstream>),
}

impl From<Scripts> for Voice {
    fn from(scripts: Scripts) -> Self {
        Self::Scripts(scripts)
    }
}

impl From<Script> for Voice {
    fn from(script: Script) -> Self {
        Self::Scripts(script.into())
    }
}

impl From<Turn> for Voice {
    fn from(turn: Turn) -> Self {
        Self::Scripts(turn.into())
    }
}

/// What the server knows.
#[derive(Debug)]
pub(super) struct Stage {
    voice: Voice,
    records: Arc<Records>,
    go_on: Arc<Semaphore>,
}

impl Stage {
    pub(super) fn new(voice: Voice) -> Self {
        Self {
            voice,
            records: Records::new(),
            go_on: Arc::new(Semaphore::new(0)),
        }
    }

    pub(super) fn records(&self) -> &Arc<Records> {
        &self.records
    }

    pub(super) fn go_on(&self) {
        self.go_on.add_permits(1);
    }
}

/// Serves until it is dropped.
pub(super) async fn serve(listener: TcpListener, stage: Arc<Stage>) {
    let router = Router::new()
        .fallback(answer)
        .layer(axum::extract::DefaultBodyLimit::disable())
        .with_state(stage);
    // A provider's pieces are not held back, and neither are its mock's.
    let listener = listener.tap_io(|socket| {
        let _ = socket.set_nodelay(true);
    });
    let _ = axum::serve(listener, router).await;
}

async fn answer(
    State(stage): State<Arc<Stage>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let Some((format, model)) = Format::of(uri.path()) else {
        return plain(StatusCode::NOT_FOUND, "no provider has this path");
    };
    let read: Value = serde_json::from_slice(&body).unwrap_or_default();
    let underway = stage.records.arrived(format, uri.path(), &headers, &read);
    let asked = Asked {
        headers: &headers,
        body: &read,
        model,
        query: uri.query().unwrap_or_default(),
    };
    match &stage.voice {
        Voice::Scripts(scripts) => {
            let script = scripts.of(asked.model(), asked.body);
            play(&stage, format, &asked, script, underway).await
        }
        Voice::Tape(tape) => match tape.answer(format, &asked) {
            Some(recording) => again(&stage, recording, underway),
            None => {
                let missing = "nothing is recorded for this turn of a conversation";
                refuse(&underway, format.lost(missing), &[])
            }
        },
        Voice::Upstream(upstream) => {
            let path = uri.path_and_query().map_or("/", |path| path.as_str());
            let done = move || underway.ended(Ending::Whole);
            let upstream = upstream.clone();
            match upstream
                .pass(format, path, headers.clone(), body, done)
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

async fn play(
    stage: &Stage,
    format: Format,
    asked: &Asked<'_>,
    script: &Script,
    underway: Underway,
) -> Response<Body> {
    let number = format.turns_before(asked);
    if let Err(refusal) = format.check(asked, script) {
        return refuse(&underway, refusal, &[]);
    }
    let Some(turn) = script.turns.get(number) else {
        let message = format!("the script of this mock has no turn {number}");
        return refuse(&underway, format.lost(&message), &[]);
    };
    underway.is_turn(number);
    let fault = turn.fault_at(stage.records.attempt(asked.body));
    match fault {
        Some(Fault::Refused { status, headers }) => {
            return refuse(&underway, format.refusal(*status), headers);
        }
        Some(Fault::Silent) => return std::future::pending().await,
        _ => {}
    }
    let scene = Scene {
        asked,
        turn,
        fault,
        number,
        steps: &turn.steps(fault),
    };
    let performance = Performance {
        acts: acts(format, &scene),
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
fn again(stage: &Stage, recording: &Recording, underway: Underway) -> Response<Body> {
    let sent = recording.frames.iter().cloned();
    let sent = sent.map(|frame| Act::Send(frame.into()));
    let performance = Performance {
        acts: sent.chain([Act::End(Ending::Whole)]).collect(),
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

fn refuse(underway: &Underway, refusal: Refusal, more: &[(String, String)]) -> Response<Body> {
    underway.ended(Ending::Refused(refusal.status));
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
enum Act {
    Send(Bytes),
    /// A step is over.
    Rest,
    /// Until it is told to go on.
    Pause,
    Hang,
    Cut,
    /// All was sent that is sent.
    End(Ending),
}

fn acts(format: Format, scene: &Scene<'_>) -> VecDeque<Act> {
    let frames = format.write(scene);
    let (steps, how) = match scene.fault {
        Some(Fault::Broken { after, how }) => (*after, Some(how)),
        _ => (frames.steps.len(), None),
    };
    let turn = scene.turn;
    let mut acts: VecDeque<Act> = sent(&frames.opening, turn).collect();
    for (number, frames) in frames.steps.iter().enumerate().take(steps) {
        pauses(turn, number, &mut acts);
        acts.extend(sent(frames, turn));
        acts.push_back(Act::Rest);
    }
    pauses(turn, steps, &mut acts);
    match how {
        None => {
            acts.extend(sent(&frames.closing, turn));
            let ending = match scene.fault {
                Some(_) => Ending::Broken,
                None => Ending::Whole,
            };
            acts.push_back(Act::End(ending));
        }
        Some(Break::Error) => {
            acts.extend(sent(&[format.error()], turn));
            acts.push_back(Act::End(Ending::Broken));
        }
        Some(Break::Cut) => acts.push_back(Act::Cut),
        Some(Break::End) => acts.push_back(Act::End(Ending::Broken)),
        Some(Break::Hang) => acts.push_back(Act::Hang),
    }
    acts
}

fn pauses(turn: &Turn, after: usize, acts: &mut VecDeque<Act>) {
    if turn.pauses.contains(&after) {
        acts.push_back(Act::Pause);
    }
}

fn sent(frames: &[String], turn: &Turn) -> impl Iterator<Item = Act> {
    let most = turn.shreds.unwrap_or(usize::MAX).max(1);
    let bytes: Vec<Bytes> = frames
        .iter()
        .flat_map(|frame| frame.as_bytes().chunks(most.min(frame.len().max(1))))
        .map(Bytes::copy_from_slice)
        .collect();
    bytes.into_iter().map(Act::Send)
}

/// An answer that is being sent.
struct Performance {
    acts: VecDeque<Act>,
    underway: Underway,
    go_on: Arc<Semaphore>,
    pace: Option<Duration>,
}

impl Performance {
    fn response(self) -> Response<Body> {
        Response::new(Body::from_stream(stream::unfold(self, Self::next)))
    }

    async fn next(mut self) -> Option<(io::Result<Bytes>, Self)> {
        while let Some(act) = self.acts.pop_front() {
            match act {
                Act::Send(bytes) => {
                    // What was sent before leaves first: each piece comes for itself.
                    tokio::task::yield_now().await;
                    self.underway.sends();
                    return Some((Ok(bytes), self));
                }
                Act::Rest => self.rest().await,
                Act::Pause => self.paused().await,
                Act::Hang => {
                    let never: Infallible = std::future::pending().await;
                    match never {}
                }
                Act::Cut => {
                    tokio::task::yield_now().await;
                    self.underway.ended(Ending::Broken);
                    // An error here makes hyper drop the connection in the midst of the body.
                    return Some((Err(io::Error::other("the script cuts here")), self));
                }
                Act::End(ending) => self.underway.ended(ending),
            }
        }
        None
    }

    async fn rest(&self) {
        if let Some(pace) = self.pace {
            let mut clock = time::interval(pace);
            // The first tick is at once.
            clock.tick().await;
            clock.tick().await;
        }
    }

    async fn paused(&self) {
        self.underway.pauses(true);
        let permit = self.go_on.acquire().await;
        permit.expect("it is never closed").forget();
        self.underway.pauses(false);
    }
}
