//! The calls of this page: each runs at most once, and ends once.
//!
//! After a reconnect to the same bridge nothing is lost that was answered, and nothing goes on that nobody
//! waits for. Calls in `awaited` go on: a running one runs, a kept answer goes again,
//! and one that this page knows nothing of fails. The page asks (`calls-check`) for those that are not in
//! `awaited`, since a call whose receipt was lost is not there either: those that have ended are cancelled.

mod call_record;
mod outcome;

use bridge_protocol::{CallId, ErrorCode};

use super::effect::{Call, CallOutcome, DefinitionKey, Effect, Effects, Failure, Report};
use super::messages::{
    CallRequest, ClientRequest, ClientResponse, Limits, PageToBridge, SizedJson,
};
use crate::core::pending_client_requests::PendingClientRequests;
use crate::core::seen_call_ids::SeenCallIds;
use call_record::{CallRecord, State};
use outcome::{SentOutcome, too_large_message, truncate};

pub(super) use call_record::STALE_AFTER_MS;
pub use call_record::{MAX_UNACKNOWLEDGED, MAX_UNACKNOWLEDGED_BYTES};
pub use outcome::HandlerOutcome;

/// Room in a frame for everything but what handlers say.
const ENVELOPE_BYTES: usize = 1024;

/// The largest `data` of a log message, in bytes of JSON.
pub const MAX_LOG_BYTES: usize = 256 * 1024;

/// Calls of one life of the bridge.
#[derive(Debug)]
pub(super) struct Calls<V> {
    /// Those that may matter to somebody; answered ones in the order of their answers.
    records: Vec<CallRecord<V>>,
    /// All there were lately.
    seen_ids: SeenCallIds,
    /// Whether there is a connection that answers can go out on.
    connected: bool,
    /// How many answers have gone out on it.
    answers_sent: u64,
}

impl<V: Clone> Calls<V> {
    pub(super) fn new() -> Self {
        Self {
            records: Vec::new(),
            seen_ids: SeenCallIds::default(),
            connected: false,
            answers_sent: 0,
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
        match self.index_of(id) {
            Some(place) if matches!(self.records[place].state, State::MaybeEnded { .. }) => {
                // The page has asked, and the older question is the stricter.
                if is_late {
                    return None;
                }
                self.records.remove(place);
            }
            Some(place) => {
                self.send(place, effects);
                return None;
            }
            None if !self.seen_ids.insert(id) => {
                self.answer(id.clone(), SentOutcome::lost(), 0, effects);
                return None;
            }
            None if is_late => {
                effects.send(PageToBridge::CallsCheck(vec![id.clone()]));
                self.records.push(CallRecord::maybe_ended(request, now_ms));
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
            self.answer(id, SentOutcome::not_registered(&request.item), 0, effects);
            return;
        };
        self.records.push(CallRecord {
            id: id.clone(),
            state: State::Running(PendingClientRequests::new()),
        });
        effects.push(Effect::StartCall(Call {
            id,
            definition,
            message: request.message,
        }));
    }

    /// Somebody waits for this call, says the bridge. Returns it when it may start.
    pub(super) fn confirmed_alive(
        &mut self,
        id: &CallId,
        now_ms: u64,
        effects: &mut Effects<V>,
    ) -> Option<CallRequest<V>> {
        let place = self.index_of(id)?;
        if let State::MaybeEnded {
            checked_ms: asked_ms,
            answer_timeout_ms: patience_ms,
            ..
        } = &mut self.records[place].state
        {
            if now_ms - *asked_ms > *patience_ms {
                *asked_ms = now_ms;
                *patience_ms *= 2;
                effects.send(PageToBridge::CallsCheck(vec![id.clone()]));
                return None;
            }
            if let State::MaybeEnded { request, .. } = self.records.remove(place).state {
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
        outcome: HandlerOutcome<V>,
        limits: &Limits,
        effects: &mut Effects<V>,
    ) {
        if self.pending_requests(&call).is_none() {
            return;
        }
        self.remove(&call);
        let (said, bytes) = SentOutcome::from_outcome(outcome, limits.max_result_bytes);
        let ending = said.ending();
        self.answer(call.clone(), said, bytes, effects);
        effects.report(Report::CallEnded {
            call,
            outcome: ending,
        });
    }

    /// Every answer goes this way: the bridge counts them.
    fn answer(&mut self, id: CallId, said: SentOutcome<V>, bytes: usize, effects: &mut Effects<V>) {
        let state = State::Answered {
            outcome: said,
            bytes,
            send_number: 0,
        };
        self.records.push(CallRecord { id, state });
        if self.connected {
            self.send(self.records.len() - 1, effects);
        }
        self.evict_oldest();
    }

    /// Sends an answer, unless this connection has carried it.
    fn send(&mut self, at: usize, effects: &mut Effects<V>) {
        let CallRecord { id, state } = &mut self.records[at];
        if let State::Answered {
            outcome: said,
            send_number: place,
            ..
        } = state
            && *place == 0
        {
            self.answers_sent += 1;
            *place = self.answers_sent;
            effects.send(said.to_message(id.clone()));
        }
    }

    /// Keeps to the limits of what is kept.
    fn evict_oldest(&mut self) {
        loop {
            let (mut count, mut bytes, mut oldest) = (0, 0, 0);
            for (place, known) in self.records.iter().enumerate().rev() {
                if let Some(length) = known.answer_bytes() {
                    (count, bytes, oldest) = (count + 1, bytes + length, place);
                }
            }
            if count <= MAX_UNACKNOWLEDGED && (bytes <= MAX_UNACKNOWLEDGED_BYTES || count <= 1) {
                return;
            }
            self.records.remove(oldest);
        }
    }

    /// The bridge has taken so many answers on this connection.
    pub(super) fn answers_acknowledged(&mut self, count: u64) {
        self.records.retain(|known| match known.state {
            State::Answered {
                send_number: place, ..
            } => place == 0 || place > count,
            _ => true,
        });
    }

    /// The bridge wants no result any more.
    pub(super) fn cancelled(&mut self, call: &CallId, reason: &Failure, effects: &mut Effects<V>) {
        if let Some(known) = self.remove(call) {
            report_cancelled(known, reason, effects);
        }
    }

    /// Nobody waits for any call any more.
    pub(super) fn cancel_all(&mut self, reason: &Failure, effects: &mut Effects<V>) {
        for known in std::mem::take(&mut self.records) {
            report_cancelled(known, reason, effects);
        }
    }

    // How connections come and go.

    /// The connection is gone, and perhaps what was said on it: it is said again on the next.
    pub(super) fn connection_lost(&mut self) {
        self.connected = false;
        self.answers_sent = 0;
        for known in &mut self.records {
            match &mut known.state {
                State::MaybeEnded { .. } => {}
                State::Running(asking) => asking.connection_lost(),
                State::Answered {
                    send_number: place, ..
                } => *place = 0,
            }
        }
    }

    /// Another life of the bridge: its call ids are its own.
    pub(super) fn bridge_changed(&mut self, effects: &mut Effects<V>) {
        self.seen_ids = SeenCallIds::default();
        let reason = Failure::new(Failure::CONNECTION_LOST, "the bridge was restarted");
        self.cancel_all(&reason, effects);
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
        for at in 0..self.records.len() {
            let id = self.records[at].id.clone();
            let listed = awaited.iter().position(|awaited| *awaited == id);
            listed.map(|place| awaited.swap_remove(place));
            match &mut self.records[at].state {
                State::MaybeEnded {
                    checked_ms: asked_ms,
                    ..
                } => *asked_ms = now_ms,
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
            self.answer(id, SentOutcome::lost(), 0, effects);
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
        if self.connected && self.pending_requests(&call).is_some() {
            effects.send(PageToBridge::CallProgress {
                call,
                progress,
                total,
                message: message.map(truncate),
            });
        }
    }

    /// A handler has something for the client's log. It is not said later, either.
    pub(super) fn logged(
        &mut self,
        call: CallId,
        level: String,
        logger: Option<String>,
        data: SizedJson<V>,
        effects: &mut Effects<V>,
    ) {
        if !self.connected || self.pending_requests(&call).is_none() {
            return;
        }
        if data.bytes > MAX_LOG_BYTES {
            let what = too_large_message("a log message", data.bytes, MAX_LOG_BYTES);
            effects.report(Report::Warning(what));
            return;
        }
        effects.send(PageToBridge::CallLog {
            call,
            level,
            logger: logger.map(truncate),
            data: data.json,
        });
    }

    /// A handler asks the client. [`Calls::flush`] sends it.
    pub(super) fn client_requested(
        &mut self,
        call: CallId,
        request: ClientRequest<V>,
        bytes: usize,
        limits: &Limits,
        effects: &mut Effects<V>,
    ) {
        let room = max_payload_bytes(limits);
        let Some(asking) = self.pending_requests(&call) else {
            return;
        };
        if bytes <= room {
            asking.add(request, bytes);
            return;
        }
        let why = too_large_message("the request to the client", bytes, room);
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
        let Some(asking) = self.pending_requests(call) else {
            return;
        };
        for ClientResponse { key, response } in responses {
            if asking.complete(&key) {
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
        for CallRecord { id, state } in &mut self.records {
            if let State::Running(asking) = state {
                asking.flush(id, max_payload_bytes(limits), effects);
            }
        }
    }

    fn index_of(&self, call: &CallId) -> Option<usize> {
        self.records.iter().position(|known| known.id == *call)
    }

    fn remove(&mut self, call: &CallId) -> Option<CallRecord<V>> {
        Some(self.records.remove(self.index_of(call)?))
    }

    /// What a call asks its client, if it is running.
    fn pending_requests(&mut self, call: &CallId) -> Option<&mut PendingClientRequests<V>> {
        let place = self.index_of(call)?;
        match &mut self.records[place].state {
            State::Running(asking) => Some(asking),
            _ => None,
        }
    }
}

fn max_payload_bytes(limits: &Limits) -> usize {
    limits.max_frame_bytes.saturating_sub(ENVELOPE_BYTES)
}

fn report_cancelled<V>(known: CallRecord<V>, reason: &Failure, effects: &mut Effects<V>) {
    if let State::Running(_) = known.state {
        effects.report(Report::CallEnded {
            call: known.id,
            outcome: CallOutcome::Cancelled(reason.clone()),
        });
    }
}
