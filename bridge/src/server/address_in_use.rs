//! The address of a program that another one has.

use std::any::Any;
use std::io;
use std::net::SocketAddr;

use bridge_edge::connections::Listener;
use futures_util::future::BoxFuture;

/// The outcome of a request to release an address that is in use.
#[derive(Debug)]
pub enum AddressInUse {
    /// The program that had the address has ended. The guard keeps others from taking the address, and is
    /// dropped when the new program listens.
    Released(Box<dyn Any + Send>),
    /// The address is still in use, by the processes in this text if the system names them.
    Kept(Option<String>),
}

/// Requests the program at an address to end, if it may end for this one.
pub type ReleaseAddress = fn(SocketAddr) -> BoxFuture<'static, AddressInUse>;

/// Listens at an address. If it is in use, it is released first.
pub(super) async fn listen(
    address: SocketAddr,
    release: Option<ReleaseAddress>,
) -> io::Result<Listener> {
    let (error, release) = match (Listener::bind(address), release) {
        (Err(error), Some(release)) if error.kind() == io::ErrorKind::AddrInUse => (error, release),
        (bound, _) => return bound,
    };
    match release(address).await {
        AddressInUse::Released(_guard) => Listener::bind(address),
        AddressInUse::Kept(None) => Err(error),
        AddressInUse::Kept(Some(processes)) => {
            let message = format!("{error}, by {processes}");
            Err(io::Error::new(error.kind(), message))
        }
    }
}
