//! rmcp encodes a response where its body is polled, which is on a thread that serves sockets.
//! While a large response is encoded, another thread serves the other sockets.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use http::request::Parts;
use http_body::{Body, Frame, SizeHint};
use http_body_util::combinators::BoxBody;
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use tokio::runtime::{Handle, RuntimeFlavor};

use super::session::ActivityGuard;

/// Marks a request whose response is large.
#[derive(Clone, Debug, Default)]
pub(super) struct LargeBodyHint(Arc<AtomicBool>);

impl LargeBodyHint {
    /// Marks the response to this request as large.
    pub(super) fn set(context: &RequestContext<RoleServer>) {
        let parts = context.extensions.get::<Parts>();
        if let Some(hint) = parts.and_then(|parts| parts.extensions.get::<Self>()) {
            hint.0.store(true, Ordering::Relaxed);
        }
    }

    fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The body of a response. Its MCP session, if there is one, is not idle while the body exists.
pub(super) struct BlockingBody<D, E> {
    body: BoxBody<D, E>,
    hint: LargeBodyHint,
    _activity: Option<ActivityGuard>,
}

impl<D, E> BlockingBody<D, E> {
    pub(super) fn new(
        body: BoxBody<D, E>,
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

impl<D: bytes::Buf, E> Body for BlockingBody<D, E> {
    type Data = D;
    type Error = E;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<D>, E>>> {
        let this = self.get_mut();
        let body = Pin::new(&mut this.body);
        if this.hint.is_set() && is_multi_threaded() {
            tokio::task::block_in_place(|| body.poll_frame(context))
        } else {
            body.poll_frame(context)
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

fn is_multi_threaded() -> bool {
    let runtime = Handle::try_current();
    runtime.is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread)
}
