//! The bridge of this machine that a program with a bridge in it may start. This crate has none: it only
//! asks for it before each handshake.

use std::pin::Pin;

/// Why no token may be sent to the address of the bridge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LocalBridgeError {
    /// Nothing runs there, and nothing was started.
    Absent,
    /// The start has failed, or another program has the address. The text says what to do.
    Failed(String),
}

/// The bridge at one address of this machine.
pub trait LocalBridge: Send + Sync {
    /// Returns when a bridge runs that may receive the token of the client. It is called before each
    /// handshake, and may be dropped at any time.
    fn ensure(&self) -> Pin<Box<dyn Future<Output = Result<(), LocalBridgeError>> + Send + '_>>;
}
