//! Reports of the connections that a server closes.

use std::error::Error;
use std::fmt;
use std::io;
use std::net::IpAddr;

use crate::connection_slots::ConnectionRefused;

/// Notified of connections that are closed because of a limit.
pub trait ConnectionObserver: fmt::Debug + Send + Sync {
    /// A connection from this address is closed.
    fn on_refused(&self, peer: IpAddr, refusal: ConnectionRefusal);
}

/// The limit because of which a connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionRefusal {
    /// The limit of all connections is reached.
    LimitReached,
    /// The address has as many connections as it may have.
    AddressShare,
    /// The head of a request has too many bytes or fields. The response has status 431.
    HeadTooLarge,
    /// The peer did not take a response in time.
    ResponseTooSlow,
}

impl ConnectionRefusal {
    /// The limit that has ended a connection with this error. `None` for other errors.
    pub(super) fn from_error(error: &hyper::Error) -> Option<Self> {
        let timed_out = |cause: &io::Error| cause.kind() == io::ErrorKind::TimedOut;
        if error.is_parse_too_large() {
            Some(Self::HeadTooLarge)
        } else {
            let cause = error.source()?.downcast_ref::<io::Error>();
            cause
                .is_some_and(timed_out)
                .then_some(Self::ResponseTooSlow)
        }
    }
}

impl From<ConnectionRefused> for ConnectionRefusal {
    fn from(refused: ConnectionRefused) -> Self {
        match refused {
            ConnectionRefused::LimitReached => Self::LimitReached,
            ConnectionRefused::AddressShare => Self::AddressShare,
        }
    }
}
