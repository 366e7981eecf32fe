//! rmcp encodes a response where its body is polled, which is on a thread that serves sockets.
//! While a large response is encoded, another thread serves the other sockets. The response has the
//! lease on the bytes that its client has not read yet.

use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::request::Parts;
use http_body::{Body, Frame, SizeHint};
use http_body_util::combinators::BoxBody;
use rmcp::RoleServer;
use rmcp::service::RequestContext;

use super::session::ActivityGuard;
use crate::cpu_pool::is_multi_threaded;
use crate::results::unread::AnswerLease;

/// Marks a request whose response is large.
#[derive(Clone, Debug, Default)]
pub(super) struct LargeBodyHint(Arc<OnceLock<Option<AnswerLease>>>);

impl LargeBodyHint {
    /// Marks the response to a request as large from the start.
    pub(super) fn with_lease(lease: AnswerLease) -> Self {
        Self(Arc::new(OnceLock::from(Some(lease))))
    }

    /// Marks the response to this request as large. `lease` is the lease on its bytes.
    pub(super) fn set(context: &RequestContext<RoleServer>, lease: Option<AnswerLease>) {
        let parts = context.extensions.get::<Parts>();
        if let Some(hint) = parts.and_then(|parts| parts.extensions.get::<Self>()) {
            let _ = hint.0.set(lease);
        }
    }
}

/// The body of a response. Its MCP session, if there is one, is not idle while the body exists.
pub(super) struct BlockingBody<E> {
    body: BoxBody<Bytes, E>,
    hint: LargeBodyHint,
    _activity: Option<ActivityGuard>,
}

impl<E> BlockingBody<E> {
    pub(super) fn new(
        body: BoxBody<Bytes, E>,
        hint: LargeBodyHint,
        activity: Option<ActivityGuard>,
    ) -> Self {
        Self {
            body,
            hint,
            _activity: activity,
        }
    }
}

impl<E> Body for BlockingBody<E> {
    type Data = Bytes;
    type Error = E;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, E>>> {
        let this = self.get_mut();
        let body = Pin::new(&mut this.body);
        let Some(lease) = this.hint.0.get() else {
            return body.poll_frame(context);
        };
        let polled = block_in_place(|| body.poll_frame(context));
        match lease {
            Some(lease) => polled.map_ok(|frame| frame.map_data(|data| lease.attach_to(data))),
            None => polled,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
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
