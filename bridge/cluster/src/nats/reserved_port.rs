//! Ports of servers whose address others know before they start, or that start again on the same port.

use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::net::{Ipv4Addr, SocketAddr};

use tokio::net::TcpSocket;

/// The lowest port that is reserved: many below it belong to well-known services.
const LOWEST: u16 = 10_000;

/// A free port of 127.0.0.1 that no other program gets while this is held, unless it names the port.
///
/// The system chooses other ports for programs that ask for any.
#[derive(Debug)]
pub struct ReservedPort {
    address: SocketAddr,
    /// Is bound and does not listen: a server that reuses addresses, as tokio's do, can bind as well.
    _socket: TcpSocket,
}

impl ReservedPort {
    /// Reserves a port that is free now.
    pub fn reserve() -> Self {
        let ports = LOWEST..first_port_of_the_system();
        loop {
            let random = RandomState::new().hash_one(0) % ports.len() as u64;
            let port = ports.start + u16::try_from(random).unwrap();
            let address = (Ipv4Addr::LOCALHOST, port).into();
            // Sockets that reuse addresses would share the port.
            let is_free = TcpSocket::new_v4().unwrap().bind(address).is_ok();
            let socket = TcpSocket::new_v4().unwrap();
            socket.set_reuseaddr(true).unwrap();
            if is_free && socket.bind(address).is_ok() {
                return Self {
                    address,
                    _socket: socket,
                };
            }
        }
    }

    /// Returns the address of a server with this port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Returns the lowest port that the system chooses.
fn first_port_of_the_system() -> u16 {
    let range = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap();
    let first = range.split_whitespace().next().unwrap().parse().unwrap();
    assert!(first > LOWEST, "the system chooses all ports: {range}");
    first
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn a_server_can_start_again_on_a_port_that_no_other_program_gets() {
        let ports: Vec<_> = (0..50).map(|_| ReservedPort::reserve()).collect();
        let addresses: HashSet<_> = ports.iter().map(ReservedPort::address).collect();
        assert_eq!(addresses.len(), ports.len());
        for address in addresses {
            assert!(address.port() < first_port_of_the_system());
            for _ in 0..2 {
                drop(TcpListener::bind(address).await.unwrap());
            }
        }
    }
}
