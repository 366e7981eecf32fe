//! What a call comes to: a result, or what its client must answer first.

use bridge_protocol::{CallId, ClientRequest};

/// A round of a call that waits for its client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ResumeToken {
    pub(crate) call: CallId,
    pub(crate) round: u64,
}

/// What a client hears.
#[derive(Debug)]
pub(crate) enum RoundOutcome<T> {
    Complete(T),
    /// It must answer these and ask again with the ticket.
    InputRequired {
        resume_token: ResumeToken,
        requests: Vec<ClientRequest>,
    },
}

impl<T> From<T> for RoundOutcome<T> {
    fn from(done: T) -> Self {
        RoundOutcome::Complete(done)
    }
}
