//! The SDK's core on a real WebSocket, driven by tokio as the SDK's runtime drives it in a browser.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bridge_protocol::CallId;
use futures_util::{SinkExt, StreamExt};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, Sleep, sleep_until};
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use web_sdk::core::{
    Call, DefinitionKey, Effect, Item, Kind, Page, PageVisibility, Report, SizedJson, Status, Token,
};

use super::delay::delay;
use super::invariants::InvariantChecker;
use crate::random::Random;
use crate::sdk_page::{PageFrames, page_info, text_outcome};

/// The tool that every page registers. Its argument `n` is the caller's number for the call.
pub(super) const TOOL: &str = "work";

/// The close code of `web-sdk/src/js/socket.rs` for abandoned sockets.
const ABANDONED_CLOSE: u16 = 4000;

/// The code for a connection that ended without a close frame (RFC 6455 section 7.1.5).
const ABNORMAL_CLOSE: u16 = 1006;

/// How long the peer may take to answer a close frame.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Returns a new token.
pub(super) type TokenSource = Arc<dyn Fn() -> String + Send + Sync>;

/// What the page's thread does when it is free.
enum Task {
    Token,
    Opened(u64),
    Frame(u64, String),
    Closed(u64, u16),
    Finish(CallId),
    /// A handler blocks the thread for this long, and ends.
    Block(CallId, Duration),
    /// The browser suspends the page for this long.
    Pause(Duration),
    /// The browser announces that it suspends the page for this long.
    Freeze(Duration),
}

/// What the page's thread sends to the task of its socket.
enum SocketCommand {
    Frame(String),
    Close(u16),
}

/// The state that the page reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PageStatus {
    /// The page's tool can be called.
    pub(super) ready: bool,
    pub(super) failed: Option<String>,
}

/// A document in a tab. If it is dropped, both end as in a crash.
pub(super) struct SocketPage {
    tasks: mpsc::UnboundedSender<Task>,
    state: watch::Receiver<PageStatus>,
    thread: JoinHandle<()>,
    leave: Option<oneshot::Sender<u16>>,
}

impl SocketPage {
    pub(super) fn open(
        url: String,
        session: &str,
        document: u64,
        tokens: TokenSource,
        checker: Arc<InvariantChecker>,
        random: Random,
    ) -> Self {
        let (tasks, queue) = mpsc::unbounded_channel();
        let (state, state_receiver) = watch::channel(PageStatus::default());
        let (leave, left) = oneshot::channel();
        let thread = PageThread {
            page: Page::new(page_info(session, document), PageVisibility::default()),
            url,
            tokens,
            checker,
            random,
            tasks: tasks.clone(),
            state,
            socket: None,
            sockets_opened: 0,
            timer: None,
            flush_requested: false,
            running: BTreeSet::new(),
            handlers: JoinSet::new(),
        };
        Self {
            tasks,
            state: state_receiver,
            thread: tokio::spawn(thread.run(queue, left)),
            leave: Some(leave),
        }
    }

    pub(super) fn pause(&self, span: Duration, announced: bool) {
        let task = if announced {
            Task::Freeze(span)
        } else {
            Task::Pause(span)
        };
        let _ = self.tasks.send(task);
    }

    /// Waits until the page's tool can be called, or the page has given up.
    pub(super) async fn wait_settled(&mut self) -> PageStatus {
        let settled = |state: &PageStatus| state.ready || state.failed.is_some();
        let state = self.state.wait_for(settled).await;
        state.expect("the page's thread runs").clone()
    }

    /// Closes the document's socket with code 1001, as a browser does on navigation.
    pub(super) async fn close(mut self) {
        if let Some(leave) = self.leave.take() {
            let _ = leave.send(1001);
        }
        (&mut self.thread).await.expect("a page does not panic");
    }
}

impl Drop for SocketPage {
    fn drop(&mut self) {
        self.thread.abort();
    }
}

struct Socket {
    number: u64,
    outgoing: mpsc::UnboundedSender<SocketCommand>,
    frames: PageFrames,
}

struct PageThread {
    page: Page<String>,
    url: String,
    tokens: TokenSource,
    checker: Arc<InvariantChecker>,
    random: Random,
    tasks: mpsc::UnboundedSender<Task>,
    state: watch::Sender<PageStatus>,
    socket: Option<Socket>,
    sockets_opened: u64,
    timer: Option<Pin<Box<Sleep>>>,
    flush_requested: bool,
    running: BTreeSet<CallId>,
    handlers: JoinSet<()>,
}

impl PageThread {
    async fn run(
        mut self,
        mut queue: mpsc::UnboundedReceiver<Task>,
        mut left: oneshot::Receiver<u16>,
    ) {
        self.start();
        loop {
            self.perform_all();
            let alive = tokio::select! {
                            code = &mut left => return self.leave(code.unwrap_or(1001)),
            Some(task) = queue.recv() => self.run_task(task, &mut left).await,
                            () = timer_fired(&mut self.timer) => {
                                self.timer = None;
                                let random = self.random.fraction();
                                self.page_now().timer_fired(random);
                                true
                            }
                            Some(_) = self.handlers.join_next() => true,
                        };
            if !alive {
                return self.close_socket(1001);
            }
        }
    }

    fn start(&mut self) {
        let definition = format!(
            r#"{{"name":"{TOOL}","inputSchema":{{"type":"object","properties":{{"n":{{"type":"integer"}}}}}}}}"#
        );
        let item = Item {
            kind: Kind::Tool,
            name: TOOL.to_owned(),
        };
        let definition = SizedJson {
            bytes: definition.len(),
            json: definition,
        };
        self.page_now()
            .definition_added(DefinitionKey(1), item, definition, false);
        self.page.connect();
    }

    /// Returns the page, with its clock set to the current time.
    fn page_now(&mut self) -> &mut Page<String> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.expect("the clock is after 1970").as_millis();
        self.page.set_now(now as u64);
        &mut self.page
    }

    fn leave(&mut self, code: u16) {
        self.page_now().leaving();
        self.perform_all();
        self.close_socket(code);
    }

    fn close_socket(&mut self, code: u16) {
        if let Some(socket) = self.socket.take() {
            let _ = socket.outgoing.send(SocketCommand::Close(code));
        }
    }

    /// Runs nothing for this long. Returns `false` if the document is closed meanwhile.
    async fn pause(&mut self, span: Duration, left: &mut oneshot::Receiver<u16>) -> bool {
        tokio::select! {
            () = delay(span) => true,
            _ = left => false,
        }
    }

    async fn run_task(&mut self, task: Task, left: &mut oneshot::Receiver<u16>) -> bool {
        let random = self.random.fraction();
        let current = self.socket.as_ref().map(|socket| socket.number);
        match task {
            Task::Token => {
                let token = Token((self.tokens)());
                self.page_now().token_ready(token);
            }
            Task::Opened(socket) if Some(socket) == current => self.page_now().socket_opened(),
            Task::Frame(number, text) if Some(number) == current => {
                let socket = self
                    .socket
                    .as_mut()
                    .expect("the guard checks that the socket is current");
                if let Some(message) = socket.frames.decode(&text) {
                    self.page_now().message_arrived(message);
                }
            }
            Task::Closed(socket, code) if Some(socket) == current => {
                self.socket = None;
                self.page_now().socket_closed(code, "", random);
            }
            Task::Opened(_) | Task::Frame(..) | Task::Closed(..) => {}
            Task::Finish(call) => {
                let bytes = if self.random.percent(3) { 600_000 } else { 10 };
                self.page_now().handler_finished(call, text_outcome(bytes));
            }
            Task::Pause(span) => return self.pause(span, left).await,
            Task::Freeze(span) => {
                self.page_now().froze();
                self.perform_all();
                let alive = self.pause(span, left).await;
                self.page_now()
                    .visibility_changed(PageVisibility::default());
                return alive;
            }
            Task::Block(call, span) => {
                let alive = self.pause(span, left).await;
                self.page_now().handler_finished(call, text_outcome(10));
                return alive;
            }
        }
        true
    }

    fn perform_all(&mut self) {
        loop {
            if let Some(effect) = self.page.next_effect() {
                self.perform(effect);
            } else if std::mem::take(&mut self.flush_requested) {
                self.page_now().flush();
            } else {
                return;
            }
        }
    }

    fn perform(&mut self, effect: Effect<String>) {
        match effect {
            Effect::FetchToken => self.queue_task(Task::Token),
            Effect::OpenSocket => {
                self.close_socket(ABANDONED_CLOSE);
                self.sockets_opened += 1;
                let (outgoing, messages) = mpsc::unbounded_channel();
                let socket = serve(
                    self.url.clone(),
                    self.sockets_opened,
                    messages,
                    self.tasks.clone(),
                );
                self.handlers.spawn(socket);
                self.socket = Some(Socket {
                    number: self.sockets_opened,
                    outgoing,
                    frames: PageFrames::new(),
                });
            }
            Effect::Send(message) => {
                if let Some(socket) = &mut self.socket {
                    for frame in socket.frames.encode(message) {
                        let _ = socket.outgoing.send(SocketCommand::Frame(frame));
                    }
                }
            }
            Effect::CloseSocket => self.close_socket(1000),
            Effect::AbandonSocket => self.close_socket(ABANDONED_CLOSE),
            Effect::SetTimer(ms) => {
                let at = Instant::now() + Duration::from_millis(ms.into());
                self.timer = Some(Box::pin(sleep_until(at)));
            }
            Effect::StopTimer => self.timer = None,
            Effect::ScheduleFlush => self.flush_requested = true,
            // No tool of this page may be called again without harm.
            Effect::ScheduleTask => {}
            Effect::StartCall(call) => {
                if let Some(call) = self.page_now().confirm_start(call) {
                    self.start_handler(call);
                }
            }
            Effect::Report(report) => self.on_report(report),
        }
    }

    fn queue_task(&self, task: Task) {
        let _ = self.tasks.send(task);
    }

    fn start_handler(&mut self, call: Call<String>) {
        let message: Value =
            serde_json::from_str(&call.request.message).expect("the message is JSON");
        let number = message["toolInput"]["n"]
            .as_u64()
            .expect("callers number their calls");
        self.checker.call_started(number, call.request.hand_overs);
        self.running.insert(call.request.call.clone());
        if self.random.percent(80) {
            let id = call.request.call.clone();
            self.page_now()
                .hand_over_requested(id, "{}".to_owned(), true);
        }
        let span = Duration::from_millis(self.random.span(3_000));
        match self.random.below(10) {
            0..2 => self.queue_task(Task::Block(call.request.call, span)),
            2 => {}
            _ => {
                let tasks = self.tasks.clone();
                self.handlers.spawn(async move {
                    delay(span).await;
                    let _ = tasks.send(Task::Finish(call.request.call));
                });
            }
        }
    }

    fn on_report(&mut self, report: Report<String>) {
        match report {
            Report::Status(status) => {
                let failed = match status {
                    Status::Failed(failure) => Some(failure.code.into_owned()),
                    _ => None,
                };
                self.state.send_replace(PageStatus {
                    ready: false,
                    failed,
                });
            }
            Report::Registered { .. } => self.state.send_modify(|state| state.ready = true),
            Report::CallEnded { call, .. } if !self.running.remove(&call) => {
                self.checker
                    .record_violation(format!("{call} ends but does not run"));
            }
            _ => {}
        }
    }
}

async fn timer_fired(timer: &mut Option<Pin<Box<Sleep>>>) {
    match timer {
        Some(timer) => timer.await,
        None => std::future::pending().await,
    }
}

/// Runs a WebSocket like a browser: it reads, and answers pings, even while the page's thread is
/// blocked.
async fn serve(
    url: String,
    number: u64,
    mut outgoing: mpsc::UnboundedReceiver<SocketCommand>,
    tasks: mpsc::UnboundedSender<Task>,
) {
    let Ok((mut socket, _)) = connect_async(url).await else {
        let _ = tasks.send(Task::Closed(number, ABNORMAL_CLOSE));
        return;
    };
    let _ = tasks.send(Task::Opened(number));
    let mut code = ABNORMAL_CLOSE;
    loop {
        tokio::select! {
            written = outgoing.recv() => match written {
                Some(SocketCommand::Frame(text)) => {
                    if socket.send(Message::text(text)).await.is_err() {
                        break;
                    }
                }
                Some(SocketCommand::Close(code)) => {
                    let frame = CloseFrame { code: code.into(), reason: "".into() };
                    let closed = async {
                        let _ = socket.close(Some(frame)).await;
                        while let Some(Ok(_)) = socket.next().await {}
                    };
                    let _ = tokio::time::timeout(CLOSE_TIMEOUT, closed).await;
                    return;
                }
                None => return,
            },
            read = socket.next() => match read {
                Some(Ok(Message::Text(text))) => {
                    let _ = tasks.send(Task::Frame(number, text.as_str().to_owned()));
                }
                Some(Ok(Message::Close(frame))) => {
                    code = frame.map_or(1005, |frame| frame.code.into());
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => break,
            },
        }
    }
    let _ = tasks.send(Task::Closed(number, code));
}
