//! What the page of a query hears of it, and how much of that it has heard.

use std::collections::VecDeque;

use bridge_protocol::{
    BridgeToPage, QueryAccepted, QueryContent, QueryId, QueryProgress, QueryToolCall,
};
use serde_json::value::RawValue;

/// Progress of a query that is kept: what its page has not heard, because the agent has not accepted
/// or the page is away, and what another document of the page may want to hear again. In bytes; of
/// more the oldest is dropped: the newest says most.
const KEPT_BYTES: usize = 256 * 1024;

/// What one piece takes beside its text.
const PIECE_BYTES: usize = 64;

/// Takes the place of progress that is not kept any more.
const DROPPED: &str = "earlier progress of this query is not kept any more";

/// Whether the page knows that the agent has accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Acceptance {
    #[default]
    Awaited,
    Untold,
    Told,
}

/// See the module documentation. Accepted, progress, one last word: in this order.
#[derive(Debug)]
pub(in crate::realm) struct Hearing {
    /// What has been told is kept for another document.
    keeps: bool,
    acceptance: Acceptance,
    progress: VecDeque<Box<RawValue>>,
    bytes: usize,
    /// How many pieces of progress there were: the number of the last.
    count: u64,
    /// The number of the last that was told.
    told: u64,
    last: Option<BridgeToPage>,
    last_told: bool,
}

impl Hearing {
    pub(in crate::realm) fn new(keeps: bool) -> Self {
        Self {
            keeps,
            acceptance: Acceptance::default(),
            progress: VecDeque::new(),
            bytes: 0,
            count: 0,
            told: 0,
            last: None,
            last_told: false,
        }
    }

    pub(in crate::realm) fn keeps(&self) -> bool {
        self.keeps
    }

    /// From now on the page may hear what the agent reports.
    pub(in crate::realm) fn accepted(&mut self) {
        if self.acceptance == Acceptance::Awaited {
            self.acceptance = Acceptance::Untold;
        }
    }

    pub(in crate::realm) fn is_accepted(&self) -> bool {
        self.acceptance != Acceptance::Awaited
    }

    pub(in crate::realm) fn progressed(&mut self, content: Box<RawValue>) {
        self.count += 1;
        self.bytes += size(&content);
        self.progress.push_back(content);
        while self.bytes > KEPT_BYTES {
            let Some(dropped) = self.progress.pop_front() else {
                return;
            };
            self.bytes -= size(&dropped);
        }
    }

    /// The last word; none where the page wants none.
    pub(in crate::realm) fn ended(&mut self, last: Option<BridgeToPage>) {
        if last.is_none() || !self.is_accepted() {
            *self = Self::new(self.keeps && last.is_some());
        }
        self.bytes += last.as_ref().map_or(0, length_of_end);
        self.last = last;
    }

    /// What is left to tell, in order. From now on it has been told.
    pub(in crate::realm) fn take_untold(&mut self, id: &QueryId) -> Vec<BridgeToPage> {
        let mut untold = Vec::new();
        if self.is_accepted() {
            if self.acceptance == Acceptance::Untold {
                let uuid = id.clone();
                untold.push(BridgeToPage::QueryAccepted(QueryAccepted { uuid }));
            }
            self.acceptance = Acceptance::Told;
            self.tell_progress(id, &mut untold);
        }
        if !std::mem::replace(&mut self.last_told, self.last.is_some()) {
            untold.extend(self.last.clone());
        }
        if !self.keeps {
            self.forget_told();
        }
        untold
    }

    fn tell_progress(&mut self, id: &QueryId, untold: &mut Vec<BridgeToPage>) {
        let first = self.count + 1 - self.progress.len() as u64;
        let progress = |number, content| {
            BridgeToPage::QueryProgress(QueryProgress {
                uuid: id.clone(),
                number,
                content,
            })
        };
        if self.told + 1 < first {
            let text = DROPPED.to_owned();
            untold.push(progress(None, QueryContent::Note { text }.to_raw()));
        }
        let numbered = (first..).zip(&self.progress);
        let new = numbered.filter(|(number, _)| *number > self.told);
        untold.extend(new.map(|(number, content)| progress(Some(number), content.clone())));
        self.told = self.count;
    }

    /// Another document hears all that is kept.
    pub(in crate::realm) fn again(&mut self) {
        if self.acceptance == Acceptance::Told {
            self.acceptance = Acceptance::Untold;
        }
        self.told = 0;
        self.last_told = false;
    }

    /// Nobody wants to hear again what was told.
    pub(in crate::realm) fn forget_told(&mut self) {
        self.keeps = false;
        let untold = usize::try_from(self.count - self.told).unwrap_or(usize::MAX);
        let told = self.progress.len().saturating_sub(untold);
        for dropped in self.progress.drain(..told) {
            self.bytes -= size(&dropped);
        }
        if self.last_told {
            self.bytes -= self.last.take().as_ref().map_or(0, length_of_end);
        }
    }

    /// Nobody wants to hear anything.
    pub(in crate::realm) fn forget(&mut self) {
        *self = Self::new(false);
    }

    /// Whether there is a last word.
    pub(in crate::realm) fn has_end(&self) -> bool {
        self.last.is_some()
    }

    /// What it takes.
    pub(in crate::realm) fn bytes(&self) -> usize {
        self.bytes
    }
}

fn size(content: &RawValue) -> usize {
    content.get().len() + PIECE_BYTES
}

/// How long the last word of a query is, in bytes.
fn length_of_end(message: &BridgeToPage) -> usize {
    let raw = |raw: &Option<Box<RawValue>>| raw.as_ref().map_or(0, |raw| raw.get().len());
    match message {
        BridgeToPage::QueryComplete(told) => {
            let call = |it: &QueryToolCall| {
                it.tool.len() + it.arguments.get().len() + raw(&it.result) + PIECE_BYTES
            };
            raw(&told.result) + told.tool_calls.iter().map(call).sum::<usize>()
        }
        BridgeToPage::QueryFailure(told) => told.error.len(),
        BridgeToPage::QueryCancel(told) => told.reason.as_ref().map_or(0, String::len),
        _ => 0,
    }
}
