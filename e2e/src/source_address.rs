//! Connections from a chosen address of this machine: all of 127.0.0.0/8 belong to it on Linux, so
//! that a test can play clients with several addresses.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use tokio::net::{TcpSocket, TcpStream};

/// Connects from this address of the client to an IPv4 address, without Nagle's algorithm.
pub(crate) async fn connect_from(source: IpAddr, address: SocketAddr) -> io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    // The system chooses this one by itself, and a port that may serve other destinations as well.
    if source != Ipv4Addr::LOCALHOST {
        socket.bind((source, 0).into())?;
    }
    let socket = socket.connect(address).await?;
    socket.set_nodelay(true)?;
    Ok(socket)
}
