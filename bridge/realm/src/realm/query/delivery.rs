//! The messages of a query for its page, and how many of them were delivered.

use std::collections::VecDeque;

use bridge_protocol::{
    BridgeToPage, QueryAccepted, QueryContent, QueryId, QueryProgress, QueryToolCall,
};
use serde_json::value::RawValue;

/// The maximum size in bytes of the stored progress of a query: progress that is undelivered
/// because the agent has not accepted or the page is disconnected, and progress that another
/// document may request again. When it is exceeded, the oldest progress is dropped, because the
/// newest is the most useful.
const MAX_PROGRESS_BYTES: usize = 256 * 1024;

/// The memory that one entry needs in addition to its text.
const ENTRY_OVERHEAD_BYTES: usize = 64;

/// The text of the message that is sent in place of dropped progress.
const DROPPED_NOTE: &str = "earlier progress of this query is not kept any more";

/// Whether the agent has accepted the query, and whether the page was notified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum AcceptanceState {
    #[default]
    Awaited,
    Undelivered,
    Delivered,
}

/// The messages of a query, which are sent in this order: acceptance, progress, one final message.
#[derive(Debug)]
pub(in crate::realm) struct QueryDelivery {
    /// Whether delivered messages remain stored for another document.
    is_replayable: bool,
    acceptance: AcceptanceState,
    progress: VecDeque<Box<RawValue>>,
    bytes: usize,
    /// The total number of progress entries, which is also the number of the latest one.
    progress_count: u64,
    /// The number of the latest entry that was delivered.
    delivered_count: u64,
    final_message: Option<BridgeToPage>,
    final_message_delivered: bool,
}

impl QueryDelivery {
    pub(in crate::realm) fn new(is_replayable: bool) -> Self {
        Self {
            is_replayable,
            acceptance: AcceptanceState::default(),
            progress: VecDeque::new(),
            bytes: 0,
            progress_count: 0,
            delivered_count: 0,
            final_message: None,
            final_message_delivered: false,
        }
    }

    /// Whether delivered messages remain stored for another document.
    pub(in crate::realm) fn is_replayable(&self) -> bool {
        self.is_replayable
    }

    /// Records that the agent has accepted the query, so that its reports may be delivered.
    pub(in crate::realm) fn mark_accepted(&mut self) {
        if self.acceptance == AcceptanceState::Awaited {
            self.acceptance = AcceptanceState::Undelivered;
        }
    }

    /// Whether the agent has accepted the query.
    pub(in crate::realm) fn is_accepted(&self) -> bool {
        self.acceptance != AcceptanceState::Awaited
    }

    /// Stores a progress entry, and drops the oldest ones if the maximum size is exceeded.
    pub(in crate::realm) fn push_progress(&mut self, content: Box<RawValue>) {
        self.progress_count += 1;
        self.bytes += progress_bytes(&content);
        self.progress.push_back(content);
        while self.bytes > MAX_PROGRESS_BYTES {
            let Some(dropped) = self.progress.pop_front() else {
                return;
            };
            self.bytes -= progress_bytes(&dropped);
        }
    }

    /// The number of the latest progress entry.
    pub(in crate::realm) fn progress_count(&self) -> u64 {
        self.progress_count
    }

    /// Replaces a progress entry that is stored.
    pub(in crate::realm) fn update_progress(
        &mut self,
        number: u64,
        update: impl FnOnce(&RawValue) -> Option<Box<RawValue>>,
    ) {
        let first = self.progress_count + 1 - self.progress.len() as u64;
        let index = number.checked_sub(first);
        let index = index.and_then(|index| usize::try_from(index).ok());
        let Some(content) = index.and_then(|index| self.progress.get_mut(index)) else {
            return;
        };
        if let Some(updated) = update(content) {
            self.bytes = self.bytes + progress_bytes(&updated) - progress_bytes(content);
            *content = updated;
        }
    }

    /// Sets the final message; `None` if the page expects none.
    pub(in crate::realm) fn finish(&mut self, final_message: Option<BridgeToPage>) {
        if final_message.is_none() || !self.is_accepted() {
            *self = Self::new(self.is_replayable && final_message.is_some());
        }
        self.bytes += final_message.as_ref().map_or(0, final_message_bytes);
        self.final_message = final_message;
    }

    /// Returns the undelivered messages in order and marks them as delivered.
    pub(in crate::realm) fn take_undelivered(&mut self, id: &QueryId) -> Vec<BridgeToPage> {
        let mut messages = Vec::new();
        if self.is_accepted() {
            if self.acceptance == AcceptanceState::Undelivered {
                let uuid = id.clone();
                messages.push(BridgeToPage::QueryAccepted(QueryAccepted { uuid }));
            }
            self.acceptance = AcceptanceState::Delivered;
            self.push_undelivered_progress(id, &mut messages);
        }
        if !std::mem::replace(
            &mut self.final_message_delivered,
            self.final_message.is_some(),
        ) {
            messages.extend(self.final_message.clone());
        }
        if !self.is_replayable {
            self.drop_delivered();
        }
        messages
    }

    fn push_undelivered_progress(&mut self, id: &QueryId, messages: &mut Vec<BridgeToPage>) {
        let first = self.progress_count + 1 - self.progress.len() as u64;
        let progress = |number, content| {
            BridgeToPage::QueryProgress(QueryProgress {
                uuid: id.clone(),
                number,
                content,
            })
        };
        if self.delivered_count + 1 < first {
            let text = DROPPED_NOTE.to_owned();
            messages.push(progress(None, QueryContent::Note { text }.to_raw()));
        }
        let numbered = (first..).zip(&self.progress);
        let new = numbered.filter(|(number, _)| *number > self.delivered_count);
        messages.extend(new.map(|(number, content)| progress(Some(number), content.clone())));
        self.delivered_count = self.progress_count;
    }

    /// Marks all stored messages as undelivered, for another document.
    pub(in crate::realm) fn rewind(&mut self) {
        if self.acceptance == AcceptanceState::Delivered {
            self.acceptance = AcceptanceState::Undelivered;
        }
        self.delivered_count = 0;
        self.final_message_delivered = false;
    }

    /// Drops delivered messages, because no other document can request them.
    pub(in crate::realm) fn drop_delivered(&mut self) {
        self.is_replayable = false;
        let undelivered =
            usize::try_from(self.progress_count - self.delivered_count).unwrap_or(usize::MAX);
        let delivered = self.progress.len().saturating_sub(undelivered);
        for dropped in self.progress.drain(..delivered) {
            self.bytes -= progress_bytes(&dropped);
        }
        if self.final_message_delivered {
            self.bytes -= self
                .final_message
                .take()
                .as_ref()
                .map_or(0, final_message_bytes);
        }
    }

    /// Drops all messages.
    pub(in crate::realm) fn clear(&mut self) {
        *self = Self::new(false);
    }

    /// Whether there is a final message.
    pub(in crate::realm) fn has_final_message(&self) -> bool {
        self.final_message.is_some()
    }

    /// The memory that the messages need, in bytes.
    pub(in crate::realm) fn bytes(&self) -> usize {
        self.bytes
    }
}

fn progress_bytes(content: &RawValue) -> usize {
    content.get().len() + ENTRY_OVERHEAD_BYTES
}

/// The size of the final message of a query in bytes.
fn final_message_bytes(final_message: &BridgeToPage) -> usize {
    let raw = |raw: &Option<Box<RawValue>>| raw.as_ref().map_or(0, |raw| raw.get().len());
    match final_message {
        BridgeToPage::QueryComplete(message) => {
            let call = |it: &QueryToolCall| {
                let source = it.source.as_ref().map_or(0, String::len);
                let texts = it.tool.len() + source + it.arguments.get().len();
                texts + raw(&it.result) + ENTRY_OVERHEAD_BYTES
            };
            raw(&message.result)
                + raw(&message.usage)
                + message.tool_calls.iter().map(call).sum::<usize>()
        }
        BridgeToPage::QueryFailure(failure) => failure.error.len(),
        BridgeToPage::QueryCancel(cancel) => cancel.reason.as_ref().map_or(0, String::len),
        _ => 0,
    }
}
