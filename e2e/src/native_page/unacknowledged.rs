//! Answers that the bridge has not acknowledged yet.

use std::collections::VecDeque;

use bridge_protocol::CallId;

const MAX_KEPT: usize = 64;
const MAX_KEPT_BYTES: usize = 32 * 1024 * 1024;

/// The answers, in the order in which they were sent.
#[derive(Default)]
pub(super) struct UnacknowledgedResponses {
    responses: VecDeque<UnacknowledgedResponse>,
    /// How many answers were sent on this connection.
    sent: u64,
}

struct UnacknowledgedResponse {
    call: CallId,
    text: String,
    /// The number of the answer on this connection, from 1.
    number: u64,
}

impl UnacknowledgedResponses {
    /// Adds an answer that is sent now, or when the page is connected again.
    pub(super) fn push(&mut self, call: CallId, text: String) {
        self.sent += 1;
        let number = self.sent;
        self.responses
            .push_back(UnacknowledgedResponse { call, text, number });
        while self.responses.len() > MAX_KEPT || self.bytes() > MAX_KEPT_BYTES {
            self.responses.pop_front();
        }
    }

    /// Removes the first `answers` answers of this connection, which the bridge has received.
    pub(super) fn acknowledge(&mut self, answers: u64) {
        self.responses.retain(|response| response.number > answers);
    }

    /// Starts a new connection, and returns the answers that are awaited and must be sent again.
    pub(super) fn start_connection(&mut self, awaited: &[CallId]) -> Vec<(CallId, String)> {
        let responses = std::mem::take(self).responses.into_iter();
        let awaited = responses.filter(|response| awaited.contains(&response.call));
        awaited
            .map(|response| (response.call, response.text))
            .collect()
    }

    fn bytes(&self) -> usize {
        let texts = self.responses.iter().map(|response| &response.text);
        texts.map(String::len).sum()
    }
}
