//! Clients that hear the result and nothing else: nobody can ask them.

use bridge_protocol::{ClientError, ClientRequest, ClientResponse, ErrorCode};
use futures_util::future::BoxFuture;

use super::attend::Client;
use crate::realm::CallEvent;

/// A client that cannot be asked, for this reason.
pub(crate) struct Unreachable(pub(crate) &'static str);

/// The client of a call whose caller has left.
pub(crate) static NOBODY: Unreachable = Unreachable(
    "the client behind this call has gone on without waiting, and will come for the result: it \
     cannot be asked. Ask before the work that takes long",
);

impl Client for Unreachable {
    fn notify(&self, _: CallEvent) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    fn ask(&self, request: ClientRequest) -> BoxFuture<'_, ClientResponse> {
        Box::pin(std::future::ready(self.refusal(request.key)))
    }

    fn answers_in_rounds(&self) -> bool {
        false
    }
}

impl Unreachable {
    /// What a handler hears that asks.
    pub(super) fn refusal(&self, key: String) -> ClientResponse {
        let error = ClientError {
            code: ErrorCode::ClientCapabilityMissing,
            message: self.0.to_owned(),
            data: None,
        };
        ClientResponse {
            key,
            result: None,
            error: Some(error),
        }
    }
}
