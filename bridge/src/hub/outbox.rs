//! What waits for a page to read it. A page that lets it pile up does not read: its connection is cut,
//! and it may come back within the grace.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bridge_protocol::{BridgeToPage, CloseCode};
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

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

/// What a connection's task has to do, in order.
#[derive(Debug)]
pub(crate) enum Outgoing {
    Message(BridgeToPage),
    Close {
        code: CloseCode,
        reason: &'static str,
    },
}

impl Outgoing {
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

/// The receiving end of a connection's outbox.
#[derive(Debug)]
pub(crate) struct Outbox {
    messages: mpsc::Receiver<Outgoing>,
    bytes: Arc<AtomicUsize>,
    /// Cancelled when the page let its messages pile up: nothing more will come.
    pub(crate) cut: CancellationToken,
}

/// The sending end.
#[derive(Debug)]
pub(super) struct PageLine {
    messages: mpsc::Sender<Outgoing>,
    bytes: Arc<AtomicUsize>,
    cut: CancellationToken,
}

/// The page does not read; its connection has been cut.
#[derive(Debug)]
pub(super) struct Full;

pub(super) fn channel(max_calls: usize) -> (PageLine, Outbox) {
    let (sender, receiver) = mpsc::channel(MESSAGES + MESSAGES_PER_CALL * max_calls);
    let bytes = Arc::new(AtomicUsize::new(0));
    let cut = CancellationToken::new();
    let line = PageLine {
        messages: sender,
        bytes: Arc::clone(&bytes),
        cut: cut.clone(),
    };
    let outbox = Outbox {
        messages: receiver,
        bytes,
        cut,
    };
    (line, outbox)
}

impl PageLine {
    pub(super) fn put(&self, outgoing: Outgoing) -> Result<(), Full> {
        let payload = outgoing.payload();
        let waiting = self.bytes.fetch_add(payload, Ordering::Relaxed);
        // One message always fits: its size has a limit of its own.
        let has_room = waiting == 0 || waiting + payload <= BYTES;
        if has_room && self.messages.try_send(outgoing).is_ok() {
            return Ok(());
        }
        self.cut.cancel();
        Err(Full)
    }
}

impl Outbox {
    /// The next, if one waits.
    pub(crate) fn waiting(&mut self) -> Option<Outgoing> {
        let outgoing = self.messages.try_recv().ok()?;
        self.bytes.fetch_sub(outgoing.payload(), Ordering::Relaxed);
        Some(outgoing)
    }

    /// The next; `None` when the hub has let go of the connection.
    pub(crate) async fn next(&mut self) -> Option<Outgoing> {
        let outgoing = self.messages.recv().await?;
        self.bytes.fetch_sub(outgoing.payload(), Ordering::Relaxed);
        Some(outgoing)
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

    #[tokio::test]
    async fn what_waits_is_bounded_in_bytes() {
        let (line, mut outbox) = channel(256);
        for _ in 0..2 {
            line.put(call(BYTES / 2)).unwrap();
        }
        // What is read makes room.
        outbox.next().await.unwrap();
        line.put(call(BYTES / 2)).unwrap();
        assert!(!outbox.cut.is_cancelled());
        line.put(call(2)).unwrap_err();
        assert!(outbox.cut.is_cancelled());
        let (line, _outbox) = channel(256);
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
            let (line, outbox) = channel(256);
            line.put(Outgoing::Message(told.clone())).unwrap();
            line.put(Outgoing::Message(told)).unwrap_err();
            assert!(outbox.cut.is_cancelled());
        }
    }

    #[tokio::test]
    async fn what_waits_is_bounded_in_number() {
        let (line, outbox) = channel(1);
        for _ in 0..MESSAGES + MESSAGES_PER_CALL {
            line.put(call(2)).unwrap();
        }
        line.put(call(2)).unwrap_err();
        assert!(outbox.cut.is_cancelled());
    }
}
