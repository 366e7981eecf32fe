//! The outcome of a call: a result, or requests that the client must answer first.

use bridge_protocol::{CallId, ClientRequest};

/// Identifies a call that waits for input from its client, and its current round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ResumeToken {
    pub(crate) call: CallId,
    pub(crate) round: u64,
}

/// The outcome of one round of a call.
#[derive(Debug)]
pub(crate) enum RoundOutcome<T> {
    Complete(T),
    /// The client must answer these requests and repeat the call with the token.
    InputRequired {
        resume_token: ResumeToken,
        requests: Vec<ClientRequest>,
    },
}

impl<T> From<T> for RoundOutcome<T> {
    fn from(result: T) -> Self {
        RoundOutcome::Complete(result)
    }
}
