//! The bytes of answers that wait for their clients to read them.
//!
//! A call ends when its answer has arrived, so that a client which calls and does not read could
//! otherwise fill the memory. Each large answer therefore has a lease on its bytes, from when it is
//! encoded until the connection has taken it.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bridge_auth::RealmId;
use bridge_edge::ClientAddress;
use bridge_protocol::ErrorCode;
use bridge_realm::realm::CallFailure;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use super::byte_budget::{BudgetExceeded, ByteBudget, ByteLease, LeasedBytes};
use super::party::Party;
use bridge_mcp_results::segments::EncodedBody;

/// Smaller answers are not counted: the buffers of a connection take them at once.
const MIN_COUNTED_BYTES: usize = 64 * 1024;

/// The bytes of all answers that wait to be read.
#[derive(Debug)]
pub(crate) struct UnreadAnswers(ByteBudget);

/// The lease on the bytes of one answer, which ends when all of its clones are dropped.
#[derive(Clone, Debug)]
pub(crate) struct AnswerLease {
    _lease: Arc<ByteLease>,
}

impl UnreadAnswers {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self(ByteBudget::new(max_bytes))
    }

    /// The bytes of all answers that are counted.
    pub(crate) fn bytes(&self) -> usize {
        self.0.used_bytes()
    }

    /// Whether answers of this size are counted.
    pub(crate) fn counts(bytes: usize) -> bool {
        bytes >= MIN_COUNTED_BYTES
    }

    /// Acquires a lease on the bytes of an answer to a client of this party.
    ///
    /// # Errors
    ///
    /// When too many bytes wait for clients of the token or the address. A single answer may be
    /// larger than the limit.
    pub(crate) fn acquire(
        &self,
        party: Party<RealmId>,
        bytes: usize,
    ) -> Result<AnswerLease, CallFailure> {
        let lease = self.0.acquire_one(party, bytes);
        let lease = lease.map_err(|exceeded| too_many_unread(bytes, party.address, exceeded))?;
        Ok(AnswerLease {
            _lease: Arc::new(lease),
        })
    }
}

fn too_many_unread(bytes: usize, address: ClientAddress, exceeded: BudgetExceeded) -> CallFailure {
    let BudgetExceeded {
        of_token,
        of_address,
        max_bytes,
    } = exceeded;
    let message = format!(
        "this answer of {bytes} bytes is not sent: {of_token} bytes of answers to clients with \
         this token and {of_address} to clients of pages at {address} wait to be read, of \
         {max_bytes} that may wait for all clients (`max_unread_bytes`). Read them first. A call has \
         run nevertheless: unless its tool only reads, look what has changed before you call it again"
    );
    CallFailure::new(ErrorCode::ResultTooLarge, message)
}

impl AnswerLease {
    /// Makes a part of the answer extend the lease for as long as the part exists.
    pub(crate) fn attach_to(&self, part: Bytes) -> Bytes {
        if part.len() < MIN_COUNTED_BYTES {
            return part;
        }
        LeasedBytes::attach(part, self.clone())
    }
}

/// A value that must know whether a client has got its answer.
pub(crate) trait Delivery {
    /// The connection of the client has taken the whole answer. Without it, the value is dropped.
    fn delivered(self);
}

/// The body of a response with an answer, the lease on its bytes if it is counted, and what must know
/// that it was delivered.
pub(crate) struct AnswerBody<D> {
    body: EncodedBody,
    lease: Option<AnswerLease>,
    delivery: Option<D>,
}

impl<D> AnswerBody<D> {
    pub(crate) fn new(body: EncodedBody, lease: Option<AnswerLease>, delivery: Option<D>) -> Self {
        Self {
            body,
            lease,
            delivery,
        }
    }
}

impl<D: Delivery + Unpin> Body for AnswerBody<D> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if self.body.is_end_stream()
            && let Some(delivery) = self.delivery.take()
        {
            delivery.delivered();
        }
        match &self.lease {
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

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    fn party(address: u8, token: &str) -> Party<RealmId> {
        let address = IpAddr::from([192, 0, 2, address]).into();
        Party::new(address, RealmId::from_token(token))
    }

    #[test]
    fn an_answer_over_the_share_is_a_failure_that_names_the_setting() {
        let unread = UnreadAnswers::new(10_000);
        let _read_later = unread.acquire(party(1, "a"), 5_000).unwrap();
        let _same_address = unread.acquire(party(1, "b"), 2_000).unwrap();
        let failure = unread.acquire(party(1, "a"), 100).unwrap_err();
        for part in [
            "100 bytes",
            "5000 bytes",
            "7000 to clients of pages at 192.0.2.1",
            "max_unread_bytes",
            "has run",
        ] {
            assert!(failure.message.contains(part), "{}", failure.message);
        }
    }

    #[test]
    fn a_single_answer_may_exceed_the_limit() {
        let unread = UnreadAnswers::new(100);
        let lease = unread.acquire(party(1, "a"), 1_000).unwrap();
        assert!(unread.acquire(party(2, "b"), 1).is_err());
        drop(lease);
        assert!(unread.acquire(party(2, "b"), 1_000).is_ok());
    }

    #[test]
    fn a_part_of_an_answer_extends_its_lease() {
        let unread = UnreadAnswers::new(1_000_000);
        let lease = unread.acquire(party(1, "a"), 200_000).unwrap();
        let parts = [100_000, 10].map(|bytes| lease.attach_to(vec![7; bytes].into()));
        assert_eq!(parts.each_ref().map(Bytes::len), [100_000, 10]);
        drop(lease);
        assert_eq!(unread.0.used_bytes(), 200_000);
        let slice = parts[0].slice(5..);
        drop(parts);
        assert_eq!(unread.0.used_bytes(), 200_000);
        drop(slice);
        assert_eq!(unread.0.used_bytes(), 0);
    }
}
