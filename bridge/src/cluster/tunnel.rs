//! Passes a page socket on to the owner of its realm: bytes, from its first frame on.
//!
//! A tunnel has no buffer while nothing is under way. All tunnels of a thread read into the buffer of its
//! sockets, and only what the other end does not take at once is stored: at most [`READ_BUFFER_BYTES`] for
//! each direction, which count in `max_memory_bytes`.

use std::future::poll_fn;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bridge_auth::RealmId;
use bridge_cluster::{Peer, RealmKey};
use bridge_edge::peer_client::{self, PeerConnection, PeerError};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::header::{CONNECTION, UPGRADE};
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use http_body_util::Full;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::cluster_counters::TunnelSide;
use super::forward::forwarded_headers;
use super::link::{self, LinkBody};
use super::node::ClusterNode;
use crate::budget::{BudgetExceeded, ByteLease};
use crate::websocket::{READ_BUFFER_BYTES, poll_scratch};

/// How long opening a tunnel may take.
const OPEN_TIMEOUT: Duration = Duration::from_secs(5);

/// How long the rest of a socket may take after one end has closed it.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Why a page socket was not passed on. Its page can connect again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoTunnel {
    /// The node does not own the realm, or cannot be reached.
    NotOwner,
    /// The node has refused the page.
    Refused,
}

/// The request of a page, as the owner gets it again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PassedPage<'a> {
    pub(crate) path_and_query: &'a str,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) client: IpAddr,
    pub(crate) request_id: &'a HeaderValue,
}

/// A page socket that was opened at the owner of its realm.
pub(crate) struct Tunnel {
    owner: PeerConnection,
    /// The lease on the bytes under way.
    memory: ByteLease,
    /// Completes when it is the turn of this tunnel to end, as its node drains. It counts the tunnel.
    drained: BoxFuture<'static, ()>,
    /// Cancelled when the owner becomes unreachable, or this bridge stops.
    lost: CancellationToken,
}

impl ClusterNode {
    /// Opens the socket of a page at the owner of its realm. `memory` is a lease without any bytes.
    ///
    /// # Errors
    ///
    /// When the owner has not accepted it. It is not known as the owner any more then.
    pub(crate) async fn open_tunnel(
        self: &Arc<Self>,
        realm: RealmId,
        owner: &Peer,
        page: PassedPage<'_>,
        memory: ByteLease,
    ) -> Result<Tunnel, NoTunnel> {
        let key = &self.key_of(realm);
        let Some(lost) = self.reach.wait_for(&owner.id) else {
            self.forget_owner(key, owner);
            return Err(NoTunnel::NotOwner);
        };
        let opening = self.upgrade(owner, *key, page);
        match timeout(OPEN_TIMEOUT, opening).await {
            Ok(Ok(Ok(owner))) => Ok(Tunnel {
                owner,
                memory,
                drained: self.tunnel_drained(),
                lost,
            }),
            Ok(Ok(Err(StatusCode::MISDIRECTED_REQUEST)) | Err(PeerError::Lost)) | Err(_) => {
                self.forget_owner(key, owner);
                Err(NoTunnel::NotOwner)
            }
            Ok(Err(PeerError::NotConnected)) => {
                self.forget_owner(key, owner);
                self.connection_failed(&owner.id);
                Err(NoTunnel::NotOwner)
            }
            Ok(Ok(Err(status))) => {
                if status == StatusCode::UNAUTHORIZED {
                    // A page sends its token later.
                    self.log_limits.log_refusal(&owner.address);
                }
                Err(NoTunnel::Refused)
            }
        }
    }

    /// Counts a tunnel until the result completes, when this node drains, or is dropped.
    fn tunnel_drained(&self) -> BoxFuture<'static, ()> {
        let count = self.counters.count_tunnel(TunnelSide::Edge);
        let drained = Arc::clone(&self.tunnel_drain).notified_owned();
        Box::pin(async move {
            drained.await;
            drop(count);
        })
    }

    /// Ends the tunnel of the page that has been here for longest: the page connects to another node, and its
    /// calls continue. Bytes may be under way, so that a close frame could be in the middle of another one.
    pub(super) fn end_one_tunnel(&self) {
        self.tunnel_drain.notify_one();
    }

    /// Sends the request of a page to the owner. The inner error is the status of another response.
    async fn upgrade(
        &self,
        owner: &Peer,
        key: RealmKey,
        page: PassedPage<'_>,
    ) -> Result<Result<PeerConnection, StatusCode>, PeerError> {
        let PassedPage {
            path_and_query,
            headers,
            client,
            request_id,
        } = page;
        let link = self.links.get(owner)?;
        let header = self.peer_header(owner, Some(key), client, "GET", path_and_query);
        let mut headers = forwarded_headers(headers, header, request_id);
        headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
        let path = PathAndQuery::try_from(path_and_query).map_err(|_| PeerError::NotConnected)?;
        let body = LinkBody::Left(Full::default());
        let response = link
            .send(link::request(Method::GET, path, headers, body))
            .await?;
        match response.status() {
            StatusCode::SWITCHING_PROTOCOLS => Ok(Ok(peer_client::upgrade(response).await?)),
            status => Ok(Err(status)),
        }
    }
}

impl Tunnel {
    /// Passes bytes in both directions until either end closes, the owner becomes unreachable, or this bridge
    /// stops: then the page connects to another one, and its calls continue. `received` is what the page has
    /// sent already.
    ///
    /// # Errors
    ///
    /// When the bytes under way exceed the memory of their party. Both ends are closed then.
    // Not an `async fn`, whose future would have room for its arguments twice.
    pub(crate) fn run<P>(
        self,
        page: P,
        received: Vec<u8>,
    ) -> impl Future<Output = Result<(), BudgetExceeded>>
    where
        P: AsyncRead + AsyncWrite + Unpin,
    {
        let Self {
            owner,
            memory,
            drained,
            lost,
        } = self;
        let mut ends = TunnelEnds {
            page,
            owner,
            memory,
            drained,
            to_owner: Direction {
                unsent: received,
                ..Direction::default()
            },
            to_page: Direction::default(),
        };
        let passing = async move {
            poll_fn(|cx| ends.poll_until_one_closes(cx)).await?;
            // The end that is still open may have to send something, such as its close frame.
            let rest = poll_fn(|cx| ends.poll_until_both_close(cx));
            // Boxed, so that an open tunnel has no room for the timer.
            let rest = Box::pin(timeout(CLOSE_TIMEOUT, rest)).await;
            rest.unwrap_or(Ok(()))
        };
        let passing = lost.run_until_cancelled_owned(passing);
        passing.map(|ended| ended.unwrap_or(Ok(())))
    }
}

/// Both ends of a tunnel, and what is under way between them.
struct TunnelEnds<P, O> {
    page: P,
    owner: O,
    memory: ByteLease,
    drained: BoxFuture<'static, ()>,
    to_owner: Direction,
    to_page: Direction,
}

impl<P, O> TunnelEnds<P, O>
where
    P: AsyncRead + AsyncWrite + Unpin,
    O: AsyncRead + AsyncWrite + Unpin,
{
    /// Passes on what arrives. Returns how many ends are closed.
    fn poll(&mut self, cx: &mut Context<'_>) -> Result<usize, BudgetExceeded> {
        let (page, owner) = (&mut self.page, &mut self.owner);
        let sent = self.to_owner.poll(cx, page, owner);
        let received = self.to_page.poll(cx, owner, page);
        let unsent = self.to_owner.unsent.capacity() + self.to_page.unsent.capacity();
        self.memory.resize_counted(unsent)?;
        Ok(usize::from(sent.is_ready()) + usize::from(received.is_ready()))
    }

    fn poll_until_one_closes(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BudgetExceeded>> {
        if self.drained.as_mut().poll(cx).is_ready() {
            // Nothing more is passed on.
            self.to_owner.state = DirectionState::Ended;
            self.to_page.state = DirectionState::Ended;
            return Poll::Ready(Ok(()));
        }
        match self.poll(cx)? {
            0 => Poll::Pending,
            _ => Poll::Ready(Ok(())),
        }
    }

    fn poll_until_both_close(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BudgetExceeded>> {
        match self.poll(cx)? {
            0 | 1 => Poll::Pending,
            _ => Poll::Ready(Ok(())),
        }
    }
}

/// One direction of a tunnel.
#[derive(Default)]
struct Direction {
    /// Bytes that were read and not written yet.
    unsent: Vec<u8>,
    written: usize,
    needs_flush: bool,
    state: DirectionState,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum DirectionState {
    #[default]
    Open,
    /// The source has ended, and the destination is not closed yet.
    Ending,
    Ended,
}

impl Direction {
    /// Passes on what arrives. Ready when the source has ended, or the destination takes nothing more.
    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        source: &mut (impl AsyncRead + Unpin),
        destination: &mut (impl AsyncWrite + Unpin),
    ) -> Poll<()> {
        loop {
            match self.state {
                DirectionState::Ended => return Poll::Ready(()),
                DirectionState::Ending => {
                    let closed = ready!(Pin::new(&mut *destination).poll_shutdown(cx));
                    // It is closed in any case.
                    drop(closed);
                    self.state = DirectionState::Ended;
                }
                DirectionState::Open => match ready!(self.poll_pass(cx, source, destination)) {
                    Ok(true) => {}
                    Ok(false) => self.state = DirectionState::Ending,
                    Err(_) => self.state = DirectionState::Ended,
                },
            }
        }
    }

    /// Passes some bytes on. Returns whether the source is still open.
    fn poll_pass(
        &mut self,
        cx: &mut Context<'_>,
        source: &mut (impl AsyncRead + Unpin),
        destination: &mut (impl AsyncWrite + Unpin),
    ) -> Poll<io::Result<bool>> {
        while self.written < self.unsent.len() {
            let rest = &self.unsent[self.written..];
            match ready!(Pin::new(&mut *destination).poll_write(cx, rest))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => self.written += written,
            }
            self.needs_flush = true;
        }
        if !self.unsent.is_empty() {
            self.unsent = Vec::new();
            self.written = 0;
        }
        if self.needs_flush {
            ready!(Pin::new(&mut *destination).poll_flush(cx))?;
            self.needs_flush = false;
        }
        let mut written = Ok(0);
        let unsent = &mut self.unsent;
        let waker = cx.waker().clone();
        let read = poll_scratch(source, cx, READ_BUFFER_BYTES, |bytes| {
            let mut cx = Context::from_waker(&waker);
            written = match Pin::new(&mut *destination).poll_write(&mut cx, bytes) {
                Poll::Ready(written) => written,
                Poll::Pending => Ok(0),
            };
            let taken = *written.as_ref().unwrap_or(&bytes.len());
            unsent.extend_from_slice(&bytes[taken..]);
        });
        match ready!(read) {
            Ok(_) => {
                self.needs_flush |= written? > 0;
                Poll::Ready(Ok(true))
            }
            Err(_) => Poll::Ready(Ok(false)),
        }
    }
}

#[cfg(test)]
mod tests {
    use bridge_edge::ClientAddress;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

    use super::*;
    use crate::budget::{ByteBudget, Party};
    use crate::websocket::UpgradedIo;

    /// Returns the size of the futures that a function returns.
    fn future_size<F: Future>(_: impl FnOnce(Tunnel, UpgradedIo) -> F) -> usize {
        size_of::<F>()
    }

    /// A bridge may have tens of thousands of them.
    #[test]
    fn an_idle_tunnel_is_small() {
        let size = future_size(|tunnel, page| tunnel.run(page, Vec::new()));
        assert!(size <= 1_024, "{size} bytes");
    }

    /// The number of bytes that the owner has sent.
    const SENT: usize = 100_000;
    /// How many of them the page takes until it reads.
    const TAKEN: usize = 20_000;

    /// A tunnel for which this much memory is free, whose owner has sent bytes to a page that does not read.
    /// Returns the ends of both.
    async fn full_tunnel(
        budget: &ByteBudget,
    ) -> (
        TunnelEnds<DuplexStream, DuplexStream>,
        DuplexStream,
        DuplexStream,
    ) {
        let (page, to_page) = duplex(TAKEN);
        let (owner, mut to_owner) = duplex(READ_BUFFER_BYTES);
        let address = ClientAddress::from(IpAddr::from([192, 0, 2, 1]));
        let ends = TunnelEnds {
            page: to_page,
            owner,
            memory: budget.lease(Party::new(address, RealmId::from_token("token"))),
            drained: Box::pin(std::future::pending()),
            to_owner: Direction::default(),
            to_page: Direction::default(),
        };
        to_owner.write_all(&[7; SENT]).await.unwrap();
        (ends, page, to_owner)
    }

    #[tokio::test]
    async fn bytes_under_way_count_for_the_memory_until_they_are_written() {
        let budget = ByteBudget::new(1_000_000);
        let (mut ends, mut page, _owner) = full_tunnel(&budget).await;
        let mut poll = async || poll_fn(|cx| Poll::Ready(ends.poll(cx))).await;
        assert_eq!(poll().await, Ok(0));
        let used = budget.used_bytes();
        assert!(
            (SENT - TAKEN..=2 * READ_BUFFER_BYTES).contains(&used),
            "{used}"
        );
        let mut received = 0;
        while received < SENT {
            received += page.read(&mut [0; SENT]).await.unwrap();
            assert_eq!(poll().await, Ok(0));
        }
        assert_eq!(budget.used_bytes(), 0);
    }

    #[tokio::test]
    async fn a_tunnel_ends_when_there_is_no_memory_for_its_bytes() {
        let budget = ByteBudget::new(SENT);
        let (mut ends, _page, _owner) = full_tunnel(&budget).await;
        let ended = poll_fn(|cx| ends.poll_until_one_closes(cx)).await;
        assert_eq!(ended.unwrap_err().max_bytes, SENT);
        assert_eq!(budget.used_bytes(), 0);
    }
}
