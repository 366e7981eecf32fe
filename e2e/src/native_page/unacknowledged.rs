//! The answers that the bridge may not have taken: kept until it says that it has.

use std::collections::VecDeque;

use bridge_protocol::CallId;

const MAX_KEPT: usize = 64;
const MAX_KEPT_BYTES: usize = 32 * 1024 * 1024;

/// Answers in the order in which they were sent.
#[derive(Default)]
pub(super) struct UnacknowledgedResponses {
    responses: VecDeque<UnacknowledgedResponse>,
    /// Answers sent on this connection.
    sent: u64,
}

struct UnacknowledgedResponse {
    call: CallId,
    text: String,
    /// Which one it was on this connection; 0 before it is sent there.
    number: u64,
}

impl UnacknowledgedResponses {
    /// An answer is sent now, or will be when the page is connected again.
    pub(super) fn push(&mut self, call: CallId, text: String) {
        self.sent += 1;
        let number = self.sent;
        self.responses
            .push_back(UnacknowledgedResponse { call, text, number });
        while self.responses.len() > MAX_KEPT || self.bytes() > MAX_KEPT_BYTES {
            self.responses.pop_front();
        }
    }

    /// The bridge has taken so many on this connection.
    pub(super) fn acknowledge(&mut self, answers: u64) {
        self.responses.retain(|kept| kept.number > answers);
    }

    /// A new connection: those that are still awaited, to be sent again.
    pub(super) fn start_connection(&mut self, awaited: &[CallId]) -> Vec<(CallId, String)> {
        let kept = std::mem::take(self).responses.into_iter();
        let wanted = kept.filter(|kept| awaited.contains(&kept.call));
        wanted.map(|kept| (kept.call, kept.text)).collect()
    }

    fn bytes(&self) -> usize {
        self.responses.iter().map(|kept| kept.text.len()).sum()
    }
}
