//! Connections from a chosen address of this machine: all of 127.0.0.0/8 belong to it on Linux, so
//! that a test can play clients with several addresses.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use tokio::net::{TcpSocket, TcpStream};

/// How much the system stores of what a client at a chosen address sends. Linux copies all that it
/// has room for without letting other threads run, even those of a higher priority: a client that
/// sends megabytes would take milliseconds from the bridge, which it could not on another machine.
const SEND_BUFFER_BYTES: u32 = 128 * 1024;

/// Connects from this address of the client to an IPv4 address, without Nagle's algorithm.
pub(crate) async fn connect_from(source: IpAddr, address: SocketAddr) -> io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    // The system chooses this one by itself, and a port that may serve other destinations as well.
    if source != Ipv4Addr::LOCALHOST {
        socket.bind((source, 0).into())?;
        socket.set_send_buffer_size(SEND_BUFFER_BYTES)?;
    }
    let socket = socket.connect(address).await?;
    socket.set_nodelay(true)?;
    Ok(socket)
}
