//! The calls of this page: each runs at most once, and ends once.

use bridge_protocol::{CallId, ErrorCode};

use super::asking::Asking;
use super::effect::{Call, DefinitionKey, Effect, Effects, Ending, Failure, Report};
use super::messages::{
    Answer, CallRequest, ClientRequest, ClientResponse, Encoded, Item, Kind, Limits, PageToBridge,
};
use super::seen::Seen;
use super::text::decimal;

/// Room in a frame for everything but the result.
const ENVELOPE_BYTES: usize = 1024;

/// A message longer than this is cut: it is meant to be read.
const MAX_MESSAGE_BYTES: usize = 64 * 1024;

/// The largest `data` of a log message, in bytes of JSON.
pub const MAX_LOG_BYTES: usize = 256 * 1024;

/// What a handler may say of its failure; any other word becomes `HandlerFailed`. The other codes say
/// what went wrong between client, bridge and page, which a handler cannot know.
const THROWABLE: [&str; 8] = [
    ErrorCode::ClientCapabilityMissing.as_str(),
    ErrorCode::ClientRequestFailed.as_str(),
    ErrorCode::InvalidArguments.as_str(),
    ErrorCode::InvalidResult.as_str(),
    ErrorCode::PromptNotFound.as_str(),
    ErrorCode::ResourceNotFound.as_str(),
    ErrorCode::ResultTooLarge.as_str(),
    ErrorCode::ToolNotAllowed.as_str(),
];

/// How a handler ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome<V> {
    /// It returned.
    Returned {
        /// What.
        answer: Answer<V>,
        /// The length of all JSON texts in it.
        bytes: usize,
    },
    /// It threw.
    Threw {
        /// The error's `code`, if it has one.
        code: Option<String>,
        /// The message, for the model and the person.
        message: String,
        /// The error's `data`, as JSON text.
        data: Option<Encoded<V>>,
        /// What a tool shows of its failure, as JSON text.
        content: Option<Encoded<V>>,
    },
}

/// Calls of one life of the bridge.
#[derive(Debug)]
pub(super) struct Calls<V> {
    running: Vec<Running<V>>,
    /// Answers that were ready while there was no connection, in order.
    unsent: Vec<(CallId, PageToBridge<V>)>,
    seen: Seen,
}

#[derive(Debug)]
struct Running<V> {
    id: CallId,
    /// What its handler asks the client.
    asking: Asking<V>,
}

impl<V: Clone> Calls<V> {
    pub(super) fn new() -> Self {
        Self {
            running: Vec::new(),
            unsent: Vec::new(),
            seen: Seen::default(),
        }
    }

    /// A call arrived; `definition` is what it is for, if the page has that.
    pub(super) fn arrived(
        &mut self,
        request: CallRequest<V>,
        definition: Option<DefinitionKey>,
        effects: &mut Effects<V>,
    ) {
        let id = request.call;
        effects.send(PageToBridge::CallReceived(id.clone()));
        if !self.seen.insert(&id) {
            self.repeated(id, effects);
            return;
        }
        let Some(definition) = definition else {
            effects.send(not_here(id, &request.item));
            return;
        };
        self.running.push(Running {
            id: id.clone(),
            asking: Asking::new(),
        });
        effects.push(Effect::StartCall(Call {
            id,
            definition,
            message: request.message,
        }));
    }

    /// The bridge asks again for a call it has no answer to. It never runs twice.
    fn repeated(&mut self, id: CallId, effects: &mut Effects<V>) {
        let unsent = self.unsent.iter().any(|(unsent, _)| *unsent == id);
        if !unsent && self.find(&id).is_none() {
            effects.send(PageToBridge::CallError {
                call: id,
                code: ErrorCode::InternalError.as_str(),
                message: "the handler ran, but its result was lost with the connection".into(),
                data: None,
                content: None,
            });
        }
    }

    /// A handler ended. Its answer goes out now, or on the next connection to the same bridge;
    /// nowhere when nobody waits for it any more.
    pub(super) fn finished(
        &mut self,
        call: CallId,
        outcome: Outcome<V>,
        limits: &Limits,
        connected: bool,
        effects: &mut Effects<V>,
    ) {
        if !self.ended(&call) {
            return;
        }
        let room = frame_room(limits).min(limits.max_result_bytes);
        let (answer, ending) = answer(call.clone(), outcome, room);
        if connected {
            effects.send(answer);
        } else {
            self.unsent.push((call.clone(), answer));
        }
        effects.report(Report::CallEnded { call, ending });
    }

    /// A handler says how far it is. Nobody needs to know later what was true before.
    pub(super) fn progressed(
        &mut self,
        call: CallId,
        progress: V,
        total: Option<V>,
        message: Option<String>,
        effects: &mut Effects<V>,
    ) {
        if self.find(&call).is_some() {
            effects.send(PageToBridge::CallProgress {
                call,
                progress,
                total,
                message: message.map(shortened),
            });
        }
    }

    /// A handler has something for the client's log.
    pub(super) fn logged(
        &mut self,
        call: CallId,
        level: String,
        logger: Option<String>,
        data: Encoded<V>,
        effects: &mut Effects<V>,
    ) {
        if self.find(&call).is_none() {
            return;
        }
        if data.bytes > MAX_LOG_BYTES {
            let what = too_large("a log message", data.bytes, MAX_LOG_BYTES);
            effects.report(Report::Warning(what));
            return;
        }
        effects.send(PageToBridge::CallLog {
            call,
            level,
            logger: logger.map(shortened),
            data: data.json,
        });
    }

    /// A handler asks the client. [`Calls::flush`] sends it.
    pub(super) fn asked(
        &mut self,
        call: CallId,
        request: ClientRequest<V>,
        bytes: usize,
        limits: &Limits,
        effects: &mut Effects<V>,
    ) {
        let room = frame_room(limits);
        let Some(running) = self.find(&call) else {
            return;
        };
        if bytes <= room {
            running.asking.asked(request, bytes);
            return;
        }
        let why = too_large("the request to the client", bytes, room);
        effects.report(Report::ClientAnswered {
            call,
            key: request.key,
            answer: Err(Failure::new(ErrorCode::RequestTooLarge.as_str(), why)),
        });
    }

    /// The client behind a call answered.
    pub(super) fn client_answered(
        &mut self,
        call: &CallId,
        responses: Vec<ClientResponse<V>>,
        effects: &mut Effects<V>,
    ) {
        let Some(running) = self.find(call) else {
            return;
        };
        for ClientResponse { key, response } in responses {
            if running.asking.answered(&key) {
                effects.report(Report::ClientAnswered {
                    call: call.clone(),
                    key,
                    answer: Ok(response),
                });
            }
        }
    }

    /// Sends what handlers asked and this connection has not heard.
    pub(super) fn flush(&mut self, limits: &Limits, effects: &mut Effects<V>) {
        for running in &mut self.running {
            running
                .asking
                .flush(&running.id, frame_room(limits), effects);
        }
    }

    /// The connection is gone, and perhaps what was asked on it: it is asked again on the next.
    pub(super) fn connection_lost(&mut self) {
        for running in &mut self.running {
            running.asking.connection_lost();
        }
    }

    /// The same bridge is back: it gets the answers it has not had.
    pub(super) fn send_unsent(&mut self, effects: &mut Effects<V>) {
        for (_, answer) in std::mem::take(&mut self.unsent) {
            effects.send(answer);
        }
    }

    /// The bridge wants no result any more.
    pub(super) fn cancelled(&mut self, call: CallId, reason: &Failure, effects: &mut Effects<V>) {
        if self.ended(&call) {
            report_cancelled(call, reason, effects);
        }
    }

    /// Nobody waits for any call any more.
    pub(super) fn void(&mut self, reason: &Failure, effects: &mut Effects<V>) {
        self.unsent.clear();
        for running in std::mem::take(&mut self.running) {
            report_cancelled(running.id, reason, effects);
        }
    }

    /// Another life of the bridge: its call ids are its own.
    pub(super) fn bridge_changed(&mut self, effects: &mut Effects<V>) {
        self.seen = Seen::default();
        let reason = Failure::new(Failure::CONNECTION_LOST, "the bridge was restarted");
        self.void(&reason, effects);
    }

    fn find(&mut self, call: &CallId) -> Option<&mut Running<V>> {
        self.running.iter_mut().find(|running| running.id == *call)
    }

    /// Whether the call was running; it is not any more.
    fn ended(&mut self, call: &CallId) -> bool {
        match self.running.iter().position(|running| running.id == *call) {
            Some(place) => {
                self.running.remove(place);
                true
            }
            None => false,
        }
    }
}

fn frame_room(limits: &Limits) -> usize {
    limits.max_frame_bytes.saturating_sub(ENVELOPE_BYTES)
}

fn not_here<V>(call: CallId, item: &Item) -> PageToBridge<V> {
    let code = match item.kind {
        Kind::Tool => ErrorCode::ToolNotFound.as_str(),
        Kind::Prompt => ErrorCode::PromptNotFound.as_str(),
        Kind::Resource | Kind::ResourceTemplate => ErrorCode::ResourceNotFound.as_str(),
    };
    let kind = item.kind.as_str();
    PageToBridge::CallError {
        call,
        code,
        message: ["the page has no ", kind, " `", &item.name, "` any more"].concat(),
        data: None,
        content: None,
    }
}

fn report_cancelled<V>(call: CallId, reason: &Failure, effects: &mut Effects<V>) {
    effects.report(Report::CallEnded {
        call,
        ending: Ending::Cancelled(reason.clone()),
    });
}

fn answer<V>(call: CallId, outcome: Outcome<V>, room: usize) -> (PageToBridge<V>, Ending) {
    let (code, message, data, content) = match outcome {
        Outcome::Returned { answer, bytes } if bytes <= room => {
            return (
                PageToBridge::CallResponse { call, answer },
                Ending::Finished,
            );
        }
        Outcome::Returned { bytes, .. } => {
            let what = too_large("the result", bytes, room);
            (ErrorCode::ResultTooLarge.as_str(), what, None, None)
        }
        Outcome::Threw {
            code,
            message,
            data,
            content,
        } => {
            let mut room = room.saturating_sub(MAX_MESSAGE_BYTES);
            let content = fitting(content, &mut room);
            let data = fitting(data, &mut room);
            (thrown_code(code), shortened(message), data, content)
        }
    };
    let ending = Ending::Failed(Failure::new(code, message.clone()));
    let answer = PageToBridge::CallError {
        call,
        code,
        message,
        data,
        content,
    };
    (answer, ending)
}

fn thrown_code(word: Option<String>) -> &'static str {
    THROWABLE
        .into_iter()
        .find(|code| word.as_deref() == Some(code))
        .unwrap_or(ErrorCode::HandlerFailed.as_str())
}

/// The text, if there is room for it.
fn fitting<V>(text: Option<Encoded<V>>, room: &mut usize) -> Option<V> {
    let text = text.filter(|text| text.bytes <= *room)?;
    *room -= text.bytes;
    Some(text.json)
}

fn too_large(what: &str, bytes: usize, limit: usize) -> String {
    [
        what,
        " has ",
        &decimal(bytes as u64),
        " bytes; at most ",
        &decimal(limit as u64),
        " are allowed: make it smaller, or split it",
    ]
    .concat()
}

fn shortened(mut message: String) -> String {
    if message.len() > MAX_MESSAGE_BYTES {
        message.truncate(message.floor_char_boundary(MAX_MESSAGE_BYTES));
        message.push('…');
    }
    message
}
