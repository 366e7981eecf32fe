//! The sockets on which a server accepts connections.

use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use tokio::net::{TcpListener, TcpSocket, TcpStream};

use super::tls::TlsAcceptor;

/// The maximum number of connections that wait to be accepted. Linux allows at most
/// `net.core.somaxconn`, which is 4,096 by default. A connection that finds no room is tried again
/// by its system after a second.
const LISTEN_BACKLOG: u32 = 4_096;

/// The sockets of a server. One at 127.0.0.1 also listens at the same port of \[::1\] if that is free:
/// on some machines `localhost` stands for that address only.
#[derive(Debug)]
pub struct Listener {
    /// There is at least one.
    sockets: Vec<TcpListener>,
    /// The socket that is asked first, so that no socket is served before all others.
    next: AtomicUsize,
    /// Encrypts the connections, if it is set.
    tls: Option<TlsAcceptor>,
}

impl Listener {
    /// Listens at an address, with room for many connections that wait to be accepted.
    ///
    /// # Errors
    ///
    /// Returns an error if the address cannot be used.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let main = listen(address)?;
        let mut ipv6_loopback = None;
        if address.ip() == IpAddr::V4(Ipv4Addr::LOCALHOST) {
            let port = main.local_addr()?.port();
            ipv6_loopback = listen((Ipv6Addr::LOCALHOST, port).into())
                .inspect_err(|error| report_unusable(error, port))
                .ok();
        }
        Ok(Self::new(
            std::iter::once(main).chain(ipv6_loopback).collect(),
        ))
    }

    /// Takes the TCP sockets that a service manager has opened for this process, if there are any
    /// (`LISTEN_FDS`, sd_listen_fds(3)). They stay open while the service restarts, so that no
    /// connection is refused meanwhile. Other sockets are not taken.
    ///
    /// # Errors
    ///
    /// Returns an error if a socket cannot be used.
    #[cfg(unix)]
    pub fn from_service_manager() -> io::Result<Option<Self>> {
        let mut passed = listenfd::ListenFd::from_env();
        let mut sockets = Vec::new();
        for index in 0..passed.len() {
            if let Ok(Some(socket)) = passed.take_tcp_listener(index) {
                socket.set_nonblocking(true)?;
                sockets.push(TcpListener::from_std(socket)?);
            }
        }
        Ok((!sockets.is_empty()).then(|| Self::new(sockets)))
    }

    /// Returns `None`: only Unix has such service managers.
    #[cfg(not(unix))]
    pub fn from_service_manager() -> io::Result<Option<Self>> {
        Ok(None)
    }

    fn new(sockets: Vec<TcpListener>) -> Self {
        Self {
            sockets,
            next: AtomicUsize::new(0),
            tls: None,
        }
    }

    /// Encrypts the connections, or not.
    pub fn with_tls(self, tls: Option<TlsAcceptor>) -> Self {
        Self { tls, ..self }
    }

    pub(super) fn tls(&self) -> Option<&TlsAcceptor> {
        self.tls.as_ref()
    }

    /// The address, with the actual port if port 0 was requested. Of several addresses, it is one that
    /// other machines can reach, if there is any.
    ///
    /// # Errors
    ///
    /// Returns an error if the system does not tell it.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        let addresses = self.sockets.iter().map(TcpListener::local_addr);
        let addresses = addresses.collect::<io::Result<Vec<_>>>()?;
        let mut reachable = addresses.iter().filter(|it| !it.ip().is_loopback());
        let address = reachable.next().or(addresses.first()).copied();
        address.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Accepts the next connection. This method is cancel safe.
    ///
    /// A program of this machine is one address, however it connects. Otherwise a proxy at `localhost`
    /// would be trusted or not by the address that its system tries first.
    pub(super) async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        let (stream, peer) = poll_fn(|context| self.poll_accept(context)).await?;
        if peer.ip() == IpAddr::V6(Ipv6Addr::LOCALHOST) {
            return Ok((stream, (Ipv4Addr::LOCALHOST, peer.port()).into()));
        }
        Ok((stream, peer))
    }

    fn poll_accept(&self, context: &mut Context<'_>) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        let first = self.next.fetch_add(1, Ordering::Relaxed) % self.sockets.len();
        let (before, after) = self.sockets.split_at(first);
        for socket in after.iter().chain(before) {
            if let Poll::Ready(accepted) = socket.poll_accept(context) {
                return Poll::Ready(accepted);
            }
        }
        Poll::Pending
    }
}

/// Warns when another program has the port: clients that try \[::1\] first send it their tokens. A
/// machine without IPv6 is normal.
fn report_unusable(error: &io::Error, port: u16) {
    if error.kind() == io::ErrorKind::AddrInUse {
        tracing::warn!(
            "another program listens at [::1]:{port}, and clients that connect to `localhost` may \
             reach it instead: end it, use another port, or give clients the address 127.0.0.1"
        );
    } else {
        tracing::debug!(%error, "[::1]:{port} cannot be used");
    }
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // On Windows, the option would let another program use the same address.
    #[cfg(not(windows))]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(LISTEN_BACKLOG)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Listens at an IPv4 address.
    fn bind(address: [u8; 4]) -> Listener {
        Listener::bind((address, 0).into()).unwrap()
    }

    #[tokio::test]
    async fn a_server_at_127_0_0_1_is_also_reached_at_the_ipv6_loopback_address() {
        let has_ipv6 = listen((Ipv6Addr::LOCALHOST, 0).into()).is_ok();
        // Another program may use the port there.
        let mut listeners = std::iter::repeat_with(|| bind([127, 0, 0, 1])).take(100);
        let found = listeners.find(|listener| listener.sockets.len() == 2);
        assert_eq!(found.is_some(), has_ipv6);
        let listener = found.unwrap_or_else(|| bind([127, 0, 0, 1]));
        let port = listener.local_addr().unwrap().port();
        let addresses = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
        for address in addresses {
            if has_ipv6 || IpAddr::is_ipv4(&address) {
                let connecting = TcpStream::connect((address, port));
                let (connected, accepted) = tokio::join!(connecting, listener.accept());
                connected.unwrap();
                assert_eq!(accepted.unwrap().1.ip(), Ipv4Addr::LOCALHOST);
            }
        }
        assert_eq!(bind([127, 0, 0, 2]).sockets.len(), 1);
    }

    #[tokio::test]
    async fn a_port_of_the_other_loopback_address_that_is_used_does_not_matter() {
        let Ok(used) = listen((Ipv6Addr::LOCALHOST, 0).into()) else {
            return;
        };
        let port = used.local_addr().unwrap().port();
        // Another program may use the same port of 127.0.0.1.
        if let Ok(listener) = Listener::bind((Ipv4Addr::LOCALHOST, port).into()) {
            assert_eq!(listener.sockets.len(), 1);
        }
    }
}
