//! The task of a connection: it passes events to the page's core, and performs the effects.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bridge_protocol::{BridgeToPage, CallContext, CallId};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, Sleep, sleep_until};
use uuid::Uuid;
use web_sdk_core::close_codes::{ABANDONED_CLOSE, ABNORMAL_CLOSE, LEAVING_CLOSE, NORMAL_CLOSE};
use web_sdk_core::{CallEnd, DefinitionKey, Effect, Failure, Page, Report, StartedCall};

use crate::call::{Call, CallEvent};
use crate::definition::{Handler, NewDefinition, Registration};
use crate::error::CallError;
use crate::events::{Event, EventSender};
use crate::frames::{FrameError, PageFrames};
use crate::report_queue::ReportQueue;
use crate::socket::{Socket, SocketEvent};
use crate::status::{ConnectError, Status};
use crate::token::{Source, Token};

/// The answer to a repeatable call replaces its receipt if it comes within this time.
const FIRST_TASK: Duration = Duration::from_millis(1);

/// While more bytes are waiting for the network, reports of handlers are dropped.
const MAX_UNSENT_BYTES: usize = 1024 * 1024;

/// The inputs of the task from the program.
pub(crate) struct Setup {
    pub(crate) page: Page<String>,
    pub(crate) socket_url: String,
    pub(crate) token: Token,
    pub(crate) events: EventSender,
    pub(crate) receiver: mpsc::UnboundedReceiver<Event>,
    pub(crate) status: watch::Sender<Status>,
    pub(crate) subscriptions: watch::Sender<Vec<String>>,
    pub(crate) reports: ReportQueue,
    pub(crate) warn: Warn,
    /// Whether the program leaves the session to another process.
    pub(crate) leaving: watch::Receiver<bool>,
    /// The sender is dropped with the last handle of the program.
    pub(crate) handles: watch::Receiver<()>,
}

/// Receives warnings for the developer.
pub(crate) type Warn = Arc<dyn Fn(&str) + Send + Sync>;

struct Definition {
    handler: Handler,
    registration: watch::Sender<Registration>,
}

/// A call whose handler is running.
struct RunningCall {
    cancelled: watch::Sender<Option<Failure>>,
    /// The unanswered requests to the client, by their keys.
    asked: HashMap<String, oneshot::Sender<Result<String, Failure>>>,
}

pub(crate) struct Connection {
    setup: Setup,
    socket: Option<(u64, Socket, PageFrames)>,
    sockets_opened: u64,
    /// The sockets that wait for the bridge's close frame.
    closing: JoinSet<()>,
    timer: Option<Pin<Box<Sleep>>>,
    flush_requested: bool,
    definitions: HashMap<u32, Definition>,
    calls: HashMap<CallId, RunningCall>,
    handlers: JoinSet<()>,
    fetching: Option<JoinHandle<()>>,
}

impl Connection {
    pub(crate) fn new(setup: Setup) -> Self {
        Self {
            setup,
            socket: None,
            sockets_opened: 0,
            closing: JoinSet::new(),
            timer: None,
            flush_requested: false,
            definitions: HashMap::new(),
            calls: HashMap::new(),
            handlers: JoinSet::new(),
            fetching: None,
        }
    }

    /// Runs until the program has dropped all handles.
    pub(crate) async fn run(mut self) {
        loop {
            self.perform_all();
            // Do not reconnect while leaving: the next process may already have the session.
            if *self.setup.leaving.borrow() {
                return self.leave().await;
            }
            tokio::select! {
                Ok(()) = self.setup.leaving.changed() => {}
                Some(event) = self.setup.receiver.recv() => {
                    self.on_event(event).await;
                    // The requests that a handler sends at once reach its client as one message.
                    tokio::task::yield_now().await;
                }
                () = timer_fired(&mut self.timer) => {
                    self.timer = None;
                    self.page_now().timer_fired(random());
                }
                Some(_) = self.handlers.join_next() => {}
                Err(_) = self.setup.handles.changed() => break,
            }
        }
        self.disconnect().await;
    }

    /// Returns the page, with its clock set to the current time.
    fn page_now(&mut self) -> &mut Page<String> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now_ms = now.unwrap_or_default().as_millis();
        self.setup
            .page
            .set_now(u64::try_from(now_ms).unwrap_or(u64::MAX));
        &mut self.setup.page
    }

    async fn on_event(&mut self, event: Event) {
        match event {
            Event::Connect => self.page_now().connect(),
            Event::Disconnect(done) => {
                self.disconnect().await;
                let _ = done.send(());
            }
            Event::TaskEnded => self.page_now().task_ended(),
            Event::Added(definition) => self.add(definition),
            Event::Removed(key) => self.page_now().definition_removed(DefinitionKey(key)),
            Event::ResourceUpdated(uri) => self.page_now().resource_updated(uri),
            Event::Token(Ok(token)) => self.page_now().token_ready(web_sdk_core::Token(token)),
            Event::Token(Err(message)) => self.page_now().token_failed(&message, random()),
            Event::Socket(number, event) => {
                let current = self.socket.as_ref().map(|(number, ..)| *number);
                if current == Some(number) {
                    self.on_socket_event(event);
                }
            }
            Event::Finished(call, outcome) => self.page_now().handler_finished(call, outcome),
            Event::OfCall(call, event) => self.on_call_event(call, event),
            #[cfg(feature = "faults")]
            Event::Fault(fault) => self.on_fault(fault).await,
        }
    }

    /// Returns whether so much is waiting for the network that reports of handlers are dropped.
    fn is_backlogged(&self) -> bool {
        let socket = self.socket.as_ref();
        socket.is_some_and(|(_, socket, _)| socket.unsent_bytes() > MAX_UNSENT_BYTES)
    }

    fn on_call_event(&mut self, call: CallId, event: CallEvent) {
        match event {
            CallEvent::Progressed(_) | CallEvent::Logged(_) if self.is_backlogged() => {
                self.setup.reports.end();
            }
            CallEvent::Progressed(report) => {
                self.setup.reports.end();
                self.page_now()
                    .progressed(call, report.progress, report.total, report.message);
            }
            CallEvent::Logged(log) => {
                self.setup.reports.end();
                self.page_now()
                    .logged(call, log.level.to_owned(), None, log.data);
            }
            CallEvent::Asked(ask) => {
                // A call that has ended drops the sender, which notifies the handler.
                if let Some(running) = self.calls.get_mut(&call) {
                    running.asked.insert(ask.request.key.clone(), ask.answer);
                    self.page_now()
                        .client_requested(call, ask.request, ask.bytes);
                }
            }
            CallEvent::HandOver(state) => {
                let is_armed = state.is_some();
                let state = state.unwrap_or_default();
                self.page_now().hand_over_requested(call, state, is_armed);
            }
        }
    }

    #[cfg(feature = "faults")]
    async fn on_fault(&mut self, fault: crate::Fault) {
        if fault.is_announced {
            self.page_now().froze();
            self.perform_all();
        }
        tokio::select! {
            // sleep: the fault is that nothing runs
            () = tokio::time::sleep(fault.span) => {}
            _ = self.setup.leaving.wait_for(|is_leaving| *is_leaving) => {}
        }
        if fault.is_announced {
            self.page_now()
                .visibility_changed(web_sdk_core::PageVisibility::default());
        }
    }

    fn add(&mut self, definition: NewDefinition) {
        let NewDefinition {
            key,
            item,
            json,
            repeatable,
            handler,
            registration,
        } = definition;
        let stored = Definition {
            handler,
            registration,
        };
        self.definitions.insert(key, stored);
        self.page_now()
            .definition_added(DefinitionKey(key), item, json, repeatable);
    }

    fn on_socket_event(&mut self, event: SocketEvent) {
        match event {
            SocketEvent::Opened => self.page_now().socket_opened(),
            SocketEvent::Frame(text) => self.on_frame(&text),
            SocketEvent::Closed { code, reason } => {
                self.socket = None;
                self.page_now().socket_closed(code, &reason, random());
            }
            SocketEvent::Refused(message) => {
                self.socket = None;
                self.page_now().socket_refused(&message);
            }
        }
    }

    fn on_frame(&mut self, text: &str) {
        let Some((_, socket, frames)) = &mut self.socket else {
            return;
        };
        let buffered = u32::try_from(socket.unsent_bytes()).unwrap_or(u32::MAX);
        match frames.decode(text) {
            Ok(Some(message)) => {
                let page = self.page_now();
                page.set_buffered(buffered);
                page.message_arrived(message);
            }
            Ok(None) => {}
            Err(FrameError::Message(reason)) => {
                // A newer bridge may send messages that this version does not know.
                (self.setup.warn)(&format!(
                    "the bridge sent a message that is not known: {reason}"
                ));
            }
            Err(FrameError::Part(reason)) => {
                self.close_socket(ABANDONED_CLOSE);
                let reason = format!("the bridge sent an invalid part: {reason}");
                self.page_now()
                    .socket_closed(ABNORMAL_CLOSE, &reason, random());
            }
        }
    }

    /// Ends the connection, and waits until the bridge has been notified.
    async fn disconnect(&mut self) {
        self.page_now().disconnect();
        self.perform_all();
        while self.closing.join_next().await.is_some() {}
    }

    /// Ends the connection like a page that is being unloaded: another process of the session
    /// continues the armed calls.
    async fn leave(&mut self) {
        self.page_now().leaving();
        self.perform_all();
        self.close_socket(LEAVING_CLOSE);
        for (_, call) in self.calls.drain() {
            let reason = Failure::new(Failure::DISCONNECTED, "the program has left the session");
            call.cancelled.send_replace(Some(reason));
        }
        self.setup.status.send_replace(Status::Disconnected);
        while self.closing.join_next().await.is_some() {}
    }

    fn perform_all(&mut self) {
        loop {
            if let Some(effect) = self.setup.page.next_effect() {
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
            Effect::FetchToken => self.fetch_token(),
            Effect::OpenSocket => self.open_socket(),
            Effect::Send(message) => {
                if let Some((_, socket, frames)) = &mut self.socket {
                    for frame in frames.encode(message) {
                        socket.send(frame);
                    }
                }
            }
            Effect::CloseSocket => self.close_socket(NORMAL_CLOSE),
            Effect::AbandonSocket => self.close_socket(ABANDONED_CLOSE),
            Effect::SetTimer(ms) => {
                let at = Instant::now() + Duration::from_millis(ms.into());
                self.timer = Some(Box::pin(sleep_until(at)));
            }
            Effect::StopTimer => self.timer = None,
            Effect::ScheduleFlush => self.flush_requested = true,
            Effect::ScheduleTask => {
                let events = self.setup.events.clone();
                self.handlers.spawn(async move {
                    // sleep: handlers that answer within this time answer in the same task.
                    tokio::time::sleep(FIRST_TASK).await;
                    events.send(Event::TaskEnded);
                });
            }
            Effect::StartCall(call) => {
                if let Some(call) = self.page_now().confirm_start(call) {
                    self.start_call(call);
                }
            }
            Effect::Report(report) => self.on_report(report),
        }
    }

    fn fetch_token(&mut self) {
        let events = self.setup.events.clone();
        match &self.setup.token.0 {
            Source::Fixed(token) => events.send(Event::Token(Ok(token.clone()))),
            Source::Fetched(fetch) => {
                let fetch = fetch.clone();
                let task = tokio::spawn(async move {
                    // In a separate task, so that a panic is an ordinary failure.
                    let token = tokio::spawn(async move { fetch().await });
                    let token = token
                        .await
                        .unwrap_or_else(|_| Err("it has panicked".to_owned()));
                    let is_empty = token.as_ref().is_ok_and(String::is_empty);
                    let empty = || Err("it has returned an empty token".to_owned());
                    events.send(Event::Token(if is_empty { empty() } else { token }));
                });
                if let Some(former) = self.fetching.replace(task) {
                    former.abort();
                }
            }
        }
    }

    fn open_socket(&mut self) {
        self.close_socket(ABANDONED_CLOSE);
        self.sockets_opened += 1;
        let number = self.sockets_opened;
        let events = self.setup.events.clone();
        let on_event = move |event| events.send(Event::Socket(number, event));
        let socket = Socket::open(self.setup.socket_url.clone(), on_event);
        self.socket = Some((number, socket, PageFrames::default()));
    }

    fn close_socket(&mut self, code: u16) {
        while self.closing.try_join_next().is_some() {}
        if let Some((_, socket, _)) = self.socket.take() {
            self.closing.spawn(socket.close(code));
        }
    }

    fn start_call(&mut self, call: StartedCall<String>) {
        let id = call.request.call.clone();
        let (cancelled, receiver) = watch::channel(None);
        let events = self.setup.events.clone();
        let definition = self.definitions.get(&call.definition.0);
        let message = BridgeToPage::decode(&call.request.message);
        let (Some(definition), Ok(message)) = (definition, message) else {
            let outcome = CallError::new("the request cannot be read").into_outcome();
            return events.send(Event::Finished(id, outcome));
        };
        let context = context_of(&message);
        let reports = self.setup.reports.clone();
        let (events_of_call, call) = (events.clone(), id.clone());
        let on_event = move |event| events_of_call.send(Event::OfCall(call.clone(), event));
        let facts = Call::new(id.clone(), context, Box::new(on_event), reports, receiver);
        let running = RunningCall {
            cancelled,
            asked: HashMap::new(),
        };
        self.calls.insert(id.clone(), running);
        let handler = definition.handler.clone();
        self.handlers.spawn(async move {
            // In a separate task, so that a panic fails only the call.
            let run = tokio::spawn(async move { handler(message, facts).await });
            let outcome = run.await.unwrap_or_else(|_| {
                CallError::new("the handler has panicked: see the log of the program")
                    .into_outcome()
            });
            events.send(Event::Finished(id, outcome));
        });
    }

    fn on_report(&mut self, report: Report<String>) {
        match report {
            Report::Status(status) => {
                match &status {
                    web_sdk_core::Status::Connected => {}
                    web_sdk_core::Status::Failed(failure) => {
                        self.unregister(&Registration::Rejected(failure.clone().into()));
                    }
                    _ => self.unregister(&Registration::Pending),
                }
                self.setup.status.send_replace(status.into());
            }
            Report::Registered {
                definition,
                published_name,
            } => self.registration(definition, Registration::Registered(published_name)),
            Report::Rejected {
                definition,
                failure,
            } => {
                (self.setup.warn)(&failure.message);
                self.registration(definition, Registration::Rejected(failure.into()));
            }
            Report::Dropped(_) => {}
            Report::Removed(definition) => {
                self.registration(definition, Registration::Removed);
                self.definitions.remove(&definition.0);
            }
            Report::ClientAnswered { call, key, answer } => {
                let running = self.calls.get_mut(&call);
                if let Some(asked) = running.and_then(|running| running.asked.remove(&key)) {
                    let _ = asked.send(answer);
                }
            }
            Report::CallEnded { call, outcome } => {
                if let Some(running) = self.calls.remove(&call)
                    && let CallEnd::Cancelled(reason) = outcome
                {
                    running.cancelled.send_replace(Some(reason));
                }
            }
            Report::Subscriptions(message) => {
                let uris = message.and_then(|text| subscribed_uris(&text));
                self.setup
                    .subscriptions
                    .send_replace(uris.unwrap_or_default());
            }
            Report::Warning(message) => (self.setup.warn)(&message),
            Report::SessionAccepted { .. } | Report::Clients(_) | Report::Query(_) => {}
        }
    }

    /// Clients cannot use the registered items until they are registered again.
    fn unregister(&self, state: &Registration) {
        for definition in self.definitions.values() {
            definition.registration.send_if_modified(|registration| {
                let is_settled = matches!(registration, Registration::Rejected(_));
                if !is_settled {
                    *registration = state.clone();
                }
                !is_settled
            });
        }
    }

    fn registration(&self, definition: DefinitionKey, registration: Registration) {
        if let Some(definition) = self.definitions.get(&definition.0) {
            definition.registration.send_replace(registration);
        }
    }
}

fn context_of(message: &BridgeToPage) -> Box<CallContext> {
    match message {
        BridgeToPage::ToolCall(call) => call.context.clone(),
        BridgeToPage::PromptGet(call) => call.context.clone(),
        BridgeToPage::ResourceRead(call) => call.context.clone(),
        BridgeToPage::Completion(call) => call.context.clone(),
        _ => Box::default(),
    }
}

fn subscribed_uris(message: &str) -> Option<Vec<String>> {
    match BridgeToPage::decode(message) {
        Ok(BridgeToPage::Subscriptions(subscriptions)) => Some(subscriptions.uris),
        _ => None,
    }
}

/// The task also ends with its runtime.
impl Drop for Connection {
    fn drop(&mut self) {
        self.setup.status.send_if_modified(|status| {
            let is_open = !matches!(status, Status::Disconnected | Status::Failed(_));
            if is_open {
                *status = Status::Disconnected;
            }
            is_open
        });
    }
}

async fn timer_fired(timer: &mut Option<Pin<Box<Sleep>>>) {
    match timer {
        Some(timer) => timer.await,
        None => std::future::pending().await,
    }
}

/// Returns a random number from 0 (inclusive) to 1 (exclusive), for the delays between attempts.
fn random() -> f64 {
    let bits = Uuid::new_v4().as_u64_pair().1 & 0xffff_ffff;
    bits as f64 / 4_294_967_296.0
}

/// The error of a connection whose program has disconnected.
pub(crate) fn disconnected() -> ConnectError {
    ConnectError::new(Failure::DISCONNECTED, "the program has disconnected")
}
