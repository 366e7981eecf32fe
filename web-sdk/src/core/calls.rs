//! The calls of this page: each runs at most once, and ends once.
//!
//! After a reconnect to the same bridge nothing is lost that was answered, and nothing goes on that nobody
//! waits for. Calls in `awaited` go on: a running one runs, a kept answer goes again,
//! and one that this page knows nothing of fails. The page asks (`calls-check`) for those that are not in
//! `awaited`, since a call whose receipt was lost is not there either: those that have ended are cancelled.

mod known;
mod outcome;

use bridge_protocol::{CallId, ErrorCode};

use super::asking::Asking;
use super::effect::{Call, DefinitionKey, Effect, Effects, Ending, Failure, Report};
use super::messages::{CallRequest, ClientRequest, ClientResponse, Encoded, Limits, PageToBridge};
use super::seen::Seen;
use known::{Known, State};
use outcome::{Said, shortened, too_large};

pub(super) use known::STALE_AFTER_MS;
pub use known::{MAX_KEPT, MAX_KEPT_BYTES};
pub use outcome::Outcome;

/// Room in a frame for everything but what handlers say.
const ENVELOPE_BYTES: usize = 1024;

/// The largest `data` of a log message, in bytes of JSON.
pub const MAX_LOG_BYTES: usize = 256 * 1024;

/// Calls of one life of the bridge.
#[derive(Debug)]
pub(super) struct Calls<V> {
    /// Those that may matter to somebody; answered ones in the order of their answers.
    known: Vec<Known<V>>,
    /// All there were lately.
    seen: Seen,
    /// Whether there is a connection that answers can go out on.
    connected: bool,
    /// How many answers have gone out on it.
    sent: u64,
}

impl<V: Clone> Calls<V> {
    pub(super) fn new() -> Self {
        Self {
            known: Vec::new(),
            seen: Seen::default(),
            connected: false,
            sent: 0,
        }
    }

    // How calls begin.

    /// A call arrived. Returns it when it may start; `is_late`: it may be over.
    pub(super) fn arrived(
        &mut self,
        request: CallRequest<V>,
        is_late: bool,
        now_ms: u64,
        effects: &mut Effects<V>,
    ) -> Option<CallRequest<V>> {
        let id = &request.call;
        effects.send(PageToBridge::CallReceived(id.clone()));
        match self.place(id) {
            Some(place) if matches!(self.known[place].state, State::Doubtful { .. }) => {
                // The page has asked, and the older question is the stricter.
                if is_late {
                    return None;
                }
                self.known.remove(place);
            }
            Some(place) => {
                self.send(place, effects);
                return None;
            }
            None if !self.seen.insert(id) => {
                self.answer(id.clone(), Said::lost(), 0, effects);
                return None;
            }
            None if is_late => {
                effects.send(PageToBridge::CallsCheck(vec![id.clone()]));
                self.known.push(Known::doubtful(request, now_ms));
                return None;
            }
            None => {}
        }
        Some(request)
    }

    /// Starts a call; `definition` is what it is for, if the page has that.
    pub(super) fn start(
        &mut self,
        request: CallRequest<V>,
        definition: Option<DefinitionKey>,
        effects: &mut Effects<V>,
    ) {
        let id = request.call;
        let Some(definition) = definition else {
            self.answer(id, Said::not_here(&request.item), 0, effects);
            return;
        };
        self.known.push(Known {
            id: id.clone(),
            state: State::Running(Asking::new()),
        });
        effects.push(Effect::StartCall(Call {
            id,
            definition,
            message: request.message,
        }));
    }

    /// Somebody waits for this call, says the bridge. Returns it when it may start.
    pub(super) fn alive(
        &mut self,
        id: &CallId,
        now_ms: u64,
        effects: &mut Effects<V>,
    ) -> Option<CallRequest<V>> {
        let place = self.place(id)?;
        if let State::Doubtful {
            asked_ms,
            patience_ms,
            ..
        } = &mut self.known[place].state
        {
            if now_ms - *asked_ms > *patience_ms {
                *asked_ms = now_ms;
                *patience_ms *= 2;
                effects.send(PageToBridge::CallsCheck(vec![id.clone()]));
                return None;
            }
            if let State::Doubtful { request, .. } = self.known.remove(place).state {
                return Some(request);
            }
        } else {
            self.send(place, effects);
        }
        None
    }

    // How calls end.

    /// A handler ended. Its answer goes out now, or on the next connection to the same bridge;
    /// nowhere when nobody waits for it any more.
    pub(super) fn finished(
        &mut self,
        call: CallId,
        outcome: Outcome<V>,
        limits: &Limits,
        effects: &mut Effects<V>,
    ) {
        if self.asking(&call).is_none() {
            return;
        }
        self.forget(&call);
        let (said, bytes) = Said::of(outcome, limits.max_result_bytes);
        let ending = said.ending();
        self.answer(call.clone(), said, bytes, effects);
        effects.report(Report::CallEnded { call, ending });
    }

    /// Every answer goes this way: the bridge counts them.
    fn answer(&mut self, id: CallId, said: Said<V>, bytes: usize, effects: &mut Effects<V>) {
        let state = State::Answered {
            said,
            bytes,
            place: 0,
        };
        self.known.push(Known { id, state });
        if self.connected {
            self.send(self.known.len() - 1, effects);
        }
        self.forget_oldest();
    }

    /// Sends an answer, unless this connection has carried it.
    fn send(&mut self, at: usize, effects: &mut Effects<V>) {
        let Known { id, state } = &mut self.known[at];
        if let State::Answered { said, place, .. } = state
            && *place == 0
        {
            self.sent += 1;
            *place = self.sent;
            effects.send(said.message(id.clone()));
        }
    }

    /// Keeps to the limits of what is kept.
    fn forget_oldest(&mut self) {
        loop {
            let (mut count, mut bytes, mut oldest) = (0, 0, 0);
            for (place, known) in self.known.iter().enumerate().rev() {
                if let Some(length) = known.kept() {
                    (count, bytes, oldest) = (count + 1, bytes + length, place);
                }
            }
            if count <= MAX_KEPT && (bytes <= MAX_KEPT_BYTES || count <= 1) {
                return;
            }
            self.known.remove(oldest);
        }
    }

    /// The bridge has taken so many answers on this connection.
    pub(super) fn answers_taken(&mut self, count: u64) {
        self.known.retain(|known| match known.state {
            State::Answered { place, .. } => place == 0 || place > count,
            _ => true,
        });
    }

    /// The bridge wants no result any more.
    pub(super) fn cancelled(&mut self, call: &CallId, reason: &Failure, effects: &mut Effects<V>) {
        if let Some(known) = self.forget(call) {
            report_cancelled(known, reason, effects);
        }
    }

    /// Nobody waits for any call any more.
    pub(super) fn void(&mut self, reason: &Failure, effects: &mut Effects<V>) {
        for known in std::mem::take(&mut self.known) {
            report_cancelled(known, reason, effects);
        }
    }

    // How connections come and go.

    /// The connection is gone, and perhaps what was said on it: it is said again on the next.
    pub(super) fn connection_lost(&mut self) {
        self.connected = false;
        self.sent = 0;
        for known in &mut self.known {
            match &mut known.state {
                State::Doubtful { .. } => {}
                State::Running(asking) => asking.connection_lost(),
                State::Answered { place, .. } => *place = 0,
            }
        }
    }

    /// Another life of the bridge: its call ids are its own.
    pub(super) fn bridge_changed(&mut self, effects: &mut Effects<V>) {
        self.seen = Seen::default();
        let reason = Failure::new(Failure::CONNECTION_LOST, "the bridge was restarted");
        self.void(&reason, effects);
    }

    /// There is a connection again. Somebody waits for these calls, which the page has received.
    pub(super) fn connected(
        &mut self,
        mut awaited: Vec<CallId>,
        now_ms: u64,
        effects: &mut Effects<V>,
    ) {
        self.connected = true;
        let mut unsure = Vec::new();
        for at in 0..self.known.len() {
            let id = self.known[at].id.clone();
            let listed = awaited.iter().position(|awaited| *awaited == id);
            listed.map(|place| awaited.swap_remove(place));
            match &mut self.known[at].state {
                State::Doubtful { asked_ms, .. } => *asked_ms = now_ms,
                _ if listed.is_none() => {}
                _ => {
                    self.send(at, effects);
                    continue;
                }
            }
            unsure.push(id);
        }
        // The page knows nothing of these.
        for id in awaited {
            self.answer(id, Said::lost(), 0, effects);
        }
        if !unsure.is_empty() {
            effects.send(PageToBridge::CallsCheck(unsure));
        }
    }

    // What running calls say.

    /// A handler says how far it is. Nobody needs to know later what was true before.
    pub(super) fn progressed(
        &mut self,
        call: CallId,
        progress: V,
        total: Option<V>,
        message: Option<String>,
        effects: &mut Effects<V>,
    ) {
        if self.connected && self.asking(&call).is_some() {
            effects.send(PageToBridge::CallProgress {
                call,
                progress,
                total,
                message: message.map(shortened),
            });
        }
    }

    /// A handler has something for the client's log. It is not said later, either.
    pub(super) fn logged(
        &mut self,
        call: CallId,
        level: String,
        logger: Option<String>,
        data: Encoded<V>,
        effects: &mut Effects<V>,
    ) {
        if !self.connected || self.asking(&call).is_none() {
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
        let Some(asking) = self.asking(&call) else {
            return;
        };
        if bytes <= room {
            asking.asked(request, bytes);
            return;
        }
        let why = too_large("the request to the client", bytes, room);
        effects.report(Report::ClientAnswered {
            call,
            key: request.key,
            answer: Err(Failure::new(
                const { ErrorCode::RequestTooLarge.as_str() },
                why,
            )),
        });
    }

    /// The client behind a call answered.
    pub(super) fn client_answered(
        &mut self,
        call: &CallId,
        responses: Vec<ClientResponse<V>>,
        effects: &mut Effects<V>,
    ) {
        let Some(asking) = self.asking(call) else {
            return;
        };
        for ClientResponse { key, response } in responses {
            if asking.answered(&key) {
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
        for Known { id, state } in &mut self.known {
            if let State::Running(asking) = state {
                asking.flush(id, frame_room(limits), effects);
            }
        }
    }

    fn place(&self, call: &CallId) -> Option<usize> {
        self.known.iter().position(|known| known.id == *call)
    }

    fn forget(&mut self, call: &CallId) -> Option<Known<V>> {
        Some(self.known.remove(self.place(call)?))
    }

    /// What a call asks its client, if it is running.
    fn asking(&mut self, call: &CallId) -> Option<&mut Asking<V>> {
        let place = self.place(call)?;
        match &mut self.known[place].state {
            State::Running(asking) => Some(asking),
            _ => None,
        }
    }
}

fn frame_room(limits: &Limits) -> usize {
    limits.max_frame_bytes.saturating_sub(ENVELOPE_BYTES)
}

fn report_cancelled<V>(known: Known<V>, reason: &Failure, effects: &mut Effects<V>) {
    if let State::Running(_) = known.state {
        effects.report(Report::CallEnded {
            call: known.id,
            ending: Ending::Cancelled(reason.clone()),
        });
    }
}
