//! Where a server is, and connections to it.

use std::io;
use std::net::SocketAddr;
#[cfg(unix)]
use std::path::PathBuf;

use tokio::net::TcpStream;
#[cfg(unix)]
use tokio::net::UnixStream;
use tokio_util::either::Either;

/// Where a server is.
#[derive(Clone, Debug)]
pub(super) enum Address {
    Tcp(String, u16),
    #[cfg(unix)]
    Unix(PathBuf),
}

/// An address without a name, which always means the same machine: a statement is cancelled where it
/// runs.
#[derive(Clone, Debug)]
pub(super) enum ResolvedAddress {
    Tcp(SocketAddr),
    #[cfg(unix)]
    Unix(PathBuf),
}

/// A connection to a server before its protocol.
#[cfg(unix)]
type ByteStream = Either<TcpStream, UnixStream>;
#[cfg(not(unix))]
type ByteStream = Either<TcpStream, TcpStream>;

impl Address {
    /// Returns whether it is within this machine.
    pub(super) fn is_local(&self) -> bool {
        match self {
            Self::Tcp(host, _) => ["localhost", "127.0.0.1", "::1"].contains(&host.as_str()),
            #[cfg(unix)]
            Self::Unix(_) => true,
        }
    }

    /// Returns the name that the certificate of the server must have.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Tcp(host, _) => host,
            #[cfg(unix)]
            Self::Unix(_) => "localhost",
        }
    }

    /// Returns the port, if it has one.
    pub(super) fn port(&self) -> Option<u16> {
        match self {
            Self::Tcp(_, port) => Some(*port),
            #[cfg(unix)]
            Self::Unix(_) => None,
        }
    }

    /// Connects to the first of its addresses that can be reached.
    pub(super) async fn connect(&self) -> io::Result<(ByteStream, ResolvedAddress)> {
        match self {
            Self::Tcp(host, port) => {
                let stream = TcpStream::connect((host.as_str(), *port)).await?;
                stream.set_nodelay(true)?;
                let resolved = ResolvedAddress::Tcp(stream.peer_addr()?);
                Ok((Either::Left(stream), resolved))
            }
            #[cfg(unix)]
            Self::Unix(path) => {
                let stream = UnixStream::connect(path).await?;
                Ok((Either::Right(stream), ResolvedAddress::Unix(path.clone())))
            }
        }
    }
}

impl ResolvedAddress {
    pub(super) async fn connect(&self) -> io::Result<ByteStream> {
        Ok(match self {
            Self::Tcp(address) => Either::Left(TcpStream::connect(address).await?),
            #[cfg(unix)]
            Self::Unix(path) => Either::Right(UnixStream::connect(path).await?),
        })
    }
}
