//! The state of a native page, which survives its connections.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant, SystemTime};

use bridge_protocol::limits::STALE_AFTER;
use bridge_protocol::{
    Authenticated, BridgeId, BridgeToPage, CallError, CallId, ClientRequests, ClientResponse,
    ClientResponses, Definition, ErrorCode, Item, PageToBridge, Register, Registered,
    RegistrationId, RenewalFailed, Renewed, Unregistered,
};
use serde_json::json;
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;

use super::call::{
    CallInput, HandlerAction, IncomingCall, NativeCall, Responder, from_raw, to_raw,
};
use super::item::{NativeItem, NativeOutcome, enforce_limit};
use super::setup::NativeSetup;
use super::unacknowledged::UnacknowledgedResponses;

/// A request of the test that owns the page.
pub(super) enum OwnerRequest {
    Register(Vec<NativeItem>),
    Unregister(Vec<Item>),
    Send(Box<PageToBridge>),
    Pause(oneshot::Sender<()>, oneshot::Receiver<()>),
    Close(u16),
}

/// A message with which the bridge acknowledges a request of the page.
#[derive(Debug)]
pub(super) enum Acknowledgement {
    Registered(Registered),
    Unregistered(Unregistered),
    Renewal(Result<Renewed, RenewalFailed>),
}

/// The channels to the test that owns the page.
pub(super) struct EventSenders {
    pub(super) calls: mpsc::UnboundedSender<CallId>,
    pub(super) cancels: mpsc::UnboundedSender<(CallId, ErrorCode)>,
    pub(super) subscriptions: mpsc::UnboundedSender<Vec<String>>,
    pub(super) acknowledgements: mpsc::UnboundedSender<Acknowledgement>,
    /// Messages about queries, with the time of their arrival.
    pub(super) query_messages: mpsc::UnboundedSender<(Instant, BridgeToPage)>,
}

/// Whether the handler of a call that arrives is started.
pub(super) enum CallStart {
    Now,
    /// The call is late, so the page first asks the bridge whether the call is alive.
    WhenAlive,
    /// The call has arrived before.
    Never,
}

type Channel<T> = (mpsc::UnboundedSender<T>, mpsc::UnboundedReceiver<T>);

/// The page and its running calls.
pub(super) struct Tab {
    pub(super) setup: NativeSetup,
    pub(super) requests: mpsc::Receiver<OwnerRequest>,
    pub(super) events: EventSenders,
    pub(super) items: HashMap<Item, NativeItem>,
    pub(super) actions: Channel<HandlerAction>,
    pub(super) finished: Channel<(CallId, NativeOutcome)>,
    pub(super) answers: UnacknowledgedResponses,
    pub(super) unconfirmed: HashMap<CallId, IncomingCall>,
    running: HashMap<CallId, AbortHandle>,
    waiting: HashMap<(CallId, String), Responder>,
    received: HashSet<CallId>,
    bridge: Option<BridgeId>,
    max_result_bytes: usize,
    /// The time of the bridge's clock minus that of this machine's clock.
    clock_offset_ms: i128,
}

impl Tab {
    pub(super) fn new(
        setup: NativeSetup,
        requests: mpsc::Receiver<OwnerRequest>,
        events: EventSenders,
    ) -> Self {
        Self {
            setup,
            requests,
            events,
            items: HashMap::new(),
            actions: mpsc::unbounded_channel(),
            finished: mpsc::unbounded_channel(),
            answers: UnacknowledgedResponses::default(),
            unconfirmed: HashMap::new(),
            running: HashMap::new(),
            waiting: HashMap::new(),
            received: HashSet::new(),
            bridge: None,
            max_result_bytes: 0,
            clock_offset_ms: 0,
        }
    }

    pub(super) fn acknowledge(&self, answer: Acknowledgement) {
        let _ = self.events.acknowledgements.send(answer);
    }

    /// Records that the page has connected, and returns the answers that must be sent again.
    pub(super) fn connected(&mut self, authenticated: &Authenticated) -> Vec<String> {
        self.max_result_bytes = authenticated.limits.max_result_bytes;
        self.clock_offset_ms = i128::from(authenticated.now_ms) - unix_ms();
        while let Ok((id, outcome)) = self.finished.1.try_recv() {
            self.finished(id, outcome);
        }
        let is_known = self.bridge.as_ref() == Some(&authenticated.bridge_id);
        self.bridge = Some(authenticated.bridge_id.clone());
        let awaited: &[CallId] = if is_known {
            &authenticated.awaited
        } else {
            &[]
        };
        let running: Vec<_> = self.running.keys().cloned().collect();
        for id in running.into_iter().filter(|id| !awaited.contains(id)) {
            self.cancelled(id, ErrorCode::CallCancelled);
        }
        let unacknowledged = self.answers.start_connection(awaited);
        let is_lost = |id: &&CallId| {
            !self.running.contains_key(id) && !unacknowledged.iter().any(|(call, _)| call == *id)
        };
        let lost: Vec<_> = awaited.iter().filter(is_lost).map(call_lost).collect();
        let answers = unacknowledged.into_iter().chain(lost);
        answers
            .map(|(id, text)| {
                self.answers.push(id, text.clone());
                text
            })
            .collect()
    }

    pub(super) fn on_call(&mut self, call: &IncomingCall) -> CallStart {
        if !self.received.insert(call.id.clone()) {
            return CallStart::Never;
        }
        let _ = self.events.calls.send(call.id.clone());
        let now = unix_ms() + self.clock_offset_ms;
        let sent = call.context.sent_ms.map_or(now, i128::from);
        if now - sent > to_ms(STALE_AFTER) {
            CallStart::WhenAlive
        } else {
            CallStart::Now
        }
    }

    pub(super) fn start(&mut self, call: IncomingCall) {
        let IncomingCall {
            id,
            item,
            request,
            context,
        } = call;
        let finished = self.finished.0.clone();
        let handler = self.items.get(&item).map(|native| match &request {
            CallInput::Completion { .. } => native.completer.clone(),
            _ => Some(native.handler.clone()),
        });
        let handler = match handler {
            Some(Some(handler)) => handler,
            Some(None) => {
                let no_values = json!({ "values": [] });
                let _ = finished.send((id, Ok(no_values.into())));
                return;
            }
            None => {
                let failure = format!("the page has no {}", item.name);
                let _ = finished.send((id, Err(failure.as_str().into())));
                return;
            }
        };
        let outcome = handler(NativeCall {
            id: id.clone(),
            request,
            context,
            actions: self.actions.0.clone(),
        });
        let key = id.clone();
        let task = tokio::spawn(async move {
            let _ = finished.send((id, outcome.await));
        });
        self.running.insert(key, task.abort_handle());
    }

    /// Ends a call, and returns the message with its answer.
    pub(super) fn finished(&mut self, id: CallId, outcome: NativeOutcome) -> String {
        self.end_call(&id);
        let limit = if self.setup.measures {
            self.max_result_bytes
        } else {
            usize::MAX
        };
        let response = outcome.map(|answer| answer.into_response(id.clone()));
        let text = match response.and_then(|response| enforce_limit(response, limit)) {
            Ok(response) => PageToBridge::CallResponse(response).encode(),
            Err(failure) => PageToBridge::CallError(failure.into_error(id.clone())).encode(),
        };
        self.answers.push(id, text.clone());
        text
    }

    /// Ends a call that is not awaited any more.
    pub(super) fn cancelled(&mut self, id: CallId, code: ErrorCode) {
        self.end_call(&id);
        let _ = self.events.cancels.send((id, code));
    }

    fn end_call(&mut self, id: &CallId) {
        if let Some(handler) = self.running.remove(id) {
            handler.abort();
        }
        self.unconfirmed.remove(id);
        self.waiting.retain(|(call, _), _| call != id);
    }

    pub(super) fn await_client(&mut self, requests: &ClientRequests, responders: Vec<Responder>) {
        for (request, responder) in requests.requests.iter().zip(responders) {
            let key = (requests.request_id.clone(), request.key.clone());
            self.waiting.insert(key, responder);
        }
    }

    pub(super) fn client_answered(&mut self, responses: ClientResponses) {
        for ClientResponse { key, result, error } in responses.responses {
            let responder = self.waiting.remove(&(responses.request_id.clone(), key));
            let response = match (result, error) {
                (_, Some(error)) => Err(error),
                (Some(result), None) => Ok(from_raw(&result)),
                (None, None) => panic!("a response has a result or an error"),
            };
            if let Some(responder) = responder {
                let _ = responder.send(response);
            }
        }
    }

    pub(super) fn register(&mut self, items: Vec<NativeItem>) -> PageToBridge {
        let registration = registration(items.iter());
        let keyed = items.into_iter().map(|item| (item.key(), item));
        self.items.extend(keyed);
        registration
    }

    /// Returns the message that registers all items again.
    pub(super) fn registration(&self) -> PageToBridge {
        registration(self.items.values())
    }
}

impl Drop for Tab {
    fn drop(&mut self) {
        for handler in self.running.values() {
            handler.abort();
        }
    }
}

fn registration<'a>(items: impl Iterator<Item = &'a NativeItem>) -> PageToBridge {
    let definition = |item: &NativeItem| Definition {
        kind: item.kind,
        definition: to_raw(&item.definition),
    };
    PageToBridge::Register(Register {
        registration_id: RegistrationId::from("register"),
        items: items.map(definition).collect(),
    })
}

fn call_lost(id: &CallId) -> (CallId, String) {
    let error = CallError {
        request_id: id.clone(),
        code: ErrorCode::InternalError,
        message: "the connection broke and the result was lost".to_owned(),
        data: None,
        content: None,
        meta: None,
    };
    (id.clone(), PageToBridge::CallError(error).encode())
}

fn unix_ms() -> i128 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    to_ms(now.unwrap_or_default())
}

fn to_ms(duration: Duration) -> i128 {
    duration.as_millis().try_into().unwrap_or(i128::MAX)
}
