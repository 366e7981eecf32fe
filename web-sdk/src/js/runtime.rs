//! Feeds events to the page and does what it answers.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use bridge_protocol::SessionId;
use js_sys::{Date, JsString, Math};
use wasm_bindgen::prelude::*;

use super::bindings::{
    Document, Host, Options, Settling, add_event_listener, clear_timeout, queue_microtask,
    set_timeout,
};
use super::codec::{self, DecodeError};
use super::socket::{Socket, SocketEvent};
use super::{handler, parts};
use crate::core::{
    Call, CallOutcome, Effect, Page, PageInfo, PageVisibility, Report, Status, Token,
};

/// A page at work. It lives as long as the document.
pub(super) struct Runtime {
    page: RefCell<Page<JsValue>>,
    host: Host,
    socket_url: RefCell<String>,
    document: Option<Document>,
    socket: RefCell<Option<Socket>>,
    timer: RefCell<JsValue>,
    tick: RefCell<JsValue>,
    flush: RefCell<JsValue>,
    pumping: Cell<bool>,
    /// Unknown messages are reported once per connection.
    warned: Cell<bool>,
}

impl Runtime {
    pub(super) fn start(host: Host, options: Options) -> Rc<Self> {
        let document = options.document();
        let sight = current_visibility(document.as_ref());
        let runtime = Rc::new(Self {
            page: RefCell::new(Page::new(page_info(&options), sight)),
            host,
            socket_url: RefCell::new(options.socket_url()),
            document,
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

    /// Tells the page of an event and does what must happen. An effect may run app code that
    /// causes further events: their effects wait for those before them.
    pub(super) fn dispatch<T>(self: &Rc<Self>, event: impl FnOnce(&mut Page<JsValue>) -> T) -> T {
        let mut page = self.page.borrow_mut();
        page.set_now(Date::now() as u64);
        let told = event(&mut page);
        drop(page);
        self.pump_effects();
        told
    }

    /// The page goes on as another session, at its own address.
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
        match Socket::open(&self.socket_url.borrow(), move |event| {
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
        let mut whole = Some(frame);
        if let Some(part) = whole.as_ref().and_then(parts::parse) {
            self.dispatch(|page| whole = page.part_arrived(part, random()).map(parts::join));
        }
        match whole.map(|message| codec::decode(&message)) {
            Some(Ok(message)) => self.dispatch(|page| page.message_arrived(message)),
            Some(Err(error)) => self.warn_once(&error),
            None => {}
        }
    }

    fn warn_once(&self, error: &DecodeError) {
        if self.warned.replace(true) {
            return;
        }
        let what = match error {
            DecodeError::NotAMessage => "the bridge sent a frame that is no message".to_owned(),
            DecodeError::UnknownType(kind) => ["the bridge sent an unknown ", kind].concat(),
            DecodeError::MissingField(kind) => ["the bridge sent a broken ", kind].concat(),
        };
        self.host.warn(&what);
    }

    fn set_timer(&self, ms: u32) {
        clear_timeout(&self.timer.take());
        let timer = set_timeout(self.tick.borrow().unchecked_ref(), ms);
        *self.timer.borrow_mut() = timer;
    }

    fn start_call(self: &Rc<Self>, call: Call<JsValue>) {
        let ended = self
            .host
            .call(call.id.as_str(), call.definition.0, &call.message);
        let settled = self.new_listener(move |runtime, ended| {
            let outcome = handler::parse_outcome(&ended);
            runtime.dispatch(|page| page.handler_finished(call.id.clone(), outcome));
        });
        let settling: &Settling = ended.unchecked_ref();
        settling.then(&settled, &JsValue::UNDEFINED);
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
            Report::Refused {
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
            Report::CallEnded {
                call,
                outcome: ending,
            } => {
                let (phase, error) = match &ending {
                    CallOutcome::Finished => ("finished", None),
                    CallOutcome::Failed(error) => ("failed", Some(error)),
                    CallOutcome::Cancelled(reason) => ("cancelled", Some(reason)),
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

    /// The browser's events about the document, the network and the user. One function hears all of them:
    /// each would be a noticeable part of the download.
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
            add_event_listener(event, &listener, false);
        }
        // These do not bubble, or an app may stop them: heard on their way down.
        for event in ["freeze", "resume", "pointerdown", "keydown"] {
            add_event_listener(event, &listener, true);
        }
    }

    fn on_browser_event(self: &Rc<Self>, what: &str, event: &JsValue) {
        match what {
            "pointerdown" | "keydown" => self.dispatch(Page::user_acted),
            "freeze" => self.dispatch(Page::froze),
            "online" | "pageshow" => self.dispatch(Page::resumed),
            "pagehide" => {
                let is_kept = codec::field(event, "persisted").is_some_and(|kept| kept.is_truthy());
                self.dispatch(|page| {
                    if is_kept {
                        page.entered_bfcache(random());
                    } else {
                        page.leaving();
                    }
                });
            }
            _ => {
                let sight = current_visibility(self.document.as_ref());
                self.dispatch(|page| {
                    let visible = sight.visible;
                    page.visibility_changed(sight);
                    if visible {
                        page.resumed();
                    }
                });
            }
        }
    }

    /// A function for the browser to keep. It is freed when the browser has forgotten it.
    fn new_listener(
        self: &Rc<Self>,
        mut heard: impl FnMut(&Rc<Self>, JsValue) + 'static,
    ) -> JsValue {
        let runtime = self.clone();
        Closure::<dyn FnMut(JsValue)>::new(move |event| heard(&runtime, event)).into_js_value()
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

/// What the user sees now. A worker has no document, and is never seen.
fn current_visibility(document: Option<&Document>) -> PageVisibility {
    match document {
        Some(document) => PageVisibility {
            visible: !document.hidden(),
            focused: document.has_focus(),
            title: document.title(),
        },
        None => PageVisibility::default(),
    }
}
