//! rmcp encodes a response where its future is polled, which is on a thread that serves sockets. While
//! a large response is encoded, another thread serves the other sockets.

use std::sync::{Arc, OnceLock};

use http::request::Parts;
use rmcp::RoleServer;
use rmcp::service::RequestContext;

use crate::budget::{AnswerLease, is_multi_threaded};

/// Marks a request whose response is large, with the lease on the bytes that its client has not read.
#[derive(Clone, Debug, Default)]
pub(super) struct LargeBodyHint(Arc<OnceLock<AnswerLease>>);

impl LargeBodyHint {
    /// Marks the response to this request as large.
    pub(super) fn set(context: &RequestContext<RoleServer>, lease: AnswerLease) {
        let parts = context.extensions.get::<Parts>();
        if let Some(hint) = parts.and_then(|parts| parts.extensions.get::<Self>()) {
            let _ = hint.0.set(lease);
        }
    }

    pub(super) fn is_set(&self) -> bool {
        self.0.get().is_some()
    }

    /// Returns the lease on the bytes of the response, if it is large.
    pub(super) fn lease(&self) -> Option<AnswerLease> {
        self.0.get().cloned()
    }
}

/// Runs `work` while another thread serves the other sockets.
pub(super) fn block_in_place<T>(work: impl FnOnce() -> T) -> T {
    if is_multi_threaded() {
        tokio::task::block_in_place(work)
    } else {
        work()
    }
}
