//! The calls of this page: each runs at most once, and ends once.

use bridge_protocol::{CallId, ErrorCode};

use super::effect::{Call, Effect, Effects, Ending, Failure, Report};
use super::messages::{Encoded, Limits, PageToBridge, ToolCall};
use super::seen::Seen;
use super::text::decimal;

/// Room in a frame for everything but the result.
const ENVELOPE_BYTES: usize = 1024;

/// A thrown message longer than this is cut: it is meant to be read.
const MAX_MESSAGE_BYTES: usize = 64 * 1024;

/// How a handler ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome<V> {
    /// It returned.
    Returned {
        /// What the app hears.
        value: V,
        /// The same as JSON text; nothing when it is not a JSON value (`undefined`).
        result: Option<Encoded<V>>,
    },
    /// It threw.
    Threw {
        /// The message, for the model and the person.
        message: String,
        /// The error's `data`, as JSON text.
        data: Option<Encoded<V>>,
    },
}

/// Calls of one life of the bridge.
#[derive(Debug)]
pub(super) struct Calls<V> {
    running: Vec<CallId>,
    /// Answers that were ready while there was no connection, in order.
    unsent: Vec<(CallId, PageToBridge<V>)>,
    seen: Seen,
}

impl<V> Calls<V> {
    pub(super) fn new() -> Self {
        Self {
            running: Vec::new(),
            unsent: Vec::new(),
            seen: Seen::default(),
        }
    }

    /// A call arrived; `handler` is that of its tool, if the page has it.
    pub(super) fn arrived(
        &mut self,
        call: ToolCall<V>,
        handler: Option<V>,
        effects: &mut Effects<V>,
    ) {
        let id = call.call;
        effects.send(PageToBridge::ToolReceived(id.clone()));
        if !self.seen.insert(&id) {
            self.repeated(id, effects);
            return;
        }
        let Some(handler) = handler else {
            effects.send(PageToBridge::ToolError {
                call: id,
                code: ErrorCode::ToolNotFound,
                message: ["the page has no tool `", &call.tool_name, "` any more"].concat(),
                data: None,
            });
            return;
        };
        self.running.push(id.clone());
        effects.push(Effect::StartCall(Call {
            id,
            tool_name: call.tool_name,
            handler,
            input: call.tool_input,
            client: call.client,
        }));
    }

    /// The bridge asks again for a call it has no answer to. It never runs twice.
    fn repeated(&self, id: CallId, effects: &mut Effects<V>) {
        let unsent = self.unsent.iter().any(|(unsent, _)| *unsent == id);
        if !unsent && !self.running.contains(&id) {
            effects.send(PageToBridge::ToolError {
                call: id,
                code: ErrorCode::InternalError,
                message: "the tool ran, but its result was lost with the connection".into(),
                data: None,
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
        let room = limits
            .max_frame_bytes
            .saturating_sub(ENVELOPE_BYTES)
            .min(limits.max_result_bytes);
        let (answer, ending) = answer(call.clone(), outcome, room);
        if connected {
            effects.send(answer);
        } else {
            self.unsent.push((call.clone(), answer));
        }
        effects.report(Report::CallEnded { call, ending });
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
        for call in std::mem::take(&mut self.running) {
            report_cancelled(call, reason, effects);
        }
    }

    /// Another life of the bridge: its call ids are its own.
    pub(super) fn bridge_changed(&mut self, effects: &mut Effects<V>) {
        self.seen = Seen::default();
        let reason = Failure::new(Failure::CONNECTION_LOST, "the bridge was restarted");
        self.void(&reason, effects);
    }

    /// Whether the call was running; it is not any more.
    fn ended(&mut self, call: &CallId) -> bool {
        match self.running.iter().position(|running| running == call) {
            Some(place) => {
                self.running.remove(place);
                true
            }
            None => false,
        }
    }
}

fn report_cancelled<V>(call: CallId, reason: &Failure, effects: &mut Effects<V>) {
    effects.report(Report::CallEnded {
        call,
        ending: Ending::Cancelled(reason.clone()),
    });
}

fn answer<V>(call: CallId, outcome: Outcome<V>, room: usize) -> (PageToBridge<V>, Ending<V>) {
    let (code, message, data) = match outcome {
        Outcome::Returned { value, result } => match result {
            Some(result) if result.bytes > room => (
                ErrorCode::ResultTooLarge,
                too_large(result.bytes, room),
                None,
            ),
            result => {
                let result = result.map(|result| result.json);
                return (
                    PageToBridge::ToolResponse { call, result },
                    Ending::Finished(value),
                );
            }
        },
        Outcome::Threw { message, data } => {
            let data = data.filter(|data| data.bytes <= room.saturating_sub(MAX_MESSAGE_BYTES));
            (
                ErrorCode::ToolFailed,
                shortened(message),
                data.map(|data| data.json),
            )
        }
    };
    let ending = Ending::Failed(Failure::new(code.as_str(), message.clone()));
    let answer = PageToBridge::ToolError {
        call,
        code,
        message,
        data,
    };
    (answer, ending)
}

fn too_large(bytes: usize, limit: usize) -> String {
    [
        "the result has ",
        &decimal(bytes as u64),
        " bytes; at most ",
        &decimal(limit as u64),
        " are allowed: return less, or a part at a time",
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
