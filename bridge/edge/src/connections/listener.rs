//! The sockets on which a server accepts connections.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use tokio::net::{TcpListener, TcpSocket, TcpStream};

/// The maximum number of connections that wait to be accepted. Linux allows at most
/// `net.core.somaxconn`, which is 4,096 by default. A connection that finds no room is tried again
/// by its system after a second.
const LISTEN_BACKLOG: u32 = 4_096;

/// A server that listens at an address. One at 127.0.0.1 also listens at the same port of \[::1\] if
/// that is free: on some machines `localhost` stands for that address only.
#[derive(Debug)]
pub struct Listener {
    main: TcpListener,
    ipv6_loopback: Option<TcpListener>,
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
        Ok(Self {
            main,
            ipv6_loopback,
        })
    }

    /// The address, with the actual port if port 0 was requested.
    ///
    /// # Errors
    ///
    /// Returns an error if the system does not tell it.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.main.local_addr()
    }

    /// Accepts the next connection. This method is cancel safe.
    ///
    /// A program of this machine is one address, however it connects. Otherwise a proxy at `localhost`
    /// would be trusted or not by the address that its system tries first.
    pub(super) async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        match &self.ipv6_loopback {
            None => self.main.accept().await,
            Some(ipv6_loopback) => tokio::select! {
                accepted = self.main.accept() => accepted,
                accepted = ipv6_loopback.accept() => accepted.map(|(stream, peer)| {
                    (stream, (Ipv4Addr::LOCALHOST, peer.port()).into())
                }),
            },
        }
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
        let found = listeners.find(|listener| listener.ipv6_loopback.is_some());
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
        assert!(bind([127, 0, 0, 2]).ipv6_loopback.is_none());
    }

    #[tokio::test]
    async fn a_port_of_the_other_loopback_address_that_is_used_does_not_matter() {
        let Ok(used) = listen((Ipv6Addr::LOCALHOST, 0).into()) else {
            return;
        };
        let port = used.local_addr().unwrap().port();
        // Another program may use the same port of 127.0.0.1.
        if let Ok(listener) = Listener::bind((Ipv4Addr::LOCALHOST, port).into()) {
            assert!(listener.ipv6_loopback.is_none());
        }
    }
}
