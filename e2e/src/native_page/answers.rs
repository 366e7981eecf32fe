//! The answers that the bridge may not have taken: kept until it says that it has.

use std::collections::VecDeque;

use bridge_protocol::CallId;

const MOST: usize = 64;
const MOST_BYTES: usize = 32 * 1024 * 1024;

/// Answers in the order in which they were sent.
#[derive(Default)]
pub(super) struct Answers {
    kept: VecDeque<Kept>,
    /// Answers sent on this connection.
    sent: u64,
}

struct Kept {
    call: CallId,
    text: String,
    /// Which one it was on this connection; 0 before it is sent there.
    number: u64,
}

impl Answers {
    /// An answer is sent now, or will be when the page is connected again.
    pub(super) fn keep(&mut self, call: CallId, text: String) {
        self.sent += 1;
        let number = self.sent;
        self.kept.push_back(Kept { call, text, number });
        while self.kept.len() > MOST || self.bytes() > MOST_BYTES {
            self.kept.pop_front();
        }
    }

    /// The bridge has taken so many on this connection.
    pub(super) fn taken(&mut self, answers: u64) {
        self.kept.retain(|kept| kept.number > answers);
    }

    /// A new connection: those that are still awaited, to be sent again.
    pub(super) fn begin_again(&mut self, awaited: &[CallId]) -> Vec<(CallId, String)> {
        let kept = std::mem::take(self).kept.into_iter();
        let wanted = kept.filter(|kept| awaited.contains(&kept.call));
        wanted.map(|kept| (kept.call, kept.text)).collect()
    }

    fn bytes(&self) -> usize {
        self.kept.iter().map(|kept| kept.text.len()).sum()
    }
}
