//! The calls of this page: each runs at most once and ends once.
//!
//! After a reconnect to the same bridge, no answer is lost, and calls that are no longer awaited do
//! not continue. Of the calls that the bridge lists in `awaited`, a running one continues, an
//! unacknowledged answer is sent again, and one that this page does not know fails. For its other
//! calls the page sends `calls-check`, because a call whose acknowledgement was lost is not in
//! `awaited` either. Those that have ended are cancelled.

mod call_record;
mod outcome;

use bridge_protocol::{CallId, ErrorCode};

use super::definitions::Definitions;
use super::effect::{CallEnd, DefinitionKey, Effect, Effects, Failure, Report, StartedCall};
use super::messages::{
    ClientRequest, ClientResponse, HandlerRequest, Json, Limits, PageToBridge, SizedJson,
};
use super::seen_call_ids::SeenCallIds;
use call_record::{CallRecord, RunningCall, State};
use outcome::{SentOutcome, too_large_message, truncate};

pub(super) use call_record::{FirstTask, MAX_PROMPT_MS, STALE_AFTER_MS};
pub use call_record::{MAX_UNACKNOWLEDGED, MAX_UNACKNOWLEDGED_BYTES};
pub use outcome::HandlerOutcome;

/// The largest `data` of a log message, in bytes of JSON.
pub const MAX_LOG_BYTES: usize = 256 * 1024;

/// The calls of one run of the bridge.
#[derive(Debug)]
pub(super) struct Calls<J> {
    /// The calls that are not forgotten yet; answered ones are in the order of their answers.
    records: Vec<CallRecord<J>>,
    /// The ids of recent calls, including forgotten ones.
    seen_ids: SeenCallIds,
    /// Whether there is a connection to send answers on.
    connected: bool,
    /// The number of answers sent on this connection.
    answers_sent: u64,
    /// The number of the latest `calls-check`.
    last_check: u64,
    /// Whether [`Effect::ScheduleTask`] is being performed.
    task_scheduled: bool,
}

impl<J: Json> Calls<J> {
    pub(super) fn new() -> Self {
        Self {
            records: Vec::new(),
            seen_ids: SeenCallIds::default(),
            connected: false,
            answers_sent: 0,
            last_check: 0,
            task_scheduled: false,
        }
    }

    /// The number of the latest `calls-check`.
    pub(super) fn last_check(&self) -> u64 {
        self.last_check
    }

    /// Asks the bridge which of these calls are still awaited.
    fn send_check(&mut self, calls: Vec<CallId>, effects: &mut Effects<J>) {
        self.last_check += 1;
        let check = self.last_check;
        effects.send(PageToBridge::CallsCheck { check, calls });
    }

    /// A call arrived. Acknowledges it, unless its answer may be the receipt. Returns whether it
    /// must be started: the page has neither answered it nor is it running.
    pub(super) fn arrived(
        &mut self,
        id: &CallId,
        hand_overs: u64,
        defers_receipt: bool,
        effects: &mut Effects<J>,
    ) -> bool {
        let index = self.index_of(id);
        let is_new = index.is_none() && self.seen_ids.insert(id, hand_overs);
        if is_new && defers_receipt {
            return true;
        }
        effects.send(PageToBridge::CallReceived(id.clone()));
        match index {
            // The new copy decides whether the call is late.
            Some(index) if matches!(self.records[index].state, State::MaybeEnded { .. }) => {
                self.records.remove(index);
                return true;
            }
            Some(index) => self.send(index, effects),
            None if is_new => return true,
            None => self.answer(id.clone(), SentOutcome::lost(), 0, effects),
        }
        false
    }

    /// Starts a call of `definition`, or fails it if the page does not have the definition any
    /// more.
    pub(super) fn start(
        &mut self,
        request: HandlerRequest<J>,
        definition: Option<DefinitionKey>,
        first_task: Option<FirstTask>,
        start_by_ms: Option<u64>,
        effects: &mut Effects<J>,
    ) {
        let id = request.call.clone();
        let Some(definition) = definition else {
            self.answer(id, SentOutcome::not_registered(&request.item), 0, effects);
            return;
        };
        let state = State::Running(RunningCall::new(first_task));
        self.records.push(CallRecord { id, state });
        effects.push(Effect::StartCall(StartedCall {
            request,
            definition,
            start_by_ms,
        }));
        if first_task.is_some() && !std::mem::replace(&mut self.task_scheduled, true) {
            effects.push(Effect::ScheduleTask);
        }
    }

    /// The task in which handlers were started has ended. Acknowledges the calls that it has not
    /// answered.
    pub(super) fn task_ended(
        &mut self,
        definitions: &mut Definitions<J>,
        effects: &mut Effects<J>,
    ) {
        self.task_scheduled = false;
        for CallRecord { id, state } in &mut self.records {
            if let State::Running(call) = state
                && call.first_task.is_some()
            {
                // Without a connection, the bridge sends a call without a receipt again.
                if self.connected {
                    call.acknowledge(id, effects);
                }
                if let Some(task) = call.first_task.take() {
                    definitions.observed(task.definition, false);
                }
            }
        }
    }

    /// A call is late when its handler is about to start: it may have ended.
    pub(super) fn delayed(
        &mut self,
        request: HandlerRequest<J>,
        now_ms: u64,
        effects: &mut Effects<J>,
    ) {
        let id = request.call.clone();
        if let Some(record) = self.remove(&id) {
            if let State::Running(mut call) = record.state {
                call.acknowledge(&id, effects);
            }
            self.send_check(vec![id], effects);
            let record = CallRecord::maybe_ended(request, self.last_check, now_ms);
            self.records.push(record);
        }
    }

    /// The bridge confirmed that the call is still awaited. Returns it if it may start, and the time
    /// until which the confirmation counts.
    pub(super) fn confirmed_alive(
        &mut self,
        id: &CallId,
        answered_check: u64,
        now_ms: u64,
        effects: &mut Effects<J>,
    ) -> Option<(HandlerRequest<J>, u64)> {
        let index = self.index_of(id)?;
        let next_check = self.last_check + 1;
        if let State::MaybeEnded {
            check,
            checked_ms,
            answer_timeout_ms,
            ..
        } = &mut self.records[index].state
        {
            if answered_check < *check {
                return None;
            }
            let start_by_ms = *checked_ms + *answer_timeout_ms;
            if now_ms > start_by_ms {
                *check = next_check;
                *checked_ms = now_ms;
                *answer_timeout_ms = 2 * STALE_AFTER_MS;
                self.send_check(vec![id.clone()], effects);
                return None;
            }
            if let State::MaybeEnded { request, .. } = self.records.remove(index).state {
                return Some((request, start_by_ms));
            }
        } else {
            self.send(index, effects);
        }
        None
    }

    /// A handler ended. Its answer is sent now, or on the next connection to the same bridge. It is
    /// dropped if the call is not awaited any more. Returns the first task of the handler, if it has
    /// not ended.
    pub(super) fn finished(
        &mut self,
        call: CallId,
        outcome: HandlerOutcome<J>,
        limits: &Limits,
        effects: &mut Effects<J>,
    ) -> Option<FirstTask> {
        let index = self.index_of(&call)?;
        let State::Running(RunningCall { first_task, .. }) = self.records[index].state else {
            return None;
        };
        self.records.remove(index);
        let (sent, bytes) = SentOutcome::from_outcome(outcome, limits.max_result_bytes);
        let outcome = sent.call_outcome();
        self.answer(call.clone(), sent, bytes, effects);
        effects.report(Report::CallEnded { call, outcome });
        first_task
    }

    /// Stores an answer and sends it if there is a connection. Every answer must be sent this way,
    /// because the bridge counts them.
    fn answer(
        &mut self,
        id: CallId,
        outcome: SentOutcome<J>,
        bytes: usize,
        effects: &mut Effects<J>,
    ) {
        let state = State::Answered {
            outcome,
            bytes,
            send_number: 0,
        };
        self.records.push(CallRecord { id, state });
        if self.connected {
            self.send(self.records.len() - 1, effects);
        }
        self.evict_oldest();
    }

    /// Sends an answer, unless it was sent on this connection.
    fn send(&mut self, index: usize, effects: &mut Effects<J>) {
        let CallRecord { id, state } = &mut self.records[index];
        if let State::Answered {
            outcome,
            send_number,
            ..
        } = state
            && *send_number == 0
        {
            self.answers_sent += 1;
            *send_number = self.answers_sent;
            effects.send(outcome.to_message(id.clone()));
        }
    }

    /// Drops the oldest unacknowledged answers until the rest is within the limits.
    fn evict_oldest(&mut self) {
        loop {
            let (mut count, mut bytes, mut oldest) = (0, 0, 0);
            for (index, record) in self.records.iter().enumerate().rev() {
                if let Some(length) = record.answer_bytes() {
                    (count, bytes, oldest) = (count + 1, bytes + length, index);
                }
            }
            if count <= MAX_UNACKNOWLEDGED && (bytes <= MAX_UNACKNOWLEDGED_BYTES || count <= 1) {
                return;
            }
            self.records.remove(oldest);
        }
    }

    /// The bridge has received this number of answers on this connection.
    pub(super) fn answers_acknowledged(&mut self, count: u64) {
        self.records.retain(|record| match record.state {
            State::Answered { send_number, .. } => send_number == 0 || send_number > count,
            _ => true,
        });
    }

    /// The bridge does not await the result any more.
    pub(super) fn cancelled(&mut self, call: &CallId, reason: &Failure, effects: &mut Effects<J>) {
        if let Some(record) = self.remove(call) {
            report_cancelled(record, reason, effects);
        }
    }

    /// No call is awaited any more.
    pub(super) fn cancel_all(&mut self, reason: &Failure, effects: &mut Effects<J>) {
        for record in std::mem::take(&mut self.records) {
            report_cancelled(record, reason, effects);
        }
    }

    /// The connection is lost, and perhaps the latest messages with it. They are sent again on the
    /// next connection.
    pub(super) fn connection_lost(&mut self) {
        self.connected = false;
        self.answers_sent = 0;
        for record in &mut self.records {
            match &mut record.state {
                State::MaybeEnded { .. } => {}
                State::Running(call) => call.requests.connection_lost(),
                State::Answered { send_number, .. } => *send_number = 0,
            }
        }
    }

    /// The bridge was restarted. Its call ids have no relation to the former ones.
    pub(super) fn bridge_changed(&mut self, effects: &mut Effects<J>) {
        self.seen_ids = SeenCallIds::default();
        let reason = Failure::new(Failure::CONNECTION_LOST, "the bridge was restarted");
        self.cancel_all(&reason, effects);
    }

    /// There is a connection again. `awaited` are the calls that the page has acknowledged and that
    /// are still awaited.
    pub(super) fn connected(
        &mut self,
        mut awaited: Vec<CallId>,
        now_ms: u64,
        effects: &mut Effects<J>,
    ) {
        self.connected = true;
        let next_check = self.last_check + 1;
        let mut unconfirmed = Vec::new();
        for index in 0..self.records.len() {
            let id = self.records[index].id.clone();
            let listed_at = awaited.iter().position(|awaited| *awaited == id);
            if let Some(listed_at) = listed_at {
                awaited.swap_remove(listed_at);
            }
            match &mut self.records[index].state {
                State::MaybeEnded {
                    check, checked_ms, ..
                } => (*check, *checked_ms) = (next_check, now_ms),
                // The latest request may have been lost with the former connection.
                State::Running(call) => call.send_hand_over(&id, effects),
                State::Answered { .. } => {}
            }
            match self.records[index].state {
                State::MaybeEnded { .. } => {}
                _ if listed_at.is_none() => {}
                _ => {
                    self.send(index, effects);
                    continue;
                }
            }
            unconfirmed.push(id);
        }
        // The page has no record of the remaining calls.
        for id in awaited {
            self.answer(id, SentOutcome::lost(), 0, effects);
        }
        if !unconfirmed.is_empty() {
            self.send_check(unconfirmed, effects);
        }
    }

    /// A handler reports its progress. Without a connection the report is dropped, because it would
    /// be out of date later.
    pub(super) fn progressed(
        &mut self,
        call: CallId,
        progress: J,
        total: Option<J>,
        message: Option<String>,
        effects: &mut Effects<J>,
    ) {
        if self.connected && self.running(&call, effects).is_some() {
            effects.send(PageToBridge::CallProgress {
                call,
                progress,
                total,
                message: message.map(truncate),
            });
        }
    }

    /// A handler sends a log message to the client. Without a connection the message is dropped.
    pub(super) fn logged(
        &mut self,
        call: CallId,
        level: String,
        logger: Option<String>,
        data: SizedJson<J>,
        effects: &mut Effects<J>,
    ) {
        if !self.connected || self.running(&call, effects).is_none() {
            return;
        }
        if data.bytes > MAX_LOG_BYTES {
            let warning = too_large_message("a log message", data.bytes, MAX_LOG_BYTES);
            effects.report(Report::Warning(warning));
            return;
        }
        effects.send(PageToBridge::CallLog {
            call,
            level,
            logger: logger.map(truncate),
            data: data.json,
        });
    }

    /// A handler arms the hand-over of its call, replaces the state, or disarms it with `None`. It is
    /// sent now, or on the next connection.
    pub(super) fn hand_over_requested(
        &mut self,
        call: CallId,
        state: J,
        is_armed: bool,
        effects: &mut Effects<J>,
    ) {
        let is_connected = self.connected;
        if let Some(running) = self.running(&call, effects) {
            running.is_armed = is_armed;
            running.hand_over = Some(state);
            if is_connected {
                running.send_hand_over(&call, effects);
            }
        }
    }

    /// Returns the calls that the next document of the session is to continue.
    pub(super) fn armed(&self) -> Vec<CallId> {
        let mut armed = Vec::new();
        for CallRecord { id, state } in &self.records {
            if let State::Running(call) = state
                && call.is_armed
            {
                armed.push(id.clone());
            }
        }
        armed
    }

    /// A handler makes a request to the client. [`Calls::flush`] sends it.
    pub(super) fn client_requested(
        &mut self,
        call: CallId,
        request: ClientRequest<J>,
        bytes: usize,
        limits: &Limits,
        effects: &mut Effects<J>,
    ) {
        let max_bytes = limits.max_payload_bytes();
        let Some(running) = self.running(&call, effects) else {
            return;
        };
        if bytes <= max_bytes {
            running.requests.add(request, bytes);
            return;
        }
        let message = too_large_message("the request to the client", bytes, max_bytes);
        effects.report(Report::ClientAnswered {
            call,
            key: request.key,
            answer: Err(Failure::new(
                const { ErrorCode::RequestTooLarge.as_str() },
                message,
            )),
        });
    }

    /// The client that made a call answered requests of its handler.
    pub(super) fn client_answered(
        &mut self,
        call: &CallId,
        responses: Vec<ClientResponse<J>>,
        effects: &mut Effects<J>,
    ) {
        let Some(running) = self.running(call, effects) else {
            return;
        };
        for ClientResponse { key, response } in responses {
            if running.requests.complete(&key) {
                effects.report(Report::ClientAnswered {
                    call: call.clone(),
                    key,
                    answer: Ok(response),
                });
            }
        }
    }

    /// Sends the requests of handlers that were not sent on this connection.
    pub(super) fn flush(&mut self, limits: &Limits, effects: &mut Effects<J>) {
        for CallRecord { id, state } in &mut self.records {
            if let State::Running(call) = state {
                call.requests.flush(id, limits.max_payload_bytes(), effects);
            }
        }
    }

    fn index_of(&self, call: &CallId) -> Option<usize> {
        self.records.iter().position(|record| record.id == *call)
    }

    fn remove(&mut self, call: &CallId) -> Option<CallRecord<J>> {
        Some(self.records.remove(self.index_of(call)?))
    }

    /// Returns a call, if it is running. It is acknowledged before anything else is sent about it.
    fn running(&mut self, call: &CallId, effects: &mut Effects<J>) -> Option<&mut RunningCall<J>> {
        let index = self.index_of(call)?;
        match &mut self.records[index] {
            CallRecord {
                id,
                state: State::Running(running),
            } => {
                if self.connected {
                    running.acknowledge(id, effects);
                }
                Some(running)
            }
            _ => None,
        }
    }
}

fn report_cancelled<J>(record: CallRecord<J>, reason: &Failure, effects: &mut Effects<J>) {
    if let State::Running(_) = record.state {
        effects.report(Report::CallEnded {
            call: record.id,
            outcome: CallEnd::Cancelled(reason.clone()),
        });
    }
}
