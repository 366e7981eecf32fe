//! What waits for a page to read it. A page that lets it pile up does not read: its connection is cut,
//! and it may come back within the grace.
//!
//! A page that nothing waits for costs one small allocation.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bridge_protocol::{BridgeToPage, CloseCode};
use serde_json::value::RawValue;

use crate::realm::Dialect;

/// Messages that may wait, beside those of the page's calls.
const MESSAGES: usize = 256;

/// The call and its cancellation: a page that comes back hears all calls that waited for it at
/// once, and one whose bridge stops the end of all of them.
const MESSAGES_PER_CALL: usize = 2;

/// What the waiting messages may carry (arguments, answers of clients, what pages and clients
/// have named), in bytes.
const BYTES: usize = 64 * 1024 * 1024;

/// What an id or a name takes beside its text.
const BYTES_PER_NAME: usize = 64;

/// A peer from which nothing comes between so many heartbeats, not even a pong, or that takes
/// nothing of what waits, is not there any more.
const SILENT_HEARTBEATS: u8 = 3;

/// What a connection's task has to do, in order.
#[derive(Debug)]
pub(crate) enum Outgoing {
    Message(BridgeToPage),
    /// A sign of life that the browser gives, not the page.
    Ping,
    Close {
        code: CloseCode,
        reason: &'static str,
    },
}

impl Outgoing {
    fn is_heartbeat(&self) -> bool {
        use BridgeToPage::Heartbeat;
        matches!(self, Outgoing::Ping | Outgoing::Message(Heartbeat(_)))
    }

    /// The length of what it carries from elsewhere; its own is short.
    fn payload(&self) -> usize {
        let names = |names: &mut dyn Iterator<Item = usize>| -> usize {
            names.map(|length| length + BYTES_PER_NAME).sum()
        };
        match self {
            Outgoing::Message(BridgeToPage::ToolCall(call)) => call.tool_input.get().len(),
            Outgoing::Message(BridgeToPage::PromptGet(get)) => get.arguments.get().len(),
            Outgoing::Message(BridgeToPage::ClientResponses(answers)) => {
                let results = answers.responses.iter().filter_map(|it| it.result.as_ref());
                results.map(|result| result.get().len()).sum()
            }
            Outgoing::Message(BridgeToPage::Subscriptions(told)) => {
                names(&mut told.uris.iter().map(String::len))
            }
            // Pages choose how many of these there are, and the ids.
            Outgoing::Message(BridgeToPage::CallsAlive(told)) => {
                let ids = told.request_ids.iter().chain(&told.ended);
                names(&mut ids.map(|id| id.as_str().len()))
            }
            Outgoing::Message(BridgeToPage::Registered(told)) => {
                let items = told.items.iter().map(|item| item.name.len());
                let errors = told.errors.iter();
                let errors =
                    errors.map(|it| it.name.as_ref().map_or(0, String::len) + it.message.len());
                told.registration_id.as_str().len() + names(&mut items.chain(errors))
            }
            Outgoing::Message(BridgeToPage::Unregistered(told)) => {
                let items = told.items.iter().map(|item| item.name.len());
                told.registration_id.as_str().len() + names(&mut items.into_iter())
            }
            // What agents have written goes on to pages that may be slow.
            Outgoing::Message(BridgeToPage::QueryProgress(told)) => told.content.get().len(),
            Outgoing::Message(BridgeToPage::QueryComplete(told)) => {
                let raw = |raw: &Option<Box<RawValue>>| raw.as_ref().map_or(0, |it| it.get().len());
                let calls = told.tool_calls.iter();
                let calls =
                    calls.map(|it| it.tool.len() + it.arguments.get().len() + raw(&it.result));
                raw(&told.result) + names(&mut calls.into_iter())
            }
            Outgoing::Message(BridgeToPage::QueryFailure(told)) => told.error.len(),
            Outgoing::Message(BridgeToPage::QueryCancel(told)) => {
                told.reason.as_ref().map_or(0, String::len)
            }
            _ => 0,
        }
    }
}

/// Both ends.
#[derive(Debug)]
struct Shared {
    /// Messages that may wait.
    most: usize,
    /// Silence ends nothing, see [`Dialect`].
    is_patient: bool,
    /// Something came since the last heartbeat.
    heard: AtomicBool,
    /// The peer took something since then, or nothing waits for it.
    taken: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Outgoing>,
    /// What they carry.
    bytes: usize,
    end: Option<End>,
    /// Heartbeats since something came, and since something that waits was taken.
    silent: u8,
    stuck: u8,
    reader: Option<Waker>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The page is not there, or does not read.
    Cut,
    /// The hub has let go of the connection: what waits is still sent.
    LetGo,
}

/// The receiving end of a connection's outbox.
#[derive(Debug)]
pub(crate) struct Outbox(Arc<Shared>);

/// The sending end.
#[derive(Debug)]
pub(super) struct PageLine(Arc<Shared>);

/// The page does not read; its connection has been cut.
#[derive(Debug)]
pub(super) struct Full;

pub(super) fn channel(max_calls: usize, dialect: Dialect) -> (PageLine, Outbox) {
    let shared = Arc::new(Shared {
        most: MESSAGES + MESSAGES_PER_CALL * max_calls,
        is_patient: dialect == Dialect::V1,
        heard: AtomicBool::new(true),
        taken: AtomicBool::new(true),
        state: Mutex::default(),
    });
    (PageLine(Arc::clone(&shared)), Outbox(shared))
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self, end: End) {
        let mut state = self.state();
        let reader = match state.end {
            None => {
                state.end = Some(end);
                state.reader.take()
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
    fn take(&mut self) -> Option<Outgoing> {
        let outgoing = self.waiting.pop_front()?;
        self.bytes -= outgoing.payload();
        if self.waiting.is_empty() {
            self.waiting = VecDeque::new();
        }
        Some(outgoing)
    }

    fn wake_with(&mut self, waker: &Waker) {
        match &mut self.reader {
            Some(reader) => reader.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
    }
}

impl PageLine {
    pub(super) fn put(&self, outgoing: Outgoing) -> Result<(), Full> {
        let payload = outgoing.payload();
        let mut state = self.0.state();
        let is_alive = !outgoing.is_heartbeat() || self.0.is_patient || self.is_alive(&mut state);
        // One message always fits: its size has a limit of its own.
        let has_room = state.bytes == 0 || state.bytes + payload <= BYTES;
        if !is_alive || !has_room || state.waiting.len() >= self.0.most || state.end.is_some() {
            drop(state);
            self.0.end(End::Cut);
            return Err(Full);
        }
        if matches!(outgoing, Outgoing::Ping) && !state.waiting.is_empty() {
            // What waits before it proves as much.
            return Ok(());
        }
        state.bytes += payload;
        state.waiting.push_back(outgoing);
        let reader = state.reader.take();
        drop(state);
        if let Some(reader) = reader {
            reader.wake();
        }
        Ok(())
    }

    /// Looked at with each heartbeat.
    fn is_alive(&self, state: &mut State) -> bool {
        let count = |seen: &AtomicBool, missed: u8| match seen.swap(false, Ordering::Relaxed) {
            true => 0,
            false => missed.saturating_add(1),
        };
        state.silent = count(&self.0.heard, state.silent);
        state.stuck = match state.waiting.is_empty() {
            true => 0,
            false => count(&self.0.taken, state.stuck),
        };
        state.silent.max(state.stuck) < SILENT_HEARTBEATS
    }
}

impl Drop for PageLine {
    fn drop(&mut self) {
        self.0.end(End::LetGo);
    }
}

impl Outbox {
    /// The next, if one waits.
    pub(crate) fn waiting(&mut self) -> Option<Outgoing> {
        self.0.state().take()
    }

    /// The next thing to do; `None` when the connection was cut, or the hub has let go of it.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Outgoing>> {
        let mut state = self.0.state();
        if state.end == Some(End::Cut) {
            return Poll::Ready(None);
        }
        if let Some(outgoing) = state.take() {
            self.taken();
            return Poll::Ready(Some(outgoing));
        }
        if state.end.is_some() {
            return Poll::Ready(None);
        }
        state.wake_with(cx.waker());
        Poll::Pending
    }

    /// Ready when the connection was cut. [`Outbox::poll_next`] says so too.
    pub(crate) fn poll_cut(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.0.state();
        if state.end == Some(End::Cut) {
            return Poll::Ready(());
        }
        state.wake_with(cx.waker());
        Poll::Pending
    }

    /// The peer took something of what was handed out.
    pub(crate) fn taken(&self) {
        self.0.taken.store(true, Ordering::Relaxed);
    }

    /// Something came from the peer.
    pub(crate) fn heard(&self) {
        self.0.heard.store(true, Ordering::Relaxed);
    }

    /// The next thing to do.
    #[cfg(test)]
    pub(crate) async fn next(&mut self) -> Option<Outgoing> {
        std::future::poll_fn(|cx| self.poll_next(cx)).await
    }
}

#[cfg(test)]
mod tests {
    use bridge_protocol::{CallId, CallsAlive, Subscriptions, ToolCall, Unregistered};

    use super::*;

    fn call(bytes: usize) -> Outgoing {
        let input = format!("\"{}\"", "x".repeat(bytes - 2));
        Outgoing::Message(BridgeToPage::ToolCall(ToolCall {
            request_id: "c".into(),
            tool_name: "t".to_owned(),
            tool_input: RawValue::from_string(input).unwrap(),
            context: Box::default(),
        }))
    }

    fn is_cut(outbox: &mut Outbox) -> bool {
        let mut cx = Context::from_waker(Waker::noop());
        outbox.poll_cut(&mut cx).is_ready()
    }

    #[tokio::test]
    async fn what_waits_is_bounded_in_bytes() {
        let (line, mut outbox) = channel(256, Dialect::V2);
        for _ in 0..2 {
            line.put(call(BYTES / 2)).unwrap();
        }
        // What is read makes room.
        outbox.next().await.unwrap();
        line.put(call(BYTES / 2)).unwrap();
        assert!(!is_cut(&mut outbox));
        line.put(call(2)).unwrap_err();
        assert!(is_cut(&mut outbox));
        let (line, _outbox) = channel(256, Dialect::V2);
        line.put(call(BYTES + 1)).unwrap();
    }

    #[tokio::test]
    async fn what_pages_and_clients_have_named_counts() {
        let ended = vec![CallId::from("x"); BYTES / BYTES_PER_NAME];
        let alive = CallsAlive {
            request_ids: Vec::new(),
            ended,
        };
        let wanted = Subscriptions {
            uris: vec!["x".repeat(BYTES)],
        };
        let gone = Unregistered {
            registration_id: "x".repeat(BYTES).as_str().into(),
            items: Vec::new(),
        };
        for told in [
            BridgeToPage::CallsAlive(alive),
            BridgeToPage::Subscriptions(wanted),
            BridgeToPage::Unregistered(gone),
        ] {
            let (line, mut outbox) = channel(256, Dialect::V2);
            line.put(Outgoing::Message(told.clone())).unwrap();
            line.put(Outgoing::Message(told)).unwrap_err();
            assert!(is_cut(&mut outbox));
        }
    }

    #[tokio::test]
    async fn what_waits_is_bounded_in_number() {
        let (line, mut outbox) = channel(1, Dialect::V2);
        for _ in 0..MESSAGES + MESSAGES_PER_CALL {
            line.put(call(2)).unwrap();
        }
        line.put(call(2)).unwrap_err();
        assert!(is_cut(&mut outbox));
    }

    /// So many pings in a row that the connection is not cut by; at most ten.
    async fn pings(dialect: Dialect, between: impl AsyncFn(&mut Outbox)) -> usize {
        let (line, mut outbox) = channel(1, dialect);
        for n in 0..10 {
            if line.put(Outgoing::Ping).is_err() {
                assert!(is_cut(&mut outbox));
                return n;
            }
            between(&mut outbox).await;
        }
        10
    }

    async fn sent(outbox: &mut Outbox) {
        assert!(matches!(outbox.next().await, Some(Outgoing::Ping)));
    }

    #[tokio::test]
    async fn a_peer_that_is_silent_for_three_heartbeats_is_cut_but_for_v1() {
        let silent = async |outbox: &mut Outbox| sent(outbox).await;
        // The first looks back at the time before it.
        assert_eq!(pings(Dialect::V2, silent).await, 3);
        assert_eq!(pings(Dialect::V1, silent).await, 10);
        let answers = async |outbox: &mut Outbox| {
            sent(outbox).await;
            outbox.heard();
        };
        assert_eq!(pings(Dialect::V2, answers).await, 10);
    }

    #[tokio::test]
    async fn a_peer_that_speaks_and_does_not_read_is_cut() {
        let speaks = async |outbox: &mut Outbox| outbox.heard();
        // What waits first, and what waits behind it.
        assert_eq!(pings(Dialect::V2, speaks).await, 4);
    }

    #[tokio::test]
    async fn what_was_put_before_the_hub_let_go_is_still_sent() {
        let (line, mut outbox) = channel(1, Dialect::V2);
        line.put(call(2)).unwrap();
        drop(line);
        assert!(!is_cut(&mut outbox));
        assert!(outbox.next().await.is_some());
        assert!(outbox.next().await.is_none());
    }
}
