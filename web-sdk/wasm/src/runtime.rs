//! Passes events to the page and performs its effects.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use bridge_protocol::SessionId;
use js_sys::{Date, JsString, Math};
use wasm_bindgen::prelude::*;

use super::codec::{self, DecodeError};
use super::js_imports::{Host, Options, Settling, clear_timeout, queue_microtask, set_timeout};
use super::socket::{Socket, SocketEvent};
use super::{handler, message_parts};
use web_sdk_core::{
    CallEnd, Effect, Page, PageInfo, PageVisibility, Report, StartedCall, Status, Token,
};

/// Connects a [`Page`] with the browser. It lives as long as the document.
pub(super) struct Runtime {
    page: RefCell<Page<JsValue>>,
    host: Host,
    socket_url: RefCell<String>,
    options: Options,
    socket: RefCell<Option<Socket>>,
    timer: RefCell<JsValue>,
    /// The callback of the timer.
    tick: RefCell<JsValue>,
    /// The callback of [`Effect::ScheduleFlush`].
    flush: RefCell<JsValue>,
    /// Whether effects are being performed.
    pumping: Cell<bool>,
    /// Whether an invalid message was reported on this connection.
    warned: Cell<bool>,
}

impl Runtime {
    pub(super) fn start(host: Host, options: Options) -> Rc<Self> {
        let visibility = current_visibility(&options);
        let runtime = Rc::new(Self {
            page: RefCell::new(Page::new(page_info(&options), visibility)),
            host,
            socket_url: RefCell::new(options.socket_url()),
            options,
            socket: RefCell::default(),
            timer: RefCell::default(),
            tick: RefCell::default(),
            flush: RefCell::default(),
            pumping: Cell::new(false),
            warned: Cell::new(false),
        });
        *runtime.tick.borrow_mut() =
            runtime.new_listener(|runtime, _| runtime.dispatch(|page| page.timer_fired(random())));
        *runtime.flush.borrow_mut() =
            runtime.new_listener(|runtime, _| runtime.dispatch(Page::flush));
        runtime.add_listeners();
        runtime
    }

    /// Passes an event to the page and performs the effects. An effect may run app code that causes
    /// further events, whose effects are performed after the former ones.
    pub(super) fn dispatch<T>(self: &Rc<Self>, event: impl FnOnce(&mut Page<JsValue>) -> T) -> T {
        let mut page = self.page.borrow_mut();
        page.set_now(Date::now() as u64);
        let result = event(&mut page);
        drop(page);
        self.pump_effects();
        result
    }

    /// Changes the session of the page, and the address that it connects to.
    pub(super) fn set_session(self: &Rc<Self>, session_id: String, socket_url: String) {
        *self.socket_url.borrow_mut() = socket_url;
        self.dispatch(|page| page.set_session(SessionId(session_id)));
    }

    fn pump_effects(self: &Rc<Self>) {
        if self.pumping.replace(true) {
            return;
        }
        while let Some(effect) = self.next_effect() {
            self.perform(effect);
        }
        self.pumping.set(false);
    }

    fn next_effect(&self) -> Option<Effect<JsValue>> {
        self.page.borrow_mut().next_effect()
    }

    fn perform(self: &Rc<Self>, effect: Effect<JsValue>) {
        match effect {
            Effect::FetchToken => self.fetch_token(),
            Effect::OpenSocket => self.open_socket(),
            Effect::Send(message) => {
                if let Some(socket) = &*self.socket.borrow() {
                    socket.send(&codec::encode(message));
                }
            }
            Effect::CloseSocket => {
                if let Some(socket) = self.socket.take() {
                    socket.close();
                }
            }
            Effect::AbandonSocket => drop(self.socket.take()),
            Effect::SetTimer(ms) => self.set_timer(ms),
            Effect::StopTimer => clear_timeout(&self.timer.take()),
            Effect::ScheduleFlush => queue_microtask(self.flush.borrow().unchecked_ref()),
            Effect::ScheduleTask => self.host.schedule_task(),
            Effect::StartCall(call) => self.start_call(call),
            Effect::Report(report) => self.report(report),
        }
    }

    fn fetch_token(self: &Rc<Self>) {
        let resolved = self.new_listener(|runtime, token| {
            let token = Token(token.as_string().unwrap_or_default());
            runtime.dispatch(|page| page.token_ready(token));
        });
        let rejected = self.new_listener(|runtime, error| {
            let message = handler::error_message(&error);
            runtime.dispatch(|page| page.token_failed(&message, random()));
        });
        let token = self.host.token();
        token.unchecked_ref::<Settling>().then(&resolved, &rejected);
    }

    fn open_socket(self: &Rc<Self>) {
        drop(self.socket.take());
        self.warned.set(false);
        let runtime = self.clone();
        match Socket::open(&self.host, &self.socket_url.borrow(), move |event| {
            runtime.on_socket_event(event)
        }) {
            Ok(socket) => *self.socket.borrow_mut() = Some(socket),
            Err(error) => {
                let message = handler::error_message(&error);
                self.dispatch(|page| page.socket_refused(&message));
            }
        }
    }

    fn on_socket_event(self: &Rc<Self>, event: SocketEvent) {
        match event {
            SocketEvent::Opened => self.dispatch(Page::socket_opened),
            SocketEvent::Frame(frame) => self.on_frame(frame),
            SocketEvent::Closed { code, reason } => {
                drop(self.socket.take());
                self.dispatch(|page| page.socket_closed(code, &reason, random()));
            }
        }
    }

    fn on_frame(self: &Rc<Self>, frame: JsString) {
        let mut text = Some(frame);
        if let Some(part) = text.as_ref().and_then(message_parts::parse) {
            self.dispatch(|page| text = page.part_arrived(part, random()).map(message_parts::join));
        }
        match text.map(|text| codec::decode(&text)) {
            Some(Ok(message)) => {
                let socket = self.socket.borrow();
                let buffered = socket.as_ref().map_or(0, Socket::buffered_bytes);
                drop(socket);
                self.dispatch(|page| {
                    page.set_buffered(buffered);
                    page.message_arrived(message);
                });
            }
            Some(Err(error)) => self.warn_once(&error),
            None => {}
        }
    }

    fn warn_once(&self, error: &DecodeError) {
        if self.warned.replace(true) {
            return;
        }
        let warning = match error {
            DecodeError::NotAMessage => "the bridge sent a frame that is no message".to_owned(),
            DecodeError::UnknownType(kind) => ["the bridge sent an unknown ", kind].concat(),
            DecodeError::MissingField(kind) => ["the bridge sent a broken ", kind].concat(),
        };
        self.host.warn(&warning);
    }

    fn set_timer(&self, ms: u32) {
        clear_timeout(&self.timer.take());
        let timer = set_timeout(self.tick.borrow().unchecked_ref(), ms);
        *self.timer.borrow_mut() = timer;
    }

    fn start_call(self: &Rc<Self>, call: StartedCall<JsValue>) {
        let mut page = self.page.borrow_mut();
        page.set_now(Date::now() as u64);
        let Some(call) = page.confirm_start(call) else {
            return;
        };
        drop(page);
        let request = call.request;
        let id = request.call;
        let promise = self
            .host
            .call(id.as_str(), call.definition.0, &request.message);
        let resolved = self.new_listener(move |runtime, outcome| {
            let outcome = handler::parse_outcome(&outcome);
            runtime.dispatch(|page| page.handler_finished(id.clone(), outcome));
        });
        let promise: &Settling = promise.unchecked_ref();
        promise.then(&resolved, &JsValue::UNDEFINED);
    }

    fn report(&self, report: Report<JsValue>) {
        let host = &self.host;
        match report {
            Report::Status(status) => self.report_status(&status),
            Report::SessionAccepted {
                session_name,
                max_message_bytes,
            } => host.welcomed(session_name.as_deref(), max_message_bytes as u32),
            Report::Clients(clients) => host.clients(&clients.unwrap_or_default()),
            Report::Subscriptions(uris) => host.subscriptions(&uris.unwrap_or_default()),
            Report::Registered {
                definition,
                published_name,
            } => host.registered(definition.0, published_name.as_deref()),
            Report::Rejected {
                definition,
                failure,
            } => host.refused(definition.0, &failure.code, &failure.message),
            Report::Dropped(definition) => host.dropped(definition.0),
            Report::Removed(definition) => host.removed(definition.0),
            Report::ClientAnswered { call, key, answer } => match answer {
                Ok(answer) => host.client_answered(call.as_str(), &key, &answer),
                Err(error) => {
                    host.client_refused(call.as_str(), &key, &error.code, &error.message);
                }
            },
            Report::Query(message) => host.query(&message),
            Report::CallEnded { call, outcome } => {
                let (phase, error) = match &outcome {
                    CallEnd::Finished => ("finished", None),
                    CallEnd::Failed(error) => ("failed", Some(error)),
                    CallEnd::Cancelled(reason) => ("cancelled", Some(reason)),
                };
                let code = error.map(|error| &*error.code);
                let message = error.map(|error| &*error.message);
                host.call_ended(call.as_str(), phase, code, message);
            }
            Report::Warning(message) => host.warn(&message),
        }
    }

    fn report_status(&self, status: &Status) {
        let (state, error, retry_in_ms) = match status {
            Status::Connecting => ("connecting", None, None),
            Status::Connected => ("connected", None, None),
            Status::Reconnecting { error, retry_in_ms } => {
                ("reconnecting", Some(error), *retry_in_ms)
            }
            Status::Disconnected => ("disconnected", None, None),
            Status::Failed(error) => ("failed", Some(error), None),
        };
        let code = error.map(|error| &*error.code);
        let message = error.map(|error| &*error.message);
        self.host.status(state, code, message, retry_in_ms);
    }

    /// Listens to events of the document, the network and the user. There is only one listener,
    /// because each one would be a noticeable part of the download.
    fn add_listeners(self: &Rc<Self>) {
        let listener = self.new_listener(|runtime, event| {
            runtime.on_browser_event(&codec::string(&event, "type").unwrap_or_default(), &event);
        });
        for event in [
            "visibilitychange",
            "focus",
            "blur",
            "online",
            "pageshow",
            "pagehide",
        ] {
            self.host.listen(event, &listener, false);
        }
        // These events do not bubble, or an app may stop them: they are captured.
        for event in ["freeze", "resume", "pointerdown", "keydown"] {
            self.host.listen(event, &listener, true);
        }
    }

    fn on_browser_event(self: &Rc<Self>, kind: &str, event: &JsValue) {
        match kind {
            "pointerdown" | "keydown" => self.dispatch(Page::user_acted),
            "freeze" => self.dispatch(Page::froze),
            "online" | "pageshow" => self.dispatch(Page::resumed),
            "pagehide" => {
                let persisted = codec::field(event, "persisted");
                let enters_bfcache = persisted.is_some_and(|persisted| persisted.is_truthy());
                self.dispatch(|page| {
                    if enters_bfcache {
                        page.entered_bfcache(random());
                    } else {
                        page.leaving();
                    }
                });
            }
            _ => {
                let visibility = current_visibility(&self.options);
                self.dispatch(|page| {
                    let visible = visibility.visible;
                    page.visibility_changed(visibility);
                    if visible {
                        page.resumed();
                    }
                });
            }
        }
    }

    /// Creates a JavaScript function that calls `on_event`. It is freed when the browser drops it.
    fn new_listener(
        self: &Rc<Self>,
        mut on_event: impl FnMut(&Rc<Self>, JsValue) + 'static,
    ) -> JsValue {
        let runtime = self.clone();
        Closure::<dyn FnMut(JsValue)>::new(move |event| on_event(&runtime, event)).into_js_value()
    }
}

fn random() -> f64 {
    Math::random()
}

fn page_info(options: &Options) -> PageInfo<JsValue> {
    PageInfo {
        bridge_url: options.bridge_url(),
        session_id: SessionId(options.session_id()),
        session_name: options.session_name(),
        origin: options.origin(),
        document_id: options.document_id(),
        user_agent: options.user_agent(),
        app: options.app().into(),
        renewable: options.renewable(),
    }
}

/// Returns the current visibility of the page. A worker has no document and is never visible.
fn current_visibility(options: &Options) -> PageVisibility {
    let current = options.visibility();
    let is = |name| codec::field(&current, name).is_some_and(|value| value.is_truthy());
    PageVisibility {
        visible: is("visible"),
        focused: is("focused"),
        title: codec::string(&current, "title").unwrap_or_default(),
    }
}
