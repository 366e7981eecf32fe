//! rmcp encodes an answer where its body is polled: on a thread that serves sockets. While that is a
//! large one, the other sockets of the thread are served elsewhere.

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

use super::session::Open;

/// Travels with a request: whether its answer is large.
#[derive(Clone, Debug, Default)]
pub(super) struct Large(Arc<AtomicBool>);

impl Large {
    /// The answer to this request will be large.
    pub(super) fn expect(context: &RequestContext<RoleServer>) {
        let parts = context.extensions.get::<Parts>();
        if let Some(large) = parts.and_then(|parts| parts.extensions.get::<Self>()) {
            large.0.store(true, Ordering::Relaxed);
        }
    }

    fn is_expected(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The body of an answer. Its MCP session, if it is of one, is not idle as long as this lives.
pub(super) struct Encoding<D, E> {
    body: BoxBody<D, E>,
    large: Large,
    _open: Option<Open>,
}

impl<D, E> Encoding<D, E> {
    pub(super) fn new(body: BoxBody<D, E>, large: Large, open: Option<Open>) -> Self {
        Self {
            body,
            large,
            _open: open,
        }
    }
}

impl<D: bytes::Buf, E> Body for Encoding<D, E> {
    type Data = D;
    type Error = E;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<D>, E>>> {
        let this = self.get_mut();
        let body = Pin::new(&mut this.body);
        if this.large.is_expected() && has_other_threads() {
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

fn has_other_threads() -> bool {
    let runtime = Handle::try_current();
    runtime.is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread)
}
