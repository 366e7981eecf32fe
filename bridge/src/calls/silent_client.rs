//! Clients that receive only the result: no events and no requests that they could answer.

use bridge_protocol::{ClientError, ClientRequest, ClientResponse, ErrorCode};
use futures_util::future::BoxFuture;

use super::client_channel::ClientChannel;
use bridge_realm::realm::CallerEvent;

/// A client that answers every request with an error that has this message.
pub(crate) struct SilentClient(pub(crate) &'static str);

/// The client of a call that continues in the background.
pub(crate) static DETACHED_CLIENT: SilentClient = SilentClient(
    "the client behind this call has gone on without waiting, and will come for the result: it \
     cannot be asked. Ask before the work that takes long",
);

impl ClientChannel for SilentClient {
    fn notify(&self, _: CallerEvent) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    fn request(&self, request: ClientRequest) -> BoxFuture<'_, ClientResponse> {
        Box::pin(std::future::ready(self.error_response(request.key)))
    }

    fn uses_input_required(&self) -> bool {
        false
    }
}

impl SilentClient {
    /// Returns the error response to a request of a page.
    pub(super) fn error_response(&self, key: String) -> ClientResponse {
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
