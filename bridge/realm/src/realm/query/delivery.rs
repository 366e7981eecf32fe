//! What the page of a query hears of it, and how much of that it has heard.

use std::collections::VecDeque;

use bridge_protocol::{
    BridgeToPage, QueryAccepted, QueryContent, QueryId, QueryProgress, QueryToolCall,
};
use serde_json::value::RawValue;

/// Progress of a query that is kept: what its page has not heard, because the agent has not accepted
/// or the page is away, and what another document of the page may want to hear again. In bytes; of
/// more the oldest is dropped: the newest says most.
const MAX_PROGRESS_BYTES: usize = 256 * 1024;

/// What one piece takes beside its text.
const ENTRY_OVERHEAD_BYTES: usize = 64;

/// Takes the place of progress that is not kept any more.
const DROPPED_NOTE: &str = "earlier progress of this query is not kept any more";

/// Whether the page knows that the agent has accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum AcceptanceState {
    #[default]
    Awaited,
    Undelivered,
    Delivered,
}

/// See the module documentation. Accepted, progress, one last word: in this order.
#[derive(Debug)]
pub(in crate::realm) struct QueryDelivery {
    /// What has been told is kept for another document.
    is_replayable: bool,
    acceptance: AcceptanceState,
    progress: VecDeque<Box<RawValue>>,
    bytes: usize,
    /// How many pieces of progress there were: the number of the last.
    progress_count: u64,
    /// The number of the last that was told.
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

    pub(in crate::realm) fn is_replayable(&self) -> bool {
        self.is_replayable
    }

    /// From now on the page may hear what the agent reports.
    pub(in crate::realm) fn mark_accepted(&mut self) {
        if self.acceptance == AcceptanceState::Awaited {
            self.acceptance = AcceptanceState::Undelivered;
        }
    }

    pub(in crate::realm) fn is_accepted(&self) -> bool {
        self.acceptance != AcceptanceState::Awaited
    }

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

    /// The last word; none where the page wants none.
    pub(in crate::realm) fn finish(&mut self, last: Option<BridgeToPage>) {
        if last.is_none() || !self.is_accepted() {
            *self = Self::new(self.is_replayable && last.is_some());
        }
        self.bytes += last.as_ref().map_or(0, final_message_bytes);
        self.final_message = last;
    }

    /// What is left to tell, in order. From now on it has been told.
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

    /// Another document hears all that is kept.
    pub(in crate::realm) fn rewind(&mut self) {
        if self.acceptance == AcceptanceState::Delivered {
            self.acceptance = AcceptanceState::Undelivered;
        }
        self.delivered_count = 0;
        self.final_message_delivered = false;
    }

    /// Nobody wants to hear again what was told.
    pub(in crate::realm) fn drop_delivered(&mut self) {
        self.is_replayable = false;
        let untold =
            usize::try_from(self.progress_count - self.delivered_count).unwrap_or(usize::MAX);
        let told = self.progress.len().saturating_sub(untold);
        for dropped in self.progress.drain(..told) {
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

    /// Nobody wants to hear anything.
    pub(in crate::realm) fn clear(&mut self) {
        *self = Self::new(false);
    }

    /// Whether there is a last word.
    pub(in crate::realm) fn has_final_message(&self) -> bool {
        self.final_message.is_some()
    }

    /// What it takes.
    pub(in crate::realm) fn bytes(&self) -> usize {
        self.bytes
    }
}

fn progress_bytes(content: &RawValue) -> usize {
    content.get().len() + ENTRY_OVERHEAD_BYTES
}

/// How long the last word of a query is, in bytes.
fn final_message_bytes(message: &BridgeToPage) -> usize {
    let raw = |raw: &Option<Box<RawValue>>| raw.as_ref().map_or(0, |raw| raw.get().len());
    match message {
        BridgeToPage::QueryComplete(told) => {
            let call = |it: &QueryToolCall| {
                it.tool.len() + it.arguments.get().len() + raw(&it.result) + ENTRY_OVERHEAD_BYTES
            };
            raw(&told.result) + told.tool_calls.iter().map(call).sum::<usize>()
        }
        BridgeToPage::QueryFailure(told) => told.error.len(),
        BridgeToPage::QueryCancel(told) => told.reason.as_ref().map_or(0, String::len),
        _ => 0,
    }
}
