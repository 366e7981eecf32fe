//! The client of a call whose caller has left: it hears nothing, and cannot be asked.

use bridge_protocol::{ClientError, ClientRequest, ClientResponse, ErrorCode};
use futures_util::future::BoxFuture;

use super::attend::Client;
use crate::realm::CallEvent;

pub(crate) struct Nobody;

impl Client for Nobody {
    fn notify(&self, _: CallEvent) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    fn ask(&self, request: ClientRequest) -> BoxFuture<'_, ClientResponse> {
        Box::pin(std::future::ready(cannot_be_asked(request.key)))
    }

    fn answers_in_rounds(&self) -> bool {
        false
    }
}

/// What a handler hears that asks.
pub(super) fn cannot_be_asked(key: String) -> ClientResponse {
    let error = ClientError {
        code: ErrorCode::ClientCapabilityMissing,
        message: "the client behind this call has gone on without waiting, and will come for the \
                  result: it cannot be asked. Ask before the work that takes long"
            .to_owned(),
        data: None,
    };
    ClientResponse {
        key,
        result: None,
        error: Some(error),
    }
}
