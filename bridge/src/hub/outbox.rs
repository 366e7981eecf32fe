//! The queue of commands to the task of a page. A page whose queue fills up does not read: its
//! connection is aborted, and the page may reconnect within the grace period.
//!
//! A page with an empty queue costs one small allocation.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bridge_protocol::{BridgeToPage, CloseCode};
use serde_json::value::RawValue;

use bridge_realm::realm::PageAbilities;

use crate::budget::ByteLease;

/// The maximum number of queued messages, besides those of the page's calls.
const MAX_MESSAGES: usize = 256;

/// The messages of a call: the call itself and its cancellation. A page that reconnects receives
/// all calls that waited for it at once, and the cancellation of all of them when the bridge stops.
const MESSAGES_PER_CALL: usize = 2;

/// The maximum payload of the queued messages (arguments, responses of clients, names that pages
/// and clients have chosen), in bytes.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// The memory that an id or a name uses besides its text, in bytes.
const NAME_OVERHEAD_BYTES: usize = 64;

/// The number of heartbeats after which a peer is gone, if it has sent nothing during them, not
/// even a pong, or has taken none of the queued data.
const MAX_MISSED_HEARTBEATS: u8 = 3;

/// A command to the task of a connection.
#[derive(Debug)]
pub(crate) enum SocketCommand {
    Message(BridgeToPage),
    /// A ping, which the browser answers without the page.
    Ping,
    /// A ping with a number, because of a call without a receipt. It overtakes queued messages: a
    /// page that does not read keeps them from being sent.
    Probe(u64),
    Close {
        code: CloseCode,
        reason: &'static str,
    },
}

impl SocketCommand {
    fn is_heartbeat(&self) -> bool {
        use BridgeToPage::Heartbeat;
        matches!(
            self,
            SocketCommand::Ping | SocketCommand::Message(Heartbeat(_))
        )
    }

    /// Returns the length of the payload that pages, clients or agents have chosen. The rest of a
    /// message is short.
    fn payload_bytes(&self) -> usize {
        let names = |names: &mut dyn Iterator<Item = usize>| -> usize {
            names.map(|length| length + NAME_OVERHEAD_BYTES).sum()
        };
        match self {
            SocketCommand::Message(BridgeToPage::ToolCall(call)) => call.tool_input.get().len(),
            SocketCommand::Message(BridgeToPage::PromptGet(get)) => get.arguments.get().len(),
            SocketCommand::Message(BridgeToPage::ClientResponses(answers)) => {
                let results = answers.responses.iter().filter_map(|it| it.result.as_ref());
                results.map(|result| result.get().len()).sum()
            }
            SocketCommand::Message(BridgeToPage::Subscriptions(message)) => {
                names(&mut message.uris.iter().map(String::len))
            }
            // Pages choose the ids and how many there are.
            SocketCommand::Message(BridgeToPage::CallsAlive(message)) => {
                let ids = message.request_ids.iter().chain(&message.ended);
                names(&mut ids.map(|id| id.as_str().len()))
            }
            SocketCommand::Message(BridgeToPage::Registered(message)) => {
                let items = message.items.iter().map(|item| item.name.len());
                let errors = message.errors.iter();
                let errors =
                    errors.map(|it| it.name.as_ref().map_or(0, String::len) + it.message.len());
                message.registration_id.as_str().len() + names(&mut items.chain(errors))
            }
            SocketCommand::Message(BridgeToPage::Unregistered(message)) => {
                let items = message.items.iter().map(|item| item.name.len());
                message.registration_id.as_str().len() + names(&mut items.into_iter())
            }
            // The output of an agent may wait for a slow page.
            SocketCommand::Message(BridgeToPage::QueryProgress(message)) => {
                message.content.get().len()
            }
            SocketCommand::Message(BridgeToPage::QueryComplete(message)) => {
                let raw = |raw: &Option<Box<RawValue>>| raw.as_ref().map_or(0, |it| it.get().len());
                let calls = message.tool_calls.iter();
                let calls =
                    calls.map(|it| it.tool.len() + it.arguments.get().len() + raw(&it.result));
                raw(&message.result) + names(&mut calls.into_iter())
            }
            SocketCommand::Message(BridgeToPage::QueryFailure(message)) => message.error.len(),
            SocketCommand::Message(BridgeToPage::QueryCancel(message)) => {
                message.reason.as_ref().map_or(0, String::len)
            }
            _ => 0,
        }
    }
}

/// The state that both ends share.
#[derive(Debug)]
struct Shared {
    /// The maximum number of queued messages.
    max_messages: usize,
    /// Whether a silent peer stays connected: its page does not answer heartbeats, and may not
    /// connect again.
    tolerates_silence: bool,
    /// Whether the peer has sent anything since the last heartbeat.
    has_read: AtomicBool,
    /// Whether the peer has taken queued data since the last heartbeat, or nothing is queued for
    /// it.
    has_written: AtomicBool,
    state: Mutex<State>,
}

/// The queue and the state of its receiver.
#[derive(Debug)]
struct State {
    queue: VecDeque<SocketCommand>,
    /// The payload of the queue, in bytes.
    bytes: usize,
    /// The lease on them.
    memory: ByteLease,
    close_reason: Option<CloseReason>,
    /// The last numbered ping that was not taken.
    probe: Option<u64>,
    /// The heartbeats since the peer last sent anything.
    silent_heartbeats: u8,
    /// The heartbeats since the peer last took queued data.
    stalled_heartbeats: u8,
    waker: Option<Waker>,
}

/// Why no more commands are accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CloseReason {
    /// The page is gone, or does not read.
    Aborted,
    /// The hub has dropped its end. Queued commands are still sent.
    Drained,
}

/// The receiving end of a connection's outbox.
#[derive(Debug)]
pub(crate) struct OutboxReceiver(Arc<Shared>);

/// The sending end.
#[derive(Debug)]
pub(super) struct OutboxSender(Arc<Shared>);

/// The page does not read; its connection has been aborted.
#[derive(Debug)]
pub(super) struct OutboxFull;

/// Creates the outbox of a page. `max_calls` is the maximum number of calls in flight per token;
/// `memory` is the lease on the queued bytes, which has none yet.
pub(super) fn channel(
    max_calls: usize,
    abilities: PageAbilities,
    memory: ByteLease,
) -> (OutboxSender, OutboxReceiver) {
    let shared = Arc::new(Shared {
        max_messages: MAX_MESSAGES + MESSAGES_PER_CALL * max_calls,
        tolerates_silence: !abilities.answers_heartbeats,
        has_read: AtomicBool::new(true),
        has_written: AtomicBool::new(true),
        state: Mutex::new(State {
            queue: VecDeque::new(),
            bytes: 0,
            memory,
            close_reason: None,
            probe: None,
            silent_heartbeats: 0,
            stalled_heartbeats: 0,
            waker: None,
        }),
    });
    (OutboxSender(Arc::clone(&shared)), OutboxReceiver(shared))
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self, end: CloseReason) {
        let mut state = self.state();
        let reader = match state.close_reason {
            None => {
                state.close_reason = Some(end);
                state.waker.take()
            }
            Some(_) => None,
        };
        drop(state);
        if let Some(reader) = reader {
            reader.wake();
        }
    }
}

impl State {
    fn pop(&mut self) -> Option<SocketCommand> {
        let outgoing = self.queue.pop_front()?;
        self.bytes -= outgoing.payload_bytes();
        // A lease that cannot grow, after a message that always fits, stays unchanged.
        let _ = self.memory.resize_counted(self.bytes);
        if self.queue.is_empty() {
            self.queue = VecDeque::new();
        }
        Some(outgoing)
    }

    fn register_waker(&mut self, waker: &Waker) {
        match &mut self.waker {
            Some(reader) => reader.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
    }
}

impl OutboxSender {
    /// The number of messages that wait for the page, and their payload in bytes.
    pub(super) fn size(&self) -> (usize, usize) {
        let state = self.0.state();
        (state.queue.len(), state.bytes)
    }

    /// Queues a command. If it does not fit, or the peer is gone, the connection is aborted.
    pub(super) fn try_send(&self, outgoing: SocketCommand) -> Result<(), OutboxFull> {
        let payload = outgoing.payload_bytes();
        let mut state = self.0.state();
        let is_alive =
            !outgoing.is_heartbeat() || self.0.tolerates_silence || self.check_liveness(&mut state);
        let bytes = state.bytes + payload;
        let is_leased = state.memory.resize_counted(bytes).is_ok();
        // A single message always fits, because its size has its own limit.
        let has_room = state.bytes == 0 || is_leased && bytes <= MAX_BYTES;
        if !is_alive
            || !has_room
            || state.queue.len() >= self.0.max_messages
            || state.close_reason.is_some()
        {
            drop(state);
            self.0.close(CloseReason::Aborted);
            return Err(OutboxFull);
        }
        if matches!(outgoing, SocketCommand::Ping) && !state.queue.is_empty() {
            // A ping shows whether the peer is alive, and so does the queued command before it.
            return Ok(());
        }
        if let SocketCommand::Probe(number) = outgoing {
            state.probe = Some(number);
        } else {
            state.bytes += payload;
            state.queue.push_back(outgoing);
        }
        let reader = state.waker.take();
        drop(state);
        if let Some(reader) = reader {
            reader.wake();
        }
        Ok(())
    }

    /// Checks at each heartbeat whether the peer still sends and reads.
    fn check_liveness(&self, state: &mut State) -> bool {
        let count = |seen: &AtomicBool, missed: u8| {
            if seen.swap(false, Ordering::Relaxed) {
                0
            } else {
                missed.saturating_add(1)
            }
        };
        state.silent_heartbeats = count(&self.0.has_read, state.silent_heartbeats);
        state.stalled_heartbeats = if state.queue.is_empty() {
            0
        } else {
            count(&self.0.has_written, state.stalled_heartbeats)
        };
        state.silent_heartbeats.max(state.stalled_heartbeats) < MAX_MISSED_HEARTBEATS
    }
}

impl Drop for OutboxSender {
    fn drop(&mut self) {
        self.0.close(CloseReason::Drained);
    }
}

impl OutboxReceiver {
    /// Returns the next command, if there is one.
    pub(crate) fn try_recv(&mut self) -> Option<SocketCommand> {
        self.0.state().pop()
    }

    /// Polls for the next command. Returns `None` when the connection was aborted, or when the hub
    /// has dropped its end and the queue is empty.
    pub(crate) fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<SocketCommand>> {
        let mut state = self.0.state();
        if state.close_reason == Some(CloseReason::Aborted) {
            return Poll::Ready(None);
        }
        if let Some(number) = state.probe.take() {
            return Poll::Ready(Some(SocketCommand::Probe(number)));
        }
        if let Some(outgoing) = state.pop() {
            self.record_write();
            return Poll::Ready(Some(outgoing));
        }
        if state.close_reason.is_some() {
            return Poll::Ready(None);
        }
        state.register_waker(cx.waker());
        Poll::Pending
    }

    /// Like [`OutboxReceiver::poll_recv`], but takes no message: for a peer that does not read.
    pub(crate) fn poll_recv_probe(&mut self, cx: &mut Context<'_>) -> Poll<Option<SocketCommand>> {
        let mut state = self.0.state();
        if state.close_reason == Some(CloseReason::Aborted) {
            return Poll::Ready(None);
        }
        if let Some(number) = state.probe.take() {
            return Poll::Ready(Some(SocketCommand::Probe(number)));
        }
        state.register_waker(cx.waker());
        Poll::Pending
    }

    /// Records that the peer has taken queued data.
    pub(crate) fn record_write(&self) {
        self.0.has_written.store(true, Ordering::Relaxed);
    }

    /// Records that the peer has sent something.
    pub(crate) fn record_read(&self) {
        self.0.has_read.store(true, Ordering::Relaxed);
    }

    /// Receives the next command.
    #[cfg(test)]
    pub(crate) async fn recv(&mut self) -> Option<SocketCommand> {
        std::future::poll_fn(|cx| self.poll_recv(cx)).await
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use bridge_auth::RealmId;
    use bridge_protocol::{CallId, CallsAlive, Subscriptions, ToolCall, Unregistered};

    use super::*;
    use crate::budget::{ByteBudget, Party};

    fn call(bytes: usize) -> SocketCommand {
        let input = format!("\"{}\"", "x".repeat(bytes - 2));
        SocketCommand::Message(BridgeToPage::ToolCall(ToolCall {
            request_id: "c".into(),
            tool_name: "t".to_owned(),
            tool_input: RawValue::from_string(input).unwrap(),
            context: Box::default(),
        }))
    }

    /// A lease on any number of bytes.
    fn memory() -> ByteLease {
        lease_of(&ByteBudget::new(usize::MAX))
    }

    fn lease_of(budget: &ByteBudget) -> ByteLease {
        let address = IpAddr::from([192, 0, 2, 1]).into();
        budget.lease(Party::new(address, RealmId::from_token("a")))
    }

    #[test]
    fn queued_bytes_draw_from_the_memory_and_an_outbox_over_its_share_is_aborted() {
        let budget = ByteBudget::new(1_000_000);
        let (line, mut outbox) = channel(256, PageAbilities::SDK, lease_of(&budget));
        for _ in 0..4 {
            line.try_send(call(100_000)).unwrap();
        }
        assert_eq!(budget.used_bytes(), 400_000);
        outbox.try_recv().unwrap();
        assert_eq!(budget.used_bytes(), 300_000);
        for _ in 0..2 {
            line.try_send(call(100_000)).unwrap();
        }
        line.try_send(call(100_000)).unwrap_err();
        assert!(is_aborted(&mut outbox));
        drop((line, outbox));
        assert_eq!(budget.used_bytes(), 0);
    }

    fn is_aborted(outbox: &mut OutboxReceiver) -> bool {
        let mut cx = Context::from_waker(Waker::noop());
        matches!(outbox.poll_recv_probe(&mut cx), Poll::Ready(None))
    }

    #[tokio::test]
    async fn the_queue_is_bounded_in_bytes() {
        let (line, mut outbox) = channel(256, PageAbilities::SDK, memory());
        for _ in 0..2 {
            line.try_send(call(MAX_BYTES / 2)).unwrap();
        }
        // Receiving a command makes room in the queue.
        outbox.recv().await.unwrap();
        line.try_send(call(MAX_BYTES / 2)).unwrap();
        assert!(!is_aborted(&mut outbox));
        line.try_send(call(2)).unwrap_err();
        assert!(is_aborted(&mut outbox));
        let (line, _outbox) = channel(256, PageAbilities::SDK, memory());
        line.try_send(call(MAX_BYTES + 1)).unwrap();
    }

    #[tokio::test]
    async fn ids_and_uris_count_as_payload() {
        let ended = vec![CallId::from("x"); MAX_BYTES / NAME_OVERHEAD_BYTES];
        let alive = CallsAlive {
            check: 1,
            request_ids: Vec::new(),
            ended,
        };
        let wanted = Subscriptions {
            uris: vec!["x".repeat(MAX_BYTES)],
        };
        let gone = Unregistered {
            registration_id: "x".repeat(MAX_BYTES).as_str().into(),
            items: Vec::new(),
        };
        for message in [
            BridgeToPage::CallsAlive(alive),
            BridgeToPage::Subscriptions(wanted),
            BridgeToPage::Unregistered(gone),
        ] {
            let (line, mut outbox) = channel(256, PageAbilities::SDK, memory());
            line.try_send(SocketCommand::Message(message.clone()))
                .unwrap();
            line.try_send(SocketCommand::Message(message)).unwrap_err();
            assert!(is_aborted(&mut outbox));
        }
    }

    #[tokio::test]
    async fn the_queue_is_bounded_in_messages() {
        let (line, mut outbox) = channel(1, PageAbilities::SDK, memory());
        for _ in 0..MAX_MESSAGES + MESSAGES_PER_CALL {
            line.try_send(call(2)).unwrap();
        }
        line.try_send(call(2)).unwrap_err();
        assert!(is_aborted(&mut outbox));
    }

    /// Returns the number of pings until the connection is aborted, at most ten.
    async fn pings_until_aborted(
        abilities: PageAbilities,
        between: impl AsyncFn(&mut OutboxReceiver),
    ) -> usize {
        let (line, mut outbox) = channel(1, abilities, memory());
        for n in 0..10 {
            if line.try_send(SocketCommand::Ping).is_err() {
                assert!(is_aborted(&mut outbox));
                return n;
            }
            between(&mut outbox).await;
        }
        10
    }

    async fn recv_ping(outbox: &mut OutboxReceiver) {
        assert!(matches!(outbox.recv().await, Some(SocketCommand::Ping)));
    }

    #[tokio::test]
    async fn a_peer_silent_for_three_heartbeats_is_aborted_if_it_answers_them() {
        let silent = async |outbox: &mut OutboxReceiver| recv_ping(outbox).await;
        // The first ping counts the time before it.
        assert_eq!(pings_until_aborted(PageAbilities::SDK, silent).await, 3);
        assert_eq!(
            pings_until_aborted(PageAbilities::default(), silent).await,
            10
        );
        let answers = async |outbox: &mut OutboxReceiver| {
            recv_ping(outbox).await;
            outbox.record_read();
        };
        assert_eq!(pings_until_aborted(PageAbilities::SDK, answers).await, 10);
    }

    #[tokio::test]
    async fn a_peer_that_sends_but_does_not_read_is_aborted() {
        let speaks = async |outbox: &mut OutboxReceiver| outbox.record_read();
        // The first ping finds an empty queue, and the second one counts the time before it.
        assert_eq!(pings_until_aborted(PageAbilities::SDK, speaks).await, 4);
    }

    #[tokio::test]
    async fn a_numbered_ping_overtakes_messages() {
        let (line, mut outbox) = channel(1, PageAbilities::SDK, memory());
        line.try_send(call(2)).unwrap();
        line.try_send(SocketCommand::Probe(7)).unwrap();
        let mut cx = Context::from_waker(Waker::noop());
        let urgent = outbox.poll_recv_probe(&mut cx);
        assert!(matches!(urgent, Poll::Ready(Some(SocketCommand::Probe(7)))));
        assert!(outbox.poll_recv_probe(&mut cx).is_pending());
        line.try_send(SocketCommand::Probe(8)).unwrap();
        assert!(matches!(outbox.recv().await, Some(SocketCommand::Probe(8))));
        assert!(matches!(
            outbox.recv().await,
            Some(SocketCommand::Message(_))
        ));
    }

    #[tokio::test]
    async fn queued_commands_are_sent_after_the_sender_is_dropped() {
        let (line, mut outbox) = channel(1, PageAbilities::SDK, memory());
        line.try_send(call(2)).unwrap();
        drop(line);
        assert!(!is_aborted(&mut outbox));
        assert!(outbox.recv().await.is_some());
        assert!(outbox.recv().await.is_none());
    }
}
